#include "types.hpp"

#include <fermata/fermata.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include <initializer_list>

#include "pool.hpp"
#include "real.hpp"

namespace fermata::preload {

TypeTable type_table = {};

namespace {

// the most bytes in one call of MPI, which counts in int
constexpr std::size_t kMostPacked = std::size_t{1} << 30;

struct Listed {
  MPI_Datatype handle;
  TypeClass family;
  bool is_signed;
};

int number_of(const Listed& type, std::size_t size) {
  switch (type.family) {
    case kInteger:
      switch (size) {
        case 1: return type.is_signed ? FERMATA_INT8 : FERMATA_UINT8;
        case 2: return type.is_signed ? FERMATA_INT16 : FERMATA_UINT16;
        case 4: return type.is_signed ? FERMATA_INT32 : FERMATA_UINT32;
        case 8: return type.is_signed ? FERMATA_INT64 : FERMATA_UINT64;
        default: return -1;
      }
    case kFloating: return size == 4 ? FERMATA_FLOAT : size == 8 ? FERMATA_DOUBLE : -1;
    case kComplex: return size == 8 ? FERMATA_FLOAT : size == 16 ? FERMATA_DOUBLE : -1;
    case kBytes: return FERMATA_UINT8;
    // C's bool alone: Fortran's true need not be 1
    case kLogical: return size == 1 && !type.is_signed ? FERMATA_UINT8 : -1;
    default: return -1;
  }
}

void add(const Listed& listed) {
  if (listed.handle == MPI_DATATYPE_NULL ||
      type_table.count == sizeof type_table.types / sizeof type_table.types[0])
    return;
  for (unsigned i = 0; i < type_table.count; ++i)
    if (type_table.types[i].handle == listed.handle) return;
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  // this MPI library has no such type
  if (PMPI_Type_size(listed.handle, &size) != MPI_SUCCESS || size <= 0) return;
  if (PMPI_Type_get_extent(listed.handle, &low, &extent) != MPI_SUCCESS || low != 0) return;
  const auto bytes = static_cast<std::size_t>(size);
  const bool is_pair = listed.family == kPair;
  type_table.types[type_table.count++] = {listed.handle,
                                          bytes,
                                          static_cast<std::size_t>(extent),
                                          static_cast<std::int8_t>(is_pair ? -1 : number_of(listed, bytes)),
                                          static_cast<std::uint8_t>(listed.family == kComplex ? 2 : 1),
                                          listed.family};
}

void add_pair(MPI_Datatype handle, int number, std::size_t extent) {
  add({handle, kPair, false});
  Predefined& last = type_table.types[type_table.count - 1];
  if (last.handle == handle && last.extent == extent) last.number = static_cast<std::int8_t>(number);
}

void add_numbers() {
  for (const MPI_Datatype t : {MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T,
                               MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_AINT, MPI_COUNT, MPI_OFFSET,
                               MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8})
    add({t, kInteger, true});
  for (const MPI_Datatype t : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG,
                               MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T})
    add({t, kInteger, false});
  for (const MPI_Datatype t :
       {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    add({t, kFloating, true});
  for (const MPI_Datatype t : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX,
                               MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX,
                               MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    add({t, kComplex, true});
  for (const MPI_Datatype t : {MPI_C_BOOL, MPI_CXX_BOOL}) add({t, kLogical, false});
  add({MPI_LOGICAL, kLogical, true});
  add({MPI_BYTE, kBytes, false});
  // for moving only
  for (const MPI_Datatype t : {MPI_CHAR, MPI_WCHAR, MPI_CHARACTER, MPI_PACKED}) add({t, kNoClass, false});
}

void add_pairs() {
  add_pair(MPI_FLOAT_INT, FERMATA_FLOAT_INT, sizeof(fermata_float_int));
  add_pair(MPI_DOUBLE_INT, FERMATA_DOUBLE_INT, sizeof(fermata_double_int));
  add_pair(MPI_2INT, FERMATA_INT32_INT, sizeof(fermata_int32_int));
  add_pair(MPI_LONG_INT, sizeof(long) == 8 ? FERMATA_INT64_INT : FERMATA_INT32_INT,
           sizeof(long) == 8 ? sizeof(fermata_int64_int) : sizeof(fermata_int32_int));
  add_pair(MPI_SHORT_INT, FERMATA_INT16_INT, sizeof(fermata_int16_int));
  add_pair(MPI_2INTEGER, FERMATA_INT32_INT, sizeof(fermata_int32_int));
  for (const MPI_Datatype t : {MPI_LONG_DOUBLE_INT, MPI_2REAL, MPI_2DOUBLE_PRECISION}) add({t, kPair, false});
}

// Takes the first odd multiplier that gives each handle a slot of its own. With 70 handles in 4,096 slots
// about every second one does.
void place_all() {
  for (std::uint32_t multiplier = 0x9E37'79B1;; multiplier += 2) {
    memset(type_table.slot, 0, sizeof type_table.slot);
    unsigned placed = 0;
    while (placed < type_table.count) {
      std::uint8_t& slot = type_table.slot[slot_of(bits_of(type_table.types[placed].handle), multiplier)];
      if (slot != 0) break;
      slot = static_cast<std::uint8_t>(++placed);
    }
    type_table.multiplier = multiplier;
    if (placed == type_table.count) return;
  }
}

// A derived type is dense if it is made of dense ones, in order and without gaps. Other types may be dense,
// too, but to pack them is never wrong.
bool is_dense(MPI_Datatype type, int depth) {
  if (const Predefined* known = predefined(type)) return known->size == known->extent;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  if (depth == 0 || PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS)
    return false;
  if ((combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP) || integers > 1 ||
      addresses > 0 || types != 1)
    return false;
  int count = 0;
  MPI_Aint unused = 0;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  if (PMPI_Type_get_contents(type, integers, addresses, types, &count, &unused, &inner) != MPI_SUCCESS)
    return false;
  const bool dense = is_dense(inner, depth - 1);
  PMPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) real.Type_free(&inner);
  return dense;
}

// MPI_BOTTOM is null in C, and goes with types of absolute addresses. MPICH's MPI_Pack and MPI_Unpack refuse
// null, so they get another address, and a type that is shifted by it.
template <class Call>
int at_address(char* at, MPI_Datatype type, Call&& call) {
  if (at != nullptr) return call(at, type);
  static char anywhere;
  constexpr int kOne = 1;
  const MPI_Aint shift = -static_cast<MPI_Aint>(reinterpret_cast<std::intptr_t>(&anywhere));
  MPI_Datatype shifted = MPI_DATATYPE_NULL;
  int rc = PMPI_Type_create_hindexed(1, &kOne, &shift, type, &shifted);
  if (rc != MPI_SUCCESS) return rc;
  rc = PMPI_Type_commit(&shifted);
  if (rc == MPI_SUCCESS) rc = call(&anywhere, shifted);
  real.Type_free(&shifted);
  return rc;
}

// MPI_Pack and MPI_Unpack count bytes as int, so a longer element is a message of this rank to itself. Only
// one thread at a time sends one, because the messages look alike.
int send_to_self(const void* from, MPI_Datatype type, void* to, MPI_Datatype to_type) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  constexpr int kTag = 0;  // no other message of a rank to itself has it
  const int self = own_rank();
  pthread_mutex_lock(&lock);
  const int rc =
      real.Sendrecv(from, 1, type, self, kTag, to, 1, to_type, self, kTag, private_comm, MPI_STATUS_IGNORE);
  pthread_mutex_unlock(&lock);
  return rc;
}

// A type of so many bytes, more than an int can count.
int make_bytes(std::size_t bytes, MPI_Datatype* out) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
  const int counts[2] = {static_cast<int>(bytes / kBlock), static_cast<int>(bytes % kBlock)};
  const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(bytes / kBlock * kBlock)};
  int rc = PMPI_Type_contiguous(static_cast<int>(kBlock), MPI_BYTE, &types[0]);
  if (rc != MPI_SUCCESS) return rc;
  rc = PMPI_Type_create_struct(2, counts, places, types, out);
  real.Type_free(&types[0]);
  return rc == MPI_SUCCESS ? PMPI_Type_commit(out) : rc;
}

