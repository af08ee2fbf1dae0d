// Schedules in GOAL: reads the files back, compares their messages with the schedule's signals, and prices
// small ones by a LogGP model.
#include "schedule/goal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "algo/algorithm.hpp"
#include "algo/sweep.hpp"
#include "schedule/compose.hpp"

namespace fermata {
namespace {

struct Operation {
  char what = 'c';  // s: send, r: recv, c: calc
  std::int64_t bytes = 0;
  std::int32_t peer = -1, tag = -1;
  std::vector<int> requires_ids;
};
using Operations = std::map<int, Operation>;  // of a rank, by label

// Reads what to_goal() writes. Anything else fails the test.
class Reader {
 public:
  explicit Reader(const std::string& text) {
    std::istringstream lines(text);
    std::size_t announced = 0;
    Operations* rank = nullptr;
    for (std::string line; std::getline(lines, line);) {
      int a = 0, b = 0, to = 0, tag = 0;
      long long bytes = 0;
      if (line.empty() || line.rfind("//", 0) == 0) continue;
      if (std::sscanf(line.c_str(), "num_ranks %zu", &announced) == 1) continue;
      if (std::sscanf(line.c_str(), "rank %d {", &a) == 1) {
        EXPECT_EQ(static_cast<std::size_t>(a), ranks.size());
        rank = &ranks.emplace_back();
      } else if (line == "}") {
        rank = nullptr;
      } else if (rank == nullptr) {
        ADD_FAILURE() << "outside of a rank: " << line;
      } else if (std::sscanf(line.c_str(), "l%d requires l%d", &a, &b) == 2) {
        EXPECT_TRUE(rank->contains(a) && rank->contains(b)) << line;
        (*rank)[a].requires_ids.push_back(b);
      } else if (std::sscanf(line.c_str(), "l%d: send %lldb to %d tag %d", &a, &bytes, &to, &tag) == 4) {
        EXPECT_TRUE(rank->emplace(a, Operation{'s', bytes, to, tag, {}}).second) << line;
      } else if (std::sscanf(line.c_str(), "l%d: recv %lldb from %d tag %d", &a, &bytes, &to, &tag) == 4) {
        EXPECT_TRUE(rank->emplace(a, Operation{'r', bytes, to, tag, {}}).second) << line;
      } else if (std::sscanf(line.c_str(), "l%d: calc %lld", &a, &bytes) == 2) {
        EXPECT_TRUE(rank->emplace(a, Operation{'c', bytes, -1, -1, {}}).second) << line;
      } else {
        ADD_FAILURE() << "not understood: " << line;
      }
    }
    EXPECT_EQ(announced, ranks.size());
  }
  std::vector<Operations> ranks;
};

using Message = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int64_t>;  // from, to, stage, bytes

std::multiset<Message> messages_of(const Reader& goal, char what) {
  std::multiset<Message> all;
  for (std::size_t r = 0; r < goal.ranks.size(); ++r)
    for (const auto& [id, op] : goal.ranks[r]) {
      const auto me = static_cast<std::int32_t>(r);
      if (op.what != what) continue;
      all.insert(what == 's' ? Message{me, op.peer, op.tag, op.bytes}
                             : Message{op.peer, me, op.tag, op.bytes});
    }
  return all;
}

std::multiset<Message> signals_of(const Schedule& s, std::int64_t head, std::int64_t chunk) {
  std::multiset<Message> all;
  for (std::size_t stage = 0; stage < s.stages.size(); ++stage) {
    const auto& list = s.stages[stage].transfers;
    for (std::size_t k = 0; k < list.size();) {
      std::int64_t bytes = head;
      std::size_t end = k;
      for (; end < list.size() && list[end].from == list[k].from && list[end].to == list[k].to; ++end)
        bytes += list[end].chunk >= 0 ? chunk : 0;
      if (list[k].from != list[k].to)
        all.insert({list[k].from, list[k].to, static_cast<std::int32_t>(stage), bytes});
      k = end;
    }
  }
  return all;
}

// LogGP: a send and a receive keep a rank busy for o each, a message is on its way for l + (bytes - 1) g. A
// rank does what it can do first. Returns when the last operation ends; -1: some can never begin.
double price(const Reader& goal, double o, double l, double g) {
  const std::size_t n = goal.ranks.size();
  std::vector<double> busy(n, 0);
  std::vector<std::map<int, double>> done(n);
  std::map<std::tuple<std::size_t, std::int32_t, std::int32_t>, std::vector<double>> on_way;  // from, to, tag
  for (double latest = 0;;) {
    double best = -1;
    std::size_t who = 0;
    int which = 0;
    bool left = false;
    for (std::size_t r = 0; r < n; ++r)
      for (const auto& [id, op] : goal.ranks[r]) {
        if (done[r].contains(id)) continue;
        left = true;
        double start = busy[r];
        bool ready = true;
        for (const int before : op.requires_ids) {
          ready = ready && done[r].contains(before);
          if (ready) start = std::max(start, done[r][before]);
        }
        if (ready && op.what == 'r') {
          const auto& come =
              on_way[{static_cast<std::size_t>(op.peer), static_cast<std::int32_t>(r), op.tag}];
          ready = !come.empty();
          if (ready) start = std::max(start, come.front());
        }
        if (ready && (best < 0 || start < best)) best = start, who = r, which = id;
      }
    if (!left) return latest;
    if (best < 0) return -1;
    const Operation& op = goal.ranks[who].at(which);
    const double end = best + (op.what == 'c' ? static_cast<double>(op.bytes) : o);
    done[who][which] = busy[who] = end;
    latest = std::max(latest, end);
    if (op.what == 's')
      on_way[{who, op.peer, op.tag}].push_back(end + l + static_cast<double>(op.bytes - 1) * g);
    if (op.what == 'r') {
      auto& come = on_way[{static_cast<std::size_t>(op.peer), static_cast<std::int32_t>(who), op.tag}];
      come.erase(come.begin());
    }
  }
}

TEST(Goal, EveryAlgorithmsMessagesAreItsSignals) {
  int written = 0, with_words = 0;
  for (const Algorithm& a : algorithms())
    for (const int degree : degrees_of(a))
      for (int collective = 0; collective < kCollectiveCount; ++collective)
        for (const int p : {1, 2, 3, 5, 8, 12}) {
          const Request request{
              .collective = static_cast<Collective>(collective), .members = p, .root = 0, .degree = degree};
          if (!a.applicable(request)) continue;
          const Schedule s = a.build(request);
          const auto text = to_goal(s, 8, 100);
          ASSERT_EQ(text.ok(), s.words.empty());
          if (!text) {
            EXPECT_EQ(text.error().status, Status::kUnsupported);
            ++with_words;
            continue;
          }
          const Reader goal(*text);
          ASSERT_EQ(goal.ranks.size(), static_cast<std::size_t>(p));
          ASSERT_EQ(messages_of(goal, 's'), signals_of(s, 8, 100)) << *text;
          ASSERT_EQ(messages_of(goal, 'r'), messages_of(goal, 's')) << *text;
          for (const Operations& rank : goal.ranks) EXPECT_FALSE(rank.empty());
          ASSERT_GE(price(goal, 1, 10, 0), 0) << "waits for ever: " << *text;
          ++written;
        }
  EXPECT_GT(written, 500);
  EXPECT_GT(with_words, 10);
}

Reader written(const char* algorithm, int members, Collective collective = Collective::kBarrier) {
  return Reader(
      *to_goal(find_algorithm(algorithm)->build({.collective = collective, .members = members}), 8, 8));
}

TEST(Goal, PricesByHand) {
  // Two rounds of o + l + o.
  EXPECT_DOUBLE_EQ(price(written("dissemination", 4), 3, 10, 0), 2 * 16);
  // Rank 0 receives at 13..16 and 16..19, sends until 22 and 25; the last message comes at 35.
  EXPECT_DOUBLE_EQ(price(written("linear", 3), 3, 10, 0), 38);
  // The same with 7 more bytes at 1 on each message's way.
  EXPECT_DOUBLE_EQ(price(written("linear", 3), 3, 10, 1), 38 + 2 * 7);
  // 16 bytes with the payload: one message of o + l + 15 g + o.
  EXPECT_DOUBLE_EQ(price(written("linear", 2, Collective::kBroadcast), 3, 10, 1), 31);
}

TEST(Goal, TextIsAsDocumented) {
  EXPECT_EQ(*to_goal(find_algorithm("linear")->build({.members = 3}), 8, 8),
            "// linear, barrier\nnum_ranks 3\n"
            "\nrank 0 {\nl1: recv 8b from 1 tag 0\nl2: recv 8b from 2 tag 0\n"
            "l3: send 8b to 1 tag 1\nl3 requires l1\nl3 requires l2\n"
            "l4: send 8b to 2 tag 1\nl4 requires l3\n}\n"
            "\nrank 1 {\nl1: send 8b to 0 tag 0\nl2: recv 8b from 0 tag 1\nl2 requires l1\n}\n"
            "\nrank 2 {\nl1: send 8b to 0 tag 0\nl2: recv 8b from 0 tag 1\nl2 requires l1\n}\n");
}

TEST(Goal, ManyReceivesBeforeManyAreJoined) {
  Schedule s;
  s.members = 5;
  s.stages = {{{{.from = 1, .to = 0}, {.from = 2, .to = 0}}}, {{{.from = 3, .to = 0}, {.from = 4, .to = 0}}}};
  const Reader goal(*to_goal(s, 8, 0));
  EXPECT_EQ(goal.ranks[0].at(3).what, 'c');
  EXPECT_EQ(goal.ranks[0].at(3).requires_ids, (std::vector<int>{1, 2}));
  EXPECT_EQ(goal.ranks[0].at(4).requires_ids, std::vector<int>{3});
  EXPECT_EQ(goal.ranks[0].at(5).requires_ids, std::vector<int>{3});
}

}  // namespace
}  // namespace fermata
