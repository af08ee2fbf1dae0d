// libfermata-pthread.so: pthread_barrier_init, _wait and _destroy of an unmodified program.
//
// The C library initializes each barrier first, and its fields then keep their values. The barrier is bound
// to a barrier of Fermata's pool (table.hpp). A barrier between processes becomes one of Fermata's in its own
// bytes (tag.hpp), if FERMATA_PSHARED=1 says that all of them are preloaded. The C library does all other
// barriers: other process-shared ones, copies, and barriers made before this library was loaded. It does all
// barriers if their layout is not the known one, or if FERMATA_DISABLE is set.
//
// At load this library only reads a few environment variables and looks up three functions: most processes
// under a preload never see a barrier.
#include <errno.h>
#include <fermata/fermata.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "notice.hpp"
#include "os/environment.hpp"
#include "preload/common/stats.hpp"
#include "real.hpp"
#include "table.hpp"
#include "tag.hpp"

namespace fermata::preload {
namespace {

// the most members of Fermata's barriers; POSIX leaves the limit open, glibc's is INT_MAX - 1
constexpr unsigned kMostCount = 1u << 30;

Table table;
// written at load, or earlier by a constructor that uses a barrier
Real real;
std::atomic<bool> resolved{false};           // `real` is written
bool ours = false;                           // barriers may be bound; written once, by start()
Fallback none_is_ours = Fallback::kForeign;  // else the reason; written once, by start()
bool disabled = false;                       // written at load
// all processes that share a barrier are preloaded; written at load
bool all_preloaded = false;
std::atomic<bool> watched{false};  // statistics are wanted; written at load
// one for each entry of the table, null without statistics; written at load
stats::Arrivals* arrivals = nullptr;

pthread_once_t found = PTHREAD_ONCE_INIT, started = PTHREAD_ONCE_INIT;

void find() {
  real = find_real();
  // order: release, as kMove; pairs with the load in wait_foreign
  resolved.store(true, std::memory_order_release);
}

void start() {
  pthread_once(&found, find);
  if (os::is_on(os::Variable::kDisable)) return;
  none_is_ours = !layout_is_known(real) ? Fallback::kLayout : Fallback::kMemory;
  ours = none_is_ours != Fallback::kLayout && table.open();
  if (!ours) say_fallback(none_is_ours);
}

// For calls that initialize or destroy a barrier.
const Real& the_real() {
  pthread_once(&started, start);
  return real;
}

bool watch() {
  if (!stats::start("fermata-pthread", "anonymous barriers")) return false;
  void* memory = mmap(nullptr, Table::kCapacity * sizeof(stats::Arrivals), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  arrivals = static_cast<stats::Arrivals*>(memory);
  return true;
}

__attribute__((constructor)) void loaded() {
  pthread_once(&found, find);  // not in a wait: another thread may wait while it holds the loader's lock
  disabled = os::is_on(os::Variable::kDisable);
  all_preloaded = os::is_on(os::Variable::kPshared);
  // order: relaxed: the program has no other thread yet
  if (!disabled) watched.store(watch(), std::memory_order_relaxed);
  say_loaded(disabled);
}

bool is_shared(const pthread_barrierattr_t* attributes) {
  int shared = PTHREAD_PROCESS_PRIVATE;
  return attributes != nullptr &&
         (pthread_barrierattr_getpshared(attributes, &shared) != 0 || shared != PTHREAD_PROCESS_PRIVATE);
}

int init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes, unsigned count) {
  const int status = the_real().init(barrier, attributes, count);
  if (status != 0 || !ours) return status;
  const int saved = errno;
  auto kind = Fallback::kFull;
  if (is_shared(attributes)) {
    if (kSharedFits && all_preloaded &&
        fermata_anonymous_shared_init(shared_in(barrier), count) == FERMATA_OK) {
      write_shared_magic(barrier);
      table.unbind(barrier);
      errno = saved;
      return 0;
    }
    kind = all_preloaded ? Fallback::kCount : Fallback::kShared;
  } else if (count > kMostCount) {
    kind = Fallback::kCount;
  } else if (table.bind(barrier, count)) {
    errno = saved;
    return 0;
  }
  say_fallback(kind);
  // The memory may hold the tag of an earlier barrier.
  write_tag(barrier, Tag{kMagic, kLeft + static_cast<std::uint32_t>(kind), 0});
  table.unbind(barrier);
  errno = saved;
  return 0;
}

int translate(int status) {
  if (status == FERMATA_OK) return 0;
  return status == FERMATA_LAST ? PTHREAD_BARRIER_SERIAL_THREAD : EINVAL;
}

Fallback why_left(const pthread_barrier_t* barrier) {
  const Tag tag = read_tag(barrier);
  const std::uint32_t kind = tag.index - kLeft;
  return tag.magic == kMagic && kind <= static_cast<std::uint32_t>(Fallback::kForeign)
             ? Fallback{static_cast<std::uint8_t>(kind)}
             : Fallback::kForeign;
}

// With statistics. The barrier has no room for the time of the last arrival but one.
int wait_shared_watched(fermata_anonymous_shared* barrier, const void* site) {
  const int saved = errno;
  stats::Wait wait({barrier, site, fermata_anonymous_shared_count(barrier), nullptr});
  const int status = fermata_anonymous_shared_meet(barrier);
  wait.end(status == FERMATA_LAST);
  errno = saved;
  return translate(status);
}

int wait_shared(fermata_anonymous_shared* barrier, const void* site) {
  // order: relaxed: written at load
  if (watched.load(std::memory_order_relaxed)) [[unlikely]]
    return wait_shared_watched(barrier, site);
  const int saved = errno;
  const int status = fermata_anonymous_shared_meet(barrier);
  errno = saved;
  return translate(status);
}

__attribute__((noinline)) int wait_foreign(pthread_barrier_t* barrier, const void* site) {
  // Another library's constructor, which runs before this library's own, may wait at a barrier that another
  // process has made. Then the functions are not found yet. order: acquire, as kMovedRead: sees the
  // functions. Pairs with the store in find()
  if (!resolved.load(std::memory_order_acquire)) [[unlikely]]
    pthread_once(&found, find);
  if (disabled) return real.wait(barrier);
  const Fallback kind = ours ? why_left(barrier) : none_is_ours;
  say_fallback(kind);
  // order: relaxed: written at load
  if (!watched.load(std::memory_order_relaxed)) return real.wait(barrier);
  stats::Wait wait({barrier, site, ours ? glibc_count(barrier) : 0, text_of(kind)});
  const int status = real.wait(barrier);
  wait.end_untold(status == PTHREAD_BARRIER_SERIAL_THREAD);
  return status;
}

// With statistics. The barrier's address is used as a name only.
__attribute__((noinline)) int wait_watched(const pthread_barrier_t* barrier, const Table::Entry& entry,
                                           const void* site) {
  const int saved = errno;
  // order: relaxed: ordered by find
  fermata_anonymous* const library = entry.library.load(std::memory_order_relaxed);
  const std::uint32_t count = entry.count.load(std::memory_order_relaxed);  // order: see above
  stats::Wait wait({barrier, site, count, nullptr}, arrivals[table.place(entry)]);
  const int status = fermata_anonymous_meet(library);
  wait.end(status == FERMATA_LAST);
  errno = saved;
  return translate(status);
}

// After its arrival a thread touches only Fermata's pool: another thread may destroy the barrier and unmap
// its memory.
__attribute__((always_inline)) inline int wait(pthread_barrier_t* barrier) {
  const Table::Entry* const entry = table.find(barrier);
  if (entry == nullptr) [[unlikely]] {
    // FERMATA_PSHARED does not matter here: the process that initializes a shared barrier decides its kind.
    fermata_anonymous_shared* const shared = disabled ? nullptr : find_shared(barrier);
    return shared != nullptr ? wait_shared(shared, __builtin_return_address(0))
                             : wait_foreign(barrier, __builtin_return_address(0));
  }
  // order: relaxed: written at load
  if (watched.load(std::memory_order_relaxed)) [[unlikely]]
    return wait_watched(barrier, *entry, __builtin_return_address(0));
  const int saved = errno;
  // order: relaxed: ordered by find
  const int status = fermata_anonymous_meet(entry->library.load(std::memory_order_relaxed));
  errno = saved;
  return translate(status);
}

// glibc's destroy waits until all threads of the last phase have left the barrier's memory. In a bound
// barrier they leave it when they arrive. For a barrier between processes, in which glibc has no fields,
// fermata_anonymous_shared_destroy() waits.
int destroy(pthread_barrier_t* barrier) {
  if (fermata_anonymous_shared* const shared = disabled ? nullptr : find_shared(barrier); shared != nullptr) {
    const int saved = errno;
    fermata_anonymous_shared_destroy(shared);
    std::memset(static_cast<void*>(barrier), 0, sizeof *barrier);
    errno = saved;
    return 0;
  }
  const Real& functions = the_real();
  if (table.find(barrier) != nullptr) {
    const int saved = errno;
    table.unbind(barrier);
    write_tag(barrier, Tag{});
    errno = saved;
  }
  return functions.destroy(barrier);
}

}  // namespace
}  // namespace fermata::preload

