#include "run_alone.hpp"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "elf_symbols.hpp"
#include "os/environment.hpp"

namespace fermata::tool {
namespace {

struct Sanitizer {
  const char* symbol;  // programs built with it import this; programs that contain it export this
  const char* name;
};

constexpr Sanitizer kSanitizers[] = {{"__asan_init", "AddressSanitizer"},
                                     {"__tsan_init", "ThreadSanitizer"},
                                     {"__msan_init", "MemorySanitizer"},
                                     {"__hwasan_init", "HWAddressSanitizer"}};

// Calls f(path, symbols) for the program and each loaded library; returns the first text that f gives.
template <class F>
std::string first_reason(const std::string& program, F&& f) {
  const auto objects = loaded_objects(program);
  if (!objects) return "";  // the start of the program reports the error
  for (const std::string& object : *objects) {
    const auto symbols = elf_symbols(object);
    if (!symbols) continue;
    if (std::string reason = f(std::filesystem::path(object).filename().string(), *symbols); !reason.empty())
      return reason;
  }
  return "";
}

}  // namespace

std::string why_alone(const std::string& program) {
  if (os::is_on(os::Variable::kDisable)) return "FERMATA_DISABLE is set: left unchanged";
  return first_reason(program, [](const std::string& file, const ElfSymbols& symbols) -> std::string {
    for (const Sanitizer& s : kSanitizers)
      if (symbols.imported.contains(s.symbol) || symbols.exported.contains(s.symbol))
        return fmt::format("{} is built with {}: left unchanged", file, s.name);
    return "";
  });
}

std::string why_openmp_alone(const std::string& program) {
  const char* tool = std::getenv("OMP_TOOL");
  if (tool != nullptr && strcasecmp(tool, "disabled") == 0) return "";
  const char* tools = std::getenv("OMP_TOOL_LIBRARIES");
  if (tools != nullptr && *tools != '\0')
    return "OMP_TOOL_LIBRARIES names an OMPT tool: OpenMP is left alone";
  return first_reason(program, [](const std::string& file, const ElfSymbols& symbols) -> std::string {
    // libomp exports the function, too: as the start of its own search for a tool.
    if (!symbols.exported.contains("ompt_start_tool") || symbols.exported.contains("__kmpc_barrier"))
      return "";
    return fmt::format("{} is an OMPT tool: OpenMP is left alone", file);
  });
}

}  // namespace fermata::tool
