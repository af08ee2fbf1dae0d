// Status texts, and the detail text of each thread.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/handles.hpp"

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

static_assert(static_cast<int>(fermata::Status::kPending) == FERMATA_PENDING);
static_assert(static_cast<int>(fermata::Status::kArgument) == FERMATA_ERR_ARGUMENT);
static_assert(static_cast<int>(fermata::Status::kMemory) == FERMATA_ERR_MEMORY);
static_assert(static_cast<int>(fermata::Status::kSystem) == FERMATA_ERR_SYSTEM);
static_assert(static_cast<int>(fermata::Status::kTimeout) == FERMATA_ERR_TIMEOUT);
static_assert(static_cast<int>(fermata::Status::kMemberLost) == FERMATA_ERR_MEMBER_LOST);
static_assert(static_cast<int>(fermata::Status::kMismatch) == FERMATA_ERR_MISMATCH);
static_assert(static_cast<int>(fermata::Status::kBroken) == FERMATA_ERR_BROKEN);
static_assert(static_cast<int>(fermata::Status::kParse) == FERMATA_ERR_PARSE);
static_assert(static_cast<int>(fermata::Status::kUnsupported) == FERMATA_ERR_UNSUPPORTED);
static_assert(static_cast<int>(fermata::Status::kForked) == FERMATA_ERR_FORKED);
static_assert(static_cast<int>(fermata::Status::kBusy) == FERMATA_ERR_BUSY);
static_assert(static_cast<int>(fermata::Status::kInterrupted) == FERMATA_ERR_INTERRUPTED);
static_assert(static_cast<int>(fermata::Status::kVerify) == FERMATA_ERR_VERIFY);
static_assert(static_cast<int>(fermata::Status::kNotFound) == FERMATA_ERR_NOT_FOUND);
static_assert(static_cast<int>(fermata::Status::kTruncated) == FERMATA_ERR_TRUNCATED);
static_assert(static_cast<int>(fermata::Kind::kAllreduce) == FERMATA_ALLREDUCE);
static_assert(static_cast<int>(fermata::Type::kInt16Int) == FERMATA_INT16_INT);
static_assert(static_cast<int>(fermata::Op::kMaxloc) == FERMATA_MAXLOC);
static_assert(static_cast<int>(fermata::WaitKind::kPark) == FERMATA_WAIT_PARK);
static_assert(fermata::kLinePayload == FERMATA_MAX_PAYLOAD);
static_assert(fermata::kMaxMembers == 4096);

}  // namespace

namespace fermata::api {

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

}  // namespace fermata::api

extern "C" {

const char* fermata_status_string(int status) {
  switch (status) {
    case FERMATA_OK: return "ok";
    case FERMATA_PENDING: return "not finished yet";
    case FERMATA_ERR_ARGUMENT: return "an argument is out of range";
    case FERMATA_ERR_MEMORY: return "out of memory";
    case FERMATA_ERR_SYSTEM: return "a system call failed";
    case FERMATA_ERR_TIMEOUT: return "timed out; the operation is still outstanding";
    case FERMATA_ERR_MEMBER_LOST: return "a member has died or left";
    case FERMATA_ERR_MISMATCH: return "members disagree";
    case FERMATA_ERR_BROKEN: return "the team is unusable after an earlier error or an abort";
    case FERMATA_ERR_PARSE: return "a file is malformed";
    case FERMATA_ERR_UNSUPPORTED: return "not available here";
    case FERMATA_ERR_FORKED: return "the handle belongs to the parent of this forked process";
    case FERMATA_ERR_BUSY: return "an operation is still outstanding, or the rank or name is taken";
    case FERMATA_ERR_INTERRUPTED: return "the idle hook asked to stop; the operation is still outstanding";
    case FERMATA_ERR_VERIFY: return "a schedule or plan failed its proof";
    case FERMATA_ERR_NOT_FOUND: return "not found";
    case FERMATA_ERR_TRUNCATED: return "more data came than fits";
    default: return "unknown status";
  }
}

const char* fermata_error_detail(void) { return t_detail.text != nullptr ? t_detail.text : ""; }

const char* fermata_version(void) {
#define FERMATA_TEXT_(x) #x
#define FERMATA_TEXT(x) FERMATA_TEXT_(x)
  return FERMATA_TEXT(FERMATA_VERSION_MAJOR) "." FERMATA_TEXT(FERMATA_VERSION_MINOR) "." FERMATA_TEXT(
      FERMATA_VERSION_PATCH);
}

}  // extern "C"