namespace preload = fermata::preload;

#define FERMATA_EXPORT extern "C" __attribute__((visibility("default"))) int

FERMATA_EXPORT pthread_barrier_init(pthread_barrier_t* __restrict barrier,
                                    const pthread_barrierattr_t* __restrict attributes,
                                    unsigned count) noexcept {
  return preload::init(barrier, attributes, count);
}
FERMATA_EXPORT pthread_barrier_wait(pthread_barrier_t* barrier) noexcept { return preload::wait(barrier); }
FERMATA_EXPORT pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  return preload::destroy(barrier);
}

// Exported once more for dlvsym, under each version that glibc gives them. They are separate functions: the
// linker drops an unversioned name that has the address of a versioned one.
#define FERMATA_VERSIONED(prefix, version)                                                          \
  FERMATA_EXPORT prefix##_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes, \
                               unsigned count) {                                                    \
    return preload::init(barrier, attributes, count);                                               \
  }                                                                                                 \
  FERMATA_EXPORT prefix##_wait(pthread_barrier_t* barrier) { return preload::wait(barrier); }       \
  FERMATA_EXPORT prefix##_destroy(pthread_barrier_t* barrier) { return preload::destroy(barrier); } \
  __asm__(".symver " #prefix "_init, pthread_barrier_init@" version                                 \
          ", remove\n"                                                                              \
          ".symver " #prefix "_wait, pthread_barrier_wait@" version                                 \
          ", remove\n"                                                                              \
          ".symver " #prefix "_destroy, pthread_barrier_destroy@" version ", remove")
#if defined(__x86_64__)
FERMATA_VERSIONED(fermata_old, "GLIBC_2.2.5");
#elif defined(__aarch64__) || (defined(__powerpc64__) && defined(__LITTLE_ENDIAN__))
FERMATA_VERSIONED(fermata_old, "GLIBC_2.17");
#endif
FERMATA_VERSIONED(fermata_new, "GLIBC_2.34");