// Calls part(start, shifted, some, bytes, length, as_bytes) for `some` elements at a time: in memory from
// `start` on, of type `shifted`; packed from `bytes` on, of `length` bytes in all. An element that is too
// long for an int comes alone, and its bytes have the type as_bytes, else null. MPI's error; 0: none.
template <class Part>
int in_parts(const void* from, MPI_Count count, MPI_Datatype type, const Layout& layout, const void* packed,
             Part&& part) {
  if (layout.size == 0) return MPI_SUCCESS;
  auto* const at = const_cast<char*>(static_cast<const char*>(from));
  auto* bytes = const_cast<char*>(static_cast<const char*>(packed));
  MPI_Datatype as_bytes = MPI_DATATYPE_NULL;
  int rc = layout.size > INT_MAX && count > 0 ? make_bytes(layout.size, &as_bytes) : MPI_SUCCESS;
  const auto at_once = layout.size < kMostPacked ? static_cast<MPI_Count>(kMostPacked / layout.size) : 1;
  for (MPI_Count done = 0; rc == MPI_SUCCESS && done < count;) {
    const MPI_Count some = count - done < at_once ? count - done : at_once;
    const std::size_t length = static_cast<std::size_t>(some) * layout.size;
    rc = at_address(at + done * layout.extent, type, [&](char* start, MPI_Datatype shifted) {
      return part(start, shifted, static_cast<int>(some), bytes, static_cast<int>(length), as_bytes);
    });
    bytes += length;
    done += some;
  }
  if (as_bytes != MPI_DATATYPE_NULL) real.Type_free(&as_bytes);
  return rc;
}

}  // namespace

