// Status codes, with the numbers of fermata.h (asserted in src/api).
#ifndef FERMATA_BASE_STATUS_HPP
#define FERMATA_BASE_STATUS_HPP

#include <cstdint>

namespace fermata {

enum class Status : std::int32_t {
  kOk = 0,
  kPending = 1,        // not finished yet
  kArgument = -1,      // an argument is out of its documented range
  kMemory = -2,        // out of memory
  kSystem = -3,        // a system call failed; the detail names it
  kTimeout = -4,       // the timeout has passed; the detail names the missing members
  kMemberLost = -5,    // a member's process has died; the detail names it
  kMismatch = -6,      // members disagree in tags, calls or plans; the detail says how
  kBroken = -7,        // an earlier error made the team unusable; destroy it
  kParse = -8,         // a file is malformed; the detail gives line and reason
  kUnsupported = -9,   // not available here; the detail says what would make it available
  kForked = -10,       // the member belongs to the parent of this forked process
  kBusy = -11,         // another operation of this member is not finished
  kInterrupted = -12,  // the idle hook asked to stop waiting
  kVerify = -13,       // a schedule or plan failed its proof
  kNotFound = -14,     // no such file, plan, profile or algorithm
  kTruncated = -15,    // more data came than fits in the buffer; the rest was dropped
  // Internal: the member withdrew the call, and makes it again with the other members' length.
  kRetracted = 2,
};

}  // namespace fermata
#endif
