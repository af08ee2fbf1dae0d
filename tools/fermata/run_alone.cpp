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
  const char* symbol;  // imported by what is built with it, or exported by a program that has it linked in
  const char* name;
};

constexpr Sanitizer kSanitizers[] = {{"__asan_init", "AddressSanitizer"},
                                     {"__tsan_init", "ThreadSanitizer"},
                                     {"__msan_init", "MemorySanitizer"},
                                     {"__hwasan_init", "HWAddressSanitizer"}};

// Calls f(path, symbols) for the program and each library that is loaded with it, until f returns something.
template <class F>
std::string first_reason(const std::string& program, F&& f) {
  const auto objects = loaded_objects(program);
  if (!objects) return "";  // whoever executes it says what is wrong
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
  if (os::is_on(os::Variable::kDisable)) return "FERMATA_DISABLE is set: left as it is";
  return first_reason(program, [](const std::string& file, const ElfSymbols& symbols) -> std::string {
    for (const Sanitizer& s : kSanitizers)
      if (symbols.imported.contains(s.symbol) || symbols.exported.contains(s.symbol))
        return fmt::format("{} is built with {}: left as it is", file, s.name);
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
    // libomp has the function, too, as the place where the search for a tool begins.
    if (!symbols.exported.contains("ompt_start_tool") || symbols.exported.contains("__kmpc_barrier"))
      return "";
    return fmt::format("{} is an OMPT tool: OpenMP is left alone", file);
  });
}

}  // namespace fermata::tool
