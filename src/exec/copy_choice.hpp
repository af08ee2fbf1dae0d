// Copy choice: whether a sender copies its next long piece into a ring through the caches, or past them
// (sync/stream.hpp). If the reader's CPU shares a cache with the sender's, exchanges through the caches are
// up to twice as fast. If it does not, their copies take the sender ten to twenty times as long. CPUs of
// virtual machines move, so the sender measures it while it sends.
//
// A sender begins past the caches, and tries the other way after a rest. It stays with it until kSlow more of
// the timed pieces were slow than were not: kFactor times as long per byte as the last pieces past the
// caches. Each try that fails doubles the rest.
#ifndef FERMATA_EXEC_COPY_CHOICE_HPP
#define FERMATA_EXEC_COPY_CHOICE_HPP

#include <cstddef>
#include <cstdint>

namespace fermata::exec {

class CopyChoice {
 public:
  // Pieces past the caches before a try. The ring's pages have all been used by then.
  static constexpr std::uint32_t kLeastRest = 512, kMostRest = 65536;
  static constexpr std::uint32_t kTimed = 4;  // the last pieces of a rest; and of a try, one in so many
  static constexpr std::uint32_t kSlow = 4;
  static constexpr std::uint32_t kLong = 4096;  // a try with so many pieces has not failed
  static constexpr float kFactor = 5;

  bool is_past_caches() const { return piece_ < rest_; }
  bool is_timed() const { return is_past_caches() ? rest_ - piece_ <= kTimed : piece_ % kTimed == 0; }
  // After each piece. ns: how long the copy took, if it is timed.
  void count(std::size_t bytes, std::int64_t ns) {
    if (is_timed() && ns > 0) time(static_cast<float>(ns) / static_cast<float>(bytes));
    ++piece_;
    if (slow_ == kSlow) {
      const bool failed = piece_ < rest_ + kLong;
      rest_ = !failed ? kLeastRest : rest_ < kMostRest ? 2 * rest_ : kMostRest;
      piece_ = slow_ = 0;
      past_ns_ = kUnknown;
    }
  }

 private:
  static constexpr float kUnknown = 1e9F;

  void time(float each) {
    if (is_past_caches()) {
      if (each < past_ns_) past_ns_ = each;
    } else if (each > kFactor * past_ns_) {
      ++slow_;
    } else if (slow_ != 0) {
      --slow_;
    }
  }

  std::uint32_t piece_ = 0;  // since the rest began
  std::uint32_t rest_ = kLeastRest;
  std::uint32_t slow_ = 0;
  float past_ns_ = kUnknown;  // ns a byte past the caches, the least of the rest's last pieces
};

}  // namespace fermata::exec
#endif
