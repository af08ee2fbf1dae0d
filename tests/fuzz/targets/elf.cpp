// Programs and libraries. `fermata run` reads their imports and functions with libelf.
#include <sys/mman.h>
#include <unistd.h>

#include "../target.hpp"
#include "tools/fermata/elf_symbols.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static const int file = memfd_create("elf", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return -1;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  tool::function_at(path, size > 0 ? data[size - 1] * std::uint64_t{64} : 0);
  const auto symbols = tool::elf_symbols(path);
  if (symbols.ok()) return 0;
  if (symbols.error().message.empty()) fuzz::fail("refused without a reason", "");
  return -1;
}
