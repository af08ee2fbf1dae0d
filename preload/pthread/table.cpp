#include "table.hpp"

#include <pthread.h>
#include <sys/mman.h>

namespace fermata::preload {
namespace {

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The forking thread holds the lock. So the child does not inherit this lock, or a half-made change of the
// table, from a thread that the child does not have.
void before_fork() { pthread_mutex_lock(&lock); }
void after_fork() { pthread_mutex_unlock(&lock); }
int watched = 0;  // error of pthread_atfork; 0: forks are watched
__attribute__((constructor(101))) void watch_forks() {
  watched = pthread_atfork(before_fork, after_fork, after_fork);
}

struct Guard {
  Guard() { pthread_mutex_lock(&lock); }
  ~Guard() { pthread_mutex_unlock(&lock); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
};

}  // namespace

bool Table::open() {
  if (watched != 0) return false;
  constexpr std::size_t bytes = kCapacity * sizeof(Entry) + kBuckets * sizeof(std::uint32_t);
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  // Zeroed pages are free entries and empty buckets.
  buckets_ = reinterpret_cast<std::uint32_t*>(static_cast<char*>(memory) + kCapacity * sizeof(Entry));
  // order: release, as kMove; pairs with find
  entries_.store(static_cast<Entry*>(memory), std::memory_order_release);
  return true;
}

std::uint32_t* Table::bucket(const pthread_barrier_t* barrier) {
  const auto address = reinterpret_cast<std::uintptr_t>(barrier);
  // 2^32 / 2^18 = kBuckets
  return &buckets_[static_cast<std::uint32_t>((address >> 3) * 0x9E37'79B9u) >> 18];
}

std::uint32_t* Table::slot_of(const pthread_barrier_t* barrier) {
  // order: relaxed: set before the first lock was taken
  Entry* entries = entries_.load(std::memory_order_relaxed);
  std::uint32_t* link = bucket(barrier);
  // order: relaxed: addresses change under the lock only
  while (*link != 0 && entries[*link - 1].address.load(std::memory_order_relaxed) != barrier)
    link = &entries[*link - 1].next;
  return link;
}

std::uint32_t Table::take() {
  if (free_ != 0) {
    const std::uint32_t taken = free_;
    free_ = entries_.load(std::memory_order_relaxed)[taken - 1].next;  // order: relaxed: as in slot_of
    return taken;
  }
  return used_ < kCapacity ? ++used_ : 0;
}

bool Table::bind(pthread_barrier_t* barrier, std::uint32_t count) {
  const Guard guard;
  Entry* entries = entries_.load(std::memory_order_relaxed);  // order: relaxed: as in slot_of
  fermata_anonymous* library = nullptr;
  std::uint32_t* link = slot_of(barrier);
  std::uint32_t place = *link;
  const bool known = place != 0;
  if (!known && (place = take()) == 0) return false;
  Entry& entry = entries[place - 1];
  // order: relaxed: under the lock
  if (known) fermata_anonymous_destroy(entry.library.load(std::memory_order_relaxed));
  if (fermata_anonymous_create(count, 0, &library) != FERMATA_OK) {
    if (known) {
      *link = entry.next;
      // order: relaxed: the program must let no thread wait on it now
      entry.address.store(nullptr, std::memory_order_relaxed);
    }
    entry.next = free_;
    free_ = place;
    return false;
  }
  fermata_anonymous_name(library, barrier);
  // order: relaxed: the release of the address publishes them
  const std::uint32_t generation = entry.generation.load(std::memory_order_relaxed) + 1;
  entry.generation.store(generation, std::memory_order_relaxed);  // order: see above
  entry.library.store(library, std::memory_order_relaxed);        // order: see above
  entry.count.store(count, std::memory_order_relaxed);            // order: see above
  if (!known) {
    entry.next = 0;
    *link = place;
  }
  entry.address.store(barrier, std::memory_order_release);  // order: release, as kMove; pairs with find
  write_tag(barrier, Tag{kMagic, place - 1, generation});
  return true;
}

void Table::unbind(pthread_barrier_t* barrier) {
  const Guard guard;
  std::uint32_t* link = slot_of(barrier);
  const std::uint32_t place = *link;
  if (place == 0) return;
  Entry& entry = entries_.load(std::memory_order_relaxed)[place - 1];  // order: relaxed: as in slot_of
  *link = entry.next;
  // order: relaxed: the program must let no thread wait on it now
  entry.address.store(nullptr, std::memory_order_relaxed);
  fermata_anonymous_destroy(entry.library.load(std::memory_order_relaxed));  // order: relaxed: under the lock
  entry.next = free_;
  free_ = place;
}

}  // namespace fermata::preload
