// Calls that wait in MPI for other ranks and that nothing can poll. The helper is beside them, and makes
// progress on Fermata's outstanding collectives. scripts/mpi-calls says which calls of an MPI library can
// wait.
#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

template <auto kFunction>
struct WithHelper;
template <class... Given, int (*Real::*kFunction)(Given...)>
struct WithHelper<kFunction> {
  static int call(Given... given) {
    return in_library([=] { return (real.*kFunction)(given...); });
  }
};

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

#define FERMATA_WITH_HELPER(name) FERMATA_LEAD(name, WithHelper<&Real::name>::call)
FERMATA_MPI_OTHERS(FERMATA_WITH_HELPER)
FERMATA_MPI_LARGE_OTHERS(FERMATA_WITH_HELPER)
FERMATA_MPI_FILES(FERMATA_WITH_HELPER)
