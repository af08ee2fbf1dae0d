#include "notice.hpp"

#include <fermata/fermata.h>
#include <stdarg.h>

#include <fermata/collectives.hpp>

#include "os/environment.hpp"
#include "preload/common/line.hpp"

namespace fermata::preload {

Settings settings;

namespace {

static_assert(static_cast<int>(kBcast) == FERMATA_BROADCAST && kKinds == kCollectiveCount);
static_assert(static_cast<int>(kExscan) == FERMATA_EXSCAN);

constexpr const char* kLibrary = "fermata-mpi";

// The words of FERMATA_MPI_COLLECTIVES are the kinds in their order, all and none.
std::uint32_t kinds_in(std::uint32_t words) {
  constexpr std::uint32_t kAll = (1u << kKinds) - 1;
  return (words >> kKinds & 1) != 0 ? kAll : words & kAll;
}

__attribute__((constructor(102))) void read_environment() {
  settings.disabled = os::is_on(os::Variable::kDisable);
  settings.verbose = os::is_on(os::Variable::kVerbose);
  settings.kinds = kinds_in(os::list_of(os::Variable::kMpiCollectives));
}

}  // namespace

const char* name_of(Kind kind) { return kind == kBcast ? "bcast" : rules_of(kind).name; }

void say(const char* format, ...) {
  if (!settings.verbose) return;
  va_list arguments;
  va_start(arguments, format);
  write_line_of(kLibrary, format, arguments);
  va_end(arguments);
}

void say_wrong_variables() {
  if (settings.verbose) os::check_environment([](const char* wrong) { write_line(kLibrary, "%s", wrong); });
}

void say_always(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  write_line_of(kLibrary, format, arguments);
  va_end(arguments);
}

}  // namespace fermata::preload
