#include "preload/common/stats.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/environment.hpp"
#include "os/file_limit.hpp"
#include "preload/common/clock.hpp"
#include "preload/common/place.hpp"

namespace fermata::stats {
namespace {

constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
// owner of the slots that name a record with a site's text; threads have even numbers
constexpr std::uint32_t kPlace = 1;
constexpr std::uint32_t kOpen = 3;  // owner of such a slot that is claimed but not written yet

File* file = nullptr;  // written at load and in a forked child, before it has a second thread
// address of the file; a forked child keeps it, as a wait may hold pointers into it
void* mapped = MAP_FAILED;
const char* library_name = "";
const char* plan_text = "";
std::atomic<std::uint32_t> threads{0};
std::atomic<const char*> reasons[kNotes] = {};  // of the notes in the file

std::uint64_t now_ns() { return static_cast<std::uint64_t>(preload::now_ns()); }

// An arrival in 64 bits: the low 16 bits of the episode's number, above a time that wraps after three days.
constexpr unsigned kTimeBits = 48;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTimeBits) - 1;
std::uint64_t pack(std::uint64_t number, std::uint64_t ns) { return number << kTimeBits | (ns & kTimeMask); }

void copy_text(char* to, std::size_t capacity, const char* from) {
  const std::size_t n = strnlen(from, capacity - 1);
  memcpy(to, from, n);
  to[n] = '\0';
}

void read_command(char* to, std::size_t capacity) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : read(fd, to, capacity - 1);
  if (fd >= 0) close(fd);
  for (ssize_t i = 0; i + 1 < n; ++i)
    if (to[i] == '\0') to[i] = ' ';
  to[n > 0 ? n : 0] = '\0';
}

File* open_file() {
  const char* directory = os::text_of(os::Variable::kStats);
  if (directory == nullptr) return nullptr;
  // exec keeps the process's id, so each program of a process gets a number.
  int fd = -1;
  for (int program = 0; program < 64 && fd < 0; ++program) {
    char path[512];
    const int length = snprintf(path, sizeof path, "%s/%d.%d-%s", directory, static_cast<int>(getpid()),
                                program, library_name);
    if (length < 0 || length >= static_cast<int>(sizeof path)) return nullptr;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST) return nullptr;
  }
  if (fd < 0) return nullptr;
  const bool in_child = mapped != MAP_FAILED;
  void* memory = MAP_FAILED;
  // sparse: unwritten pages cost nothing
  if (os::may_be_as_long(sizeof(File)) && ftruncate(fd, sizeof(File)) == 0)
    memory = mmap(in_child ? mapped : nullptr, sizeof(File), PROT_READ | PROT_WRITE,
                  MAP_SHARED | (in_child ? MAP_FIXED : 0), fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  mapped = memory;
  auto* made = static_cast<File*>(memory);
  made->tracing = os::is_on(os::Variable::kTrace) ? 1 : 0;
  if (made->tracing != 0) sampled_below = UINT64_MAX;
  made->process = static_cast<std::uint32_t>(getpid());
  copy_text(made->library, sizeof made->library, library_name);
  const char* const wait =
      os::choice_of(os::Variable::kWait) >= 0 ? os::text_of(os::Variable::kWait) : "auto";
  snprintf(made->plan, sizeof made->plan, "%s; waiting: %.16s", plan_text, wait);
  read_command(made->command, sizeof made->command);
  made->version = kVersion;
  made->magic = kMagic;
  return made;
}

void in_child() {
  madvise(slots, kSlots * sizeof(Slot), MADV_DONTNEED);  // zeros from now on
  for (auto& reason : reasons)
    reason.store(nullptr, std::memory_order_relaxed);  // order: relaxed: a forked child has one thread
  // This process must not write to the parent's file, even if open_file() fails.
  mmap(mapped, sizeof(File), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
       -1, 0);
  file = open_file();
}

// 1 + the index of the note with this reason, or of the last note if there is no room.
std::uint32_t note(const char* text) {
  std::uint32_t i = 0;
  for (; i < kNotes; ++i) {
    const char* known = nullptr;
    // order: relaxed: a claim; only a reader of the file reads the note
    if (reasons[i].compare_exchange_strong(known, text, std::memory_order_relaxed)) {
      copy_text(file->note[i].text, sizeof file->note[i].text, text);
      break;
    }
    if (known == text) break;
  }
  return i < kNotes ? i + 1 : kNotes;
}

// Claims a free slot at or after the place that the hash gives; null: there is none.
Slot* claim(const void* object, const void* site, std::uint32_t owner, std::uint32_t claimed_as) {
  const std::size_t first = slot_of(object, site, owner);
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& s = slots[(first + i) % kSlots];
    std::uint32_t none = 0;
    // order: relaxed: a claim; what the claimer writes is its own
    if (s.owner.load(std::memory_order_relaxed) != 0) continue;
    // order: see above
    if (s.owner.compare_exchange_strong(none, claimed_as, std::memory_order_relaxed)) return &s;
  }
  return nullptr;
}

