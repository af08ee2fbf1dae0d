#include "run_choice.hpp"

#include <fmt/core.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "commands.hpp"
#include "elf_symbols.hpp"
#include "os/environment.hpp"
#include "run_mpi.hpp"

namespace fermata::tool {
namespace {

struct Preload {
  const char* name;
  std::vector<const char*> symbols;  // a program that imports one of these can gain
};

const Preload kPreloads[] = {
    {"pthread", {"pthread_barrier_wait"}},
    {"openmp", {"GOMP_parallel", "GOMP_barrier", "__kmpc_barrier", "__kmpc_fork_call"}},
    {"mpi-openmpi", {}},  // the linked library or the launcher decides: see run_mpi.hpp
    {"mpi-mpich", {}},
    {"mpi-openmpi5", {}},
    {"mpi-mpich5", {}},
};

std::string library_of(const std::string& preload) {
  return library_beside("preload/" + preload.substr(0, preload.find('-')), "libfermata-" + preload + ".so");
}

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
    if (std::string reason = f(file_name(object), *symbols); !reason.empty()) return reason;
  }
  return "";
}

// Why nothing may be preloaded into this program; empty: there is no reason.
//  - FERMATA_DISABLE is set: it runs as it would without this tool.
//  - It, or a library that it loads, is built with a sanitizer. AddressSanitizer refuses to start if another
//    library is loaded first. ThreadSanitizer reports races where a library that it has not instrumented
//    orders the accesses.
std::string why_alone(const std::string& program) {
  if (os::is_on(os::Variable::kDisable)) return "FERMATA_DISABLE is set: left unchanged";
  return first_reason(program, [](const std::string& file, const ElfSymbols& symbols) -> std::string {
    for (const Sanitizer& s : kSanitizers)
      if (symbols.imported.contains(s.symbol) || symbols.exported.contains(s.symbol))
        return fmt::format("{} is built with {}: left unchanged", file, s.name);
    return "";
  });
}

// Why preloads must leave the program's OpenMP run-time alone; empty: there is no reason. An OMPT tool would
// miss the events of barriers that Fermata executes in place of the run-time.
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

// Why no preload can reach this program; empty: preloads can.
std::string out_of_reach(const std::string& program) {
  if (has_foreign_rights(program))
    return program + " is setuid, setgid or has file capabilities: the loader ignores preloads for it";
  const auto symbols = elf_symbols(program);
  if (!symbols || !symbols->dynamic) return program + " is not dynamically linked: preloads cannot reach it";
  return "";
}

// The preloads that are to be loaded. `fits` is false if none can be: then `why` says why.
struct Wanted {
  std::vector<std::string> names;
  std::string why;
  bool fits = true;
};

Wanted none_fits(const std::string& why) { return {{}, why, false}; }

// The first function of the preload that one of the objects imports, in words; empty: none does.
std::string use_of(const Preload& preload, const std::vector<std::string>& objects) {
  for (const std::string& object : objects) {
    const auto symbols = elf_symbols(object);
    if (!symbols) continue;
    for (const char* s : preload.symbols)
      if (symbols->imported.contains(s)) return fmt::format("{} uses {}", file_name(object), s);
  }
  return "";
}

// By the functions that the program imports.
Wanted detected(const MpiChoice& mpi) {
  const auto objects = loaded_objects(mpi.program);
  if (!objects) return none_fits(objects.error().message);  // become() reports the error
  if (const std::string why = out_of_reach(objects->front()); !why.empty()) return none_fits(why);
  Wanted wanted;
  if (!mpi.preload.empty()) {
    const bool there = mpi.preload.back() != '5' || !library_of(mpi.preload).empty();
    wanted.names.push_back(there ? mpi.preload : mpi.preload.substr(0, mpi.preload.size() - 1));
    wanted.why = mpi.why;
  }
  for (const Preload& p : kPreloads) {
    const std::string use = use_of(p, *objects);
    if (use.empty()) continue;
    wanted.names.emplace_back(p.name);
    wanted.why += (wanted.why.empty() ? "" : "; ") + use;
  }
  if (wanted.names.empty())
    return none_fits(
        "it imports no barrier of pthreads or OpenMP and no MPI: left unchanged (if it loads them "
        "later, use --preload pthread,openmp)");
  return wanted;
}

// By the user's list.
Wanted asked(const std::string& preloads, const std::string& program) {
  Wanted wanted;
  for (std::size_t at = 0; at <= preloads.size();) {
    const auto comma = std::min(preloads.find(',', at), preloads.size());
    wanted.names.push_back(preloads.substr(at, comma - at));
    at = comma + 1;
  }
  wanted.why = "as asked";
  const auto objects = loaded_objects(program);
  const std::string why = objects ? out_of_reach(objects->front()) : "";
  if (!why.empty()) wanted.why += "; " + why + "; preloads reach only programs that it starts";
  return wanted;
}

// The file of the preload, which `name` names; empty: it is not installed.
std::string checked_library(const std::string& name) {
  const bool known = std::any_of(std::begin(kPreloads), std::end(kPreloads),
                                 [&](const Preload& p) { return name == p.name; });
  if (!known)
    throw CommandError(
        "--preload takes auto, none, or a list of pthread, openmp, mpi-openmpi, mpi-mpich, mpi-openmpi5 "
        "and mpi-mpich5, not '" +
        name + "'");
  return library_of(name);
}

}  // namespace

Choice choose_preloads(const std::string& preloads, const std::vector<std::string>& command) {
  const MpiChoice mpi = choose_mpi(command);
  if (std::string why = why_alone(mpi.program); !why.empty()) return {{}, why};
  Wanted wanted = preloads == "auto"   ? detected(mpi)
                  : preloads == "none" ? none_fits("as asked")
                                       : asked(preloads, command[0]);
  if (!wanted.fits) return {{}, wanted.why};
  if (const auto openmp = std::find(wanted.names.begin(), wanted.names.end(), "openmp");
      openmp != wanted.names.end()) {
    if (const std::string why = why_openmp_alone(mpi.program); !why.empty()) {
      wanted.names.erase(openmp);
      wanted.why += "; " + why;
    }
  }
  Choice choice{{}, wanted.why};
  for (const std::string& name : wanted.names) {
    const std::string library = checked_library(name);
    if (library.empty())
      choice.why += fmt::format("; libfermata-{}.so is not installed beside this tool", name);
    else choice.libraries.push_back(library);
  }
  return choice;
}

}  // namespace fermata::tool
