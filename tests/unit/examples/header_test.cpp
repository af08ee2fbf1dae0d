// The C++ header in use: every collective for teams of 1 to 5 threads, repeatedly, with independently
// computed results.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fermata/fermata.hpp"

namespace {

constexpr int kRounds = 400 / FERMATA_TEST_SCALE;

// Runs body(member) as each rank on a thread of its own. Assertions in it must not be fatal; an exception is
// a failure.
void with_team(int members, const fermata::TeamOptions& options,
               const std::function<void(fermata::Member&)>& body) {
  fermata::Team team(members, options);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < members; ++rank)
    threads.emplace_back([&, rank] {
      try {
        fermata::Member member = team.join(rank);
        body(member);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
        team.abort();
      }
    });
}

class Header : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, Header, testing::Range(1, 6));

TEST_P(Header, BarrierOrdersPlainData) {
  const int n = GetParam();
  std::vector<int> plain(static_cast<std::size_t>(n),
                         -1);  // not atomic on purpose: only the barrier orders it
  with_team(n, {}, [&](fermata::Member& m) {
    for (int round = 0; round < kRounds; ++round) {
      plain[static_cast<std::size_t>(m.rank())] = round;
      m.barrier();
      for (const int seen : plain) EXPECT_EQ(seen, round);
      m.barrier();
    }
    EXPECT_EQ(m.size(), n);
  });
}

TEST_P(Header, AllreduceOfEveryTypeAndOperator) {
  const int n = GetParam();
  with_team(n, {}, [n](fermata::Member& m) {
    using fermata::Op;
    const int r = m.rank();
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(m.allreduce<std::int32_t>(r + round, Op::kSum), n * round + n * (n - 1) / 2);
      EXPECT_EQ(m.allreduce<std::int64_t>(-(r + round), Op::kMin), -(n - 1 + round));
      EXPECT_EQ(m.allreduce<std::uint32_t>(1u << r, Op::kOr), (1u << n) - 1);
      EXPECT_EQ(m.allreduce<std::uint64_t>(~(std::uint64_t{1} << r), Op::kAnd),
                ~((std::uint64_t{1} << n) - 1));
      EXPECT_EQ(m.allreduce<std::int32_t>(r, Op::kXor), n % 4 == 1   ? n - 1
                                                        : n % 4 == 2 ? 1
                                                        : n % 4 == 3 ? n
                                                                     : 0);
      EXPECT_EQ(m.allreduce<float>(2.0f, Op::kProd), static_cast<float>(1 << n));
      EXPECT_EQ(m.allreduce<double>(0.5 * r, Op::kMax), 0.5 * (n - 1));
      EXPECT_EQ(m.allreduce<std::int32_t>(r == 0 ? 0 : 7, Op::kLor), n > 1 ? 1 : 0);
      EXPECT_EQ(m.allreduce<double>(r == 0 ? 0.0 : 7.0, Op::kLand), 0.0);
    }
  });
}

TEST_P(Header, AllreduceOfNarrowAndPairedElements) {
  const int n = GetParam();
  with_team(n, {}, [n](fermata::Member& m) {
    using fermata::Op;
    const int r = m.rank();
    for (int round = 0; round < kRounds; ++round) {
      EXPECT_EQ(m.allreduce<std::uint8_t>(static_cast<std::uint8_t>(100 + r), Op::kSum),
                (100 * n + n * (n - 1) / 2) & 0xff);
      EXPECT_EQ(m.allreduce<std::int16_t>(static_cast<std::int16_t>(-300 * r), Op::kMin), -300 * (n - 1));
      EXPECT_EQ(m.allreduce(fermata::Half{0x3c00}, Op::kSum).bits,
                (std::array<int, 6>{0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500})[n]);
      EXPECT_EQ(m.allreduce(fermata::Bfloat16{0x4000}, Op::kProd).bits, 0x3f80 + 0x80 * n);
      std::array<std::int8_t, 56> bytes;
      for (std::size_t i = 0; i < 56; ++i) bytes[i] = static_cast<std::int8_t>(r * static_cast<int>(i % 7));
      m.allreduce(std::span<std::int8_t>(bytes), Op::kMax);
      for (std::size_t i = 0; i < 56; ++i) EXPECT_EQ(bytes[i], (n - 1) * static_cast<int>(i % 7));
      const fermata_int16_int least =
          m.allreduce(fermata_int16_int{static_cast<std::int16_t>(r / 2), -r}, Op::kMaxloc);
      EXPECT_EQ(least.value, (n - 1) / 2);
      EXPECT_EQ(least.index, 1 - n);
      std::array<fermata_double_int, 3> wide{{{1.5 * r, r}, {-1.5 * r, r}, {0.0, n - r}}};
      m.allreduce(std::span<fermata_double_int>(wide), Op::kMinloc);
      EXPECT_EQ(wide[0].index, 0);
      EXPECT_EQ(wide[1].value, -1.5 * (n - 1));
      EXPECT_EQ(wide[1].index, n - 1);
      EXPECT_EQ(wide[2].index, 1);
      const auto at_root = m.reduce(fermata_int64_int{-r, r}, Op::kMaxloc, n - 1);
      if (at_root) {
        EXPECT_EQ(at_root->index, 0);
      }
    }
  });
}

TEST_P(Header, AllreduceOfSevenDoublesInPlace) {
  const int n = GetParam();
  with_team(n, {}, [n](fermata::Member& m) {
    for (int round = 0; round < kRounds; ++round) {
      std::array<double, 7> values;
      for (std::size_t i = 0; i < 7; ++i) values[i] = m.rank() + 10.0 * static_cast<double>(i) + round;
      m.allreduce(std::span<double>(values), fermata::Op::kSum);
      for (std::size_t i = 0; i < 7; ++i)
        EXPECT_EQ(values[i], n * (n - 1) / 2 + n * (10.0 * static_cast<double>(i) + round));
    }
  });
}

