#include "bench/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

namespace fermata::bench {
namespace {

// Far from the addresses of programs, libraries and stacks, so that it is also free in an invited process. It
// is only a hint: if the machine has no such address, the kernel chooses one.
void* const kPlace = reinterpret_cast<void*>(std::uintptr_t{0x2000'0000'0000});

}  // namespace

Arena::Arena(std::size_t bytes) : bytes_(bytes), descriptor_(memfd_create("fermata-bench", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return;
  void* mapped = mmap(kPlace, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (mapped != MAP_FAILED) base_ = static_cast<std::byte*>(mapped);
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

std::string Arena::invitation() const {
  return std::to_string(getpid()) + ":" + std::to_string(descriptor_) + ":" +
         std::to_string(reinterpret_cast<std::uintptr_t>(base_)) + ":" + std::to_string(bytes_);
}

std::string Arena::adopt(const std::string& invitation) {
  int pid = 0, number = -1;
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  if (std::sscanf(invitation.c_str(), "%d:%d:%" SCNuPTR ":%zu", &pid, &number, &address, &bytes) != 4)
    return "bad invitation";
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(number);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return "cannot open the host's memory";
  void* const wanted = reinterpret_cast<void*>(address);
  void* mapped = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                      descriptor, 0);
  close(descriptor);
  return mapped == wanted ? "" : "the address of the host's memory is taken here";
}

}  // namespace fermata::bench
