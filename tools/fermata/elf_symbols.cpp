#include "elf_symbols.hpp"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

extern char** environ;

namespace fermata::tool {
namespace {

struct Descriptor {
  int value;
  explicit Descriptor(int fd) : value(fd) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

bool is_program(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && access(path.c_str(), X_OK) == 0;
}

// The path that execvp would find; empty: there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  const char* path = std::getenv("PATH");
  std::istringstream parts(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string part; std::getline(parts, part, ':');) {
    const std::string whole = (part.empty() ? "." : part) + "/" + name;
    if (is_program(whole)) return whole;
  }
  return "";
}

// The interpreter of a script, else the path itself.
std::string executed(const std::string& path, int depth = 0) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, 256> head{};
  file.read(head.data(), head.size() - 1);
  if (head[0] != '#' || head[1] != '!' || depth > 3) return path;
  std::istringstream line(head.data() + 2);
  std::string interpreter, argument;
  line >> interpreter >> argument;
  // "#!/usr/bin/env python3" runs python3.
  if (interpreter.size() >= 4 && interpreter.substr(interpreter.size() - 4) == "/env" && !argument.empty() &&
      argument[0] != '-')
    interpreter = find_program(argument);
  return interpreter.empty() ? path : executed(interpreter, depth + 1);
}

// What the loader prints for `path`; empty if it isn't dynamically linked.
std::string loader_says(const std::string& path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) environment.push_back(*e);
  std::string trace = "LD_TRACE_LOADED_OBJECTS=1", program = path;
  environment.push_back(trace.data());
  environment.push_back(nullptr);
  char* arguments[] = {program.data(), nullptr};
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, path.c_str(), &actions, nullptr, arguments, environment.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n; failed == 0 && (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  if (failed == 0) waitpid(pid, nullptr, 0);
  return text;
}

// Calls f(symbol, name) for each symbol with a name in the tables of one kind, until f returns true.
template <class F>
void for_each_symbol(Elf* elf, std::uint32_t kind, F&& f) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != kind || header.sh_entsize == 0)
      continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    const auto symbols = static_cast<int>(data->d_size / header.sh_entsize);
    for (int i = 0; i < symbols; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, i, &symbol) == nullptr) continue;
      const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name != nullptr && *name != '\0' && f(symbol, name)) return;
    }
  }
}

// The function before `address`, by the symbol tables of one kind; empty: there is none.
std::string function_in(Elf* elf, std::uint32_t kind, std::uint64_t address) {
  std::ostringstream out;
  for_each_symbol(elf, kind, [&](const GElf_Sym& symbol, const char* name) {
    const bool found = GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                       address > symbol.st_value && address - symbol.st_value <= symbol.st_size;
    if (found) out << name << "+0x" << std::hex << address - symbol.st_value;
    return found;
  });
  return out.str();
}

}  // namespace

Result<ElfSymbols> elf_symbols(const std::string& path) {
  elf_version(EV_CURRENT);
  const Descriptor fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.value < 0) return Error{Status::kNotFound, path + ": cannot be opened"};
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.value, ELF_C_READ, nullptr), elf_end);
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF) return Error{Status::kParse, path + ": not an ELF file"};
  ElfSymbols out;
  // Not the dynamic section: a static position-independent program has one, too.
  std::size_t segments = 0;
  if (elf_getphdrnum(elf.get(), &segments) != 0) segments = 0;
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    out.dynamic |=
        gelf_getphdr(elf.get(), static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_INTERP;
  }
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) return Error{Status::kParse, path + ": " + elf_errmsg(-1)};
  }
  for_each_symbol(elf.get(), SHT_DYNSYM, [&](const GElf_Sym& symbol, const char* name) {
    (symbol.st_shndx == SHN_UNDEF ? out.imported : out.exported).insert(name);
    return false;
  });
  return out;
}

bool has_foreign_rights(const std::string& program) {
  struct stat s;
  if (stat(program.c_str(), &s) != 0) return false;
  const bool other_user = (s.st_mode & S_ISUID) != 0 && s.st_uid != getuid();
  const bool other_group = (s.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && s.st_gid != getgid();
  return other_user || other_group ||
         (getuid() != 0 && getxattr(program.c_str(), "security.capability", nullptr, 0) > 0);
}

std::string function_at(const std::string& path, std::uint64_t offset) {
  elf_version(EV_CURRENT);
  const Descriptor fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.value < 0) return "";
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd.value, ELF_C_READ, nullptr), elf_end);
  std::size_t segments = 0;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || elf_getphdrnum(elf.get(), &segments) != 0) return "";
  // The loader's base is the page of the first segment: 0 if the program is position-independent.
  std::uint64_t first = UINT64_MAX;
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) != nullptr && segment.p_type == PT_LOAD)
      first = std::min<std::uint64_t>(
          first, segment.p_align > 1 ? segment.p_vaddr - segment.p_vaddr % segment.p_align : segment.p_vaddr);
  }
  if (first == UINT64_MAX) return "";
  const std::uint64_t address = first + offset;
  const std::string name = function_in(elf.get(), SHT_SYMTAB, address);
  // A stripped library still has the symbols that it exports.
  return name.empty() ? function_in(elf.get(), SHT_DYNSYM, address) : name;
}

Result<std::vector<std::string>> loaded_objects(const std::string& program) {
  const std::string found = find_program(program);
  if (found.empty()) return Error{Status::kNotFound, program + ": no such program"};
  std::vector<std::string> objects = {executed(found)};
  const auto symbols = elf_symbols(objects[0]);
  if (!symbols || !symbols->dynamic) return objects;
  std::istringstream lines(loader_says(objects[0]));
  for (std::string line; std::getline(lines, line);) {
    // "libm.so.6 => /lib/libm.so.6 (0x...)" or "/lib64/ld-linux.so.2 (0x...)"
    const auto slash = line.find('/');
    const auto end = line.find(" (0x");
    if (slash != std::string::npos && end != std::string::npos && slash < end)
      objects.push_back(line.substr(slash, end - slash));
  }
  return objects;
}

}  // namespace fermata::tool
