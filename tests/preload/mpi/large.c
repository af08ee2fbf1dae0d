/* Elements and blocks beyond 2 GiB, in all kinds of collectives. Large spans and counts need little memory:
 * most of it is never touched, or is the same memory mapped repeatedly.
 * large [begun|persistent]         types that span more than 2 GiB and hold a few bytes
 * large bytes [begun|persistent]   elements and blocks that hold more than 2 GiB: some minutes, up to
 *                                  9 GiB of memory */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"

static const MPI_Aint kApart = (MPI_Aint)3 << 30; /* between the numbers of an element */
enum { kElements = 2 };
static MPI_Datatype far; /* an int, a gap of 3 GiB, an int, and another such gap */
static char *in, *out;

static char* address_space(size_t bytes) {
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
  return at;
}

static int* half_of(char* at, long element, int half) { return (int*)(at + (2 * element + half) * kApart); }
static void fill(int first, long elements) {
  for (long i = 0; i < 2 * elements; ++i) *half_of(in, i / 2, i % 2) = first + (int)i;
  for (long i = 0; i < 2L * size * kElements; ++i) *half_of(out, i / 2, i % 2) = -1;
}
/* Expects a block of the output to begin with `first`, and each int to be `step` larger than the one
 * before. */
static void holds(int block, int first, int step, const char* what) {
  for (int i = 0; i < 2 * kElements; ++i) {
    const int* const at = half_of(out, (long)block * kElements + i / 2, i % 2);
    const int expected = first + step * i;
    same(at, &expected, sizeof expected, what);
  }
}

static void add(void* from, void* onto, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < 2 * *n; ++i) *half_of(onto, i / 2, i % 2) += *half_of(from, i / 2, i % 2);
}

static void moves(void) {
  const int n = kElements, mine = 100 * rank;
  number* const counts = malloc(sizeof *counts * (size_t)size);
  place* const places = malloc(sizeof *places * (size_t)size);
  for (int r = 0; r < size; ++r) counts[r] = n, places[r] = (place)((size - 1 - r) * n);
  fill(mine, n);
  DO(Bcast, bcast, rank == 1 ? in : out, n, far, 1, MPI_COMM_WORLD);
  if (rank != 1) holds(0, 100, 1, "broadcast");
  fill(mine, n);
  DO(Gather, gather, in, n, far, out, n, far, 1, MPI_COMM_WORLD);
  for (int r = 0; r < size && rank == 1; ++r) holds(r, 100 * r, 1, "gather");
  fill(mine, n * size);
  DO(Scatter, scatter, in, n, far, out, n, far, 0, MPI_COMM_WORLD);
  holds(0, 2 * n * rank, 1, "scatter");
  fill(mine, n);
  DO(Allgather, allgather, in, n, far, out, n, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) holds(r, 100 * r, 1, "allgather");
  fill(mine, n * size);
  DO(Alltoall, alltoall, in, n, far, out, n, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) holds(r, 100 * r + 2 * n * rank, 1, "alltoall");
  fill(mine, n);
  DO(Gatherv, gatherv, in, n, far, out, counts, places, far, 0, MPI_COMM_WORLD);
  for (int r = 0; r < size && rank == 0; ++r) holds(size - 1 - r, 100 * r, 1, "gatherv");
  fill(mine, n * size);
  DO(Scatterv, scatterv, in, counts, places, far, out, n, far, 0, MPI_COMM_WORLD);
  holds(0, 2 * n * (size - 1 - rank), 1, "scatterv");
  fill(mine, n);
  DO(Allgatherv, allgatherv, in, n, far, out, counts, places, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) holds(size - 1 - r, 100 * r, 1, "allgatherv");
  fill(mine, n * size);
  DO(Alltoallv, alltoallv, in, counts, places, far, out, counts, places, far, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) holds(size - 1 - r, 100 * r + 2 * n * (size - 1 - rank), 1, "alltoallv");
  free(counts);
  free(places);
}

static void reductions(void) {
  const int n = kElements, all = 100 * size * (size - 1) / 2, before = 100 * rank * (rank - 1) / 2;
  MPI_Op sum;
  MPI_Op_create(add, 1, &sum);
  fill(100 * rank, n);
  DO(Allreduce, allreduce, in, out, n, far, sum, MPI_COMM_WORLD);
  holds(0, all, size, "allreduce");
  fill(100 * rank, n);
  DO(Reduce, reduce, in, out, n, far, sum, 1, MPI_COMM_WORLD);
  if (rank == 1) holds(0, all, size, "reduce");
  fill(100 * rank, n * size);
  DO(Reduce_scatter_block, reduce_scatter_block, in, out, n, far, sum, MPI_COMM_WORLD);
  holds(0, all + size * 2 * n * rank, size, "reduce_scatter_block");
  fill(100 * rank, n);
  DO(Scan, scan, in, out, n, far, sum, MPI_COMM_WORLD);
  holds(0, before + 100 * rank, rank + 1, "scan");
  fill(100 * rank, n);
  DO(Exscan, exscan, in, out, n, far, sum, MPI_COMM_WORLD);
  if (rank != 0) holds(0, before, rank, "exscan");
  MPI_Op_free(&sum);
}

