/* Every reduction x predefined type x operator defined for it x in place or not, and users' operators,
 * against a serial fold in rank order. The values make every order of folding give the same bits. "begun" as
 * an argument: non-blocking functions; "persistent": persistent functions; "short": one element. */
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

enum family { kInteger, kFloating, kLogical, kComplex, kBytes, kPair, kUsers };
struct type {
  const char* name;
  MPI_Datatype type;
  enum family family;
  size_t extent;
  void (*fill)(void* to, int value, int index);
};

#define FILL(name, T)                                       \
  static void fill_##name(void* to, int value, int index) { \
    (void)index;                                            \
    *(T*)to = (T)value;                                     \
  }
#define FILL_PAIR(name, T)                                  \
  struct pair_##name {                                      \
    T value;                                                \
    int index;                                              \
  };                                                        \
  static void fill_##name(void* to, int value, int index) { \
    struct pair_##name* p = to;                             \
    p->value = (T)value;                                    \
    p->index = index;                                       \
  }
// clang-format off
FILL(schar, signed char) FILL(uchar, unsigned char) FILL(short, short) FILL(ushort, unsigned short)
FILL(int, int) FILL(unsigned, unsigned) FILL(long, long) FILL(ulong, unsigned long) FILL(float, float)
FILL(double, double) FILL(ldouble, long double) FILL(bool, bool) FILL(fcomplex, float complex)
FILL(dcomplex, double complex) FILL_PAIR(float_int, float) FILL_PAIR(double_int, double)
FILL_PAIR(long_int, long) FILL_PAIR(short_int, short) FILL_PAIR(int_int, int)
FILL_PAIR(ldouble_int, long double)
    // clang-format on

    static struct type types[40];
static int type_count;
static void list(const char* name, MPI_Datatype type, enum family family, size_t extent,
                 void (*fill)(void*, int, int)) {
  if (type == MPI_DATATYPE_NULL) return;
  types[type_count++] = (struct type){name, type, family, extent, fill};
}

static void list_all(void) {
  list("signed char", MPI_SIGNED_CHAR, kInteger, 1, fill_schar);
  list("unsigned char", MPI_UNSIGNED_CHAR, kInteger, 1, fill_uchar);
  list("short", MPI_SHORT, kInteger, 2, fill_short);
  list("unsigned short", MPI_UNSIGNED_SHORT, kInteger, 2, fill_ushort);
  list("int", MPI_INT, kInteger, 4, fill_int);
  list("unsigned", MPI_UNSIGNED, kInteger, 4, fill_unsigned);
  list("long", MPI_LONG, kInteger, sizeof(long), fill_long);
  list("unsigned long", MPI_UNSIGNED_LONG, kInteger, sizeof(long), fill_ulong);
  list("uint64_t", MPI_UINT64_T, kInteger, 8, fill_ulong);
  list("address", MPI_AINT, kInteger, sizeof(MPI_Aint), fill_long);
  list("float", MPI_FLOAT, kFloating, 4, fill_float);
  list("double", MPI_DOUBLE, kFloating, 8, fill_double);
  list("long double", MPI_LONG_DOUBLE, kFloating, sizeof(long double), fill_ldouble);
  list("bool", MPI_C_BOOL, kLogical, sizeof(bool), fill_bool);
  list("float complex", MPI_C_FLOAT_COMPLEX, kComplex, sizeof(float complex), fill_fcomplex);
  list("double complex", MPI_C_DOUBLE_COMPLEX, kComplex, sizeof(double complex), fill_dcomplex);
  list("byte", MPI_BYTE, kBytes, 1, fill_uchar);
  list("float and int", MPI_FLOAT_INT, kPair, sizeof(struct pair_float_int), fill_float_int);
  list("double and int", MPI_DOUBLE_INT, kPair, sizeof(struct pair_double_int), fill_double_int);
  list("long and int", MPI_LONG_INT, kPair, sizeof(struct pair_long_int), fill_long_int);
  list("short and int", MPI_SHORT_INT, kPair, sizeof(struct pair_short_int), fill_short_int);
  list("two ints", MPI_2INT, kPair, sizeof(struct pair_int_int), fill_int_int);
  list("long double and int", MPI_LONG_DOUBLE_INT, kPair, sizeof(struct pair_ldouble_int), fill_ldouble_int);
}

struct op {
  const char* name;
  MPI_Op op;
  unsigned families;
};
#define F(x) (1u << (x))
static struct op ops[16];
static int op_count;
static void list_op(const char* name, MPI_Op op, unsigned families) {
  ops[op_count++] = (struct op){name, op, families};
}

