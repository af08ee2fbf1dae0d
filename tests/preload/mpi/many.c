/* Thousands of communicators, 200 of them alive at a time. Most are used a few times or not at all. Some are
 * used for long, and those get a team. */
#include "check.h"

enum { kAlive = 200, kLong = 100 };

static void add_up(MPI_Comm comm, int times) {
  for (int i = 0; i < times; ++i) {
    long mine = rank + i, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    expect(sum == (long)size * (size - 1) / 2 + (long)size * i, "sum");
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  static MPI_Comm comms[kAlive];
  const int number = argc > 1 ? atoi(argv[1]) : 8000;
  for (int i = 0; i < number; ++i) {
    MPI_Comm* const comm = &comms[i % kAlive];
    if (i >= kAlive) MPI_Comm_free(comm);
    if (i % 3 == 0) MPI_Comm_dup(MPI_COMM_WORLD, comm);
    if (i % 3 == 1) MPI_Comm_split(MPI_COMM_WORLD, 0, rank, comm);
    if (i % 3 == 2) MPI_Comm_dup(comms[(i - 1) % kAlive], comm);
    add_up(*comm, i % 11 == 0 ? 2 : 0);
    if (i % 1000 == 999) add_up(*comm, kLong);
    if (i % 1000 == 500) { /* non-blocking calls before, among and after the calls that bring the team */
      MPI_Request requests[2];
      int in[2] = {rank, 2 * rank}, out[2] = {0, 0};
      MPI_Iallreduce(&in[0], &out[0], 1, MPI_INT, MPI_SUM, *comm, &requests[0]);
      add_up(*comm, kLong / 2);
      MPI_Iallreduce(&in[1], &out[1], 1, MPI_INT, MPI_SUM, *comm, &requests[1]);
      add_up(*comm, kLong / 2);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      expect(out[0] == size * (size - 1) / 2 && out[1] == size * (size - 1), "begun");
    }
  }
  for (int i = 0; i < kAlive && i < number; ++i) MPI_Comm_free(&comms[i]);
  report("many");
  MPI_Finalize();
  return 0;
}
