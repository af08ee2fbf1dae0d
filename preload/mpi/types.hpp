// Datatypes: how their elements lie, and which are numbers that Fermata knows.
#ifndef FERMATA_PRELOAD_MPI_TYPES_HPP
#define FERMATA_PRELOAD_MPI_TYPES_HPP

#include <cstddef>
#include <cstdint>

#include "mpi.hpp"

namespace fermata::preload {

// What predefined operators may be applied to (MPI 3.1, section 5.9.2).
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
  std::int8_t number;  // enum fermata_type, -1: none; of a complex type that of its parts
  std::uint8_t parts;  // numbers in an element: 2 of a complex one
  TypeClass family;
};

inline constexpr std::size_t kTypeSlots = 4096;
struct TypeTable {
  std::uint32_t multiplier;       // makes all predefined handles fall into slots of their own
  std::uint8_t slot[kTypeSlots];  // 1 + place in `types`
  Predefined types[128];
  unsigned count;
};
extern TypeTable type_table;

inline std::uint32_t bits_of(MPI_Datatype type) { return static_cast<std::uint32_t>((std::uintptr_t)type); }
inline std::uint32_t slot_of(std::uint32_t bits, std::uint32_t multiplier) { return bits * multiplier >> 20; }

// Null: not predefined (or one that this library has not).
inline const Predefined* predefined(MPI_Datatype type) {
  const unsigned place = type_table.slot[slot_of(bits_of(type), type_table.multiplier)];
  const Predefined& found = type_table.types[place != 0 ? place - 1 : 0];
  return place != 0 && found.handle == type ? &found : nullptr;
}

// Once MPI is initialized.
void fill_type_table();

// How `count` elements of any type lie in memory.
struct Layout {
  std::size_t size;  // bytes of an element without gaps: what its rank and every other one agree on
  MPI_Aint extent;
  bool dense;  // elements lie one behind the other without gaps, in the order in which they are packed
};
// False: no valid type; the library is to say so.
bool layout_of(MPI_Datatype type, Layout* out);

// No function of MPI's tells, but MPI_Pack refuses types that are not.
bool is_committed(MPI_Datatype type);

// Elements of a type, packed into and out of bytes one behind the other. 0: done; else MPI's error.
int pack(const void* from, MPI_Count count, MPI_Datatype type, const Layout& layout, void* to);
int unpack(const void* from, void* to, MPI_Count count, MPI_Datatype type, const Layout& layout);

}  // namespace fermata::preload
#endif
