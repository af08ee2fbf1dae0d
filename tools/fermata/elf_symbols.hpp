// What a program or library takes from others and has for them (its dynamic symbols), and the names of its
// own functions, by libelf.
#ifndef FERMATA_TOOLS_ELF_SYMBOLS_HPP
#define FERMATA_TOOLS_ELF_SYMBOLS_HPP

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fermata::tool {

struct ElfSymbols {
  bool dynamic = false;            // it has an interpreter or dynamic section: preloads can reach it
  std::set<std::string> imported;  // undefined dynamic symbols, without versions
  std::set<std::string> exported;  // the other ones
};

// Errors: kNotFound (cannot be opened), kParse (no ELF file, or a broken one).
Result<ElfSymbols> elf_symbols(const std::string& path);

// The program runs with rights that its caller hasn't: setuid, setgid or file capabilities. The loader then
// ignores LD_PRELOAD.
bool has_foreign_rights(const std::string& program);

// The function that holds the instruction before `offset`, counted from where the object is loaded, by the
// object's full symbol table, and how far behind its begin `offset` is: "meet+0x12". Empty: no such file, it
// is stripped, or nothing is there.
std::string function_at(const std::string& path, std::uint64_t offset);

// The program and all libraries that the dynamic loader would load with it (LD_TRACE_LOADED_OBJECTS: nothing
// of it runs). `program` as execvp finds it; a script's interpreter stands for it. First the program. Errors:
// kNotFound, kSystem.
Result<std::vector<std::string>> loaded_objects(const std::string& program);

}  // namespace fermata::tool
#endif