// This thread's slot, or null. Slots are never freed, so a free one ends the search.
Slot* look_up(const Meeting& m) {
  const std::size_t first = slot_of(m.object, m.site, self);
  for (std::size_t i = 0; i < kSlots; ++i) {
    Slot& s = slots[(first + i) % kSlots];
    if (fits(s, m, self)) return &s;
    // order: relaxed: this thread wrote its own slots
    if (s.owner.load(std::memory_order_relaxed) == 0) return nullptr;
  }
  return nullptr;
}

// Writes the site's text. A process looks for it once, or a few times if several threads come to the site at
// once.
void describe(char (&place)[kPlaceText], const void* site) {
  const std::size_t first = slot_of(nullptr, site, kPlace);
  for (std::size_t i = 0; i < kSlots; ++i) {
    const Slot& s = slots[(first + i) % kSlots];
    // order: acquire, as kMovedRead: sees the record's text. Pairs with the release below
    const std::uint32_t owner = s.owner.load(std::memory_order_acquire);
    if (owner == 0) break;
    if (owner == kPlace && s.site == site) {
      memcpy(place, s.place, sizeof place);
      return;
    }
  }
  describe_place(site, place, sizeof place);
  Slot* mine = claim(nullptr, site, kPlace, kOpen);
  if (mine == nullptr) return;
  mine->site = site;
  mine->place = place;
  // order: release, as kMove: hands the text on. Pairs with the load above
  mine->owner.store(kPlace, std::memory_order_release);
}

Record* make_record(const Meeting& m) {
  // order: relaxed, both: a ticket; the record is its taker's
  if (file->records.load(std::memory_order_relaxed) >= kRecords) return nullptr;
  const std::uint32_t index = file->records.fetch_add(1, std::memory_order_relaxed);  // order: see above
  if (index >= kRecords) return nullptr;
  Record& r = file->record[index];
  r.object = reinterpret_cast<std::uintptr_t>(m.object);
  r.site = reinterpret_cast<std::uintptr_t>(m.site);
  r.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  r.members = m.members;
  r.reason = m.reason != nullptr ? note(m.reason) : 0;
  describe(r.place, m.site);
  return &r;
}

// This thread's count of its calls for the object.
std::uint64_t* counts_for(const void* object) {
  const Meeting key{object, nullptr, 0, nullptr};
  Slot* s = look_up(key);
  if (s == nullptr && (s = claim(object, nullptr, self, self)) != nullptr) s->object = object;
  return s != nullptr ? &s->number : nullptr;
}

void number_thread() {
  // order: relaxed: a number that no other thread has
  if (self == 0) self = 2 * (threads.fetch_add(1, std::memory_order_relaxed) + 1);
}

const Slot* know(const Meeting& m) {
  number_thread();
  if (const Slot* known = look_up(m); known != nullptr) return known;
  Record* record = make_record(m);
  Slot* s = record != nullptr ? claim(m.object, m.site, self, self) : nullptr;
  if (s == nullptr) return nullptr;
  s->members = m.members;
  s->reason = m.reason;
  s->record = record;
  s->counts = m.object != nullptr ? counts_for(m.object) : &s->number;
  s->object = m.object;
  s->site = m.site;
  return s;
}

// How many calls or regions the timed one with that number stands for.
std::uint64_t weight_of(std::uint64_t number) { return number < kFirst || file->tracing != 0 ? 1 : kSampled; }

// The slot of this thread's regions at that site, or null.
const Slot* know_region(const void* site, bool resident) {
  static const char kinds[2] = {};  // addresses that name them
  const Meeting m{&kinds[resident ? 1 : 0], site, 0, nullptr};
  if (const Slot* known = look_up(m); known != nullptr) return known;
  // order: relaxed, both: a ticket; the record is its taker's
  if (file->regions.load(std::memory_order_relaxed) >= kRegions) return nullptr;
  const std::uint32_t index = file->regions.fetch_add(1, std::memory_order_relaxed);  // order: see above
  Slot* s = index < kRegions ? claim(m.object, m.site, self, self) : nullptr;
  if (s == nullptr) return nullptr;
  RegionRecord& r = file->region[index];
  r.resident = resident ? 1 : 0;
  describe(r.place, site);
  s->region = &r;
  s->object = m.object;
  s->site = m.site;
  return s;
}

}  // namespace

Slot* slots = nullptr;
__thread std::uint32_t self = 0;
std::uint64_t sampled_below = UINT64_MAX / kSampled;

