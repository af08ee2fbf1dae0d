// Calls can lead to three places: this library, a tool that wraps MPI functions, and the MPI library. The
// first of them in the search order gets the program's calls. The others see the calls that it makes as
// PMPI_x.
// - A tool before this library needs nothing: its PMPI_x is Fermata's.
// - A tool after this library would see no call. So MPI_x leads to the tool, whose PMPI_x is Fermata's.
// - A tool after this library that does not call PMPI_x by this name would bypass Fermata. A wait that
//   Fermata does not see never completes a collective that Fermata has begun. Beside such a tool MPI does
//   everything.
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <cstdint>

#include "notice.hpp"
#include "real.hpp"

#define FERMATA_ENTRIES(name, ...) \
  extern fermata::preload::Jump fermata_entry_MPI_##name, fermata_entry_PMPI_##name;
FERMATA_MPI_ALL(FERMATA_ENTRIES)
#undef FERMATA_ENTRIES

namespace fermata::preload {
namespace {

struct Entry {
  const char* name;      // "MPI_Barrier"
  const char* profiled;  // "PMPI_Barrier"
  Jump* of_program;
  Jump* of_tools;
  Jump (*of_library)();  // what real.hpp has found
};

#define FERMATA_ENTRY_OF(name, ...)                                                    \
  {"MPI_" #name, "PMPI_" #name, &fermata_entry_MPI_##name, &fermata_entry_PMPI_##name, \
   [] { return reinterpret_cast<Jump>(real.name); }},
constexpr Entry kEntries[] = {FERMATA_MPI_ALL(FERMATA_ENTRY_OF)};
#undef FERMATA_ENTRY_OF

// The function after this library in the search order.
Jump after(const char* name) { return reinterpret_cast<Jump>(dlsym(RTLD_NEXT, name)); }

const link_map* object_of(Jump function) {
  Dl_info info;
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(function), &info, &map, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<const link_map*>(map);
}

const void* place(const link_map& object, ElfW(Addr) address) {
  // glibc has added the base on most architectures, and leaves the entry alone on those where the dynamic
  // section is read-only.
  return reinterpret_cast<const void*>(address < object.l_addr ? object.l_addr + address : address);
}

// How many symbols of its table an object may import. A table for DT_GNU_HASH has all others after them.
std::uint32_t count_imports(const std::uint32_t* gnu_hash, const std::uint32_t* hash) {
  return gnu_hash != nullptr ? gnu_hash[1] : hash != nullptr ? hash[1] : 0;
}

bool imports(const link_map& object, const char* name) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t *gnu_hash = nullptr, *hash = nullptr;
  for (const ElfW(Dyn)* d = object.l_ld; d->d_tag != DT_NULL; ++d) {
    const void* const at = place(object, d->d_un.d_ptr);
    if (d->d_tag == DT_SYMTAB) symbols = static_cast<const ElfW(Sym)*>(at);
    if (d->d_tag == DT_STRTAB) names = static_cast<const char*>(at);
    if (d->d_tag == DT_GNU_HASH) gnu_hash = static_cast<const std::uint32_t*>(at);
    if (d->d_tag == DT_HASH) hash = static_cast<const std::uint32_t*>(at);
  }
  if (symbols == nullptr || names == nullptr) return false;
  for (std::uint32_t i = 1, count = count_imports(gnu_hash, hash); i < count; ++i)
    if (symbols[i].st_shndx == SHN_UNDEF && strcmp(names + symbols[i].st_name, name) == 0) return true;
  return false;
}

// Handles are addresses in Open MPI, and ints in MPICH and its relatives. This library cannot pass on handles
// of the other kind.
bool has_our_handles() {
  Jump const known = after("ompi_mpi_comm_world");
  const bool is_open_mpi =
      known != nullptr && object_of(known) == object_of(reinterpret_cast<Jump>(real.Init));
#ifdef OPEN_MPI
  return is_open_mpi;
#else
  return !is_open_mpi;
#endif
}

// Leads calls to a tool after this library, if there is one. Returns the tool's name if it bypasses Fermata,
// else null.
const char* lead_to_tool(const Entry& entry) {
  Jump const wrapped = after(entry.name), own = entry.of_library();
  if (wrapped == nullptr || wrapped == own) return nullptr;
  const link_map* const tool = object_of(wrapped);
  if (tool == nullptr || tool == object_of(own)) return nullptr;
  if (!imports(*tool, entry.profiled)) return tool->l_name;
  *entry.of_program = wrapped;
  return nullptr;
}

// Why all calls are left to MPI. The program's MPI_Init says so, and not the loading: programs of a job that
// do not use MPI may have the preload as well.
const char* tool_past_us = nullptr;  // null: the MPI library is of the other kind
const Entry* wrapped_past_us = nullptr;

void say_why() {
  if (tool_past_us == nullptr)
    say_always(
        "this program's MPI library is of another kind than the one that this preload is for, so everything "
        "stays the MPI library's: "
        "preload the other libfermata-mpi");
  else
    say_always(
        "%s wraps %s without calling %s by this name, so everything stays the MPI library's: preload it "
        "before libfermata-mpi",
        tool_past_us, wrapped_past_us->name, wrapped_past_us->profiled);
}

int say_and_init(int* argc, char*** argv) {
  say_why();
  return reinterpret_cast<decltype(real.Init)>(after("MPI_Init"))(argc, argv);
}

int say_and_init_thread(int* argc, char*** argv, int required, int* provided) {
  say_why();
  return reinterpret_cast<decltype(real.Init_thread)>(after("MPI_Init_thread"))(argc, argv, required,
                                                                                provided);
}

void leave_and_say() {
  leave_everything();
  fermata_entry_MPI_Init = reinterpret_cast<Jump>(say_and_init);
  fermata_entry_MPI_Init_thread = reinterpret_cast<Jump>(say_and_init_thread);
}

// After the environment is read, before anything else is set up.
__attribute__((constructor(103))) void lead() {
  if (settings.disabled) return leave_everything();
  if (!has_our_handles()) return leave_and_say();
  for (const Entry& entry : kEntries) {
    tool_past_us = lead_to_tool(entry);
    wrapped_past_us = &entry;
    if (tool_past_us != nullptr) return leave_and_say();
  }
}

}  // namespace

void leave_everything() {
  settings.disabled = true;
  for (const Entry& entry : kEntries) {
    *entry.of_tools = entry.of_library();
    *entry.of_program = after(entry.name);
  }
}

}  // namespace fermata::preload
