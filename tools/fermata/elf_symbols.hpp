// The dynamic symbols that a program or library imports and exports, and the names of its functions, by
// libelf.
#ifndef FERMATA_TOOLS_ELF_SYMBOLS_HPP
#define FERMATA_TOOLS_ELF_SYMBOLS_HPP

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace fermata::tool {

// The name of a file without its folder.
inline std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

struct ElfSymbols {
  // It names an interpreter, the dynamic loader. Ask it of programs only: few libraries name one.
  bool dynamic = false;
  std::set<std::string> imported;  // undefined dynamic symbols, without versions
  std::set<std::string> exported;  // the defined ones
};

// Errors: kNotFound (cannot be opened), kParse (not an ELF file, or its section headers are broken).
Result<ElfSymbols> elf_symbols(const std::string& path);

// Whether the program runs with rights that its caller lacks: setuid, setgid or file capabilities. The loader
// then ignores LD_PRELOAD.
bool has_foreign_rights(const std::string& program);

// The function that holds the byte before `offset`, and the distance of `offset` from the function's start:
// "meet+0x12". So a return address names the caller. `offset` counts from the object's load address. The full
// symbol table is searched, then that of exported functions, which a stripped file still has. Empty: no such
// file or function.
std::string function_at(const std::string& path, std::uint64_t offset);

// The program first, then all libraries that the dynamic loader would load with it. LD_TRACE_LOADED_OBJECTS
// keeps glibc's loader from running their code. `program` is found as execvp finds it; a script is replaced
// by its interpreter. Errors: kNotFound (no such program).
Result<std::vector<std::string>> loaded_objects(const std::string& program);

}  // namespace fermata::tool
#endif
