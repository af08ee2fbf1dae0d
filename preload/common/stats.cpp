#include "preload/common/stats.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace fermata::stats {
namespace {

constexpr unsigned kCached = 256;  // pairs of barrier and site that a thread can tell apart

// A pair and its record; or, without a site, a barrier and how often this thread has come to it.
struct Known {
  Recent what;
  std::uint64_t number;
};

File* file = nullptr;  // written at load and in a forked child, before it has a second thread
const char* library_name = "";
const char* plan_text = "";
thread_local Known known[kCached];           // allocated when a thread first touches it
thread_local std::uint32_t own_process = 0;  // that `known` points into the file of

std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// An arrival in 64 bits: the number's low half above a time that goes round in three days.
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
  const char* directory = getenv("FERMATA_STATS");
  if (directory == nullptr || *directory == '\0') return nullptr;
  // A process that executes another program, as scripts do, keeps its number.
  int fd = -1;
  for (int program = 0; program < 64 && fd < 0; ++program) {
    char path[512];
    const int length = snprintf(path, sizeof path, "%s/%d.%d-%s", directory, static_cast<int>(getpid()), program, library_name);
    if (length < 0 || length >= static_cast<int>(sizeof path)) return nullptr;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST) return nullptr;
  }
  if (fd < 0) return nullptr;
  void* memory = MAP_FAILED;
  if (ftruncate(fd, sizeof(File)) == 0)  // sparse: pages that nobody writes cost nothing
    memory = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) return nullptr;
  auto* made = static_cast<File*>(memory);
  const char* trace = getenv("FERMATA_TRACE");
  made->tracing = trace != nullptr && *trace != '\0' && strcmp(trace, "0") != 0 ? 1 : 0;
  if (made->tracing != 0) sampled_below = UINT64_MAX;
  made->process = static_cast<std::uint32_t>(getpid());
  copy_text(made->library, sizeof made->library, library_name);
  const char* wait = getenv("FERMATA_WAIT");
  snprintf(made->plan, sizeof made->plan, "%s; waiting: %.16s", plan_text, wait != nullptr && *wait != '\0' ? wait : "auto");
  read_command(made->command, sizeof made->command);
  made->version = kVersion;
  made->magic = kMagic;
  return made;
}

void in_child() {
  memset(recent, 0, sizeof recent);
  if (file != nullptr) munmap(file, sizeof(File));  // the parent's
  file = open_file();
}

// A place without an exported symbol keeps its object's whole path, if there is room: who reads the file may find the symbol there.
void describe(const void* site, char* to, std::size_t capacity) {
  Dl_info found;
  link_map* map = nullptr;
  if (dladdr1(site, &found, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || found.dli_fname == nullptr) {
    snprintf(to, capacity, "%p", site);
    return;
  }
  constexpr std::size_t kRest = 24;  // "+0x", 16 digits, " (", ")" and the end
  char program[sizeof Record::place - kRest];
  const char* path = found.dli_fname;
  if (found.dli_sname == nullptr && map != nullptr && map->l_name[0] == '\0') {  // dli_fname is what it was called by
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    if (length > 0 && length < static_cast<ssize_t>(sizeof program)) {
      program[length] = '\0';
      path = program;
    }
  }
  const char* slash = strrchr(path, '/');
  const bool whole = found.dli_sname == nullptr && strlen(path) + kRest <= capacity;
  const char* object = whole || slash == nullptr ? path : slash + 1;
  const auto* base = static_cast<const char*>(found.dli_sname != nullptr ? found.dli_saddr : found.dli_fbase);
  snprintf(to, capacity, "%s+0x%lx (%s)", found.dli_sname != nullptr ? found.dli_sname : "",
           static_cast<unsigned long>(static_cast<const char*>(site) - base), object);
}

// 1 + the place of the note with this text; of the last one if there is no room.
std::uint32_t note(const char* text) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const std::uint32_t n = file->notes.load(std::memory_order_relaxed);  // order: under the lock
  std::uint32_t i = 0;
  while (i < n && strncmp(file->note[i].text, text, sizeof file->note[i].text - 1) != 0) ++i;
  if (i == n && n < kNotes) {
    copy_text(file->note[i].text, sizeof file->note[i].text, text);
    file->notes.store(n + 1, std::memory_order_relaxed);  // order: under the lock
  }
  pthread_mutex_unlock(&lock);
  return i < kNotes ? i + 1 : kNotes;
}

