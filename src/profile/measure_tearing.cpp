// Does a reader always see a SIMD store whole? As in section IV.B and Table I of reduction-with-barrier, a
// writer stores vectors whose 8-byte parts are all the same number. A reader loads with the same width and
// compares the parts. A torn read proves that the store or the load is not atomic. The absence of torn reads
// proves nothing.
#include "os/os.hpp"
#include "profile/measure.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fermata {

namespace {

struct Shared {
  probe::Control control;
  // One machine instruction writes the vector and one reads it. The C++ memory model does not cover them.
  alignas(kMaxLine) std::uint64_t vector[8];
  probe::Flag reader_done;
  std::int64_t reads = 0, torn = 0;
};

#if defined(__x86_64__)

// Each access is one instruction of that width, in assembly, so that no compiler splits or merges it.
struct Sse {
  static constexpr int kWords = 2;
  static bool here() { return __builtin_cpu_supports("sse2") != 0; }
  static void store(std::uint64_t* to, std::uint64_t v) {
    const __m128i x = _mm_set1_epi64x(static_cast<long long>(v));
    __asm__ __volatile__("movdqa %1, %0" : "=m"(*reinterpret_cast<__m128i*>(to)) : "x"(x) : "memory");
  }
  static void load(const std::uint64_t* from, std::uint64_t* out) {
    __m128i x;
    __asm__ __volatile__("movdqa %1, %0" : "=x"(x) : "m"(*reinterpret_cast<const __m128i*>(from)) : "memory");
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), x);
  }
};

struct Avx {
  static constexpr int kWords = 4;
  static bool here() { return __builtin_cpu_supports("avx") != 0; }
  __attribute__((target("avx"))) static void store(std::uint64_t* to, std::uint64_t v) {
    const __m256i x = _mm256_set1_epi64x(static_cast<long long>(v));
    __asm__ __volatile__("vmovdqa %1, %0" : "=m"(*reinterpret_cast<__m256i*>(to)) : "x"(x) : "memory");
  }
  __attribute__((target("avx"))) static void load(const std::uint64_t* from, std::uint64_t* out) {
    const auto* const at = reinterpret_cast<const __m256i*>(from);
    __m256i x;
    __asm__ __volatile__("vmovdqa %1, %0" : "=x"(x) : "m"(*at) : "memory");
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), x);
  }
};

struct Avx512 {
  static constexpr int kWords = 8;
  static bool here() { return __builtin_cpu_supports("avx512f") != 0; }
  __attribute__((target("avx512f"))) static void store(std::uint64_t* to, std::uint64_t v) {
    const __m512i x = _mm512_set1_epi64(static_cast<long long>(v));
    __asm__ __volatile__("vmovdqa64 %1, %0" : "=m"(*reinterpret_cast<__m512i*>(to)) : "v"(x) : "memory");
  }
  __attribute__((target("avx512f"))) static void load(const std::uint64_t* from, std::uint64_t* out) {
    const auto* const at = reinterpret_cast<const __m512i*>(from);
    __m512i x;
    __asm__ __volatile__("vmovdqa64 %1, %0" : "=v"(x) : "m"(*at) : "memory");
    _mm512_storeu_si512(out, x);
  }
};

constexpr int kBatch = 4096;  // accesses between two checks of the clock

template <class Simd>
void write_until_done(Shared& s) {
  std::uint64_t v = 0;
  // order: none needed; ends a loop
  while (s.reader_done.value.load(std::memory_order_relaxed) == 0) {
    for (int i = 0; i < kBatch; ++i) Simd::store(s.vector, ++v);
    if (s.control.expired()) return;
  }
}

template <class Simd>
void read_for(Shared& s, double seconds) {
  const std::int64_t end = os::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  std::uint64_t seen = 0;
  // If other processes use the CPUs, the writer may not have run at all when the time ends.
  while ((os::now_ns() < end || s.reads == 0) && !s.control.expired()) {
    for (int i = 0; i < kBatch; ++i) {
      std::uint64_t parts[8];
      Simd::load(s.vector, parts);
      bool fresh = false, torn = false;
      for (int w = 0; w < Simd::kWords; ++w) {
        fresh = fresh || parts[w] != seen;
        torn = torn || parts[w] != parts[0];
      }
      if (!fresh) continue;
      seen = parts[0];
      ++s.reads;
      s.torn += torn;
    }
  }
  s.reader_done.value.store(1, std::memory_order_relaxed);  // order: none needed; ends a loop
}

template <class Simd>
std::optional<Tearing> tear(std::int32_t writer, std::int32_t reader, bool processes, double seconds) {
  probe::SharedMemory memory(sizeof(Shared));
  if (!Simd::here() || !memory) return std::nullopt;
  Shared& s = *memory.at<Shared>(0);
  const bool whole = probe::run_members({{writer, reader}, processes, seconds}, s.control, [&](int member) {
    if (member == 0) write_until_done<Simd>(s);
    else read_for<Simd>(s, seconds);
  });
  if (!whole) return std::nullopt;
  Tearing out;
  out.bytes = Simd::kWords * 8;
  out.reads = s.reads;
  out.torn = s.torn;
  return out;
}

#endif

}  // namespace

std::optional<Tearing> measure_tearing(std::int32_t writer, std::int32_t reader, std::int32_t bytes,
                                       bool processes, double seconds) {
#if defined(__x86_64__)
  if (bytes == 16) return tear<Sse>(writer, reader, processes, seconds);
  if (bytes == 32) return tear<Avx>(writer, reader, processes, seconds);
  if (bytes == 64) return tear<Avx512>(writer, reader, processes, seconds);
#else
  static_cast<void>(writer), static_cast<void>(reader), static_cast<void>(bytes);
  static_cast<void>(processes), static_cast<void>(seconds);
#endif
  return std::nullopt;
}

}  // namespace fermata
