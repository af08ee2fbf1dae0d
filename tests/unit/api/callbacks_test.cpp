// A callback may start other requests, its own, or each other's, and free its own request. It must not wait.
// One thread uses both members of a team.
#include <gtest/gtest.h>

#include <vector>

#include "../../operation.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kCount = 3000;
constexpr int kMostTurns = 10'000;

class Callbacks : public testing::Test {
 protected:
  void SetUp() override {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    ASSERT_EQ(fermata_team_create(&config, &team_), FERMATA_OK) << fermata_error_detail();
    for (int r = 0; r < 2; ++r) {
      ASSERT_EQ(fermata_team_join(team_, r, &member_[r]), FERMATA_OK) << fermata_error_detail();
      fermata_member_set_timeout(member_[r], 0.05);  // nothing that a member waits for here comes
    }
  }
  void TearDown() override {
    for (fermata_member* m : member_) fermata_member_leave(m);
    fermata_team_destroy(team_);
  }

  fermata_operation sum(std::vector<double>& data) const {
    data.assign(kCount, 1.0);
    return in_place_sum(data.data(), kCount);
  }
  fermata_request* begun(int rank, std::vector<double>& data) {
    const fermata_operation o = sum(data);
    fermata_request* r = nullptr;
    EXPECT_EQ(fermata_begin(member_[rank], &o, &r), FERMATA_OK) << fermata_error_detail();
    return r;
  }
  // Rank 0 must prepare first: it tells rank 1 the slots.
  fermata_request* prepared(int rank, std::vector<double>& data) {
    const fermata_operation o = sum(data);
    fermata_request* r = nullptr;
    EXPECT_EQ(fermata_prepare(member_[rank], &o, &r), FERMATA_OK) << fermata_error_detail();
    return r;
  }
  // Makes progress until no request of rank 0 is active.
  void finish() {
    int status = FERMATA_PENDING;
    for (int i = 0; i < kMostTurns && status == FERMATA_PENDING; ++i) {
      EXPECT_GE(fermata_progress(member_[1], 0), 0);
      status = fermata_progress(member_[0], 0);
    }
    EXPECT_EQ(status, FERMATA_OK) << fermata_error_detail();
    EXPECT_GE(fermata_progress(member_[1], 100), 0);
  }

  fermata_team* team_ = nullptr;
  fermata_member* member_[2] = {};
};

void free_it(fermata_request* request, int status, void* user) {
  EXPECT_EQ(status, FERMATA_OK);
  EXPECT_EQ(fermata_request_free(request), FERMATA_OK) << fermata_error_detail();
  ++*static_cast<int*>(user);
}

TEST_F(Callbacks, MayFreeTheirRequest) {
  std::vector<double> data[2], more[2], links[2];
  int freed = 0;
  fermata_request* chain[2] = {};
  std::vector<fermata_request*> theirs;
  for (int r = 0; r < 2; ++r) {
    fermata_request* all[] = {prepared(r, more[r]), nullptr};
    fermata_request* link = prepared(r, links[r]);
    ASSERT_EQ(fermata_chain(&link, 1, &chain[r]), FERMATA_OK);
    all[1] = begun(r, data[r]);
    ASSERT_EQ(fermata_request_start(all[0]), FERMATA_OK);
    ASSERT_EQ(fermata_request_start(chain[r]), FERMATA_OK);
    for (fermata_request* request : {all[0], all[1], chain[r]}) {
      if (r == 1) theirs.push_back(request);
      else fermata_request_set_callback(request, free_it, &freed);
    }
  }
  finish();
  EXPECT_EQ(freed, 3);
  for (const std::vector<double>& sums : {data[0], more[0], links[0]})
    EXPECT_EQ(sums, std::vector<double>(kCount, 2.0));
  for (fermata_request* request : theirs)
    EXPECT_EQ(fermata_request_free(request), FERMATA_OK) << fermata_error_detail();
}

struct Waiter {
  fermata_member* member;
  fermata_request* other;  // active
  int calls = 0;
};

