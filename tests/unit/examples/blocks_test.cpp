// The C++ headers' collectives on blocks: every collective, typed and with its sizes checked, with
// user-defined operators and elements.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "workers.hpp"

namespace {

using fermata::in_place;
using fermata::Member;
using fermata::Op;

class Blocks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Members, Blocks, testing::Values(1, 2, 3, 5));

constexpr std::size_t kCount = 700;

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> v(count);
  std::iota(v.begin(), v.end(), first);
  return v;
}

TEST_P(Blocks, MoveData) {
  with_team(GetParam(), [](Member& m) {
    const auto p = static_cast<std::size_t>(m.size());
    const auto rank = static_cast<std::size_t>(m.rank());
    const int root = m.size() - 1;
    const bool is_root = m.rank() == root;
    const std::vector<int> all = numbers(p * kCount, 7);
    const std::vector<int> mine(all.begin() + static_cast<std::ptrdiff_t>(rank * kCount),
                                all.begin() + static_cast<std::ptrdiff_t>((rank + 1) * kCount));
    std::vector<int> data = is_root ? all : std::vector<int>(p * kCount);
    m.broadcast(data, root);
    EXPECT_EQ(data, all);
    data.assign(is_root ? p * kCount : 0, 0);
    m.gather(mine, data, root);
    if (is_root) {
      EXPECT_EQ(data, all);
    }
    std::vector<int> block(kCount);
    m.scatter(data, block, root);
    EXPECT_EQ(block, mine);
    if (is_root) m.scatter(data, in_place, root);
    else m.scatter(std::span<const int>(), block, root);
    data.assign(p * kCount, 0);
    m.allgather(mine, data);
    EXPECT_EQ(data, all);
    std::vector<int> turned(p * kCount);
    m.alltoall(all, turned);
    for (std::size_t r = 0; r < p; ++r) EXPECT_EQ(turned[r * kCount], mine[0]);
    m.alltoall(in_place, data);
    EXPECT_EQ(data, turned);
  });
}

TEST_P(Blocks, Fold) {
  with_team(GetParam(), [](Member& m) {
    const int p = m.size();
    const int sum = p * (p - 1) / 2;
    const std::vector<int> in(kCount, m.rank());
    std::vector<int> out(kCount);
    m.allreduce(in, out, Op::kSum);
    EXPECT_EQ(out, std::vector<int>(kCount, sum));
    m.reduce(in, out, Op::kMax, 0);
    if (m.rank() == 0) {
      EXPECT_EQ(out, std::vector<int>(kCount, p - 1));
    }
    m.scan(in, out, Op::kSum);
    EXPECT_EQ(out[kCount - 1], m.rank() * (m.rank() + 1) / 2);
    m.exscan(in, out, Op::kSum);
    if (m.rank() > 0) {
      EXPECT_EQ(out[0], m.rank() * (m.rank() - 1) / 2);
    }
    std::vector<int> many(static_cast<std::size_t>(p) * kCount, 1 + m.rank());
    m.reduce_scatter(many, out, Op::kSum);
    EXPECT_EQ(out, std::vector<int>(kCount, sum + p));
    m.reduce_scatter(in_place, many, Op::kSum);
    EXPECT_EQ(many[0], sum + p);
    out.assign(kCount, m.rank());
    m.allreduce(in_place, out, Op::kSum);
    EXPECT_EQ(out, std::vector<int>(kCount, sum));
  });
}

// x -> a x + b: associative, and not commutative.
struct Affine {
  unsigned a, b;
  bool operator==(const Affine&) const = default;
};

TEST_P(Blocks, OperatorsAndElementsOfOnesOwn) {
  with_team(GetParam(), [](Member& m) {
    const auto after = [](Affine left, Affine right) {
      return Affine{left.a * right.a, left.b * right.a + right.b};
    };
    const auto of = [](int rank) {
      return Affine{static_cast<unsigned>(rank) + 2, static_cast<unsigned>(rank) * 5 + 1};
    };
    Affine expected = of(0);
    for (int r = 1; r < m.size(); ++r) expected = after(expected, of(r));
    const std::vector<Affine> in(kCount, of(m.rank()));
    std::vector<Affine> out(kCount);
    m.allreduce(in, out, fermata::ordered_fold(after));
    EXPECT_EQ(out, std::vector<Affine>(kCount, expected));
    std::vector<int> bits{1 << m.rank()};
    m.allreduce(in_place, bits, fermata::fold(std::bit_or<int>()));
    EXPECT_EQ(bits[0], (1 << m.size()) - 1);
    std::array<bool, 2> flags{m.rank() == 0, m.rank() != 0};
    m.broadcast(flags, 0);
    EXPECT_TRUE(flags[0] && !flags[1]);
  });
}

