// A function that an object calls has a relocation with its name. Relocations are exact whatever linker made the object; the
// number of a table's symbols is not to be had from a GNU hash table that exports nothing.
//
// dlopen is not wrapped: called from here, it would search by our run path instead of its caller's. The loader's count of
// objects ever loaded answers as well, for 50 ns, once per region that has a barrier.
#include "imports.hpp"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <atomic>
#include <cstdint>

#include "notice.hpp"

namespace fermata::preload {
namespace {

constexpr const char* kTasking[] = {"GOMP_task", "GOMP_target", "__kmpc_omp_task", "__kmpc_taskloop", "__tgt_target"};

bool is_tasking(const char* name) {
  if (name[0] != 'G' && name[0] != '_') return false;
  for (const char* prefix : kTasking)
    if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

struct Object {
  const dl_phdr_info* info;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const void* table[3] = {};     // DT_JMPREL, DT_RELA, DT_REL
  std::size_t bytes[3] = {};
  bool jumps_have_addends = true;

  // The loader has relocated these in place, but on some architectures, and in what the kernel maps.
  template <class T>
  void point(T*& to, ElfW(Addr) address) const {
    to = reinterpret_cast<T*>(address < info->dlpi_addr ? address + info->dlpi_addr : address);
  }

  explicit Object(const dl_phdr_info* i) : info(i) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (int p = 0; p < i->dlpi_phnum; ++p)
      if (i->dlpi_phdr[p].p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const ElfW(Dyn)*>(i->dlpi_addr + i->dlpi_phdr[p].p_vaddr);
    for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) read(*dynamic);
  }

  void read(const ElfW(Dyn)& d) {
    switch (d.d_tag) {
      case DT_SYMTAB: point(symbols, d.d_un.d_ptr); break;
      case DT_STRTAB: point(names, d.d_un.d_ptr); break;
      case DT_JMPREL: point(table[0], d.d_un.d_ptr); break;
      case DT_PLTRELSZ: bytes[0] = d.d_un.d_val; break;
      case DT_PLTREL: jumps_have_addends = d.d_un.d_val == DT_RELA; break;
      case DT_RELA: point(table[1], d.d_un.d_ptr); break;
      case DT_RELASZ: bytes[1] = d.d_un.d_val; break;
      case DT_REL: point(table[2], d.d_un.d_ptr); break;
      case DT_RELSZ: bytes[2] = d.d_un.d_val; break;
      default: break;
    }
  }

  template <class Relocation>
  bool any_tasking(int i) const {
    const auto* at = static_cast<const Relocation*>(table[i]);
    if (at == nullptr || symbols == nullptr || names == nullptr) return false;
    for (const auto* end = at + bytes[i] / sizeof *at; at < end; ++at) {
      const std::size_t index = sizeof(ElfW(Addr)) == 8 ? static_cast<std::uint64_t>(at->r_info) >> 32 : at->r_info >> 8;
      if (index != 0 && symbols[index].st_shndx == SHN_UNDEF && is_tasking(names + symbols[index].st_name)) return true;
    }
    return false;
  }

  bool any_tasking() const {
    const bool jumps = jumps_have_addends ? any_tasking<ElfW(Rela)>(0) : any_tasking<ElfW(Rel)>(0);
    return jumps || any_tasking<ElfW(Rela)>(1) || any_tasking<ElfW(Rel)>(2);
  }
};

struct Look {
  unsigned long long added = 0;
  bool any = false;
};

int count_only(dl_phdr_info* info, std::size_t, void* out) {
  *static_cast<unsigned long long*>(out) = info->dlpi_adds;
  return 1;
}

int look(dl_phdr_info* info, std::size_t, void* out) {
  auto& result = *static_cast<Look*>(out);
  result.added = info->dlpi_adds;
  if (!Object(info).any_tasking()) return 0;
  result.any = true;
  say_fallback(Fallback::kTasks, info->dlpi_name[0] != '\0' ? info->dlpi_name : "the program");
  return 1;
}

std::atomic<bool> found{false};
std::atomic<unsigned long long> looked_at{0};  // objects ever loaded, when we last looked

}  // namespace

bool tasks_are_used() {
  if (found.load(std::memory_order_relaxed)) return true;  // order: relaxed: says nothing but itself
  unsigned long long added = 0;
  dl_iterate_phdr(count_only, &added);
  if (added == looked_at.load(std::memory_order_relaxed)) return false;  // order: relaxed: two threads may both look
  Look result;
  dl_iterate_phdr(look, &result);
  if (result.any) found.store(true, std::memory_order_relaxed);  // order: relaxed, both: see above
  else looked_at.store(result.added, std::memory_order_relaxed);   // order: see above
  return result.any;
}

}  // namespace fermata::preload
