// Every collective on blocks x type x size around each threshold x team x wait policy, in place or not,
// called, begun or prepared: compared with a serial reference.
#include <gtest/gtest.h>

#include <bit>
#include <iterator>

#include "../../third.hpp"
#include "fermata/collectives.hpp"
#include "instance.hpp"
#include "team.hpp"
#include "typed.hpp"

namespace fermata::test {
namespace {

// Bytes of a block: none, one element, the header's line, a signal's line, the first sizes sent as addresses,
// one slot, five slots.
constexpr std::size_t kSizes[] = {0, 1, 48, 56, 57, 2040, 2048, 2049, 16376, 16384, 16385, 5 * 16384 + 1};
constexpr int kRegular = FERMATA_EXSCAN;  // the last regular collective
constexpr int kIrregular[] = {FERMATA_GATHER, FERMATA_SCATTER, FERMATA_ALLGATHER, FERMATA_REDUCE_SCATTER,
                              FERMATA_ALLTOALL};
constexpr int kIrregulars = static_cast<int>(std::size(kIrregular));

std::vector<Shape> shapes(int members) {
  std::vector<Shape> all;
  for (const std::size_t bytes : kSizes) {
    for (const Element element : kElements) {
      for (int which = 0; which < kRegular + kIrregulars; ++which) {
        Shape s;
        s.irregular = which >= kRegular;
        s.collective = s.irregular ? kIrregular[which - kRegular] : which + 1;
        s.element = element;
        s.count = (bytes + size_of(element) - 1) / size_of(element);
        for (const bool in_place : {false, true}) {
          s.in_place = in_place;
          s.seed = all.size();
          s.root = static_cast<int>(all.size() / 3) % members;
          all.push_back(s);
        }
      }
    }
  }
  return all;
}

bool run_one(Seat& seat, const Shape& shape, std::uint64_t way) {
  Instance one(shape, seat.rank, seat.members);
  int status = FERMATA_OK;
  fermata_request* request = nullptr;
  switch (way % 6) {
    case 0: status = one.call(seat.member, true); break;
    case 1:
      status = fermata_begin(seat.member, &one.operation(), &request);
      while (status == FERMATA_OK && (status = fermata_request_test(request)) == FERMATA_PENDING) {
        std::this_thread::yield();
        status = FERMATA_OK;
      }
      break;
    case 2:
      status = fermata_begin(seat.member, &one.operation(), &request);
      while (status == FERMATA_OK && (status = fermata_progress(seat.member, 20)) == FERMATA_PENDING)
        status = FERMATA_OK;
      if (status == FERMATA_OK) status = fermata_request_test(request);
      break;
    case 3:
      status = fermata_begin(seat.member, &one.operation(), &request);
      if (status == FERMATA_OK) status = fermata_request_wait(request);
      break;
    default: status = one.call(seat.member, false); break;
  }
  if (!seat.holds(status, describe(shape)) || !seat.holds(one.check())) return false;
  if (!seat.holds(fermata_request_free(request), "free")) return false;
  seat.count_one();
  return true;
}

// Runs every `stride`-th shape, and another part of them each time.
long expect_all(const TeamCase& test, std::size_t stride, std::size_t most_bytes) {
  static std::size_t phase = 0;
  const std::size_t first = phase++ % stride;
  long ran = 0;
  const std::vector<Shape> all = shapes(test.members);
  const std::string problem = run_team(
      test,
      [&](Seat& seat) {
        for (std::size_t i = first; i < all.size(); i += stride) {
          if (all[i].count * size_of(all[i].element) > most_bytes) continue;
          if (!run_one(seat, all[i], i / stride + static_cast<std::size_t>(test.wait))) return;
        }
      },
      &ran);
  EXPECT_EQ(problem, "") << describe(test);
  return ran;
}

class Blocks : public ::testing::TestWithParam<int> {};

TEST_P(Blocks, EveryShape) {
  long ran = 0;
  for (int members = 1; members <= 9; ++members) {
    if (GetParam() == kMixed && members < 3) continue;  // the same as another engine
    const std::size_t stride = (members <= 3 ? 3 : 11) * FERMATA_TEST_SCALE;
    ran += expect_all({members, GetParam(), FERMATA_WAIT_AUTO}, stride, SIZE_MAX);
    if (HasFailure()) return;
  }
  EXPECT_GT(ran, 1000 / FERMATA_TEST_SCALE);
}

TEST_P(Blocks, EveryWaitPolicy) {
  for (const int wait : {FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK, FERMATA_WAIT_SPIN}) {
    for (const int members : {2, 3, 4, 5, 9}) {
      if (GetParam() == kMixed && members < 3) continue;
      // a spinner without a CPU of its own only wastes time slices
      if (wait == FERMATA_WAIT_SPIN && members > 2) continue;
      EXPECT_GT(expect_all({members, GetParam(), wait}, 23 * FERMATA_TEST_SCALE, 20000), 0);
      if (HasFailure()) return;
    }
  }
}

TEST_P(Blocks, SmallOnesOfLargeTeams) {
  for (const int members : {16, 17, 33}) {
    EXPECT_GT(expect_all({members, GetParam(), FERMATA_WAIT_AUTO}, 53 * FERMATA_TEST_SCALE, 2049), 0);
    if (HasFailure()) return;
  }
}

TEST_P(Blocks, AMebibyte) {
  for (const int members : {2, 3}) {
    if (GetParam() == kMixed && members < 3) continue;
    long ran = 0;
    const TeamCase test{members, GetParam(), FERMATA_WAIT_AUTO};
    const std::string problem = run_team(
        test,
        [&](Seat& seat) {
          for (int collective = FERMATA_BROADCAST; collective <= FERMATA_EXSCAN; ++collective) {
            Shape s;
            s.collective = collective;
            s.element = collective % 3 == 0 ? Element::kAffine : Element::kDouble;
            s.count = (std::size_t{1} << 20) / size_of(s.element) + 1;
            s.root = collective % seat.members;
            s.in_place = collective % 2 == 0;
            if (!run_one(seat, s, static_cast<std::uint64_t>(collective))) return;
          }
        },
        &ran);
    EXPECT_EQ(problem, "") << describe(test);
    EXPECT_EQ(ran, 10 * members);
  }
}

// Every size class has its own schedule; folded left to right, all give the bits of a serial sum.
TEST_P(Blocks, LeftToRightAtEverySize) {
  constexpr int kFolds[] = {FERMATA_REDUCE, FERMATA_ALLREDUCE, FERMATA_REDUCE_SCATTER, FERMATA_SCAN,
                            FERMATA_EXSCAN};
  for (const int members : {2, 3, 4, 7}) {
    if (GetParam() == kMixed && members < 3) continue;
    long ran = 0;
    int expected = 0;
    for (std::size_t bytes = 8; bytes <= std::size_t{1} << 20; bytes *= 2 * FERMATA_TEST_SCALE)
      expected += 5 * members;
    const std::string problem = run_team(
        {members, GetParam(), FERMATA_WAIT_AUTO},
        [&](Seat& seat) {
          for (std::size_t bytes = 8; bytes <= std::size_t{1} << 20; bytes *= 2 * FERMATA_TEST_SCALE) {
            for (const int collective : kFolds) {
              Shape s;
              s.collective = collective;
              s.element = Element::kRounded;
              s.count = bytes / size_of(s.element);
              s.root = members / 2;
              s.in_place = std::countr_zero(bytes) % 3 == 0;
              s.seed = bytes;
              if (!run_one(seat, s, static_cast<std::uint64_t>(std::countr_zero(bytes) + collective))) return;
            }
          }
        },
        &ran);
    EXPECT_EQ(problem, "") << members;
    EXPECT_EQ(ran, expected) << members;
  }
}

// Runs a prepared operation twice, with different contents.
bool run_prepared(Seat& seat, const Shape& shape) {
  Instance one(shape, seat.rank, seat.members);
  fermata_request* request = nullptr;
  if (!seat.holds(fermata_prepare(seat.member, &one.operation(), &request), describe(shape) + ": prepare"))
    return false;
  for (std::uint64_t use = 0; use < 2; ++use) {
    if (use != 0) one.fill(shape.seed + 1);
    if (!seat.holds(fermata_request_start(request), "start") ||
        !seat.holds(fermata_request_wait(request), describe(shape)))
      return false;
    if (!seat.holds(one.check())) return false;
    seat.count_one();
  }
  return seat.holds(fermata_request_free(request), "free");
}

// Prepared operations have their own slots, as large as a piece of the schedule. All members must compute the
// same size, although each moves other amounts.
TEST_P(Blocks, PreparedInEveryTeam) {
  for (const int members : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}) {
    if (GetParam() == kMixed && members < 3) continue;
    // each engine needs as long to choose the schedules
    if (members > 9 && GetParam() != FERMATA_THREADS) continue;
    long ran = 0, expected = 0;
    std::vector<Shape> all;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{57}, std::size_t{8000}, std::size_t{100'000}})
      for (int which = 0; which < kRegular + kIrregulars; ++which) {
        if ((members > 9 && bytes != 57) || (members > 4 && bytes > 8000)) continue;
        if (FERMATA_TEST_SCALE > 1 && (members > 9 || members % 3 != 0)) continue;
        Shape s;
        s.irregular = which >= kRegular;
        s.collective = s.irregular ? kIrregular[which - kRegular] : which + 1;
        s.element = kElements[static_cast<std::size_t>(which + members) % std::size(kElements)];
        s.count = (bytes + size_of(s.element) - 1) / size_of(s.element);
        s.in_place = all.size() % 2 == 0;
        s.seed = all.size();
        s.root = static_cast<int>(all.size()) % members;
        all.push_back(s);
        expected += 2 * members;
      }
    const std::string problem = run_team(
        {members, GetParam(), FERMATA_WAIT_AUTO},
        [&](Seat& seat) {
          for (const Shape& shape : all)
            if (!run_prepared(seat, shape)) return;
        },
        &ran);
    EXPECT_EQ(problem, "") << members;
    EXPECT_EQ(ran, expected);
    if (HasFailure()) return;
  }
}

constexpr int kTypes = FERMATA_INT16_INT + 1, kOps = FERMATA_MAXLOC + 1;

// Every type for each collective that moves, and every type and operator for each that folds. The sizes are
// carried in a word, on a line, through a ring buffer, and by address.
std::vector<Shape> typed_shapes(int members) {
  constexpr std::size_t kBytes[] = {16, 56, 57, 600, 4000, 33'000};
  std::vector<Shape> all;
  for (int type = 0; type < kTypes; ++type)
    for (int op = 0; op < kOps; ++op)
      for (int collective = FERMATA_BROADCAST; collective <= FERMATA_EXSCAN; ++collective) {
        const bool folds = rules_of(collective).folds();
        if (folds ? !typed_fold_is_defined(type, op) : op != type % kOps) continue;
        Shape s;
        s.element = Element::kTyped;
        s.collective = collective;
        s.type = type;
        s.op = op;
        for (const std::size_t count : {std::size_t{1}, kBytes[all.size() / 2 % 6] / size_of(s)}) {
          s.count = count;
          s.seed = all.size();
          s.root = static_cast<int>(all.size()) % members;
          s.in_place = all.size() % 3 == 0;
          all.push_back(s);
        }
      }
  return all;
}

TEST_P(Blocks, EveryTypeAndOperator) {
  for (const int members : {2, 3, 4}) {
    if (GetParam() == kMixed && members < 3) continue;
    long ran = 0;
    const std::vector<Shape> all = typed_shapes(members);
    const std::string problem = run_team(
        {members, GetParam(), FERMATA_WAIT_AUTO},
        [&](Seat& seat) {
          for (std::size_t i = 0; i < all.size(); i += FERMATA_TEST_SCALE)
            // mostly by its own function: only that one uses signal lines
            if (!run_one(seat, all[i], i % 7 == 0 ? i : 5)) return;
        },
        &ran);
    EXPECT_EQ(problem, "") << members;
    EXPECT_GE(ran * FERMATA_TEST_SCALE, static_cast<long>(all.size()) * members);
    if (HasFailure()) return;
  }
}

// Sizes on both sides of each threshold at which another method starts.
TEST_P(Blocks, AroundEveryThreshold) {
  for (const int members : {2, 3}) {
    if (GetParam() == kMixed && members < 3) continue;
    const auto p = static_cast<std::size_t>(members);
    // In order: all blocks fit in a word or on a line; one block does; by address; one piece, or single copy;
    // a quarter of a ring buffer, a whole one; the most that single copy reads at a time.
    const std::size_t thresholds[] = {8 / p, 56 / p, 56 / p / p, 8,     48,     56,
                                      2048,  16384,  32768,      65536, 262144, 1 << 20};
    long ran = 0, expected = 0;
    std::vector<Shape> all;
    std::size_t nth = 0;
    for (const std::size_t threshold : thresholds)
      for (const std::size_t bytes : {threshold - 1, threshold, threshold + 1})
        for (int collective = FERMATA_BROADCAST; collective <= FERMATA_EXSCAN; ++collective) {
          if (bytes > 100'000 && (collective + static_cast<int>(bytes)) % 3 != 0) continue;
          if (!runs_here(nth++)) continue;
          Shape s;
          s.element = Element::kTyped;
          s.collective = collective;
          s.type = threshold < 4096 ? FERMATA_UINT8 : FERMATA_UINT64;
          s.count = threshold < 4096 ? bytes : threshold / 8 - threshold + bytes;
          s.seed = all.size();
          s.root = static_cast<int>(all.size()) % members;
          s.in_place = all.size() % 4 == 0;
          all.push_back(s);
          expected += members;
        }
    const std::string problem = run_team(
        {members, GetParam(), FERMATA_WAIT_AUTO},
        [&](Seat& seat) {
          for (std::size_t i = 0; i < all.size(); ++i)
            if (!run_one(seat, all[i], i % 3 == 0 ? 3 : 5)) return;
        },
        &ran);
    EXPECT_EQ(problem, "") << members;
    EXPECT_EQ(ran, expected);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Blocks, ::testing::ValuesIn(engines()),
                         [](const auto& param) { return std::string(name_of_engine(param.param)); });

}  // namespace
}  // namespace fermata::test