// Sums whose result depends on the order: all members get the same bits, in every round.
TEST_P(Header, SumsAreBitwiseTheSameEverywhereAndAlways) {
  const int n = GetParam();
  std::vector<double> sums(static_cast<std::size_t>(n));
  with_team(n, {}, [&](fermata::Member& m) {
    double first = 0;
    for (int round = 0; round < kRounds; ++round) {
      const double mine = 1.0 / (3 + m.rank()) * (m.rank() % 2 == 0 ? 1e10 : -1e-7);
      const double sum = m.allreduce(mine, fermata::Op::kSum);
      if (round == 0) first = sum;
      EXPECT_EQ(sum, first);
      sums[static_cast<std::size_t>(m.rank())] = sum;
      m.barrier();
      EXPECT_EQ(sum, sums[0]);
      m.barrier();
    }
  });
}

TEST_P(Header, ReduceAndBroadcastWithEveryRoot) {
  const int n = GetParam();
  with_team(n, {}, [n](fermata::Member& m) {
    for (int round = 0; round < kRounds; ++round) {
      const int root = round % n;
      const auto sum = m.reduce<std::int64_t>(m.rank() + round, fermata::Op::kSum, root);
      EXPECT_EQ(sum.has_value(), m.rank() == root);
      EXPECT_EQ(sum.value_or(0),
                m.rank() == root ? static_cast<std::int64_t>(n) * round + n * (n - 1) / 2 : 0);
      struct Data {
        int round, root;
        char text[48];
      };
      Data data{m.rank() == root ? round : -1, m.rank() == root ? root : -1, {}};
      if (m.rank() == root) data.text[47] = 'x';
      m.broadcast(data, root);
      EXPECT_EQ(data.round, round);
      EXPECT_EQ(data.root, root);
      EXPECT_EQ(data.text[47], 'x');
    }
  });
}

TEST_P(Header, SplitByColourAndKey) {
  const int n = GetParam();
  with_team(n, {}, [n](fermata::Member& m) {
    for (int round = 0; round < 3; ++round) {
      const int colour = m.rank() % 2;
      auto part = m.split(colour, -m.rank());
      EXPECT_TRUE(part.has_value());
      if (!part) return;
      const int size = (n + 1 - colour) / 2;
      EXPECT_EQ(part->size(), size);
      EXPECT_EQ(part->rank(), size - 1 - m.rank() / 2);  // descending keys reverse the order
      for (int i = 0; i < 10; ++i) {
        int expected = 0;
        for (int r = colour; r < n; r += 2) expected += r;
        EXPECT_EQ(part->allreduce(m.rank(), fermata::Op::kSum), expected);
        part->barrier();
      }
      const auto none = m.split(m.rank() == 0 ? 3 : -1, 0);
      EXPECT_EQ(none.has_value(), m.rank() == 0);
      m.barrier();
    }
  });
}

TEST_P(Header, SplitPhaseAndTags) {
  const int n = GetParam();
  fermata::TeamOptions options;
  options.tagged = true;
  with_team(n, options, [n](fermata::Member& m) {
    for (std::uint32_t round = 0; round < static_cast<std::uint32_t>(kRounds); ++round) {
      m.arrive();
      EXPECT_THROW(m.barrier(), fermata::Error);  // BUSY: the outstanding barrier must end first
      m.depart();
      m.barrier(round);
      if (n == 1) continue;
      try {
        m.barrier(m.rank() == 0 ? round : round + 1);
        ADD_FAILURE() << "different tags must not agree";
      } catch (const fermata::Error& e) {
        EXPECT_EQ(e.status(), FERMATA_ERR_MISMATCH);
      }
    }
  });
}

TEST(HeaderErrors, AreExceptionsWithStatusAndSentence) {
  try {
    fermata::Team team(0);
    ADD_FAILURE() << "0 members must be refused";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), FERMATA_ERR_ARGUMENT);
    EXPECT_NE(std::string(e.what()).find("4096"), std::string::npos);
  }
  fermata::Team team(2);
  fermata::Member first = team.join(0);
  try {
    fermata::Member again = team.join(0);
    ADD_FAILURE() << "a rank must be joined once only";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), FERMATA_ERR_BUSY);
  }
  first.set_timeout(std::chrono::milliseconds(5));
  try {
    first.barrier();  // rank 1 never comes
    ADD_FAILURE() << "a barrier of one of two must time out";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), FERMATA_ERR_TIMEOUT);
  }
  EXPECT_NE(team.report().find("0"), std::string::npos);
  team.abort();
  try {
    first.resume();
    ADD_FAILURE() << "an aborted team must say so";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), FERMATA_ERR_BROKEN);
  }
}

TEST(HeaderPlans, MakeShowAndUse) {
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = 3;
  request.algorithm = "dissemination";
  const fermata::Plan plan = fermata::Plan::make(request);
  EXPECT_NE(plan.text().find("dissemination"), std::string::npos);
  fermata::TeamOptions options;
  options.plans = {plan.get()};
  std::atomic<int> done{0};
  with_team(3, options, [&](fermata::Member& m) {
    for (int round = 0; round < kRounds; ++round) m.barrier();
    done.fetch_add(1, std::memory_order_relaxed);
  });
  EXPECT_EQ(done.load(std::memory_order_relaxed), 3);
  EXPECT_GE(fermata::Topology::discover().cpus(), 1);
}

}  // namespace
