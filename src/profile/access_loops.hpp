// The loops of the probes of coherent memory. They are templates, so that tests run the same loops on a
// simulated machine. `Lines` numbers the lines of the shared memory:
//
//   std::uint64_t read(int line), void write(int line, std::uint64_t value),
//   std::uint64_t add(int line, std::uint64_t value), which returns the value before,
//   bool await(int line, std::uint64_t value), false if the probe is aborted,
//   double now(), in ns; no access before it overlaps with one after it.
//
// Lines lie in groups of their own page, so that no prefetcher gets from one group to another. Member 0 goes
// through the groups in a chain: a line's value names the next group, so each access depends on the one
// before it.
#ifndef FERMATA_PROFILE_ACCESS_LOOPS_HPP
#define FERMATA_PROFILE_ACCESS_LOOPS_HPP

#include <cstdint>

namespace fermata::probe {

inline constexpr int kPages = 16;  // groups in a chain
inline constexpr int kApart = 66;  // lines between groups: more than a page; even, since lines come in pairs
inline constexpr int kTrain = 3;   // misses in a row that make a prefetcher go on
inline constexpr int kFarthest = 8;  // lines after a miss that may have come along

constexpr int theirs(int page, int line) { return page * kApart + line; }  // member 1 writes it
constexpr int mine(int page) { return (kPages + page) * kApart; }          // both have it, member 0 adds
constexpr int own(int page) { return (2 * kPages + page) * kApart; }       // only member 0 has it
inline constexpr int kGo = 3 * kPages * kApart, kReady = kGo + 2, kSlots = kGo + 4;
constexpr int slot(int member) { return kSlots + 2 * member; }
constexpr int line_count(int members) { return slot(members); }

constexpr int next_page(int page) { return (page + 7) % kPages; }
constexpr std::uint64_t word(std::uint64_t episode, int page) {
  return episode * kPages + static_cast<std::uint64_t>(next_page(page));
}
inline int page_in(std::uint64_t value) { return static_cast<int>(value % kPages); }

// set(line, value) gives the lines their first values, before any member runs.
template <class Set>
void make_chains(const Set& set) {
  for (int page = 0; page < kPages; ++page)
    for (const int line : {mine(page), own(page)}) set(line, word(0, page));
}

enum class Access : std::uint8_t { kRead, kReadOwn, kAdd, kAddOwn, kAwait, kAwaitOwn };
struct AccessPoint {
  Access access = Access::kRead;
  int before = 0;  // kRead: so many lines in a row are read first, from line 0 on
  int line = 0;    // kRead: then this one
};

// The points in the order of AccessTimes: its six times, after_one, after_three.
inline constexpr int kAccessPoints = 6 + 2 * kFarthest;
constexpr AccessPoint access_point(int point) {
  if (point < 6) return {static_cast<Access>(point), 0, 0};
  const int j = (point - 6) % kFarthest + 1;
  return point < 6 + kFarthest ? AccessPoint{Access::kRead, 1, j}
                               : AccessPoint{Access::kRead, kTrain, kTrain - 1 + j};
}

// Member 1: takes the lines that member 0 is going to access. Returns false if the probe is aborted.
template <class Lines>
bool prepare_accesses(Lines& lines, const AccessPoint& point, std::uint64_t episode) {
  if (!lines.await(kGo, episode)) return false;
  for (int page = 0; page < kPages; ++page) {
    if (point.access == Access::kAdd) {
      lines.read(mine(page));
      continue;
    }
    for (int line = 0; line < point.before; ++line) lines.write(theirs(page, line), word(episode, page));
    lines.write(theirs(page, point.line), word(episode, page));
  }
  lines.write(kReady, episode);
  return true;
}

template <class Lines>
void follow_chain(Lines& lines, const AccessPoint& point, std::uint64_t episode) {
  for (int step = 0, page = 0; step < kPages; ++step) {
    switch (point.access) {
      case Access::kRead: page = page_in(lines.read(theirs(page, point.line))); break;
      case Access::kReadOwn: page = page_in(lines.read(own(page))); break;
      case Access::kAdd: page = page_in(lines.add(mine(page), kPages)); break;
      case Access::kAddOwn: page = page_in(lines.add(own(page), kPages)); break;
      case Access::kAwait:
        if (!lines.await(theirs(page, 0), episode * kPages)) return;
        page = next_page(page);
        break;
      case Access::kAwaitOwn:
        if (!lines.await(own(page), 0)) return;
        page = next_page(page);
        break;
    }
  }
}

// Member 0: returns the ns of kPages accesses; negative: the probe is aborted.
template <class Lines>
double time_accesses(Lines& lines, const AccessPoint& point, std::uint64_t episode) {
  lines.write(kGo, episode);
  if (!lines.await(kReady, episode)) return -1;
  for (int step = 0, page = 0; step < kPages && point.before > 0; ++step) {
    std::uint64_t value = 0;
    for (int line = 0; line < point.before; ++line) value = lines.read(theirs(page, line));
    page = page_in(value);
  }
  const double start = lines.now();
  follow_chain(lines, point, episode);
  return lines.now() - start;
}

// Member 0 publishes a line to members 1..readers, each of which answers on a slot of its own. Returns the ns
// until member 0 has the answer of one of them, in turn; of a reader 0. So in the mean half of the readers
// are served before. The other answers are awaited untimed: how fast member 0 takes several doesn't count.
// Negative: the probe is aborted.
template <class Lines>
double publish(Lines& lines, int member, int readers, std::uint64_t episode) {
  if (member > 0) {
    if (!lines.await(kGo, episode)) return -1;
    lines.write(slot(member), episode);
    return 0;
  }
  const int turn = 1 + static_cast<int>(episode % static_cast<std::uint64_t>(readers));
  const double start = lines.now();
  lines.write(kGo, episode);
  if (!lines.await(slot(turn), episode)) return -1;
  const double ns = lines.now() - start;
  for (int reader = 1; reader <= readers; ++reader)
    if (!lines.await(slot(reader), episode)) return -1;
  return ns;
}

}  // namespace fermata::probe
#endif
