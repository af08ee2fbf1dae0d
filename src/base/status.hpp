// Status codes. All but kRetracted have the numbers of fermata/status.h (asserted in src/api). kRetracted has
// the number of FERMATA_LAST, which only anonymous barriers return. Errors are negative. "The detail" is an
// error's text; libfermata-rt has none.
#ifndef FERMATA_BASE_STATUS_HPP
#define FERMATA_BASE_STATUS_HPP

#include <cstdint>

namespace fermata {

enum class Status : std::int32_t {
  kOk = 0,
  kPending = 1,        // not finished yet
  kArgument = -1,      // an argument is out of its documented range
  kMemory = -2,        // out of memory
  kSystem = -3,        // a call of the system or a library failed
  kTimeout = -4,       // the time limit has passed
  kMemberLost = -5,    // a member has died or left; the detail names it
  kMismatch = -6,      // members disagree in tags, calls, plans or versions; the detail says how
  kBroken = -7,        // an earlier error or an abort made the team unusable; destroy it
  kParse = -8,         // a file or a name is malformed; the detail gives the reason
  kUnsupported = -9,   // not available here; the detail says what it needs
  kForked = -10,       // the handle belongs to the parent of this forked process
  kBusy = -11,         // an operation or request is not finished, or a rank, name or port is taken
  kInterrupted = -12,  // the idle hook asked to stop waiting
  kVerify = -13,       // a schedule or plan failed its proof
  kNotFound = -14,     // no such file, plan, profile or algorithm
  kTruncated = -15,    // more data came than fits in the buffer; the rest was dropped
  // Internal: the member withdrew the call, and makes it again with the other members' length.
  kRetracted = 2,
};

}  // namespace fermata
#endif
