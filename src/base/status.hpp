// Status codes; the numbers are those of fermata.h (asserted in src/api).
#ifndef FERMATA_BASE_STATUS_HPP
#define FERMATA_BASE_STATUS_HPP

#include <cstdint>

namespace fermata {

enum class Status : std::int32_t {
  kOk = 0,
  kPending = 1,        // not finished yet
  kArgument = -1,      // an argument is out of its documented range
  kMemory = -2,        // no memory
  kSystem = -3,        // a system call failed; the detail names it
  kTimeout = -4,       // the time given has passed; the detail names the missing members
  kMemberLost = -5,    // a member's process has died; the detail names it
  kMismatch = -6,      // members disagree: tags, calls or plans; the detail names them
  kBroken = -7,        // an earlier error made the team unusable; destroy it
  kParse = -8,         // a file is malformed; the detail gives line and reason
  kUnsupported = -9,   // not available here; the detail says what would make it so
  kForked = -10,       // the member belongs to the parent of this forked process
  kBusy = -11,         // an operation of this member is still outstanding
  kInterrupted = -12,  // the idle hook asked to stop waiting
  kVerify = -13,       // a schedule or plan failed its proof
  kNotFound = -14,     // no such file, plan, profile or algorithm
  kTruncated = -15,    // more has come than there is room for: the rest was dropped
  kRetracted = 2,      // within the library: the call was taken back, to be made again with the length that the others gave
};

}  // namespace fermata
#endif
