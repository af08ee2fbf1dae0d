// Barriers and small allreduces inside OpenMP's parallel regions, without set-up:
//
//   #pragma omp parallel
//   {
//     const double norm = fermata::omp::allreduce(part, std::plus<>());   // every thread gets the sum
//     fermata::omp::barrier();
//   }
//
// Each call binds to the innermost parallel region. All threads of its team make the call, in the same order,
// as OpenMP demands of barriers. Do not call these functions within work-sharing constructs, tasks, critical,
// ordered or master.
//
// There are two ways to do a call. All threads of a region take the same way in a call: one of them decides
// for the whole region, at its first barrier or allreduce at the latest. If the region makes a task later,
// one more call may take the first way, and all calls after it take the second way. Both ways fold in rank
// order, from the left. So the result is the same, bit for bit, at every thread and on both ways.
// - First way: libfermata-openmp is in the process and plans this region's barriers. The call uses the team
//   that the library has for the region. The library is preloaded, or linked by -lfermata-openmp before the
//   OpenMP run-time.
// - Second way: the call consists of `omp barrier` and `omp single copyprivate`, and costs what these cost.
//   It works everywhere: nested regions, several initial threads, tasks, offloading, other OpenMP run-times.
//
// Only a hook in the OpenMP run-time can say in which region a thread is. The thread's number, the team's
// size and the nesting level do not tell two regions apart. A team remembered from an earlier region may
// belong to another region, since worker threads change teams.
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

// These two do a call and return 1. They return 0 if the call must be done, or done again, on the second way.
// libomp is 1 if the caller is compiled for libomp's own entry points. The symbols are weak: null if
// libfermata-openmp is not in the process.
extern "C" {
__attribute__((weak, visibility("default"))) int fermata_openmp_barrier(int libomp);
__attribute__((weak, visibility("default"))) int fermata_openmp_allreduce(int libomp, void* data,
                                                                          std::size_t bytes,
                                                                          fermata_fold fold, void* context);
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

// Returns left op right. An operator for the array's elements is applied element by element.
template <class T, class Op>
T apply(Op& op, const T& left, const T& right) {
  if constexpr (std::is_invocable_r_v<T, Op&, const T&, const T&>) {
    return op(left, right);
  } else {
    static_assert(is_array<T>,
                  "op must take two values and return one, of the reduced type or of its array's elements");
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

// The second way: one thread allocates memory for all. Each thread writes its value, waits at a barrier, and
// folds for itself. A second barrier keeps the memory until all threads have read it.
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

// As `#pragma omp barrier`: after it, the tasks that the region's threads made before it are done.
inline void barrier() {
  if (fermata_openmp_barrier != nullptr && fermata_openmp_barrier(detail::kLibomp) != 0) return;
#pragma omp barrier
}

// Returns value(0) op value(1) op ... op value(last), in rank order, to every thread. T is trivially copyable
// and default constructible, and has 1 to 56 bytes: a scalar, a struct or a std::array. For an array, op
// takes arrays or elements. Several threads call op at the same time, each its own copy. op must be the same
// at all threads and must not throw. It need neither commute nor associate. What a thread wrote before the
// call is visible to all threads after it. Unlike barrier(), it need not run tasks.
template <class T, class Op = std::plus<>>
T allreduce(const T& value, Op op = {}) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T>,
                "T must be trivially copyable and default constructible");
  static_assert(sizeof(T) <= FERMATA_MAX_PAYLOAD, "at most 56 bytes");
  if (fermata_openmp_allreduce != nullptr) {
    T result = value;
    if (fermata_openmp_allreduce(detail::kLibomp, &result, sizeof result, detail::fold<T, Op>, &op) != 0)
      return result;
  }
  return detail::fold_by_hand(value, op);
}

}  // namespace fermata::omp
#endif