/* A user's element: a 2x2 matrix, whose product does not commute, and a tag after a gap. */
struct matrix {
  int32_t a[4];
  char tag;
  int64_t last;
};
static void multiply(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  const struct matrix* l = left;
  struct matrix* r = right;
  for (int i = 0; i < *count; ++i) {
    const uint32_t l0 = (uint32_t)l[i].a[0], l1 = (uint32_t)l[i].a[1], l2 = (uint32_t)l[i].a[2],
                   l3 = (uint32_t)l[i].a[3];
    const uint32_t r0 = (uint32_t)r[i].a[0], r1 = (uint32_t)r[i].a[1], r2 = (uint32_t)r[i].a[2],
                   r3 = (uint32_t)r[i].a[3];
    r[i].a[0] = (int32_t)(l0 * r0 + l1 * r2);
    r[i].a[1] = (int32_t)(l0 * r1 + l1 * r3);
    r[i].a[2] = (int32_t)(l2 * r0 + l3 * r2);
    r[i].a[3] = (int32_t)(l2 * r1 + l3 * r3);
    r[i].tag = (char)(l[i].tag ^ r[i].tag);
    r[i].last += l[i].last;
  }
}
static void fill_matrix(void* to, int value, int index) {
  struct matrix* m = to;
  for (int i = 0; i < 4; ++i) m->a[i] = value * (i + 1) + index;
  m->tag = (char)value;
  m->last = value + 1000 * index;
}

static void fill(const struct type* t, char* to, int from, int count) {
  memset(to, 0, (size_t)count * t->extent);
  for (int i = 0; i < count; ++i)
    t->fill(to + (size_t)i * t->extent, 1 + (from + i * 7 + i / 3) % 2, from * 3 + i % 5);
}

/* Folds blocks of `count` of ranks 0 .. last into `to`. */
static void fold(const struct type* t, MPI_Op op, char* to, char* memory, int last, int count) {
  fill(t, to, last, count);
  for (int r = last - 1; r >= 0; --r) {
    fill(t, memory, r, count);
    MPI_Reduce_local(memory, to, count, t->type, op);
  }
}

/* Padding has no value: elements are compared without their gaps. */
static void same_elements(const struct type* t, const char* got, const char* expected, int count,
                          const char* what) {
  int bytes = 0, at = 0, other = 0;
  MPI_Pack_size(count, t->type, MPI_COMM_SELF, &bytes);
  char* a = calloc(2, (size_t)bytes + 1);
  MPI_Pack(got, count, t->type, a, bytes, &at, MPI_COMM_SELF);
  MPI_Pack(expected, count, t->type, a + bytes, bytes, &other, MPI_COMM_SELF);
  if (strstr(t->name, "long double") != NULL) { /* six bytes of each are padding, too */
    for (int i = 0; i < at; ++i)
      if (i % (at / count) >= 10 && i % (at / count) < 16) a[i] = a[bytes + i] = 0;
  }
  same(a, a + bytes, (size_t)at, what);
  free(a);
}

/* MPICH 4.0.2's MPI_Reduce reads at the address MPI_IN_PLACE where blocks are long. */
static int can_replace(size_t bytes) {
#ifdef MPICH_NUMVERSION
  return MPICH_NUMVERSION >= 40100000 || bytes <= 1024;
#else
  return bytes != (size_t)-1;
#endif
}

