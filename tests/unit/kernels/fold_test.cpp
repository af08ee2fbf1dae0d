// Folds of arrays have the bits of an element-wise loop, on every instruction set that this machine can run.
#include "kernels/fold.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/element.hpp"
#ifdef FERMATA_HAVE_HIGHWAY
#include <hwy/highway.h>
#endif

namespace fermata::kernels {
namespace {

constexpr std::size_t kMaxCount = 130;
constexpr std::size_t kMaxInputs = 4;
using Bytes = std::vector<unsigned char>;

template <class T>
T load(const Bytes& from, std::size_t at, std::size_t i) {
  T value;
  std::memcpy(&value, from.data() + at + i * sizeof(T), sizeof(T));
  return value;
}

// Random bits, mixed with values that are special in some type: zeros, ones, infinities, NaNs, and equal
// values with equal and different indices.
Bytes contents(std::mt19937_64& random, std::size_t bytes) {
  Bytes out(bytes);
  for (auto& b : out) b = static_cast<unsigned char>(random());
  constexpr std::uint64_t kSpecial[] = {0,
                                        0x8000000000000000u,
                                        0x7ff0000000000000u,
                                        0xfff8000000000001u,
                                        0x7ff8000000000aa5u,
                                        0x7ff0000000000001u,
                                        0x7f8000007fc00000u,
                                        0x7fc0000aff800001u,
                                        0xfff0000000000000u,
                                        0x8000000080000000u,
                                        0x7c007e00fc008000u,
                                        0x00017f80ff800001u,
                                        ~0ull,
                                        1,
                                        0x0000000100000001u};
  for (std::size_t i = 0; i + 8 <= bytes; i += 8)
    if (random() % 2 == 0) std::memcpy(out.data() + i, &kSpecial[random() % std::size(kSpecial)], 8);
  return out;
}

template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// shift: bytes between an aligned address and an array's begin, different for each array. in_place: the input
// that is also the output, if any.
template <Op O, Type Y>
void check_one(const std::vector<Bytes>& sources, std::size_t k, std::size_t count, std::size_t shift,
               std::size_t in_place) {
  using T = Element<Y>;
  std::vector<Bytes> inputs;
  const void* pointers[kMaxInputs];
  for (std::size_t j = 0; j < k; ++j) {
    inputs.emplace_back(32 + (count + 1) * sizeof(T));
    std::memcpy(inputs[j].data() + shift * j, sources[j].data(), count * sizeof(T));
    pointers[j] = inputs[j].data() + shift * j;
  }
  Bytes fresh(32 + (count + 1) * sizeof(T), 0xa5);
  Bytes& out = in_place < k ? inputs[in_place] : fresh;
  const std::size_t at = in_place < k ? shift * in_place : shift;
  const Bytes before = out;
  if (k == 2) fold_block(O, Y, out.data() + at, pointers[0], pointers[1], count);
  else fold_many(O, Y, out.data() + at, pointers, k, count);
  for (std::size_t i = 0; i < count; ++i) {
    T expected = load<T>(sources[0], 0, i);
    for (std::size_t j = 1; j < k; ++j) expected = apply<O, T>(expected, load<T>(sources[j], 0, i));
    ASSERT_TRUE(same(load<T>(out, at, i), expected))
        << name_of(O) << " " << name_of(Y) << ", element " << i << " of " << count << ", " << k << " inputs";
  }
  const std::size_t end = at + count * sizeof(T);
  EXPECT_EQ(std::memcmp(out.data() + end, before.data() + end, out.size() - end), 0)
      << "written behind the end";
  EXPECT_EQ(std::memcmp(out.data(), before.data(), at), 0) << "written before the beginning";
}

template <Op O, Type Y>
void check(std::mt19937_64& random) {
  if constexpr (is_defined(O, Y)) {
    std::vector<Bytes> sources;
    for (std::size_t j = 0; j < kMaxInputs; ++j) sources.push_back(contents(random, kMaxCount * size_of(Y)));
    for (std::size_t count = 0; count <= kMaxCount; count += FERMATA_TEST_SCALE) {
      check_one<O, Y>(sources, 2, count, 0, kMaxInputs);
      check_one<O, Y>(sources, 2, count, 1 + count % 7, count % 2);
      check_one<O, Y>(sources, count % kMaxInputs + 1, count, 3, count % 5);
    }
  }
}

template <std::size_t... I>
void check_all(std::index_sequence<I...>) {
  std::mt19937_64 random(7);
  (check<static_cast<Op>(I / kTypeCount), static_cast<Type>(I % kTypeCount)>(random), ...);
}

#ifdef FERMATA_HAVE_HIGHWAY
TEST(Kernels, FoldAsALoopDoesOnEveryInstructionSet) {
  int sets = 0;
  const std::int64_t supported = hwy::SupportedTargets();
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(left & -left));
    check_all(std::make_index_sequence<kOpCount * kTypeCount>());
    ++sets;
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_GE(sets, 1);
}
#else
TEST(Kernels, FoldAsALoopDoes) { check_all(std::make_index_sequence<kOpCount * kTypeCount>()); }
#endif

}  // namespace
}  // namespace fermata::kernels
