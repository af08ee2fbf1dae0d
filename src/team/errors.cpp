#include "team/errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "team/handles.hpp"

namespace fermata::team {
namespace {

// The text is allocated, since thread-local memory comes from the stack of each thread.
struct Detail {
  static constexpr std::size_t kCapacity = 512;
  char* text = nullptr;
  ~Detail() {
    std::free(text);
    text = nullptr;
  }
};
thread_local Detail t_detail;

}  // namespace

int fail(Status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (t_detail.text == nullptr) t_detail.text = static_cast<char*>(std::malloc(Detail::kCapacity));
  if (t_detail.text != nullptr) std::vsnprintf(t_detail.text, Detail::kCapacity, format, arguments);
  va_end(arguments);
  return static_cast<int>(status);
}

int fail(const Error& error) { return fail(error.status, "%s", error.message.c_str()); }

int null_handle() { return fail(Status::kArgument, "a required pointer is NULL"); }

int member_status(const fermata_member* member, Status status) {
  switch (status) {
    case Status::kBusy:
      return fail(
          status,
          "rank %u has an operation outstanding: end it by fermata_resume, fermata_depart or an abort",
          member->member->rank());
    case Status::kForked: return fail(status, "this member belongs to the parent of this forked process");
    case Status::kUnsupported:
      return fail(status, "this team has no plan for the call; for tags, create it with config.tagged");
    case Status::kArgument:
      return fail(status, "no operation of rank %u is outstanding", member->member->rank());
    case Status::kTruncated:
      return fail(status, "rank %u received more than fits; the rest was dropped", member->member->rank());
    case Status::kInterrupted:
      return fail(status, "the idle hook of rank %u asked to stop", member->member->rank());
    default: return fail(status, "%s", member->member->detail());
  }
}

const char* error_detail() { return t_detail.text != nullptr ? t_detail.text : ""; }

const char* text_of(Status status) {
  switch (status) {
    case Status::kOk: return "ok";
    case Status::kPending: return "not finished yet";
    case Status::kArgument: return "an argument is out of range";
    case Status::kMemory: return "out of memory";
    case Status::kSystem: return "a system call failed";
    case Status::kTimeout: return "timed out; the operation is still outstanding";
    case Status::kMemberLost: return "a member has died or left";
    case Status::kMismatch: return "members disagree";
    case Status::kBroken: return "the team is unusable after an earlier error or an abort";
    case Status::kParse: return "a file is malformed";
    case Status::kUnsupported: return "not available here";
    case Status::kForked: return "the handle belongs to the parent of this forked process";
    case Status::kRetracted: return "the arrival filled the phase";  // the number of FERMATA_LAST
    case Status::kBusy: return "an operation is still outstanding, or the rank or name is taken";
    case Status::kInterrupted: return "the idle hook asked to stop; the operation is still outstanding";
    case Status::kVerify: return "a schedule or plan failed its proof";
    case Status::kNotFound: return "not found";
    case Status::kTruncated: return "more data came than fits";
    default: return "unknown status";
  }
}

}  // namespace fermata::team
