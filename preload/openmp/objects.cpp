#include "objects.hpp"

#include <pthread.h>
#include <string.h>
#include <time.h>

namespace fermata::preload {
namespace {

// The hash functions of DT_GNU_HASH and DT_HASH (System V ABI, "Hash Table Section").
std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

std::uint32_t hash_of(const char* name) {
  std::uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const std::uint32_t top = hash & 0xf0000000;
    hash = (hash ^ top >> 24) & ~top;
  }
  return hash;
}

}  // namespace

Object::Object(const dl_phdr_info& info)
    : path_(info.dlpi_name != nullptr ? info.dlpi_name : ""), base_(info.dlpi_addr) {
  low_ = UINTPTR_MAX;
  for (int p = 0; p < info.dlpi_phnum; ++p) {
    const auto& segment = info.dlpi_phdr[p];
    const std::uintptr_t begin = base_ + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type != PT_LOAD) continue;
    if (begin < low_) low_ = begin;
    if (begin + segment.p_memsz > high_) high_ = begin + segment.p_memsz;
  }
  if (low_ > high_) low_ = high_;
  for (const ElfW(Dyn)* d = dynamic_; d != nullptr && d->d_tag != DT_NULL; ++d) read(*d);
}

void Object::read(const ElfW(Dyn) & d) {
  switch (d.d_tag) {
    case DT_SYMTAB: point(symbols_, d.d_un.d_ptr); break;
    case DT_STRTAB: point(names_, d.d_un.d_ptr); break;
    case DT_GNU_HASH: point(gnu_hash_, d.d_un.d_ptr); break;
    case DT_HASH: point(hash_, d.d_un.d_ptr); break;
    case DT_SONAME: soname_ = d.d_un.d_val + 1; break;
    case DT_JMPREL: point(table_[0], d.d_un.d_ptr); break;
    case DT_PLTRELSZ: bytes_[0] = d.d_un.d_val; break;
    case DT_PLTREL: jumps_have_addends_ = d.d_un.d_val == DT_RELA; break;
    case DT_RELA: point(table_[1], d.d_un.d_ptr); break;
    case DT_RELASZ: bytes_[1] = d.d_un.d_val; break;
    case DT_REL: point(table_[2], d.d_un.d_ptr); break;
    case DT_RELSZ: bytes_[2] = d.d_un.d_val; break;
    default: break;
  }
}

void* Object::defined(std::uint32_t symbol, const char* name) const {
  const ElfW(Sym)& s = symbols_[symbol];
  const unsigned type = s.st_info & 15;  // the same in both sizes of ELF
  if (s.st_shndx == SHN_UNDEF || s.st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE)) return nullptr;
  return strcmp(names_ + s.st_name, name) == 0 ? reinterpret_cast<void*>(base_ + s.st_value) : nullptr;
}

void* Object::find(const char* name) const {
  if (symbols_ == nullptr || names_ == nullptr) return nullptr;
  if (gnu_hash_ != nullptr) {
    const std::uint32_t count = gnu_hash_[0], first = gnu_hash_[1], filters = gnu_hash_[2],
                        shift = gnu_hash_[3];
    const auto* filter = reinterpret_cast<const ElfW(Addr)*>(gnu_hash_ + 4);
    const auto* buckets = reinterpret_cast<const std::uint32_t*>(filter + filters);
    if (count == 0 || filters == 0) return nullptr;
    constexpr std::uint32_t kBits = 8 * sizeof(ElfW(Addr));
    const std::uint32_t hash = gnu_hash_of(name);
    const ElfW(Addr) both = ElfW(Addr){1} << hash % kBits | ElfW(Addr){1} << (hash >> shift) % kBits;
    if ((filter[hash / kBits % filters] & both) != both) return nullptr;
    std::uint32_t symbol = buckets[hash % count];
    if (symbol < first) return nullptr;
    for (;; ++symbol) {
      const std::uint32_t link = buckets[count + symbol - first];
      if ((link | 1) == (hash | 1))
        if (void* found = defined(symbol, name); found != nullptr) return found;
      if ((link & 1) != 0) return nullptr;
    }
  }
  if (hash_ == nullptr || hash_[0] == 0) return nullptr;
  const std::uint32_t count = hash_[0];
  for (std::uint32_t symbol = hash_[2 + hash_of(name) % count]; symbol != STN_UNDEF;
       symbol = hash_[2 + count + symbol])
    if (void* found = defined(symbol, name); found != nullptr) return found;
  return nullptr;
}

bool Object::is_named(const char* name) const {
  if (soname_ != 0 && names_ != nullptr && strcmp(names_ + soname_ - 1, name) == 0) return true;
  const char* slash = strrchr(path_, '/');
  return strcmp(path_, name) == 0 || (slash != nullptr && strcmp(slash + 1, name) == 0);
}

namespace {

// A walk takes the lock for reading, and fork() takes it for writing. Both wait for a limited time: a walk
// may wait for a fork of which another handler waits for the walking thread. A fork may wait for a walk whose
// callback is slow.
pthread_rwlock_t forking = PTHREAD_RWLOCK_INITIALIZER;
constexpr std::int64_t kMostNs = 100'000'000;

struct Holds {
  std::uint32_t walks;  // of this thread, nested
  bool writes;          // this thread holds the lock for writing, because it forks
};
__thread Holds held __attribute__((tls_model("initial-exec"))) = {};
std::uint32_t forks = 0;  // how many forks led to this process

timespec in_a_while() {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  const std::int64_t ns = until.tv_nsec + kMostNs;
  return {until.tv_sec + ns / 1'000'000'000, ns % 1'000'000'000};
}

bool may_walk() {
  if (pthread_rwlock_tryrdlock(&forking) == 0) [[likely]]
    return true;
  const timespec until = in_a_while();
  return pthread_rwlock_clockrdlock(&forking, CLOCK_MONOTONIC, &until) == 0;
}

// A signal handler may fork within a walk of its own thread.
void before_fork() {
  const timespec until = in_a_while();
  held.writes = held.walks == 0 && pthread_rwlock_clockwrlock(&forking, CLOCK_MONOTONIC, &until) == 0;
}

void in_parent() {
  if (held.writes) pthread_rwlock_unlock(&forking);
  held.writes = false;
}

void in_child() {
  ++forks;
  forking = PTHREAD_RWLOCK_INITIALIZER;
  held.writes = false;
}

__attribute__((constructor)) void watch_forks() { pthread_atfork(before_fork, in_parent, in_child); }

}  // namespace

void walk_loaded(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument) {
  const std::uint32_t process = forks;
  const bool outermost = held.walks++ == 0;
  const bool reads = outermost && may_walk();
  dl_iterate_phdr(visit, argument);
  if (reads && process == forks) pthread_rwlock_unlock(&forking);
  --held.walks;
}

Loads loads() {
  Loads counted;
  for_each_loaded([&](const dl_phdr_info& info) {
    counted = {info.dlpi_adds, info.dlpi_subs};
    return true;
  });
  return counted;
}

}  // namespace fermata::preload
