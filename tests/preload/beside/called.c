/* Calls functions that the profiler wraps and functions that it does not. They range from plain collectives
 * to non-blocking ones that are completed together with messages, on communicators of all kinds. */
#include "../mpi/check.h"

enum { kRounds = 20, kWords = 5000 };

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void blocking(MPI_Comm comm) {
  int own, ranks, one = 0, sum = 0, all[64];
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &ranks);
  for (int round = 0; round < kRounds; ++round) {
    const int expected = ranks * (ranks - 1) / 2 + ranks * round;
    int mine = own + round, root = round % ranks;
    MPI_Barrier(comm);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == expected, "MPI_Allreduce");
    one = own == root ? round * 7 : -1;
    MPI_Bcast(&one, 1, MPI_INT, root, comm);
    expect(one == round * 7, "MPI_Bcast");
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int r = 0; r < ranks; ++r) expect(all[r] == r + round, "MPI_Allgather");
    /* The profiler does not wrap this one. */
    sum = -1;
    MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, comm);
    expect(sum == (own == root ? expected : -1), "MPI_Reduce");
    MPI_Scan(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    expect(sum == own * (own + 1) / 2 + (own + 1) * round, "MPI_Scan");
  }
}

/* Non-blocking collectives, completed together with messages, and while the program waits for a message. */
static void begun(MPI_Comm comm) {
  static int in[kWords], out[kWords], sent[kWords], got[kWords];
  int own, ranks;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &ranks);
  const int next = (own + 1) % ranks, before = (own + ranks - 1) % ranks;
  for (int round = 0; round < kRounds; ++round) {
    const int words = round % 2 == 0 ? 2 : kWords;
    MPI_Request requests[4];
    for (int i = 0; i < kWords; ++i) in[i] = own + i, sent[i] = own * kWords + i, out[i] = got[i] = -1;
    MPI_Iallreduce(in, out, words, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Irecv(got, words, MPI_INT, before, round, comm, &requests[1]);
    MPI_Isend(sent, words, MPI_INT, next, round, comm, &requests[2]);
    MPI_Ibarrier(comm, &requests[3]);
    if (round % 3 == 0)
      for (int i = 0; i < 4; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    else MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < words; ++i)
      expect(out[i] == ranks * i + ranks * (ranks - 1) / 2 && got[i] == before * kWords + i,
             "what was begun");
    MPI_Iallreduce(in, out, words, MPI_INT, MPI_MAX, comm, &requests[0]);
    MPI_Sendrecv(sent, words, MPI_INT, next, 0, got, words, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE);
    if (ranks > 1) {
      if (own % 2 == 0 && own + 1 < ranks) MPI_Send(sent, words, MPI_INT, own + 1, 1, comm);
      if (own % 2 == 1) MPI_Recv(got, words, MPI_INT, own - 1, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect(out[words - 1] == ranks - 1 + words - 1, "MPI_Iallreduce");
  }
}

static void own_operator(MPI_Comm comm) {
  int mine = rank + 1, sum = 0;
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, op, comm);
  MPI_Op_free(&op);
  expect(sum == size * (size + 1) / 2, "an operator of the program's");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  blocking(MPI_COMM_WORLD);
  report("blocking");
  begun(MPI_COMM_WORLD);
  report("begun");
  MPI_Comm copy, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(copy, rank % 2, 0, &half);
  blocking(copy);
  blocking(half);
  begun(half);
  MPI_Comm_free(&half);
  own_operator(copy);
  MPI_Comm_free(&copy);
  report("communicators");
  MPI_Finalize();
  return 0;
}
