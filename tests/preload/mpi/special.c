/* NaNs of different payloads, signed zeros, denormals and overflow: all ranks agree on the bits of a result,
 * and every call gives the same bits. "reproducible": across communicators, too. */
#include "check.h"

#include <complex.h>
#include <stdint.h>

enum { kMost = 5000, kRounds = 30 /* three of each first pair */ };

/* The values of even ranks, and those of odd ranks. */
static const uint64_t kPairs[][2] = {{0, 0x8000000000000000},                  /* zeros of both signs */
                                     {0x8000000000000000, 0x8000000000000000}, /* negative zeros */
                                     {0x7fefffffffffffff, 0x7fefffffffffffff}, /* overflow */
                                     {0x7ff0000000000000, 0xfff0000000000000}, /* a NaN arises */
                                     {0x7ff8000000000001, 0xfff8000000000abc}, /* two NaNs */
                                     {0x7ff0000000000001, 0x7ff8000000000007}, /* one of them signalling */
                                     {0x7ff8000000000005, 0x3ff0000000000000}, /* a NaN and a number */
                                     {1, 0x800fffffffffffff},                  /* denormals */
                                     {0x7ff0000000000000, 0},                  /* an undefined product */
                                     {0x3ff0000000000000, 0x3cb0000000000000}};
enum { kRows = sizeof kPairs / sizeof *kPairs };

/* Fills with pairs from number `first` on. */
static void fill(void* to, int n, int first, int floats) {
  for (int i = 0; i < n; ++i) {
    uint64_t bits = kPairs[(i + first) % kRows][rank % 2];
    const int is_nan = (bits & 0x7ff0000000000000) == 0x7ff0000000000000 && (bits & 0x000fffffffffffff) != 0;
    if (is_nan) bits ^= (uint64_t)(rank + 1) << 30;
    if (!floats) {
      memcpy((char*)to + 8 * (size_t)i, &bits, 8);
      continue;
    }
    double wide;
    memcpy(&wide, &bits, 8);
    float narrow = (float)wide; /* the largest value becomes infinite */
    const uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000) | 0x7fc00000 | (uint32_t)(rank + 1);
    if (is_nan) memcpy(&narrow, &nan, 4);
    memcpy((char*)to + 4 * (size_t)i, &narrow, 4);
  }
}

/* Expects the same bits at all ranks. */
static void agree(const void* got, size_t bytes, const char* what) {
  static char first[kMost * sizeof(double complex)];
  memcpy(first, got, bytes);
  PMPI_Bcast(first, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  expect(memcmp(first, got, bytes) == 0, what);
}

static void reduce(int n, MPI_Datatype type, MPI_Op op, int begun, MPI_Comm comm, double* in, double* out) {
  if (!begun) {
    MPI_Allreduce(in, out, n, type, op, comm);
    return;
  }
  MPI_Request request;
  MPI_Iallreduce(in, out, n, type, op, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static double in[2 * kMost], out[2 * kMost], before[2 * kMost];
  begin(&argc, &argv);
  const int reproducible = argc > 1;
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  for (int i = 1; i < 3; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  const int lengths[] = {1, 3, 7, 100, kMost};
  const struct {
    MPI_Datatype type;
    int words;
    MPI_Op op;
    const char* name;
  } cases[] = {{MPI_DOUBLE, 1, MPI_SUM, "sum"},
               {MPI_DOUBLE, 1, MPI_PROD, "product"},
               {MPI_DOUBLE, 1, MPI_MAX, "maximum"},
               {MPI_DOUBLE, 1, MPI_MIN, "minimum"},
               {MPI_FLOAT, 1, MPI_SUM, "sum of floats"},
               {MPI_C_DOUBLE_COMPLEX, 2, MPI_SUM, "sum of complex numbers"},
               {MPI_C_DOUBLE_COMPLEX, 2, MPI_PROD, "product of complex numbers"}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; ++l)
      for (int begun = 0; begun < 2; ++begun) {
        const int n = lengths[l] / cases[c].words + (lengths[l] < cases[c].words);
        int width = 0;
        MPI_Type_size(cases[c].type, &width);
        const size_t bytes = (size_t)n * (size_t)width;
        for (int round = 0; round < (lengths[l] > 100 ? 3 : kRounds); ++round) {
          const MPI_Comm comm = comms[reproducible ? round % 3 : 0];
          fill(in, n * cases[c].words, round / 3, cases[c].type == MPI_FLOAT);
          memset(out, 7, sizeof out);
          reduce(n, cases[c].type, cases[c].op, begun, comm, in, out);
          agree(out, bytes, cases[c].name);
          /* Which plan serves a call may depend on time, unless the job asks for reproducible results. */
          if (round % 3 > 0 && reproducible)
            expect(memcmp(before, out, bytes) == 0, "another result than in the call before");
          memcpy(before, out, bytes);
        }
      }
  report("special values");
  for (int i = 1; i < 3; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
