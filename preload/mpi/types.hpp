// Datatypes: the layout of their elements, and which of them are numbers that Fermata knows.
#ifndef FERMATA_PRELOAD_MPI_TYPES_HPP
#define FERMATA_PRELOAD_MPI_TYPES_HPP

#include <cstddef>
#include <cstdint>

#include "mpi.hpp"

namespace fermata::preload {

// The classes of types that predefined operators apply to (MPI 3.1, sections 5.9.2 and 5.9.4).
enum TypeClass : std::uint8_t {
  kNoClass = 0,
  kInteger = 1,
  kFloating = 2,
  kLogical = 4,
  kComplex = 8,
  kBytes = 16,
  kPair = 32
};

struct Predefined {
  MPI_Datatype handle;
  std::size_t size;  // bytes without gaps
  std::size_t extent;
  std::int8_t number;  // enum fermata_type, -1: none; for a complex type, the type of its parts
  std::uint8_t parts;  // numbers in an element: 2 in a complex one
  TypeClass family;
};

inline constexpr std::size_t kTypeSlots = 4096;
struct TypeTable {
  std::uint32_t multiplier;       // gives each predefined handle a slot of its own
  std::uint8_t slot[kTypeSlots];  // 1 + index in `types`
  Predefined types[128];
  unsigned count;
};
extern TypeTable type_table;

inline std::uint32_t bits_of(MPI_Datatype type) { return static_cast<std::uint32_t>((std::uintptr_t)type); }
inline std::uint32_t slot_of(std::uint32_t bits, std::uint32_t multiplier) { return bits * multiplier >> 20; }

// Null: not predefined, or not in the table.
inline const Predefined* predefined(MPI_Datatype type) {
  const unsigned place = type_table.slot[slot_of(bits_of(type), type_table.multiplier)];
  const Predefined& found = type_table.types[place != 0 ? place - 1 : 0];
  return place != 0 && found.handle == type ? &found : nullptr;
}

// Call it after MPI is initialized.
void fill_type_table();

// The layout of elements of any type in memory.
struct Layout {
  std::size_t size;  // bytes of an element without gaps
  MPI_Aint extent;
  // Elements lie one after the other without gaps, in the order in which they are packed. False also for
  // some types for which this is true: packing them is never wrong.
  bool dense;
};
// False: the type is not valid, which MPI is to report.
bool layout_of(MPI_Datatype type, Layout* out);

// No function of MPI's tells this, but MPI_Pack refuses types that are not committed.
bool is_committed(MPI_Datatype type);

// Packs elements of a type to consecutive bytes, or unpacks them from there. Returns 0 or MPI's error.
int pack(const void* from, MPI_Count count, MPI_Datatype type, const Layout& layout, void* to);
int unpack(const void* from, void* to, MPI_Count count, MPI_Datatype type, const Layout& layout);

}  // namespace fermata::preload
#endif
