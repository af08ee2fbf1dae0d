// What a program or library takes from others: its undefined dynamic symbols, by libelf.
#ifndef FERMATA_TOOLS_ELF_SYMBOLS_HPP
#define FERMATA_TOOLS_ELF_SYMBOLS_HPP

#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fermata::tool {

struct ElfSymbols {
  bool dynamic = false;            // it has an interpreter or dynamic section: preloads can reach it
  std::set<std::string> imported;  // undefined dynamic symbols, without versions
};

// Errors: kNotFound (cannot be opened), kParse (no ELF file, or a broken one).
Result<ElfSymbols> elf_symbols(const std::string& path);

// The program and all libraries that the dynamic loader would load with it (LD_TRACE_LOADED_OBJECTS: nothing of it runs). `program` as
// execvp finds it; a script's interpreter stands for it. First the program. Errors: kNotFound, kSystem.
Result<std::vector<std::string>> loaded_objects(const std::string& program);

}  // namespace fermata::tool
#endif
