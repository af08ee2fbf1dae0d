// Which run-time library each object calls. It is looked up once (scope.hpp) and cached. dlclose is wrapped,
// so that no answer outlives its object.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include <atomic>

#include "noted.hpp"
#include "notice.hpp"
#include "objects.hpp"
#include "resident.hpp"
#include "scope.hpp"

std::atomic<std::uint8_t> fermata_openmp_all_planned{0};

namespace fermata::preload {
namespace {

// A word describes one object: its first page, its number of pages, and the number of its run-time library.
constexpr int kPageBits = 12;
constexpr int kCallers = 64;
constexpr std::uint64_t kStranger = 255;  // in place of a number: the object imports nothing of OpenMP
constexpr int kRunTimes = 255;

struct alignas(64) Table {
  std::atomic<std::uint32_t> closing{0};  // calls of dlclose in progress: a known answer may be wrong
  std::atomic<std::uint64_t> callers[kFamilies][kCallers] = {};
} table;

constexpr std::uint64_t first_page(std::uint64_t word) { return word >> 28; }
constexpr std::uint64_t pages(std::uint64_t word) { return word >> 8 & 0xfffff; }
constexpr std::uint64_t which(std::uint64_t word) { return word & 0xff; }

// 0: the values do not fit into a word.
std::uint64_t pack(std::uintptr_t low, std::uintptr_t span, std::uint64_t what) {
  const std::uint64_t first = low >> kPageBits;
  const std::uint64_t count = ((low + span + (std::uintptr_t{1} << kPageBits) - 1) >> kPageBits) - first;
  return first >> 36 != 0 || count > 0xfffff ? 0 : first << 28 | count << 8 | what;
}

// For code that is in no object (made at run time), and for objects that import nothing. If none of their
// regions is running, the answer depends on the objects that are loaded. So the loader's count takes the
// place of the pages.
constexpr int kStrays = 16;
std::atomic<std::uint64_t> strays[kFamilies][kStrays];

// Guarded by the lock. A holder waits only for a fork and for the lock of dl_iterate_phdr. No callback of
// dl_iterate_phdr takes this lock.
std::atomic<bool> lock_word{false};
std::uint64_t closes = 0;         // calls of dlclose so far
unsigned next_victim[kFamilies];  // in a full table
std::atomic<std::uint32_t> kept_answers{0};
int known_run_times = 0;
RunTime run_times[kRunTimes];

void lock() {
  // order: acquire, as kBiasedLock: sees the tables as the last holder left them. Pairs with unlock().
  while (lock_word.exchange(true, std::memory_order_acquire)) sched_yield();
}

// order: release, as kBiasedUnlock. Pairs with lock().
void unlock() { lock_word.store(false, std::memory_order_release); }

void forget() {
  for (auto& family : table.callers)
    // order: relaxed: each word is complete by itself
    for (auto& word : family) word.store(0, std::memory_order_relaxed);
}

// In the parent another thread may have been within dlclose, or have held the lock.
void in_child() {
  forget();
  table.closing.store(0, std::memory_order_relaxed);  // order: relaxed: a forked child has one thread
  lock_word.store(false, std::memory_order_relaxed);  // order: see above
}

__attribute__((constructor)) void watch_forks() { pthread_atfork(nullptr, nullptr, in_child); }

bool is_loaded(std::uintptr_t low) {
  bool found = false;
  for_each_loaded([&](const dl_phdr_info& info) { return found = Object(info).low() == low; });
  return found;
}

// A number for each loaded run-time library, so that its regions are told from another one's; -1: too many
// are loaded. Needs the lock.
int number_of(const RunTime& found) {
  int number = -1;
  for (int i = 0; i < known_run_times && number < 0; ++i)
    if (run_times[i].low == found.low) number = i;
  if (number < 0 && known_run_times < kRunTimes) number = known_run_times++;
  for (int i = 0; i < kRunTimes && number < 0; ++i)
    if (!is_loaded(run_times[i].low)) number = i;
  if (number >= 0 && !(run_times[number] == found)) run_times[number] = found;
  return number;
}

// Needs the lock. Keeps no word that is 0, and none of a search during which an object may have been
// unloaded.
void keep(Family family, std::uint64_t word, std::uint64_t closes_before) {
  // order: relaxed: written under the lock
  if (word == 0 || closes != closes_before || table.closing.load(std::memory_order_relaxed) != 0) return;
  auto& words = table.callers[static_cast<int>(family)];
  int at = 0;
  while (at < kCallers) {
    // order: relaxed: written under the lock
    const std::uint64_t there = words[at].load(std::memory_order_relaxed);
    if (there == word) return;
    if (there == 0) break;
    ++at;
  }
  if (at == kCallers) at = static_cast<int>(next_victim[static_cast<int>(family)]++ % kCallers);
  // order: release, as kMove: hands the run-time library on. Pairs with caller_of()
  words[at].store(word, std::memory_order_release);
  kept_answers.fetch_add(1, std::memory_order_relaxed);  // order: relaxed: only their number counts
}

// A library whose regions are not planned clears the flag for good.
void note_planned(bool planned) {
  static std::atomic<bool> exception{false};
  // order: relaxed: a thread that takes the slower way for nothing gets the same result
  if (!planned) exception.store(true, std::memory_order_relaxed);
  const bool all = planned && !exception.load(std::memory_order_relaxed);    // order: see above
  fermata_openmp_all_planned.store(all ? 1 : 0, std::memory_order_relaxed);  // order: see above
}

const RunTime* number_and_keep(const Search& s, std::uint64_t closes_before) {
  lock();
  const int number = number_of(s.run_time);
  const std::uint64_t word = number < 0 ? 0 : pack(s.low, s.span, static_cast<std::uint64_t>(number));
  keep(s.family, word, closes_before);
  unlock();
  if (s.run_time.observed && !disabled()) say_fallback(Fallback::kObserved);
  if (s.family == Family::kKmp && number >= 0) note_planned(s.run_time.planned);
  return number < 0 ? nullptr : &run_times[number];
}

// The object made the call for another one. If this thread is in a region, it was for that region's object.
// Else nothing tells, and any library that has the function will do.
Caller stranger(Family family, const void* address, std::uintptr_t low, std::uintptr_t span) {
  if (const Region* region = here.region; region != nullptr && region->run_time->has(family))
    return {region->run_time, low, span};
  const Loads now = loads();
  const std::uint64_t page = reinterpret_cast<std::uintptr_t>(address) >> kPageBits;
  const std::uint64_t key = page << 28 | ((now.added + now.removed) & 0xfffff) << 8;
  std::atomic<std::uint64_t>& stray = strays[static_cast<int>(family)][page % kStrays];
  // order: acquire, as kMovedRead. Pairs with the store below
  const std::uint64_t word = stray.load(std::memory_order_acquire);
  if (word != 0 && word >> 8 == key >> 8) return {&run_times[which(word)], low, span};
  Search s{family, address};
  look_at_rest(s);
  if (!s.found) return {nullptr, low, span};
  lock();
  const int number = number_of(s.run_time);
  unlock();
  if (number < 0) return {nullptr, low, span};
  // order: release, as kMove: hands the run-time library on. Pairs with the load above
  stray.store(key | static_cast<std::uint64_t>(number), std::memory_order_release);
  return {&run_times[number], low, span};
}

Caller look_up(Family family, const void* address) {
  lock();
  const std::uint64_t closes_before = closes;
  unlock();
  Search s{family, address};
  look_at_caller(s);
  if (s.imports && !s.found) look_at_rest(s);
  if (s.found) return {number_and_keep(s, closes_before), s.low, s.span};
  if (s.imports) return {nullptr, s.low, s.span};
  if (!s.in_object) return stranger(family, address, reinterpret_cast<std::uintptr_t>(address), 1);
  lock();
  keep(family, pack(s.low, s.span, kStranger), closes_before);
  unlock();
  return stranger(family, address, s.low, s.span);
}

// An object will be closed. Threads with residences need their run-time libraries: these stay loaded.
void keep_run_times() {
  for (int which = 0; is_any_there(); ++which) {
    char path[1024] = "";
    int found = 0;
    for_each_loaded([&](const dl_phdr_info& info) {
      if (!is_run_time(Object(info), Family::kGomp) || found++ < which) return false;
      if (strlen(info.dlpi_name) < sizeof path) strcpy(path, info.dlpi_name);
      return true;
    });
    if (found <= which) return;
    if (path[0] != '\0') dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

}  // namespace

// order: relaxed: see above
std::uint32_t callers_known() { return kept_answers.load(std::memory_order_relaxed); }

Caller caller_of(Family family, const void* object) {
  const std::uint64_t page = reinterpret_cast<std::uintptr_t>(object) >> kPageBits;
  // order: acquire, as kMovedRead: a thread that reads 0 sees no forgotten entry. Pairs with dlclose()
  if (table.closing.load(std::memory_order_acquire) != 0) [[unlikely]]
    return look_up(family, object);
  for (const auto& known : table.callers[static_cast<int>(family)]) {
    // order: acquire, as kMovedRead. Pairs with keep()
    const std::uint64_t word = known.load(std::memory_order_acquire);
    if (page - first_page(word) < pages(word)) [[likely]] {
      const std::uintptr_t low = first_page(word) << kPageBits, span = pages(word) << kPageBits;
      return which(word) != kStranger ? Caller{&run_times[which(word)], low, span}
                                      : stranger(family, object, low, span);
    }
    if (word == 0) break;
  }
  return look_up(family, object);
}

}  // namespace fermata::preload

using namespace fermata::preload;

// During the call an object may be unloaded, and another one be loaded in its place, so no answer is taken
// from the table. The loader's count tells whether an object was unloaded.
FERMATA_EXPORT int dlclose(void* handle) noexcept {
  leave_residence();  // the run-time library may be unloaded
  keep_run_times();
  using Function = int(void*);
  static constinit std::atomic<Function*> known{nullptr};
  // order: relaxed: a pointer to code, the same for all threads
  Function* real = known.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "dlclose"));
    known.store(real, std::memory_order_relaxed);  // order: see above
  }
  lock();
  ++closes;
  // order: relaxed: a thread that must see it synchronizes with this one in the loader
  table.closing.fetch_add(1, std::memory_order_relaxed);
  unlock();
  const unsigned long long removed = loads().removed;
  const int result = real(handle);
  const bool unloaded = loads().removed != removed;
  lock();
  if (unloaded) forget();
  // order: relaxed: written under the lock, except in a forked child
  if (const std::uint32_t now = table.closing.load(std::memory_order_relaxed); now != 0)
    // order: release, as kMove: after forgetting. Pairs with caller_of()
    table.closing.store(now - 1, std::memory_order_release);
  unlock();
  return result;
}