Record* make_record(const Meeting& m) {
  const std::uint32_t index = file->records.fetch_add(1, std::memory_order_relaxed);  // order: a ticket; the record is its taker's
  if (index >= kRecords) {
    file->records.store(kRecords, std::memory_order_relaxed);  // order: so that it never wraps
    return nullptr;
  }
  Record& r = file->record[index];
  r.object = reinterpret_cast<std::uintptr_t>(m.object);
  r.site = reinterpret_cast<std::uintptr_t>(m.site);
  r.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  r.members = m.members;
  r.reason = m.reason != nullptr ? note(m.reason) : 0;
  describe(m.site, r.place, sizeof r.place);
  return &r;
}

bool fits(const Recent& r, const Meeting& m) {
  return r.object == m.object && r.site == m.site && r.reason == m.reason && (r.record == nullptr || r.record->members == m.members);
}

// Its place, or a free one; null: there is none.
Known* look_up(const Meeting& m) {
  const auto hash = (reinterpret_cast<std::uintptr_t>(m.object) >> 5) * 31 + (reinterpret_cast<std::uintptr_t>(m.site) >> 1);
  for (unsigned probe = 0; probe < kCached; ++probe) {
    Known& k = known[(hash + probe) % kCached];
    if (fits(k.what, m) || (k.what.object == nullptr && k.what.site == nullptr)) return &k;
  }
  return nullptr;
}

Known* know(const Meeting& m) {
  if (own_process != file->process) {  // a forked child's thread
    memset(known, 0, sizeof known);
    own_process = file->process;
  }
  Known* counts = nullptr;
  if (m.object != nullptr) {
    counts = look_up({m.object, nullptr, 0, nullptr});
    if (counts == nullptr) return nullptr;
    counts->what.object = m.object;
  }
  Known* k = look_up(m);
  if (k != nullptr && k->what.site == nullptr)
    k->what = {m.object, m.site, m.reason, make_record(m), counts != nullptr ? &counts->number : &k->number};
  return k;
}

}  // namespace

__thread Recent recent[kRecent] = {};
std::uint64_t sampled_below = UINT64_MAX / kSampled;

bool start(const char* library, const char* plan) {
  library_name = library;
  plan_text = plan;
  file = open_file();
  if (file != nullptr) pthread_atfork(nullptr, nullptr, in_child);
  return file != nullptr;
}

bool Wait::find_slowly(const Meeting& meeting, std::size_t place) {
  if (file == nullptr) return false;
  const Known* k = know(meeting);
  if (k == nullptr || k->what.record == nullptr) {
    file->lost.fetch_add(1, std::memory_order_relaxed);  // order: a count
    return false;
  }
  recent[place] = k->what;
  record_ = k->what.record;
  counts_ = k->what.counts;
  return true;
}

void Wait::time(std::uint64_t number) {
  number_ = number;
  begin_ns_ = now_ns();
  if (arrivals_ == nullptr) return;
  mine_ = pack(number, begin_ns_);
  // order: relaxed: the exchanges of one word are in one order, and nothing else hangs on them
  before_ = arrivals_->latest[number % 2].exchange(mine_, std::memory_order_relaxed);
}

void Wait::finish_untold() {
  if (mine_ == 0) return finish(false);
  const std::uint64_t stands_for = weight();
  // Whoever arrived later would have left its own time here. order: relaxed: the barrier orders it
  const bool last = arrivals_->latest[number_ % 2].load(std::memory_order_relaxed) == mine_;
  record_->judged += stands_for;
  record_->last += last ? stands_for : 0;
  finish(last);
}

// The calls that this timed one stands for.
std::uint64_t Wait::weight() const { return number_ < kFirst || file->tracing != 0 ? 1 : kSampled; }

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
    r.late_ns += late <= kTimeMask / 2 ? late * stands_for : 0;  // who read the clock first may exchange second
  }
  if (file->tracing == 0) return;
  const std::uint32_t index = file->events.fetch_add(1, std::memory_order_relaxed);  // order: a ticket; the event is its taker's
  if (index >= kEvents) {
    file->events.store(kEvents, std::memory_order_relaxed);  // order: so that it never wraps
    return;
  }
  file->event[index] = {begin_ns_, end_ns, static_cast<std::uint32_t>(record_ - file->record), last ? 1u : 0u};
}

}  // namespace fermata::stats
