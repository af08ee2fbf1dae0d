// Datatypes of the fuzzer: MPI's own, and derived ones of one of them.
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
  int number_size;  // of a complex number's half, or of a pair's first half
  int packed_size;
  bool has_gaps;  // between its halves, whose content nobody defines
  MPI_Aint extent;
};
const std::vector<Base>& bases();
// One element's bytes as MPI_Pack writes them. Any order of sums and products of a few of the values is
// exact.
void add_value(const Base& base, Random& random, std::vector<char>* packed);

struct Type {
  const Base* base = nullptr;
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  int elements = 1;                  // of the base
  std::vector<MPI_Aint> offsets{0};  // of each
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  bool derived = false;
  std::string words;
  ~Type();
  // The program's MPI_Type_free; what is known of the type stays.
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
// Of the handle, dead or alive, the newest one; null: none of ours.
TypePointer known(MPI_Datatype handle);
// Calls of the copy callback of an attribute that all derived types have. The program duplicates none of
// them.
long copies_of_types();
void forget_types();

}  // namespace fuzz
#endif
