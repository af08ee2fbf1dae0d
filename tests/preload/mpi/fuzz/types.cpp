#include "types.hpp"

#include <map>

namespace fuzz {
namespace {

// A user's operator is called with a type's handle. MPI may reuse a handle after its type was freed.
std::map<MPI_Datatype, std::weak_ptr<Type>> made;
long copies = 0;
int keyval = MPI_KEYVAL_INVALID;

int copied(MPI_Datatype, int, void*, void*, void*, int* flag) {
  ++copies;
  *flag = 0;
  return MPI_SUCCESS;
}

template <class T>
void append(T value, std::vector<char>* packed, int bytes = sizeof(T)) {
  // the low bytes of an integer, which come first on all machines that run this
  const auto* b = reinterpret_cast<const char*>(&value);
  packed->insert(packed->end(), b, b + bytes);
}

void append_floating(Random& random, int bytes, std::vector<char>* packed) {
  const double value = random.one_of({1.0, -1.0, 2.0, -2.0, 0.5, 4.0, -0.5, 1.0});
  if (bytes == 4) append(static_cast<float>(value), packed);
  else append(value, packed);
}

Base base_of(const char* name, MPI_Datatype handle, Family family, int number_size) {
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  MPI_Type_size(handle, &size);
  MPI_Type_get_extent(handle, &low, &extent);
  return {name, handle, family, number_size, size, size != extent, extent};
}

// Blocks of different lengths, in any order, with gaps.
void make_indexed(Type* t, Random& random) {
  const int blocks = random.below(t->elements) + 1;
  std::vector<int> lengths(static_cast<std::size_t>(blocks), 1), starts, mixed_lengths, mixed_starts;
  for (int left = t->elements - blocks; left > 0; --left)
    ++lengths[static_cast<std::size_t>(random.below(blocks))];
  int at = 0;
  for (const int length : lengths) {
    const auto where = random.below(static_cast<int>(starts.size()) + 1);
    mixed_lengths.insert(mixed_lengths.begin() + where, length);
    mixed_starts.insert(mixed_starts.begin() + where, at);
    starts.push_back(at);
    at += length + random.below(3);
  }
  t->offsets.clear();
  for (std::size_t b = 0; b < starts.size(); ++b)
    for (int i = 0; i < mixed_lengths[b]; ++i) t->offsets.push_back((mixed_starts[b] + i) * t->base->extent);
  MPI_Type_indexed(blocks, mixed_lengths.data(), mixed_starts.data(), t->base->handle, &t->handle);
  t->words = "indexed, " + std::to_string(blocks) + " blocks";
}

void make_vector(Type* t, Random& random) {
  int length = random.one_of({1, 2, 3});
  if (t->elements % length != 0) length = 1;
  const int stride = length + random.below(3);
  t->offsets.clear();
  for (int b = 0; b < t->elements / length; ++b)
    for (int i = 0; i < length; ++i) t->offsets.push_back((b * stride + i) * t->base->extent);
  MPI_Type_vector(t->elements / length, length, stride, t->base->handle, &t->handle);
  t->words = "vector, blocks of " + std::to_string(length) + ", stride " + std::to_string(stride);
}

void spread(Type* t, MPI_Aint apart) {
  t->offsets.clear();
  for (int i = 0; i < t->elements; ++i) t->offsets.push_back(i * apart);
}

// Gaps after the elements, or before them.
void make_resized(Type* t, Random& random) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(t->elements, t->base->handle, &inner);
  spread(t, t->base->extent);
  const MPI_Aint low = random.one_of({0, 0, -1}) * t->base->extent;
  const MPI_Aint more = random.below(3) * t->base->extent;
  MPI_Type_create_resized(inner, low, t->elements * t->base->extent - low + more, &t->handle);
  MPI_Type_free(&inner);
  t->words = "resized, lower bound " + std::to_string(low);
}

void make_nested(Type* t, Random& random) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  const MPI_Aint apart = (1 + random.below(3)) * t->base->extent;
  MPI_Type_create_resized(t->base->handle, 0, apart, &inner);
  MPI_Type_contiguous(t->elements, inner, &t->handle);
  MPI_Type_free(&inner);
  spread(t, apart);
  t->words = "contiguous of resized, " + std::to_string(apart) + " bytes apart";
}

void make_contiguous(Type* t, Random& random) {
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(t->elements, t->base->handle, &inner);
  spread(t, t->base->extent);
  t->words = "contiguous";
  if (random.chance(50)) {
    t->handle = inner;
    return;
  }
  MPI_Type_dup(inner, &t->handle);
  MPI_Type_free(&inner);
  t->words = "duplicate of contiguous";
}

void make_struct(Type* t, Random& random) {
  const int first = t->elements / 2, second = t->elements - first;
  const MPI_Aint apart = (first + random.below(3)) * t->base->extent;
  const int lengths[2] = {first, second};
  const MPI_Aint places[2] = {0, apart};
  const MPI_Datatype types[2] = {t->base->handle, t->base->handle};
  MPI_Type_create_struct(2, lengths, places, types, &t->handle);
  t->offsets.clear();
  for (int i = 0; i < first; ++i) t->offsets.push_back(i * t->base->extent);
  for (int i = 0; i < second; ++i) t->offsets.push_back(apart + i * t->base->extent);
  t->words = "struct of two";
}

