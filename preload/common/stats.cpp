#include "preload/common/stats.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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

constexpr unsigned kCached = 256;  // pairs of barrier and site that a thread can tell apart; further ones are not counted

struct Known {
  const void* object;
  const void* site;
  Record* record;
};

File* file = nullptr;  // written at load and in a forked child, before it has a second thread
const char* library_name = "";
const char* plan_text = "";
thread_local Known known[kCached];
thread_local std::uint32_t own_process = 0;  // that `known` points into the file of

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

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
  made->process = static_cast<std::uint32_t>(getpid());
  copy_text(made->library, sizeof made->library, library_name);
  copy_text(made->plan, sizeof made->plan, plan_text);
  read_command(made->command, sizeof made->command);
  made->version = kVersion;
  made->magic = kMagic;
  return made;
}

void in_child() {
  if (file != nullptr) munmap(file, sizeof(File));  // the parent's
  file = open_file();
}

void describe(const void* site, char* to, std::size_t capacity) {
  Dl_info found;
  if (dladdr(site, &found) == 0 || found.dli_fname == nullptr) {
    snprintf(to, capacity, "%p", site);
    return;
  }
  const char* slash = strrchr(found.dli_fname, '/');
  const char* object = slash != nullptr ? slash + 1 : found.dli_fname;
  const auto* base = static_cast<const char*>(found.dli_sname != nullptr ? found.dli_saddr : found.dli_fbase);
  snprintf(to, capacity, "%s+0x%lx (%s)", found.dli_sname != nullptr ? found.dli_sname : "",
           static_cast<unsigned long>(static_cast<const char*>(site) - base), object);
}

Record* make_record(const void* object, const void* site, std::uint32_t members) {
  const std::uint32_t index = file->records.fetch_add(1, std::memory_order_relaxed);  // order: a ticket; the record is its taker's
  if (index >= kRecords) return nullptr;
  Record& r = file->record[index];
  r.object = reinterpret_cast<std::uintptr_t>(object);
  r.site = reinterpret_cast<std::uintptr_t>(site);
  r.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  r.members = members;
  describe(site, r.place, sizeof r.place);
  return &r;
}

Record* find_record(const void* object, const void* site, std::uint32_t members) {
  if (own_process != file->process) {  // a forked child's thread
    memset(known, 0, sizeof known);
    own_process = file->process;
  }
  const auto hash = (reinterpret_cast<std::uintptr_t>(object) >> 5) * 31 + (reinterpret_cast<std::uintptr_t>(site) >> 1);
  for (unsigned probe = 0; probe < kCached; ++probe) {
    Known& k = known[(hash + probe) % kCached];
    if (k.object == object && k.site == site && (k.record == nullptr || k.record->members == members)) return k.record;
    if (k.object != nullptr) continue;
    k = {object, site, make_record(object, site, members)};
    return k.record;
  }
  return nullptr;
}

}  // namespace

bool start(const char* library, const char* plan) {
  library_name = library;
  plan_text = plan;
  file = open_file();
  if (file != nullptr) pthread_atfork(nullptr, nullptr, in_child);
  return file != nullptr;
}

Wait::Wait(const void* object, const void* site, std::uint32_t members) : record_(nullptr), begin_ns_(0) {
  if (file == nullptr) return;
  record_ = find_record(object, site, members);
  if (record_ == nullptr) return;
  if (record_->episodes++ % kSampled == 0 || file->tracing != 0) begin_ns_ = now_ns();
}

void Wait::end(bool last) {
  if (record_ == nullptr) return;
  if (last) ++record_->last;
  if (begin_ns_ == 0) return;
  const std::int64_t end_ns = now_ns();
  const auto waited = static_cast<std::uint64_t>(end_ns - begin_ns_);
  ++record_->sampled;
  record_->waited_ns += waited;
  if (waited > record_->longest_ns) record_->longest_ns = waited;
  if (file->tracing == 0) return;
  const std::uint32_t index = file->events.fetch_add(1, std::memory_order_relaxed);  // order: a ticket; the event is its taker's
  if (index >= kEvents) {
    file->events.store(kEvents, std::memory_order_relaxed);  // order: so that it never wraps
    return;
  }
  file->event[index] = {static_cast<std::uint64_t>(begin_ns_), static_cast<std::uint64_t>(end_ns),
                        static_cast<std::uint32_t>(record_ - file->record), last ? 1u : 0u};
}

void fell_back(const char* reason) {
  if (file == nullptr) return;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const std::uint32_t n = file->notes.load(std::memory_order_relaxed);  // order: under the lock
  std::uint32_t i = 0;
  while (i < n && strncmp(file->note[i].text, reason, sizeof file->note[i].text - 1) != 0) ++i;
  if (i < kNotes) {
    if (i == n) {
      copy_text(file->note[i].text, sizeof file->note[i].text, reason);
      file->notes.store(n + 1, std::memory_order_relaxed);  // order: under the lock
    }
    ++file->note[i].times;
  }
  pthread_mutex_unlock(&lock);
}

}  // namespace fermata::stats
