// Least-significant-digit radix sort of 64-bit keys, 8 bits a pass. Each thread counts the digits of its
// block, finds from all counts the places of its keys, and moves them. Two barriers a pass. SIZE is the
// number of keys; each repetition sorts the same keys. (Knuth, The Art of Computer Programming 3, 5.2.5; by
// blocks: Zagha and Blelloch, 1991.)
#include <algorithm>
#include <array>

#include "team.hpp"

using namespace programs;

namespace {

using Key = std::uint64_t;
constexpr int kBits = 8, kPasses = 64 / kBits, kDigits = 1 << kBits;
static_assert(kPasses % 2 == 0, "the last pass moves into the array that the first one reads");

struct alignas(128) Counts {  // on lines of their own, since one thread writes them
  std::array<Index, kDigits> of;
};

struct Sort {
  std::vector<Key> keys, other;
  std::vector<Counts> counts;  // one for each thread
};

std::size_t digit(Key key, int pass) { return (key >> (pass * kBits)) % kDigits; }

void count(const std::vector<Key>& from, Range block, int pass, Counts& counts) {
  counts.of.fill(0);
  for (Index i = block.begin; i < block.end; ++i) ++counts.of[digit(from[static_cast<std::size_t>(i)], pass)];
}

// The place of this thread's first key of each digit: after all smaller digits, and after the same digit of
// lower ranks.
std::array<Index, kDigits> first_places(const Sort& sort, const Member& member) {
  std::array<Index, kDigits> place;
  Index smaller = 0;
  for (std::size_t d = 0; d < kDigits; ++d) {
    place[d] = smaller;
    for (int t = 0; t < member.threads(); ++t) {
      const Index n = sort.counts[static_cast<std::size_t>(t)].of[d];
      if (t < member.rank()) place[d] += n;
      smaller += n;
    }
  }
  return place;
}

void sort_keys(Sort& sort, const std::vector<Key>& input, Member& member) {
  const Range block = member.share(static_cast<Index>(input.size()));
  std::copy(input.begin() + block.begin, input.begin() + block.end, sort.keys.begin() + block.begin);
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<Key>& from = pass % 2 == 0 ? sort.keys : sort.other;
    std::vector<Key>& to = pass % 2 == 0 ? sort.other : sort.keys;
    count(from, block, pass, sort.counts[static_cast<std::size_t>(member.rank())]);
    member.barrier();
    auto place = first_places(sort, member);
    for (Index i = block.begin; i < block.end; ++i) {
      const Key key = from[static_cast<std::size_t>(i)];
      to[static_cast<std::size_t>(place[digit(key, pass)]++)] = key;
    }
    member.barrier();
  }
}

// The number of keys that are smaller than their predecessor, plus one if the sums of two hashes show that
// the keys are not the input's.
double wrong(const std::vector<Key>& input, const std::vector<Key>& sorted) {
  double out = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) out += sorted[i] < sorted[i - 1] ? 1 : 0;
  std::uint64_t difference[2] = {};
  for (std::size_t i = 0; i < input.size(); ++i) {
    std::uint64_t before = input[i], after = sorted[i];
    for (std::uint64_t& d : difference) d += random_bits(before) - random_bits(after);
  }
  return out + (difference[0] != 0 || difference[1] != 0 ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments a = arguments_of(argc, argv, "keys", 1, Index{1} << 28);
  std::vector<Key> input(static_cast<std::size_t>(a.size));
  std::uint64_t state = 1;
  for (Key& key : input) key = random_bits(state);
  Sort sort{std::vector<Key>(input.size()), std::vector<Key>(input.size()),
            std::vector<Counts>(static_cast<std::size_t>(a.threads))};
  const Timing timing = run_team(a.threads, [&](Member& member) {
    for (int r = 0; r < a.repetitions; ++r) sort_keys(sort, input, member);
  });
  return report(a, timing, checksum(sort.keys), "keys out of order", wrong(input, sort.keys), 0);
}
