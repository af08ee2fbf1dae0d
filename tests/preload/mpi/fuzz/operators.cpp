#include "operators.hpp"

#include <pthread.h>

#include <atomic>
#include <cstring>

namespace fuzz {
namespace {

pthread_t thread_of_init;
std::atomic<long> unknown_types{0}, other_threads{0};

// Composes affine maps x -> a x + b: associative, and not commutative. The modulus distinguishes the
// functions.
std::uint32_t compose(std::uint32_t first, std::uint32_t second, std::uint32_t modulus) {
  const std::uint32_t a = (first >> 16) % modulus, b = (first & 0xFFFF) % modulus;
  const std::uint32_t c = (second >> 16) % modulus, d = (second & 0xFFFF) % modulus;
  return (a * c % modulus) << 16 | (c * b + d) % modulus;
}

template <int kModulus>
std::uint32_t combine(std::uint32_t low, std::uint32_t high, bool commutes) {
  return commutes ? low + high + kModulus * 3 : compose(low, high, kModulus);
}

template <int kModulus, bool kCommutes>
void apply(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (pthread_equal(pthread_self(), thread_of_init) == 0)
    other_threads.fetch_add(1, std::memory_order_relaxed);
  static const Base* const plain = &bases()[5];
  const TypePointer t = *type == plain->handle ? nullptr : known(*type);
  if (*type != plain->handle && t == nullptr) {
    unknown_types.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  static const std::vector<MPI_Aint> one{0};
  const std::vector<MPI_Aint>& offsets = t == nullptr ? one : t->offsets;
  const MPI_Aint extent = t == nullptr ? plain->extent : t->extent;
  for (int i = 0; i < *count; ++i)
    for (const MPI_Aint offset : offsets) {
      const char* const from = static_cast<const char*>(in) + i * extent + offset;
      char* const to = static_cast<char*>(inout) + i * extent + offset;
      std::uint32_t low, high;
      std::memcpy(&low, from, sizeof low);
      std::memcpy(&high, to, sizeof high);
      high = combine<kModulus>(low, high, kCommutes);
      std::memcpy(to, &high, sizeof high);
    }
}

struct Named {
  MPI_Op handle;
  const char* name;
  bool integers, floats, complex, bytes, logical, pairs;
};
const Named* predefined_operators(int* count) {
  static const Named all[] = {
      {MPI_SUM, "MPI_SUM", true, true, true, false, false, false},
      {MPI_PROD, "MPI_PROD", true, true, true, false, false, false},
      {MPI_MIN, "MPI_MIN", true, true, false, false, false, false},
      {MPI_MAX, "MPI_MAX", true, true, false, false, false, false},
      {MPI_LAND, "MPI_LAND", true, false, false, false, true, false},
      {MPI_LOR, "MPI_LOR", true, false, false, false, true, false},
      {MPI_LXOR, "MPI_LXOR", true, false, false, false, true, false},
      {MPI_BAND, "MPI_BAND", true, false, false, true, false, false},
      {MPI_BOR, "MPI_BOR", true, false, false, true, false, false},
      {MPI_BXOR, "MPI_BXOR", true, false, false, true, false, false},
      {MPI_MINLOC, "MPI_MINLOC", false, false, false, false, false, true},
      {MPI_MAXLOC, "MPI_MAXLOC", false, false, false, false, false, true},
  };
  *count = static_cast<int>(sizeof all / sizeof all[0]);
  return all;
}

bool fits(const Named& op, Family family) {
  switch (family) {
    case Family::kInteger: return op.integers;
    case Family::kFloating: return op.floats;
    case Family::kComplex: return op.complex;
    case Family::kByte: return op.bytes;
    case Family::kLogical: return op.logical;
    case Family::kPair: return op.pairs;
    default: return false;
  }
}

// Open MPI saturates sums of 8 and 16 bits in its vector code, and wraps them elsewhere. MPICH 4.0 compares
// unsigned numbers as signed ones.
bool differs_by_design(const Named& op, const Base& base) {
#ifdef MPICH
  if (base.name[0] == 'u' && (op.handle == MPI_MIN || op.handle == MPI_MAX)) return true;
#endif
  return base.family == Family::kInteger && base.number_size <= 2 &&
         (op.handle == MPI_SUM || op.handle == MPI_PROD);
}

}  // namespace

Operator own_operator(Random& random) {
  static MPI_User_function* const functions[2][4] = {
      {apply<65521, false>, apply<32749, false>, apply<251, false>, apply<4093, false>},
      {apply<1, true>, apply<2, true>, apply<3, true>, apply<4, true>},
  };
  const int commutes = random.below(2), which = random.below(4);
  Operator op;
  op.own = true;
  op.words =
      std::string(commutes != 0 ? "own commutative operator " : "own operator ") + std::to_string(which);
  MPI_Op_create(functions[commutes][which], commutes, &op.handle);
  return op;
}

Operator predefined_operator(const Base& base, bool legal, Random& random) {
  int count = 0;
  const Named* const all = predefined_operators(&count);
  Operator op;
  for (int tried = 0; tried < 200; ++tried) {
    const Named& named = all[random.below(count)];
    if (fits(named, base.family) != legal || (legal && differs_by_design(named, base))) continue;
    op.handle = named.handle;
    op.words = named.name;
    break;
  }
  return op;
}

Noticed noticed() {
  return {unknown_types.load(std::memory_order_relaxed), other_threads.load(std::memory_order_relaxed)};
}
void watch_operators() { thread_of_init = pthread_self(); }

}  // namespace fuzz
