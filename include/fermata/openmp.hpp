// Barriers and small reductions inside OpenMP's parallel regions, without set-up:
//
//   #pragma omp parallel
//   {
//     const double norm = fermata::omp::allreduce(part, std::plus<>());   // everybody has the sum
//     fermata::omp::barrier();
//   }
//
// Each call binds to the innermost parallel region and is made by all threads of its team, in the same order, as OpenMP demands of
// barriers; not within work-sharing constructs, tasks, critical, ordered or master.
//
// Which region a thread is in, only a hook in the OpenMP run-time can say: neither the thread's number, nor the team's size, nor the
// nesting level tells two regions apart, and a team remembered from an earlier region may be another one's by now (workers change
// teams). So there are two ways, and all threads of a region take the same one:
//  - where libfermata-openmp is in the process (linked: -lfermata-openmp before the OpenMP run-time library, or preloaded) and plans
//    this region's barriers, its team is used;
//  - else the same is built from `omp barrier` and `omp single copyprivate`: right everywhere (nested regions, several initial
//    threads, tasks, offloading, other run-time libraries), and as fast as these are.
// A region's way is decided once, by whoever of its threads comes first, and stored in the region. Both fold
// in rank order, from the left: the result is the same, bit for bit, at every thread and on both ways.
#ifndef FERMATA_OPENMP_HPP
#define FERMATA_OPENMP_HPP

#ifndef _OPENMP
#error "fermata/openmp.hpp needs OpenMP: compile with -fopenmp"
#endif

#include <omp.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>

#include "fermata/fermata.h"

// 1: done; 0: this region has no planned barriers, and nothing has been done. libomp: the caller is compiled for libomp's own entry
// points. Weak: null where libfermata-openmp is not in the process.
extern "C" {
__attribute__((weak, visibility("default"))) int fermata_openmp_barrier(int libomp);
__attribute__((weak, visibility("default"))) int fermata_openmp_allreduce(int libomp, void* data, std::size_t bytes, fermata_fold fold,
                                                                          void* context);
}

namespace fermata::omp {
namespace detail {

#ifdef __clang__
inline constexpr int kLibomp = 1;
#else
inline constexpr int kLibomp = 0;
#endif

template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t N>
inline constexpr bool is_array<std::array<T, N>> = true;

// left op right; element by element where the operator is for the array's elements.
template <class T, class Op>
T apply(Op& op, const T& left, const T& right) {
  if constexpr (std::is_invocable_r_v<T, Op&, const T&, const T&>) {
    return op(left, right);
  } else {
    static_assert(is_array<T>, "op must take two values and return one, of the reduced type or of its array's elements");
    T out;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = op(left[i], right[i]);
    return out;
  }
}

template <class T, class Op>
void fold(void* acc, const void* other, void* context) {
  T left;
  T right;
  std::memcpy(&left, acc, sizeof left);
  std::memcpy(&right, other, sizeof right);
  left = apply(*static_cast<Op*>(context), left, right);
  std::memcpy(acc, &left, sizeof left);
}

// The run-time's own: one thread makes room for all, everybody writes, meets, and folds for itself; nobody frees what another still
// reads.
template <class T, class Op>
T fold_by_hand(const T& value, Op& op) {
  const int members = omp_get_num_threads();
  if (members == 1) return value;
  T* values = nullptr;
#pragma omp single copyprivate(values)
  values = std::allocator<T>().allocate(static_cast<std::size_t>(members));
  ::new (static_cast<void*>(values + omp_get_thread_num())) T(value);
#pragma omp barrier
  T result = values[0];
  for (int rank = 1; rank < members; ++rank) result = apply(op, result, values[rank]);
#pragma omp barrier
#pragma omp single nowait
  std::allocator<T>().deallocate(values, static_cast<std::size_t>(members));
  return result;
}

}  // namespace detail

// As `#pragma omp barrier`. Waiting threads run no tasks on the first way; regions with tasks take the second.
inline void barrier() {
  if (fermata_openmp_barrier != nullptr && fermata_openmp_barrier(detail::kLibomp) != 0) return;
#pragma omp barrier
}

// Every thread gets value(0) op value(1) op ... op value(last), in rank order. T: trivially copyable, 1 to 56 bytes: a scalar, a
// struct, a std::array (op then takes arrays, or elements). op is called concurrently by several threads, each with its own copy; it
// must be the same everywhere, and must not throw. It need neither commute nor associate. What a thread wrote before is seen by all
// behind.
template <class T, class Op = std::plus<>>
T allreduce(const T& value, Op op = {}) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>, "only plain data rides on a line");
  static_assert(sizeof(T) <= FERMATA_MAX_PAYLOAD, "at most 56 bytes");
  if (fermata_openmp_allreduce != nullptr) {
    T result = value;
    if (fermata_openmp_allreduce(detail::kLibomp, &result, sizeof result, detail::fold<T, Op>, &op) != 0) return result;
  }
  return detail::fold_by_hand(value, op);
}

}  // namespace fermata::omp
#endif
