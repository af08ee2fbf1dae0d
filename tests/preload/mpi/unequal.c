/* Ranks give lengths that differ, in calls where all ranks send to all. A rank with too little room gets
 * MPI_ERR_TRUNCATE, as from the MPI library. No call writes past a rank's memory, no rank waits for ever, and
 * MPI stays usable. Usage: unequal [begun] [KIND...]. KIND "in place": all kinds in place; none: the other
 * kinds. All kinds need more communicators than get teams. */
#define _GNU_SOURCE
#include "calls.h"
#include "guarded.h"

static MPI_Comm comm;

static int all_reduce(int n) {
  int rc;
  CALL(rc, Allreduce, allreduce, input(n), guarded(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int all_gather(int n) {
  int rc;
  CALL(rc, Allgather, allgather, input(n), n, MPI_INT, guarded((long)n * size), n, MPI_INT, comm);
  return rc;
}
static int all_gather_in_place(int n) {
  int rc;
  CALL(rc, Allgather, allgather, MPI_IN_PLACE, 0, MPI_INT, input((long)n * size), n, MPI_INT, comm);
  return rc;
}
static int all_reduce_in_place(int n) {
  int rc;
  CALL(rc, Allreduce, allreduce, MPI_IN_PLACE, input(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int all_to_all_in_place(int n) {
  int rc;
  CALL(rc, Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_INT, input((long)n * size), n, MPI_INT, comm);
  return rc;
}
static int reduce_scatter_block_in_place(int n) {
  int rc;
  CALL(rc, Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, input((long)n * size), n, MPI_INT,
       MPI_MAX, comm);
  return rc;
}
static int scan_in_place(int n) {
  int rc;
  CALL(rc, Scan, scan, MPI_IN_PLACE, input(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int exscan_in_place(int n) {
  int rc;
  CALL(rc, Exscan, exscan, MPI_IN_PLACE, input(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int all_gather_counted_in_place(int n) {
  int rc, counts[64], places[64];
  for (int r = 0; r < size; ++r) counts[r] = n, places[r] = r * n;
  CALL(rc, Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_INT, input((long)n * size), counts, places, MPI_INT,
       comm);
  return rc;
}
static int all_to_all(int n) {
  int rc;
  CALL(rc, Alltoall, alltoall, input((long)n * size), n, MPI_INT, guarded((long)n * size), n, MPI_INT, comm);
  return rc;
}
static int all_gather_counted(int n) {
  int rc, counts[64], places[64];
  for (int r = 0; r < size; ++r) counts[r] = n, places[r] = r * n;
  CALL(rc, Allgatherv, allgatherv, input(n), n, MPI_INT, guarded((long)n * size), counts, places, MPI_INT,
       comm);
  return rc;
}
static int all_to_all_counted(int n) {
  int rc, counts[64], places[64];
  for (int r = 0; r < size; ++r) counts[r] = n, places[r] = r * n;
  int *in = input((long)n * size), *out = guarded((long)n * size);
  CALL(rc, Alltoallv, alltoallv, in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
  return rc;
}
static int reduce_scatter_block(int n) {
  int rc;
  CALL(rc, Reduce_scatter_block, reduce_scatter_block, input((long)n * size), guarded(n), n, MPI_INT, MPI_MAX,
       comm);
  return rc;
}
static int reduce_scatter(int n) {
  int rc, counts[64];
  for (int r = 0; r < size; ++r) counts[r] = n;
  CALL(rc, Reduce_scatter, reduce_scatter, input((long)n * size), guarded(n), counts, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int scan(int n) {
  int rc;
  CALL(rc, Scan, scan, input(n), guarded(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}
static int exscan(int n) {
  int rc;
  CALL(rc, Exscan, exscan, input(n), guarded(n), n, MPI_INT, MPI_MAX, comm);
  return rc;
}

static const struct {
  const char* name;
  int (*call)(int n);
} kinds[] = {{"allreduce", all_reduce},
             {"allgather", all_gather},
             {"allgather in place", all_gather_in_place},
             {"alltoall", all_to_all},
             {"allgatherv", all_gather_counted},
             {"alltoallv", all_to_all_counted},
             {"reduce_scatter_block", reduce_scatter_block},
             {"reduce_scatter", reduce_scatter},
             {"scan", scan},
             {"exscan", exscan},
             {"allreduce in place", all_reduce_in_place},
             {"alltoall in place", all_to_all_in_place},
             {"allgatherv in place", all_gather_counted_in_place},
             {"reduce_scatter_block in place", reduce_scatter_block_in_place},
             {"scan in place", scan_in_place},
             {"exscan in place", exscan_in_place}};

/* A scan's first rank waits for no other, so its part has ended when the others find the difference. */
static int waits_for_all(const char* kind) { return strstr(kind, "scan") == NULL; }

static void goes_on(void) {
  int one = 1, sum = 0;
  for (int i = 0; i < 3; ++i) {
    expect(MPI_Barrier(comm) == MPI_SUCCESS, "the next barrier");
    expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == size,
           "the next allreduce");
  }
}

static int is_wanted(int argc, char** argv, const char* kind) {
  int any = 0, named = 0;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "begun") == 0) continue;
    any = 1;
    named = named || strcmp(argv[i], kind) == 0 ||
            (strcmp(argv[i], "in place") == 0 && strstr(kind, "in place") != NULL);
  }
  return named || (!any && strstr(kind, "in place") == NULL);
}

int main(int argc, char** argv) {
  static const int lengths[][2] = {{1, 2}, {15, 14}, {1, 300}};
  begin(&argc, &argv);
  for (int i = 1; i < argc; ++i) begun = begun || strcmp(argv[i], "begun") == 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    if (!is_wanted(argc, argv, kinds[k].name)) continue;
    for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0];
         ++i) { /* no more communicators than get a team at once */
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      MPI_Barrier(comm);
      const int odd = i + k % 2 == 1 ? size - 1 : 0;
      const int class = class_of(kinds[k].call(lengths[i][rank == odd ? 0 : 1]));
      if (waits_for_all(kinds[k].name)) same(&class, &class, sizeof class, "class");
      else expect(class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE, "a scan's error class");
      goes_on();
      MPI_Comm_free(&comm);
    }
    report(kinds[k].name);
  }
  MPI_Finalize();
  return 0;
}
