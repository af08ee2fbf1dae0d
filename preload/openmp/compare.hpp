// Whether a residence pays. Beside foreign threads that always run, the waits of a crowd in two teams, at
// barriers and between regions, may cost more than libgomp's. So a crowd's regions are compared with those
// before the residence, each with the program's work in it and after it. Times are of one clock, in ns.
#ifndef FERMATA_PRELOAD_OPENMP_COMPARE_HPP
#define FERMATA_PRELOAD_OPENMP_COMPARE_HPP

#include <cstdint>

namespace fermata::preload {

// Times the regions of a thread before it has a residence, with the serial phases after them. Small, since
// each thread has one: microseconds, which start anew after 71 minutes.
class PlainRegions {
 public:
  static constexpr std::uint32_t kTimed = 8;  // regions: so many, the last ones
  // Is the region that begins the first of those, the streak-th of as many as a residence needs?
  static bool is_first(std::uint32_t streak, std::uint32_t needed) { return streak + kTimed == needed + 1; }
  void begin(std::int64_t now) { begun_us_ = in_us(now); }
  // The region after them begins.
  void end(std::int64_t now) { all_us_ = in_us(now) - begun_us_; }
  std::int64_t each_ns() const { return std::int64_t{all_us_} * 1'000 / kTimed; }  // 0: not known

 private:
  static std::uint32_t in_us(std::int64_t ns) { return static_cast<std::uint32_t>(ns / 1'000); }
  std::uint32_t begun_us_, all_us_;
};

// Times the regions of a residence.
class ResidentRegions {
 public:
  static constexpr std::uint64_t kFirst = 1024;
  void begin(std::int64_t now) { ns_ = now, regions_ = 0, times_ = 0; }
  // After so many regions: shall it be asked? After kFirst regions, and then whenever their number has
  // doubled. Fewer would say little: beside load, a team's waits cost stalls until they park.
  bool must_look(std::uint64_t regions) const { return regions >= kFirst && regions >= 2 * regions_; }
  // True: those since the last look took more than kSlower times as long as `plain_ns`, and so did those
  // before. plain_ns 0: it is not known. Once may be a pause of the program.
  bool are_slow(std::uint64_t regions, std::int64_t plain_ns, std::int64_t now) {
    const std::int64_t each = (now - ns_) / static_cast<std::int64_t>(regions - regions_);
    ns_ = now, regions_ = regions;
    times_ = plain_ns != 0 && each > kSlower * plain_ns ? times_ + 1 : 0;
    return times_ > 1;
  }

 private:
  static constexpr std::int64_t kSlower = 2;
  std::int64_t ns_ = 0;
  std::uint64_t regions_ = 0;
  std::uint32_t times_ = 0;
};

}  // namespace fermata::preload

#endif