static void spans(void) {
  MPI_Datatype two;
  const size_t most = (size_t)(2 * kElements * size) * (size_t)kApart;
  MPI_Type_create_hvector(2, 1, kApart, MPI_INT, &two);
  MPI_Type_create_resized(two, 0, 2 * kApart, &far);
  MPI_Type_commit(&far);
  in = address_space(most);
  out = address_space(most);
  moves();
  report("moved");
  if (!begun && !persistent)
    reductions(); /* otherwise the MPI library runs the program's operators, and needs twice the span for each
                   * element */
  report("reduced");
  MPI_Type_free(&two);
  MPI_Type_free(&far);
  munmap(in, most);
  munmap(out, most);
}

/* `kPeriod` bytes of memory, mapped repeatedly. */
enum { kPeriod = 64 << 20, kHeld = kPeriod - 4096 };
static char* repeated(size_t bytes) {
  const int file = memfd_create("repeated", 0);
  char* const at = address_space(bytes + kPeriod);
  if (file < 0 || ftruncate(file, kPeriod) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
  for (size_t done = 0; done < bytes; done += kPeriod)
    if (mmap(at + done, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
      MPI_Abort(MPI_COMM_WORLD, 2);
  close(file);
  return at;
}
/* Writes the same to each period; each rank writes other values. */
static void set(char* at, int from) {
  for (size_t i = 0; i < kPeriod / sizeof(int); ++i) ((int*)at)[i] = from < 0 ? -1 : (int)i * 16 + from;
}
static void is(const char* at, size_t bytes, int from, const char* what) {
  size_t wrong = 0;
  for (size_t i = 0; i < bytes / sizeof(int); ++i) wrong += ((const int*)at)[i] != (int)i * 16 + from;
  expect(wrong == 0, what);
}

/* Elements with and without gaps that hold more than 2 GiB each, and counts of bytes up to the largest
 * int. */
static void bytes_beyond(void) {
  enum { kParts = 33 }; /* of 64 MiB: a little more than 2 GiB */
  const size_t each = (size_t)kParts * kPeriod;
  MPI_Datatype parts[2], block; /* with gaps of 4 KiB, and without */
  number counts[16];
  place places[16];
  MPI_Type_create_hvector(kParts, kHeld, kPeriod, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)each, &parts[0]);
  MPI_Type_free(&block);
  MPI_Type_contiguous(kPeriod, MPI_BYTE, &block);
  MPI_Type_contiguous(kParts, block, &parts[1]);
  MPI_Type_free(&block);
  in = repeated(each * (size_t)size);
  out = repeated(each * (size_t)size);
  for (int r = 0; r < size; ++r) counts[r] = r != 0, places[r] = (place)r;
  for (int dense = 0; dense < 2; ++dense) {
    const size_t held = dense ? kPeriod : kHeld;
    MPI_Type_commit(&parts[dense]);
    set(in, rank), set(out, -1);
    DO(Bcast, bcast, rank == 0 ? in : out, 1, parts[dense], 0, MPI_COMM_WORLD);
    if (rank != 0) is(out, held, 0, "broadcast of an element beyond 2 GiB");
    report("broadcast");
    set(in, rank), set(out, -1);
    DO(Gatherv, gatherv, in, rank != 0, parts[dense], out, counts, places, parts[dense], 0, MPI_COMM_WORLD);
    if (rank == 0) is(out, held, size - 1, "gatherv of elements beyond 2 GiB");
    report("gatherv");
    if (dense) break;
    set(in, 3), set(out, -1);
    DO(Alltoall, alltoall, in, 1, parts[dense], out, 1, parts[dense], MPI_COMM_WORLD);
    is(out, held, 3, "alltoall of elements beyond 2 GiB");
    report("alltoall");
  }
  set(in, rank), set(out, -1);
  DO(Bcast, bcast, rank == 1 ? in : out, INT32_MAX, MPI_BYTE, 1, MPI_COMM_WORLD);
  if (rank != 1) is(out, kPeriod, 1, "broadcast of as many bytes as an int can say");
  report("count");
  set(in, 5), set(out, -1);
  DO(Allgather, allgather, in, INT32_MAX - 15, MPI_BYTE, out, INT32_MAX - 15, MPI_BYTE, MPI_COMM_WORLD);
  expect(((int*)out)[0] == 5 || size > 1, "allgather of as many");
  report("counts");
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&parts[1]);
}

int main(int argc, char** argv) {
  int bytes = 0;
  begin(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    bytes |= strcmp(argv[i], "bytes") == 0;
    begun |= strcmp(argv[i], "begun") == 0;
    persistent |= strcmp(argv[i], "persistent") == 0;
  }
  bytes ? bytes_beyond() : spans();
  MPI_Finalize();
  return 0;
}
