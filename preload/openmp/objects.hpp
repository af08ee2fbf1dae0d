// What one loaded object (the program or a library) defines, imports and needs, read from its ELF headers in
// memory. An Object is valid only inside the callback of dl_iterate_phdr, where no other thread can unload
// it. Nothing here takes the lock that the loader holds while it runs constructors: dl_iterate_phdr has a
// lock of its own.
#ifndef FERMATA_PRELOAD_OPENMP_OBJECTS_HPP
#define FERMATA_PRELOAD_OPENMP_OBJECTS_HPP

#include <elf.h>
#include <link.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fermata::preload {

class Object {
 public:
  explicit Object(const dl_phdr_info& info);

  // The addresses from its first segment to the end of its last one.
  std::uintptr_t low() const { return low_; }
  std::uintptr_t span() const { return high_ - low_; }
  bool contains(const void* address) const {
    return reinterpret_cast<std::uintptr_t>(address) - low_ < high_ - low_;
  }

  // The address of a function that the object defines under this name, or null.
  void* find(const char* name) const;

  // Does another object's DT_NEEDED entry `name` mean this object? It does if it is this object's DT_SONAME,
  // path, or file name.
  bool is_named(const char* name) const;

  // Calls f(name) for each DT_NEEDED entry.
  template <class F>
  void for_each_needed(F&& f) const {
    for (const ElfW(Dyn)* d = dynamic_; d != nullptr && names_ != nullptr && d->d_tag != DT_NULL; ++d)
      if (d->d_tag == DT_NEEDED) f(names_ + d->d_un.d_val);
  }

  // Calls f(name, slot) for each relocation of an undefined symbol, until f returns true. The loader writes
  // the symbol's address to slot. Returns whether f returned true. Relocations are exact for any linker: a
  // GNU hash table that exports nothing does not tell the number of symbols.
  template <class F>
  bool any_import(F&& f) const {
    const bool jumps = jumps_have_addends_ ? any_import_in<ElfW(Rela)>(0, f) : any_import_in<ElfW(Rel)>(0, f);
    return jumps || any_import_in<ElfW(Rela)>(1, f) || any_import_in<ElfW(Rel)>(2, f);
  }

 private:
  void read(const ElfW(Dyn) & d);
  void* defined(std::uint32_t symbol, const char* name) const;

  // The loader has relocated these addresses in place, except on some architectures and in the kernel's own
  // object.
  template <class T>
  void point(T*& to, ElfW(Addr) address) const {
    to = reinterpret_cast<T*>(address < base_ ? address + base_ : address);
  }

  template <class Relocation, class F>
  bool any_import_in(int i, F& f) const {
    const auto* at = static_cast<const Relocation*>(table_[i]);
    if (at == nullptr || symbols_ == nullptr || names_ == nullptr) return false;
    for (const auto* end = at + bytes_[i] / sizeof *at; at < end; ++at) {
      const std::size_t index =
          sizeof(ElfW(Addr)) == 8 ? static_cast<std::uint64_t>(at->r_info) >> 32 : at->r_info >> 8;
      if (index == 0 || symbols_[index].st_shndx != SHN_UNDEF) continue;
      if (f(names_ + symbols_[index].st_name, reinterpret_cast<void* const*>(base_ + at->r_offset)))
        return true;
    }
    return false;
  }

  const char* path_;
  ElfW(Addr) base_;
  std::uintptr_t low_ = 0, high_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  std::uintptr_t soname_ = 0;  // offset in names_, plus 1; 0: there is none
  const void* table_[3] = {};  // DT_JMPREL, DT_RELA, DT_REL
  std::size_t bytes_[3] = {};
  bool jumps_have_addends_ = true;
};

inline bool begins_with_any(const char* name, const auto& prefixes) {
  for (const char* prefix : prefixes)
    if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

// Calls dl_iterate_phdr. A walk waits for a running fork, and a fork waits for a running walk, up to 0.1 s
// each. Else a thread that the child does not have could hold the lock of dl_iterate_phdr. Some versions of
// glibc, 2.36 among them, leave that lock held in the child.
void walk_loaded(int (*visit)(dl_phdr_info*, std::size_t, void*), void* argument);

// Calls f(info) for each loaded object, in the order in which they were loaded, until f returns true. Calls
// nest.
template <class F>
void for_each_loaded(F&& f) {
  walk_loaded(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        return (*static_cast<std::remove_reference_t<F>*>(argument))(static_cast<const dl_phdr_info&>(*info))
                   ? 1
                   : 0;
      },
      &f);
}

// How many objects have been loaded so far, and how many of them have been unloaded.
struct Loads {
  unsigned long long added = 0, removed = 0;
};
Loads loads();

}  // namespace fermata::preload
#endif