static void reduce_all(const struct type* t, MPI_Op op, const char* name, int count) {
  char what[160];
  snprintf(what, sizeof what, "%s of %d x %s", name, count, t->name);
  const size_t bytes = (size_t)count * (size_t)size * t->extent + 64;
  char *in = calloc(1, bytes), *out = calloc(1, bytes), *expected = calloc(1, bytes),
       *memory = calloc(1, bytes);
  for (int in_place = 0; in_place < 2; ++in_place) {
    const void* from = in_place ? MPI_IN_PLACE : in;
    fold(t, op, expected, memory, size - 1, count);
    fill(t, in_place ? out : in, rank, count);
    DO(Allreduce, allreduce, from, out, count, t->type, op, MPI_COMM_WORLD);
    same_elements(t, out, expected, count, what);
    for (int root = 0; root < size; root += size > 2 ? size - 1 : 1) {
      const int replaces = in_place && rank == root && can_replace((size_t)count * t->extent);
      fill(t, replaces ? out : in, rank, count);
      DO(Reduce, reduce, replaces ? MPI_IN_PLACE : in, rank == root ? out : NULL, count, t->type, op, root,
         MPI_COMM_WORLD);
      if (rank == root) same_elements(t, out, expected, count, what);
    }
    fill(t, in_place ? out : in, rank, count);
    fold(t, op, expected, memory, rank, count);
    DO(Scan, scan, from, out, count, t->type, op, MPI_COMM_WORLD);
    same_elements(t, out, expected, count, what);
    fill(t, out, rank, count);
    fill(t, in, rank, count);
    fill(t, expected, rank, count);
    if (rank > 0) fold(t, op, expected, memory, rank - 1, count);
    DO(Exscan, exscan, from, out, count, t->type, op, MPI_COMM_WORLD);
    if (rank > 0 || !in_place) same_elements(t, out, expected, count, what);
#ifdef OPEN_MPI /* MPICH wants memory even for a result that does not exist */
    if (!in_place) DO(Exscan, exscan, from, rank > 0 ? out : NULL, count, t->type, op, MPI_COMM_WORLD);
    if (rank > 0 && !in_place) same_elements(t, out, expected, count, what);
#endif
    /* Each rank gives `count` elements for every rank. */
    fill(t, in_place ? out : in, rank, count * size);
    fold(t, op, expected, memory, size - 1, count * size);
    DO(Reduce_scatter_block, reduce_scatter_block, from, out, count, t->type, op, MPI_COMM_WORLD);
    same_elements(t, out, expected + (size_t)rank * (size_t)count * t->extent, count, what);
    number counts[64];
    int before = 0;
    for (int r = 0; r < size; ++r) counts[r] = count > 2 ? (r % 2 == 0 ? count - 1 : count / 2) : count;
    for (int r = 0; r < rank; ++r) before += (int)counts[r];
    fill(t, in_place ? out : in, rank, count * size);
    DO(Reduce_scatter, reduce_scatter, from, out, counts, t->type, op, MPI_COMM_WORLD);
    same_elements(t, out, expected + (size_t)before * t->extent, (int)counts[rank], what);
  }
  free(in);
  free(out);
  free(expected);
  free(memory);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  begun = argc > 1 && strcmp(argv[1], "begun") == 0;
  persistent = argc > 1 && strcmp(argv[1], "persistent") == 0;
  const int counts[] = {1, 5, 700, 9000}, is_short = argc > 1 && strcmp(argv[1], "short") == 0;
  list_all();
  list_op("sum", MPI_SUM, F(kInteger) | F(kFloating) | F(kComplex));
  list_op("product", MPI_PROD, F(kInteger) | F(kFloating) | F(kComplex));
  list_op("min", MPI_MIN, F(kInteger) | F(kFloating));
  list_op("max", MPI_MAX, F(kInteger) | F(kFloating));
  list_op("and", MPI_LAND, F(kInteger) | F(kLogical));
  list_op("or", MPI_LOR, F(kInteger) | F(kLogical));
  list_op("exclusive or", MPI_LXOR, F(kInteger) | F(kLogical));
  list_op("bitwise and", MPI_BAND, F(kInteger) | F(kBytes));
  list_op("bitwise or", MPI_BOR, F(kInteger) | F(kBytes));
  list_op("bitwise exclusive or", MPI_BXOR, F(kInteger) | F(kBytes));
  list_op("minloc", MPI_MINLOC, F(kPair));
  list_op("maxloc", MPI_MAXLOC, F(kPair));
  for (int o = 0; o < op_count; ++o) {
    for (int t = 0; t < type_count; ++t) {
      if ((ops[o].families & F(types[t].family)) == 0) continue;
      for (int c = 0; c < (is_short                                                  ? 1
                           : types[t].type == MPI_DOUBLE || types[t].type == MPI_INT ? 4
                                                                                     : 3);
           ++c)
        reduce_all(&types[t], ops[o].op, ops[o].name, counts[c]);
      reduce_all(&types[t], ops[o].op, ops[o].name, 0);
    }
    report(ops[o].name);
  }
  MPI_Op product;
  MPI_Op_create(multiply, 0, &product);
  const int lengths[] = {4, 1, 1};
  const MPI_Aint places[] = {offsetof(struct matrix, a), offsetof(struct matrix, tag),
                             offsetof(struct matrix, last)};
  const MPI_Datatype parts[] = {MPI_INT32_T, MPI_CHAR, MPI_INT64_T};
  MPI_Datatype structure, matrices;
  MPI_Type_create_struct(3, lengths, places, parts, &structure);
  MPI_Type_create_resized(structure, 0, sizeof(struct matrix), &matrices);
  MPI_Type_commit(&matrices);
  const struct type users = {"matrices", matrices, kUsers, sizeof(struct matrix), fill_matrix};
  for (int c = 0; c < (is_short ? 1 : 3); ++c) reduce_all(&users, product, "product of matrices", counts[c]);
  report("product of matrices");
  MPI_Op_free(&product);
  MPI_Type_free(&matrices);
  MPI_Type_free(&structure);
  MPI_Finalize();
  return 0;
}
