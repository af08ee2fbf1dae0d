#include "watch.hpp"

#include <stdio.h>

#include <new>

namespace fermata::preload {

bool watched = false;

namespace {

__attribute__((constructor(104))) void start_watching() {
  if (!settings.disabled) watched = stats::start("mpi", "teams of the communicators' ranks");
}

// What a record is about, as text.
void describe(const State* s, Kind kind, char* to, std::size_t capacity) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  // order: relaxed: this call's own communicator
  if (s != nullptr) PMPI_Comm_get_name(s->comm.load(std::memory_order_relaxed), name, &length);
  snprintf(to, capacity, "%s, %.50s", name_of(kind),
           name[0] != '\0' ? name : "a communicator without a name");
}

}  // namespace

void Watched::begin(const State* s, Kind kind, const void* site, const char* reason) {
  // Each kind of a communicator has its own records: their object is an address within its state.
  const void* object = s != nullptr ? reinterpret_cast<const char*>(s) + kind : nullptr;
  auto* wait =
      new (wait_) stats::Wait({object, site, s != nullptr ? static_cast<std::uint32_t>(s->size) : 0, reason});
  counts_ = true;
  stats::Record* record = wait->record();
  if (record != nullptr && record->plan[0] == '\0') describe(s, kind, record->plan, sizeof record->plan);
}

void Watched::end() { reinterpret_cast<stats::Wait*>(wait_)->end_untold(true); }

void Watched::cancel() {
  reinterpret_cast<stats::Wait*>(wait_)->cancel();
  counts_ = false;
}

const char* why_left(const State* s, Kind kind) {
  if (s == nullptr) return "a communicator that was made in a way that is not watched";
  if (s->reason != nullptr) return s->reason;
  if (s->serves(kind)) return "a type or operator of this call, or a mistake";
  return s->size > 256 && kind == kAlltoall ? "more than 256 ranks" : "FERMATA_MPI_COLLECTIVES leaves it out";
}

const char* why_left_begun(const State* s, Kind kind) {
  const bool blocking_only = s != nullptr && s->serves(kind) && !s->begins(kind);
  return blocking_only ? s->begun_reason : why_left(s, kind);
}

}  // namespace fermata::preload
