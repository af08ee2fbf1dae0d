/* dies WHO abort|kill|exit: rank WHO ends without MPI_Finalize while all ranks call collectives. The job ends
 * and leaves nothing behind. */
#include <signal.h>
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  static int in[50000], out[50000];
  MPI_Request r;
  MPI_Comm left;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  for (int i = 0; i < 300; ++i) {
    MPI_Allreduce(in, out, i % 2 == 0 ? 1 : 50000, MPI_INT, MPI_SUM, left);
    MPI_Ibcast(in, 50000, MPI_INT, 0, left, &r);
    if (i == 200 && rank == atoi(argv[1])) {
      if (strcmp(argv[2], "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
      if (strcmp(argv[2], "kill") == 0) raise(SIGKILL);
      _exit(9);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
