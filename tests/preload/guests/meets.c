/* meets: an MPI program whose results are right whatever its libraries are permitted. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLong = 20000, kRounds = 20 };

static int rank, size, wrong;

static void meet(MPI_Comm comm) {
  static int in[kLong], out[kLong];
  for (int round = 0; round < kRounds; ++round) {
    const int one = rank + round;
    int sum = -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    wrong += sum != size * round + size * (size - 1) / 2;
    MPI_Barrier(comm);
  }
  for (int i = 0; i < kLong; ++i) in[i] = i + rank;
  MPI_Allreduce(in, out, kLong, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < kLong; ++i) wrong += out[i] != size * i + size * (size - 1) / 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  meet(MPI_COMM_WORLD);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  meet(copy);
  MPI_Comm_free(&copy);
  int all = 0;
  PMPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong of %d ranks\n", all, size);
  MPI_Finalize();
  return all != 0;
}