void fill_type_table() {
  add_numbers();
  add_pairs();
  place_all();
}

bool is_committed(MPI_Datatype type) {
  if (predefined(type) != nullptr) return true;
  char nothing = 0;
  int position = 0;
  return PMPI_Pack(&nothing, 0, type, &nothing, 1, &position, private_comm) == MPI_SUCCESS;
}

bool layout_of(MPI_Datatype type, Layout* out) {
  if (const Predefined* known = predefined(type)) {
    *out = {known->size, static_cast<MPI_Aint>(known->extent), known->size == known->extent};
    return true;
  }
  if (type == MPI_DATATYPE_NULL) return false;
  MPI_Count size = 0;
  MPI_Aint low = 0;
  if (PMPI_Type_size_x(type, &size) != MPI_SUCCESS || size < 0 ||
      PMPI_Type_get_extent(type, &low, &out->extent) != MPI_SUCCESS)
    return false;
  out->size = static_cast<std::size_t>(size);
  out->dense = low == 0 && out->extent == size && is_dense(type, 4);
  return true;
}

int pack(const void* from, MPI_Count count, MPI_Datatype type, const Layout& layout, void* to) {
  return in_parts(
      from, count, type, layout, to,
      [](const char* start, MPI_Datatype shifted, int some, char* bytes, int length, MPI_Datatype as_bytes) {
        int position = 0;
        if (as_bytes != MPI_DATATYPE_NULL) return send_to_self(start, shifted, bytes, as_bytes);
        return PMPI_Pack(start, some, shifted, bytes, length, &position, private_comm);
      });
}

int unpack(const void* from, void* to, MPI_Count count, MPI_Datatype type, const Layout& layout) {
  return in_parts(
      to, count, type, layout, from,
      [](char* start, MPI_Datatype shifted, int some, const char* bytes, int length, MPI_Datatype as_bytes) {
        int position = 0;
        if (as_bytes != MPI_DATATYPE_NULL) return send_to_self(bytes, as_bytes, start, shifted);
        return PMPI_Unpack(bytes, length, &position, start, some, shifted, private_comm);
      });
}

}  // namespace fermata::preload
