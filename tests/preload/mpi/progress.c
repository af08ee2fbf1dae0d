/* A rank that waits in a collective lets the MPI library advance the operations for which others wait. */
#include "check.h"

enum { kBytes = 1 << 20 };
static char sent[kBytes], got[kBytes], there[64 * 1024];

static void meet(int kind) {
  int a = 1, b = 0;
  switch (kind) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); break;
    case 1: MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 2: MPI_Bcast(&a, 1, MPI_INT, 1, MPI_COMM_WORLD); break;
    case 3: MPI_Allreduce(sent, there, 4096, MPI_INT, MPI_BOR, MPI_COMM_WORLD); break;
    case 4: MPI_Allgather(sent, 100, MPI_CHAR, there, 100, MPI_CHAR, MPI_COMM_WORLD); break;
    default: MPI_Bcast(there, sizeof there, MPI_CHAR, 1, MPI_COMM_WORLD); break;
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int i = 0; i < kBytes; ++i) sent[i] = (char)(i * 7 + i / 1000);
  const int sizes[] = {100, 5000, 100000, kBytes};
  /* Rank 0 has sent and is in the collective while rank 1 still receives. */
  for (int s = 0; s < 4; ++s)
    for (int kind = 0; kind < 6; ++kind) {
      MPI_Request request = MPI_REQUEST_NULL;
      memset(got, 0, sizeof got);
      if (rank == 0 && size > 1) MPI_Isend(sent, sizes[s], MPI_CHAR, 1, kind, MPI_COMM_WORLD, &request);
      if (rank == 1) {
        MPI_Recv(got, sizes[s], MPI_CHAR, 0, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(memcmp(got, sent, (size_t)sizes[s]) == 0, "what was sent");
      }
      meet(kind);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  report("sent");
  /* The reverse: the receiver has posted its receive and is in the collective. */
  for (int s = 0; s < 4; ++s) {
    MPI_Request request = MPI_REQUEST_NULL;
    memset(got, 0, sizeof got);
    if (rank == 0 && size > 1) MPI_Irecv(got, sizes[s], MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Ssend(sent, sizes[s], MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0 && size > 1) expect(memcmp(got, sent, (size_t)sizes[s]) == 0, "what was received");
  }
  report("received");
  /* The owner of a window is in the collective. */
  MPI_Win window;
  int* memory = NULL;
  MPI_Win_allocate(sizeof *memory * 16, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
  for (int i = 0; i < 16; ++i) memory[i] = 0;
  MPI_Win_unlock(rank, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank > 0)
    for (int i = 0; i < 50; ++i) {
      const int one = 1;
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      MPI_Accumulate(&one, 1, MPI_INT, 0, rank % 16, 1, MPI_INT, MPI_SUM, window);
      MPI_Win_unlock(0, window);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
  if (rank == 0)
    for (int r = 1; r < size && r < 16; ++r) expect(memory[r] == 50, "what was added");
  MPI_Win_unlock(rank, window);
  MPI_Win_free(&window);
  report("window");
  MPI_Finalize();
  return 0;
}
