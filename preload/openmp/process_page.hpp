// The number of the process, in a page that the kernel empties in the child of any fork, also of one that
// calls no handlers.
#ifndef FERMATA_PRELOAD_OPENMP_PROCESS_PAGE_HPP
#define FERMATA_PRELOAD_OPENMP_PROCESS_PAGE_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <new>

namespace fermata::preload {

class ProcessPage {
 public:
  // False: the kernel has no such pages.
  bool make() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const at = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, page, MADV_WIPEONFORK) != 0) return false;
    page_ = new (at) Page{0};
    return true;
  }
  // Notes the number of this process, and returns it.
  std::uint32_t set() {
    const auto number = static_cast<std::uint32_t>(getpid());
    // order: relaxed: all threads store the same number
    page_->number.store(number, std::memory_order_relaxed);
    return number;
  }
  // The last number that this process has noted; 0: none.
  std::uint32_t number() const {
    // order: relaxed: see above
    return page_->number.load(std::memory_order_relaxed);
  }

 private:
  struct Page {
    std::atomic<std::uint32_t> number;
  };
  Page* page_ = nullptr;
};

}  // namespace fermata::preload
#endif