void measure(Type* t) {
  MPI_Type_get_extent(t->handle, &t->low, &t->extent);
  MPI_Type_get_true_extent(t->handle, &t->true_low, &t->true_extent);
}

}  // namespace

const std::vector<Base>& bases() {
  static const std::vector<Base> all = {
      base_of("signed char", MPI_SIGNED_CHAR, Family::kInteger, 1),
      base_of("unsigned char", MPI_UNSIGNED_CHAR, Family::kInteger, 1),
      base_of("short", MPI_SHORT, Family::kInteger, 2),
      base_of("unsigned short", MPI_UNSIGNED_SHORT, Family::kInteger, 2),
      base_of("int", MPI_INT, Family::kInteger, 4),
      base_of("unsigned", MPI_UNSIGNED, Family::kInteger, 4),
      base_of("long", MPI_LONG, Family::kInteger, 8),
      base_of("uint64", MPI_UINT64_T, Family::kInteger, 8),
      base_of("float", MPI_FLOAT, Family::kFloating, 4),
      base_of("double", MPI_DOUBLE, Family::kFloating, 8),
      base_of("float complex", MPI_C_FLOAT_COMPLEX, Family::kComplex, 4),
      base_of("double complex", MPI_C_DOUBLE_COMPLEX, Family::kComplex, 8),
      base_of("2int", MPI_2INT, Family::kPair, 4),
      base_of("float and int", MPI_FLOAT_INT, Family::kPair, -4),
      base_of("double and int", MPI_DOUBLE_INT, Family::kPair, -8),
      base_of("long and int", MPI_LONG_INT, Family::kPair, 8),
      base_of("short and int", MPI_SHORT_INT, Family::kPair, 2),
      base_of("byte", MPI_BYTE, Family::kByte, 1),
      base_of("bool", MPI_C_BOOL, Family::kLogical, 1),
      base_of("char", MPI_CHAR, Family::kOpaque, 1),
  };
  return all;
}

void add_value(const Base& base, Random& random, std::vector<char>* packed) {
  const std::int64_t any =
      random.chance(20) ? static_cast<std::int64_t>(random.next()) : random.below(17) - 8;
  switch (base.family) {
    case Family::kInteger: return append(any, packed, base.number_size);
    case Family::kFloating: return append_floating(random, base.number_size, packed);
    case Family::kComplex:
      append_floating(random, base.number_size, packed);
      return append_floating(random, base.number_size, packed);
    case Family::kPair:
      if (base.number_size < 0) append_floating(random, -base.number_size, packed);
      else append(std::int64_t{random.below(5)}, packed, base.number_size);
      return append(random.below(9), packed);
    case Family::kLogical: return append(static_cast<char>(random.below(2)), packed);
    default: return append(static_cast<char>(random.below(256)), packed);
  }
}

Type::~Type() { free(); }

void Type::free() {
  if (derived && handle != MPI_DATATYPE_NULL) MPI_Type_free(&handle);
  handle = MPI_DATATYPE_NULL;
}

TypePointer predefined(const Base& base) {
  auto t = std::make_shared<Type>();
  t->base = &base;
  t->handle = base.handle;
  t->words = base.name;
  measure(t.get());
  return t;
}

TypePointer derived(const Base& base, int elements, bool commit, Random& random) {
  auto t = std::make_shared<Type>();
  t->base = &base;
  t->elements = elements;
  t->derived = true;
  void (*const makers[])(Type*, Random&) = {make_indexed, make_vector,     make_resized,
                                            make_nested,  make_contiguous, make_struct};
  makers[random.below(6)](t.get(), random);
  t->words = std::string(base.name) + " x " + std::to_string(elements) + " (" + t->words +
             (commit ? ")" : ", uncommitted)");
  if (commit) MPI_Type_commit(&t->handle);
  measure(t.get());
  if (keyval == MPI_KEYVAL_INVALID) MPI_Type_create_keyval(copied, MPI_TYPE_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Type_set_attr(t->handle, keyval, nullptr);
  made[t->handle] = t;
  return t;
}

TypePointer absolute(const Type& type, const void* address) {
  auto t = std::make_shared<Type>();
  t->base = type.base;
  t->elements = type.elements;
  t->derived = true;
  MPI_Aint place = 0;
  MPI_Get_address(address, &place);
  const int one = 1;
  MPI_Type_create_hindexed(1, &one, &place, type.handle, &t->handle);
  MPI_Type_commit(&t->handle);
  return t;
}

TypePointer known(MPI_Datatype handle) {
  const auto found = made.find(handle);
  return found == made.end() ? nullptr : found->second.lock();
}

long copies_of_types() { return copies; }
void forget_types() { made.clear(); }

}  // namespace fuzz
