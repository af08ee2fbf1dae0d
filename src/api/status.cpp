// The status of calls, and the version.
#include "api/calls.hpp"

namespace {

static_assert(static_cast<int>(fermata::Status::kOk) == FERMATA_OK);
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
static_assert(static_cast<int>(fermata::Collective::kAllreduce) == FERMATA_ALLREDUCE);
static_assert(static_cast<int>(fermata::Collective::kExscan) == FERMATA_EXSCAN);
static_assert(static_cast<int>(fermata::Type::kInt16Int) == FERMATA_INT16_INT);
static_assert(static_cast<int>(fermata::Op::kMaxloc) == FERMATA_MAXLOC);
static_assert(static_cast<int>(fermata::WaitKind::kPark) == FERMATA_WAIT_PARK);
static_assert(fermata::kLinePayload == FERMATA_MAX_PAYLOAD);
static_assert(fermata::kMaxTeamMembers == 4096);

}  // namespace

extern "C" {

const char* fermata_status_string(int status) {
  return fermata::team::text_of(static_cast<fermata::Status>(status));
}

const char* fermata_error_detail(void) { return fermata::team::error_detail(); }

const char* fermata_version(void) {
#define FERMATA_TEXT_(x) #x
#define FERMATA_TEXT(x) FERMATA_TEXT_(x)
  return FERMATA_TEXT(FERMATA_VERSION_MAJOR) "." FERMATA_TEXT(FERMATA_VERSION_MINOR) "." FERMATA_TEXT(
      FERMATA_VERSION_PATCH);
}

}  // extern "C"