bool start(const char* library, const char* plan) {
  library_name = library;
  plan_text = plan;
  void* memory = mmap(nullptr, kSlots * sizeof(Slot), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  slots = static_cast<Slot*>(memory);
  file = open_file();
  if (file == nullptr || pthread_atfork(nullptr, nullptr, in_child) != 0) return false;
  return true;
}

bool Wait::find_slowly(const Meeting& meeting) {
  if (file == nullptr) return false;
  const int saved = errno;
  const Slot* s = know(meeting);
  errno = saved;
  if (s == nullptr) {
    file->lost.fetch_add(1, std::memory_order_relaxed);  // order: a count
    return false;
  }
  record_ = s->record;
  counts_ = s->counts;
  return true;
}

void Join::begin(const void* site, bool resident) {
  begin_ns_ = 0;
  record_ = nullptr;
  if (file == nullptr) return;
  const int saved = errno;
  number_thread();
  const Slot* const known = know_region(site, resident);
  errno = saved;
  if (known == nullptr) {
    file->lost.fetch_add(1, std::memory_order_relaxed);  // order: a count
    return;
  }
  record_ = known->region;
  const std::uint64_t number = record_->regions++;
  if (!is_sampled(number)) return;
  weight_ = weight_of(number);
  // order: relaxed, all: the region's begin orders them
  arrived_.store(0, std::memory_order_relaxed);
  sum_ns_.store(0, std::memory_order_relaxed);  // order: see above
  latest_.store(0, std::memory_order_relaxed);  // order: see above
  begin_ns_ = now_ns();
}

void Join::note(std::uint32_t rank) {
  const std::uint64_t ns = now_ns() - begin_ns_;
  // order: relaxed, all: the region's end orders them
  sum_ns_.fetch_add(ns, std::memory_order_relaxed);
  const std::uint64_t mine = ns << kRankBits | (rank < kRanks ? rank : kRanks - 1);
  std::uint64_t latest = latest_.load(std::memory_order_relaxed);  // order: see above
  // order: see above
  while (latest < mine && !latest_.compare_exchange_weak(latest, mine, std::memory_order_relaxed)) {
  }
  arrived_.fetch_add(1, std::memory_order_relaxed);  // order: see above
}

void Join::finish() {
  RegionRecord& r = *record_;
  if (members_ > r.members) r.members = members_;
  if (begin_ns_ == 0) return;
  const std::uint64_t took = now_ns() - begin_ns_;
  r.timed += weight_;
  r.took_ns += took * weight_;
  // order: relaxed, all: the region's end has ordered them
  if (members_ == 0 || arrived_.load(std::memory_order_relaxed) != members_) return;
  const std::uint64_t latest = latest_.load(std::memory_order_relaxed);  // order: see above
  const std::uint64_t sum = sum_ns_.load(std::memory_order_relaxed);     // order: see above
  const std::uint64_t rank = latest & ((1u << kRankBits) - 1);
  r.judged += weight_;
  r.members_ns += took * members_ * weight_;
  r.waited_ns += ((latest >> kRankBits) * members_ - sum) * weight_;
  r.last[rank] += weight_;
}

void Wait::time(std::uint64_t number) {
  number_ = number;
  begin_ns_ = now_ns();
  if (arrivals_ == nullptr) return;
  mine_ = pack(number, begin_ns_);
  // order: relaxed: the exchanges of one word are in one order, and nothing else depends on them
  before_ = arrivals_->latest[number % 2].exchange(mine_, std::memory_order_relaxed);
}

void Wait::finish_untold() {
  if (mine_ == 0) return finish(false);
  const std::uint64_t stands_for = weight();
  // A later arrival would have left its own time here. order: relaxed: the barrier orders it
  const bool last = arrivals_->latest[number_ % 2].load(std::memory_order_relaxed) == mine_;
  record_->judged += stands_for;
  record_->last += last ? stands_for : 0;
  finish(last);
}

std::uint64_t Wait::weight() const { return weight_of(number_); }

void Wait::finish(bool last) {
  const std::uint64_t end_ns = now_ns();
  const std::uint64_t waited = end_ns - begin_ns_;
  Record& r = *record_;
  const std::uint64_t stands_for = weight();
  r.timed += stands_for;
  r.waited_ns += waited * stands_for;
  if (waited > r.longest_ns) r.longest_ns = waited;
  if (last && mine_ != 0 && r.members > 1 && (before_ ^ mine_) >> kTimeBits == 0) {
    r.measured += stands_for;
    const std::uint64_t late = (mine_ - before_) & kTimeMask;
    // the thread that reads the clock first may exchange second
    r.late_ns += late <= kTimeMask / 2 ? late * stands_for : 0;
  }
  if (file->tracing == 0) return;
  // order: a ticket; the event is its taker's
  const std::uint32_t index = file->events.fetch_add(1, std::memory_order_relaxed);
  if (index >= kEvents) {
    file->events.store(kEvents, std::memory_order_relaxed);  // order: so that it never wraps
    return;
  }
  file->event[index] = {begin_ns_, end_ns, static_cast<std::uint32_t>(record_ - file->record),
                        last ? 1u : 0u};
}

}  // namespace fermata::stats
