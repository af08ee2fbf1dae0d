// Arguments of barriers without ranks or without a planner.
#include "arguments.hpp"

namespace fermata::test {

namespace {

void anonymous_barriers(Checks& all) {
  all["fermata_anonymous_create"] = [](World&) {
    fermata_anonymous* out = nullptr;
    REFUSED(fermata_anonymous_create(2, 0, nullptr));
    REFUSED(fermata_anonymous_create(0, 0, &out));
    REFUSED(fermata_anonymous_create((1u << 30) + 1, 0, &out));
    REFUSED(fermata_anonymous_create(2, 2, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_anonymous_name"] = [](World&) { fermata_anonymous_name(nullptr, nullptr); };
  all["fermata_anonymous_destroy"] = [](World&) { fermata_anonymous_destroy(nullptr); };
  all["fermata_anonymous_arrive"] = [](World&) {
    uint64_t phase = 7;
    fermata_anonymous* barrier = nullptr;
    ASSERT_EQ(fermata_anonymous_create(1, 0, &barrier), FERMATA_OK);
    REFUSED(fermata_anonymous_arrive(nullptr, 1, &phase));
    REFUSED(fermata_anonymous_arrive(barrier, 1, nullptr));
    REFUSED(fermata_anonymous_arrive(barrier, 0, &phase));
    REFUSED(fermata_anonymous_arrive(barrier, (1u << 30) + 1, &phase));
    EXPECT_EQ(phase, 7u);
    FAILS(fermata_anonymous_meet(barrier), FERMATA_LAST);
    fermata_anonymous_destroy(barrier);
  };
  all["fermata_anonymous_drop"] = [](World&) {
    uint64_t phase = 7;
    REFUSED(fermata_anonymous_drop(nullptr, &phase));
    EXPECT_EQ(phase, 7u);
  };
  all["fermata_anonymous_release"] = [](World&) { REFUSED(fermata_anonymous_release(nullptr, 0)); };
  all["fermata_anonymous_wait"] = [](World&) { REFUSED(fermata_anonymous_wait(nullptr, 0)); };
  all["fermata_anonymous_meet"] = [](World&) { REFUSED(fermata_anonymous_meet(nullptr)); };
  all["fermata_anonymous_shared_init"] = [](World&) {
    fermata_anonymous_shared barrier = {{7, 7, 7}};
    REFUSED(fermata_anonymous_shared_init(nullptr, 1));
    REFUSED(fermata_anonymous_shared_init(&barrier, 0));
    REFUSED(fermata_anonymous_shared_init(&barrier, (1u << 30) + 1));
    EXPECT_EQ(barrier.state[0] + barrier.state[1] + barrier.state[2], 21u);
  };
  all["fermata_anonymous_shared_count"] = [](World&) {
    EXPECT_EQ(fermata_anonymous_shared_count(nullptr), 0u);
  };
  all["fermata_anonymous_shared_meet"] = [](World&) { REFUSED(fermata_anonymous_shared_meet(nullptr)); };
  all["fermata_anonymous_shared_destroy"] = [](World&) { fermata_anonymous_shared_destroy(nullptr); };
}

// Calls body(barrier), and checks that the barrier works after it.
template <class Body>
void with_one(Body&& body) {
  fermata_ranked* barrier = nullptr;
  ASSERT_EQ(fermata_ranked_create(1, &barrier), FERMATA_OK);
  body(barrier);
  FAILS(fermata_ranked_meet(barrier, 0), FERMATA_OK);
  EXPECT_EQ(fermata_ranked_calls(barrier, 0), 1u);
  fermata_ranked_destroy(barrier);
}

void ranked_barriers(Checks& all) {
  all["fermata_ranked_create"] = [](World&) {
    fermata_ranked* out = nullptr;
    REFUSED(fermata_ranked_create(2, nullptr));
    REFUSED(fermata_ranked_create(0, &out));
    REFUSED(fermata_ranked_create(4097, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_ranked_create_beside"] = [](World&) {
    fermata_ranked* out = nullptr;
    REFUSED(fermata_ranked_create_beside(2, 1, nullptr));
    REFUSED(fermata_ranked_create_beside(0, 1, &out));
    REFUSED(fermata_ranked_create_beside(4097, 1, &out));
    EXPECT_EQ(out, nullptr);
    ASSERT_EQ(fermata_ranked_create_beside(1, UINT32_MAX, &out), FERMATA_OK);
    FAILS(fermata_ranked_meet(out, 0), FERMATA_OK);
    fermata_ranked_destroy(out);
  };
  all["fermata_ranked_destroy"] = [](World&) { fermata_ranked_destroy(nullptr); };
  all["fermata_ranked_meet"] = [](World&) {
    REFUSED(fermata_ranked_meet(nullptr, 0));
    with_one([](fermata_ranked* b) { REFUSED(fermata_ranked_meet(b, 1)); });
  };
  all["fermata_ranked_allreduce"] = [](World&) {
    double x = 3;
    const fermata_fold fold = [](void*, const void*, void*) {};
    REFUSED(fermata_ranked_allreduce(nullptr, 0, &x, 8, fold, nullptr));
    with_one([&](fermata_ranked* b) {
      REFUSED(fermata_ranked_allreduce(b, 1, &x, 8, fold, nullptr));
      REFUSED(fermata_ranked_allreduce(b, 0, nullptr, 8, fold, nullptr));
      REFUSED(fermata_ranked_allreduce(b, 0, &x, 0, fold, nullptr));
      REFUSED(fermata_ranked_allreduce(b, 0, &x, 57, fold, nullptr));
      REFUSED(fermata_ranked_allreduce(b, 0, &x, 8, nullptr, nullptr));
    });
    EXPECT_EQ(x, 3);
  };
  all["fermata_ranked_calls"] = [](World&) {
    EXPECT_EQ(fermata_ranked_calls(nullptr, 0), 0u);
    with_one([](fermata_ranked* b) { EXPECT_EQ(fermata_ranked_calls(b, 1), 0u); });
  };
  all["fermata_ranked_describe"] = [](World&) {
    char text[4] = "old";
    REFUSED(fermata_ranked_describe(nullptr, text, sizeof text));
    with_one([&](fermata_ranked* b) {
      REFUSED(fermata_ranked_describe(b, nullptr, 4));
      REFUSED(fermata_ranked_describe(b, text, 0));
    });
    EXPECT_STREQ(text, "old");
  };
}

// Calls body(team) with a team of one, and checks that it works afterwards.
template <class Body>
void with_one_to_fork(Body&& body) {
  fermata_forkjoin* team = nullptr;
  ASSERT_EQ(fermata_forkjoin_create(1, 0, 10, &team), FERMATA_OK);
  body(team);
  std::uint64_t notes = 9;
  FAILS(fermata_forkjoin_join(team, &notes), FERMATA_OK);
  EXPECT_EQ(notes, 0u);
  FAILS(fermata_forkjoin_fork(team, nullptr, 0), FERMATA_OK);
  fermata_forkjoin_destroy(team);
}

void forks_and_joins(Checks& all) {
  all["fermata_forkjoin_create"] = [](World&) {
    fermata_forkjoin* out = nullptr;
    REFUSED(fermata_forkjoin_create(2, 0, 10, nullptr));
    REFUSED(fermata_forkjoin_create(0, 0, 10, &out));
    REFUSED(fermata_forkjoin_create(4097, 0, 10, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_forkjoin_create_folding"] = [](World&) {
    fermata_forkjoin* out = nullptr;
    REFUSED(fermata_forkjoin_create_folding(2, 0, nullptr));
    REFUSED(fermata_forkjoin_create_folding(0, 0, &out));
    REFUSED(fermata_forkjoin_create_folding(4097, 0, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_forkjoin_calls"] = [](World&) {
    EXPECT_EQ(fermata_forkjoin_calls(nullptr, 0), 0u);
    with_one_to_fork([](fermata_forkjoin* t) { EXPECT_EQ(fermata_forkjoin_calls(t, 1), 0u); });
  };
  all["fermata_forkjoin_fold"] = [](World&) {
    int data = 5;
    const fermata_fold fold = [](void*, const void*, void*) {};
    REFUSED(fermata_forkjoin_fold(nullptr, 0, &data, fold, nullptr));
    with_one_to_fork([&](fermata_forkjoin* t) {
      REFUSED(fermata_forkjoin_fold(t, 1, &data, fold, nullptr));
      REFUSED(fermata_forkjoin_fold(t, 0, nullptr, fold, nullptr));
      REFUSED(fermata_forkjoin_fold(t, 0, &data, nullptr, nullptr));
    });
    EXPECT_EQ(data, 5);
  };
  all["fermata_forkjoin_destroy"] = [](World&) { fermata_forkjoin_destroy(nullptr); };
  all["fermata_forkjoin_await"] = [](World&) {
    std::uint64_t data[FERMATA_FORKJOIN_BYTES / 8] = {};
    REFUSED(fermata_forkjoin_await(nullptr, 1, 0, data));
    with_one_to_fork([&](fermata_forkjoin* t) {
      REFUSED(fermata_forkjoin_await(t, 0, 0, data));
      REFUSED(fermata_forkjoin_await(t, 1, 0, data));
      REFUSED(fermata_forkjoin_await(t, 1, 0, nullptr));
    });
  };
  all["fermata_forkjoin_join"] = [](World&) {
    std::uint64_t notes = 3;
    REFUSED(fermata_forkjoin_join(nullptr, &notes));
    with_one_to_fork([](fermata_forkjoin* t) { REFUSED(fermata_forkjoin_join(t, nullptr)); });
    EXPECT_EQ(notes, 3u);
  };
  all["fermata_forkjoin_fork"] = [](World&) {
    REFUSED(fermata_forkjoin_fork(nullptr, nullptr, 0));
    with_one_to_fork([](fermata_forkjoin* t) {
      REFUSED(fermata_forkjoin_fork(t, nullptr, 0));
      REFUSED(fermata_forkjoin_fork(t, nullptr, 8));
      REFUSED(fermata_forkjoin_fork(t, &t, FERMATA_FORKJOIN_BYTES + 1));
    });
  };
}

}  // namespace

void add_barriers_without_teams(Checks& all) {
  anonymous_barriers(all);
  ranked_barriers(all);
  forks_and_joins(all);
}

}  // namespace fermata::test
