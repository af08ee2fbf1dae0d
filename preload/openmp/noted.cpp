#include "noted.hpp"

#include "real.hpp"

namespace fermata::preload {
namespace {

std::atomic<bool> claimed[2];
std::atomic<bool> answered[2];

}  // namespace

Questions questions[2];
__thread Here here[2] = {};

Found find_library(const void* function) {
  if (function == nullptr) return Found::kUnknown;
  const auto question = [function](const char* name) { return reinterpret_cast<int (*)()>(find_beside(function, name)); };
  const Questions found{question("omp_get_level"), question("omp_get_thread_num"), question("omp_get_num_threads"),
                        question("omp_get_cancellation")};
  if (found.level == nullptr || found.thread_num == nullptr || found.num_threads == nullptr || found.cancellation == nullptr)
    return Found::kNone;
  const int library = find_beside(function, "__kmpc_barrier") != nullptr ? 1 : 0;
  // Written once: whoever comes second finds the same and must not write what others read.
  if (!claimed[library].exchange(true, std::memory_order_relaxed)) {  // order: relaxed: a claim
    questions[library] = found;
    // order: release, as kMove: hands them on. Pairs with the load below
    answered[library].store(true, std::memory_order_release);
  }
  // order: acquire, as kMovedRead: sees them. Pairs with the store above
  if (!answered[library].load(std::memory_order_acquire)) return Found::kUnknown;
  return library == 1 ? Found::kLibomp : Found::kLibgomp;
}

}  // namespace fermata::preload
