// Where a run-time library has its thread-local variables.
#ifndef FERMATA_PRELOAD_OPENMP_THREAD_MEMORY_HPP
#define FERMATA_PRELOAD_OPENMP_THREAD_MEMORY_HPP

#include <cstddef>

#include "objects.hpp"
#include "run_time.hpp"

namespace fermata::preload {

inline constexpr std::size_t kMostMemory = 256;

#if defined(__x86_64__) || defined(__aarch64__)
// The C library has this function. The ABI of other processors adds an offset.
struct ModuleOffset {
  unsigned long module, offset;
};
extern "C" void* __tls_get_addr(ModuleOffset*);
inline std::byte* memory_of(std::size_t module) {
  ModuleOffset begin{module, 0};
  return static_cast<std::byte*>(__tls_get_addr(&begin));
}
#else
inline std::byte* memory_of(std::size_t) { return nullptr; }
#endif

// The thread-local memory of a run-time library, for the calling thread.
struct Memory {
  std::byte* at = nullptr;  // null: there is none, or too much
  std::size_t bytes = 0;
  std::size_t module = 0;  // for memory_of()

  bool contains(std::uintptr_t address) const {
    return address - reinterpret_cast<std::uintptr_t>(at) < bytes;
  }

  static Memory of(const RunTime& run_time) {
    Memory found;
    for_each_loaded([&](const dl_phdr_info& info) {
      if (Object(info).low() != run_time.low) return false;
      for (int i = 0; i < info.dlpi_phnum; ++i)
        if (info.dlpi_phdr[i].p_type == PT_TLS) found.bytes = info.dlpi_phdr[i].p_memsz;
      found.module = found.bytes > 0 && found.bytes <= kMostMemory ? info.dlpi_tls_modid : 0;
      return true;
    });
    if (found.module != 0) found.at = memory_of(found.module);
    return found;
  }
};

}  // namespace fermata::preload

#endif