TEST_P(Blocks, OfDifferentSizes) {
  with_team(GetParam(), [](Member& m) {
    const auto p = static_cast<std::size_t>(m.size());
    const auto rank = static_cast<std::size_t>(m.rank());
    std::vector<std::size_t> counts(p), places(p);
    for (std::size_t r = 0; r < p; ++r) counts[r] = 100 * r + 3;
    std::size_t total = 0;
    for (std::size_t r = p; r-- > 0; total += counts[r]) places[r] = total;  // in reverse order
    const std::vector<int> mine(counts[rank], m.rank());
    std::vector<int> all(total, -1);
    const auto right = [&] {
      for (std::size_t r = 0; r < p; ++r)
        for (std::size_t i = 0; i < counts[r]; ++i)
          if (all[places[r] + i] != static_cast<int>(r)) return false;
      return true;
    };
    m.execute(fermata::allgatherv(mine, all, counts, places));
    EXPECT_TRUE(right());
    all.assign(total, -1);
    m.execute(fermata::gatherv(mine, all, counts, 0, places));
    if (rank == 0) {
      EXPECT_TRUE(right());
    }
    if (rank == 0) m.execute(fermata::gatherv(in_place, all, counts, 0, places));
    else m.execute(fermata::gatherv(mine, std::vector<int>(), {}, 0));
    if (rank == 0) {
      EXPECT_TRUE(right());
    }
    std::vector<int> block(counts[rank], -1);
    m.execute(fermata::scatterv(all, counts, block, 0, places));
    EXPECT_EQ(block, mine);
    std::vector<int> folded(counts[rank], -1), whole(total, 1);
    m.execute(fermata::reduce_scatterv(whole, counts, folded, Op::kSum, places));
    EXPECT_EQ(folded, std::vector<int>(counts[rank], m.size()));
    m.execute(fermata::reduce_scatterv(in_place, counts, whole, Op::kSum));
    whole.resize(counts[rank]);
    EXPECT_EQ(whole, folded);
    // Member i sends counts[j] elements to j.
    std::vector<int> got(p * counts[rank], -1);
    const std::vector<std::size_t> alike(p, counts[rank]);
    m.execute(fermata::alltoallv(std::vector<int>(total, m.rank()), counts, got, alike, places));
    for (std::size_t r = 0; r < p; ++r) EXPECT_EQ(got[r * counts[rank]], static_cast<int>(r));
  });
}

TEST(Blocks, SizesThatDoNotFitAreRefused) {
  with_team(2, [](Member& m) {
    std::vector<double> one(4), two(8), odd(7);
    EXPECT_THROW(m.allreduce(one, two, Op::kSum), std::invalid_argument);
    EXPECT_THROW(m.allgather(one, odd), std::invalid_argument);
    EXPECT_THROW(m.alltoall(two, odd), std::invalid_argument);
    EXPECT_THROW(m.alltoall(in_place, odd), std::invalid_argument);
    EXPECT_THROW(m.reduce_scatter(one, one, Op::kSum), std::invalid_argument);
    EXPECT_THROW(m.execute(fermata::allgatherv(one, two, std::array<std::size_t, 1>{4})),
                 std::invalid_argument);
    EXPECT_THROW(m.execute(fermata::allgatherv(one, two, std::array<std::size_t, 2>{4, 5})),
                 std::invalid_argument);
    EXPECT_THROW(m.execute(fermata::allgatherv(one, two, std::array<std::size_t, 2>{5, 3})),
                 std::invalid_argument);
    const std::array<std::size_t, 2> wrong{3, 5};
    EXPECT_THROW(m.execute(fermata::reduce_scatterv(two, wrong, one, Op::kSum)), std::invalid_argument);
    EXPECT_THROW(m.execute(fermata::reduce_scatterv(one, wrong, one, Op::kSum)), std::invalid_argument);
    if (m.rank() == 0) {
      EXPECT_THROW(m.gather(one, odd, 0), std::invalid_argument);
    }
    if (m.rank() != 0) {
      EXPECT_THROW(m.gather(in_place, two, 0), std::invalid_argument);
    }
    if (m.rank() != 0) {
      EXPECT_THROW(m.scatter(two, in_place, 0), std::invalid_argument);
    }
    m.barrier();
    m.allgather(one, two);
  });
}

}  // namespace