TEST_F(Callbacks, MayNotWait) {
  std::vector<double> first[2], second[2];
  fermata_request* one = begun(0, first[0]);
  Waiter waiter{member_[0], begun(0, second[0])};
  const auto wait = [](fermata_request* request, int, void* user) {
    auto& w = *static_cast<Waiter*>(user);
    ++w.calls;
    std::size_t index = 7;
    double x[kCount] = {};
    EXPECT_EQ(fermata_request_wait(w.other), FERMATA_ERR_BUSY);
    EXPECT_EQ(fermata_request_wait_all(&w.other, 1), FERMATA_ERR_BUSY);
    EXPECT_EQ(fermata_request_wait_any(&w.other, 1, &index), FERMATA_ERR_BUSY);
    EXPECT_EQ(index, 7u);
    EXPECT_EQ(fermata_allreduce(w.member, FERMATA_IN_PLACE, x, kCount, FERMATA_DOUBLE, FERMATA_SUM),
              FERMATA_ERR_BUSY);
    EXPECT_EQ(fermata_request_test(w.other), FERMATA_PENDING);
    EXPECT_EQ(fermata_request_test(request), FERMATA_OK);
  };
  fermata_request_set_callback(one, wait, &waiter);
  fermata_request* theirs[] = {begun(1, first[1]), begun(1, second[1])};
  finish();
  EXPECT_EQ(waiter.calls, 1);
  EXPECT_EQ(second[0], std::vector<double>(kCount, 2.0)) << "the team goes on";
  for (fermata_request* r : {one, waiter.other, theirs[0], theirs[1]})
    EXPECT_EQ(fermata_request_free(r), FERMATA_OK);
}

// Three requests start each other from their callbacks, five times around.
struct Ring {
  fermata_request* next[3] = {};
  int calls = 0;
};
struct Place {
  Ring* ring;
  int at;
};

TEST_F(Callbacks, StartEachOther) {
  std::vector<double> data[2][3];
  Ring rings[2];
  Place places[2][3];
  const auto start_next = [](fermata_request*, int status, void* user) {
    const auto& place = *static_cast<Place*>(user);
    EXPECT_EQ(status, FERMATA_OK);
    if (++place.ring->calls == 15) return;
    EXPECT_EQ(fermata_request_start(place.ring->next[(place.at + 1) % 3]), FERMATA_OK);
  };
  for (int r = 0; r < 2; ++r)
    for (int i = 0; i < 3; ++i) {
      rings[r].next[i] = prepared(r, data[r][i]);
      places[r][i] = {&rings[r], i};
      fermata_request_set_callback(rings[r].next[i], start_next, &places[r][i]);
    }
  for (const Ring& ring : rings) ASSERT_EQ(fermata_request_start(ring.next[0]), FERMATA_OK);
  for (int turn = 0; turn < kMostTurns && (rings[0].calls < 15 || rings[1].calls < 15); ++turn)
    for (fermata_member* m : member_) EXPECT_GE(fermata_progress(m, 0), 0);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(rings[r].calls, 15);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(data[r][i], std::vector<double>(kCount, 32.0)) << "doubled five times";
      EXPECT_EQ(fermata_request_free(rings[r].next[i]), FERMATA_OK);
    }
  }
}

// A link's member leaves its team, which was a part of a hierarchy. The chain becomes unusable, and harms
// nothing else.
TEST_F(Callbacks, AChainWithoutAMemberIsRefused) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_team* small = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &small), FERMATA_OK);
  fermata_member* alone = nullptr;
  ASSERT_EQ(fermata_team_join(small, 0, &alone), FERMATA_OK);
  std::vector<double> data, last;
  fermata_request* links[2] = {prepared(0, data), nullptr};
  const fermata_operation o = sum(last);
  ASSERT_EQ(fermata_prepare(alone, &o, &links[1]), FERMATA_OK);
  fermata_request* chain = nullptr;
  ASSERT_EQ(fermata_chain(links, 2, &chain), FERMATA_OK);
  fermata_member_leave(alone);
  fermata_team_destroy(small);
  EXPECT_EQ(fermata_request_start(chain), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_request_reset(chain, FERMATA_IN_PLACE, last.data()), FERMATA_ERR_ARGUMENT);
  EXPECT_EQ(fermata_request_test(links[0]), FERMATA_OK) << "it was not started";
  EXPECT_EQ(data, std::vector<double>(kCount, 1.0));
  EXPECT_EQ(fermata_request_free(chain), FERMATA_OK) << fermata_error_detail();
  std::vector<double> mine, theirs;
  fermata_request* const unused = prepared(1, theirs);
  fermata_request* const both[] = {begun(0, mine), begun(1, theirs)};
  finish();
  EXPECT_EQ(mine, std::vector<double>(kCount, 2.0)) << "the team goes on";
  for (fermata_request* r : {unused, both[0], both[1]}) EXPECT_EQ(fermata_request_free(r), FERMATA_OK);
}

}  // namespace
}  // namespace fermata::test
