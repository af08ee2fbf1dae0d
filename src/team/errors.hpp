// How errors leave a part that may throw: as a status, with a detail text for the calling thread.
#ifndef FERMATA_TEAM_ERRORS_HPP
#define FERMATA_TEAM_ERRORS_HPP

#include <exception>
#include <new>

#include "base/result.hpp"
#include "base/status.hpp"

struct fermata_member;

namespace fermata::team {

// Stores the detail text of this thread. Returns the status as a number of the C ABI.
int fail(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
int fail(const Error& error);
// Likewise. The text is a fixed one for BUSY, FORKED, UNSUPPORTED, ARGUMENT, TRUNCATED and INTERRUPTED. For
// other statuses it is the member's own detail text.
int member_status(const fermata_member* member, Status status);
[[gnu::cold]] int null_handle();  // a required pointer is NULL
const char* error_detail();       // this thread's; empty before its first error
const char* text_of(Status status);
inline constexpr const char* kNowhere = "this member must pass a buffer here, not FERMATA_IN_PLACE";

inline int answer(const fermata_member* member, Status status) {
  return status == Status::kOk ? 0 : member_status(member, status);
}

// Runs a function that may throw a std::exception, which becomes a status.
template <class F>
int guarded(F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(Status::kMemory, "out of memory");
  } catch (const std::exception& e) {
    return fail(Status::kSystem, "%s", e.what());
  }
}

}  // namespace fermata::team
#endif
