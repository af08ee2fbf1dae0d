// Datatypes of the fuzzer: MPI's own types, and types derived from one of them.
#ifndef FERMATA_FUZZ_TYPES_HPP
#define FERMATA_FUZZ_TYPES_HPP

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "random.hpp"

namespace fuzz {

enum class Family { kInteger, kFloating, kComplex, kPair, kByte, kLogical, kOpaque };

struct Base {
  const char* name;
  MPI_Datatype handle;
  Family family;
  // Bytes of a number, of half a complex number, or of a pair's first half; negative if that half is
  // floating-point.
  int number_size;
  int packed_size;
  bool has_gaps;  // gaps in it or at its end, whose content is undefined
  MPI_Aint extent;
};
const std::vector<Base>& bases();
// Adds one element's bytes as MPI_Pack writes them. Sums and products of a few of the values are exact in any
// order.
void add_value(const Base& base, Random& random, std::vector<char>* packed);

struct Type {
  const Base* base = nullptr;
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  int elements = 1;                  // of the base
  std::vector<MPI_Aint> offsets{0};  // of each element
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  bool derived = false;
  std::string words;
  ~Type();
  // Calls MPI_Type_free for the program; the description of the type stays.
  void free();
  Type() = default;
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;
};
using TypePointer = std::shared_ptr<Type>;

TypePointer predefined(const Base& base);
// `type` at an address, for calls with MPI_BOTTOM.
TypePointer absolute(const Type& type, const void* address);
TypePointer derived(const Base& base, int elements, bool commit, Random& random);
// The newest type of derived() that had this handle, also after free(). Null: there is none, or it is
// destroyed.
TypePointer known(MPI_Datatype handle);
// Calls of the copy callback of an attribute that all types of derived() have. The program itself duplicates
// no type that has it.
long copies_of_types();
void forget_types();

}  // namespace fuzz
#endif
