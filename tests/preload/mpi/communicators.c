/* Thousands of communicators are made in every way, used, freed and made again, and many exist at a time. The
 * number of descriptors stays small. Errors of wrong calls are the MPI library's. "few" as an argument: not
 * thousands. */
#include <dirent.h>

#include "check.h"

static void use(MPI_Comm comm, const char* what) {
  if (comm == MPI_COMM_NULL) return;
  int me = 0, n = 0, all[64];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  long mine = me + 1, sum = 0, prefix = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
  expect(sum == (long)n * (n + 1) / 2, what);
  MPI_Scan(&mine, &prefix, 1, MPI_LONG, MPI_SUM, comm);
  expect(prefix == mine * (mine + 1) / 2, what);
  MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int r = 0; r < n; ++r) expect(all[r] == r, what);
  int word = me == n - 1 ? 4711 : 0;
  MPI_Bcast(&word, 1, MPI_INT, n - 1, comm);
  expect(word == 4711, what);
  MPI_Barrier(comm);
}

static void use_and_free(MPI_Comm* comm, const char* what) {
  use(*comm, what);
  if (*comm != MPI_COMM_NULL) MPI_Comm_free(comm);
}

static int descriptors(void) {
  int n = 0;
  DIR* d = opendir("/proc/self/fd");
  while (d != NULL && readdir(d) != NULL) ++n;
  if (d != NULL) closedir(d);
  return n;
}

static void by_the_thousand(int number) {
  MPI_Comm comm;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    use_and_free(&comm, "dup");
  }
  const int before = descriptors();
  for (int i = 0; i < number; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 16 == 0) use(comm, "dup by the thousand");
    MPI_Comm_free(&comm);
  }
  expect(descriptors() <= before + 8, "descriptors after as many communicators");
  enum {
    kMany = 1100
  }; /* more communicators than teams; fewer where ranks share CPUs: MPICH waits a time slice for each */
  static MPI_Comm many[kMany];
  const int n = size == 2 ? kMany : 300;
  for (int i = 0; i < n; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &many[i]);
  if (size == 2 && getenv("FERMATA_FAKE_HOSTS") == NULL) /* on one host */
    expect(descriptors() <= before + 8, "descriptors of many communicators at a time");
  for (int i = 0; i < n; i += 7) use(many[i], "one of many");
  use(many[n - 1], "the last of many");
  for (int i = 0; i < n; ++i) MPI_Comm_free(&many[i * 7 % n]);
}

static void by_splits_and_copies(void) {
  MPI_Comm comm, other;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
  use(comm, "split");
  MPI_Comm_dup(comm, &other);
  use_and_free(&other, "dup of a split");
  MPI_Comm_split(comm, 0, rank, &other);
  use_and_free(&other, "split of a split");
  use_and_free(&comm, "split again");
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 5, 0, &comm);
  expect((comm == MPI_COMM_NULL) == (rank == 0), "split without rank 0");
  use_and_free(&comm, "split without rank 0");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  use_and_free(&comm, "split_type");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm);
  use_and_free(&comm, "dup_with_info");
  MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  use_and_free(&comm, "idup");
}

static void by_groups(void) {
  MPI_Comm comm;
  MPI_Group world, some;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int ranks[64], n = 0;
  for (int r = size - 1; r >= 0; r -= 2) ranks[n++] = r;
  MPI_Group_incl(world, n, ranks, &some);
  MPI_Comm_create(MPI_COMM_WORLD, some, &comm);
  use_and_free(&comm, "create");
  int member = 0;
  MPI_Group_rank(some, &member);
  if (member != MPI_UNDEFINED) {
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &comm);
    use_and_free(&comm, "create_group");
  }
  MPI_Group_free(&some);
  MPI_Group_free(&world);
}

static void by_topologies(void) {
  MPI_Comm comm, other;
  const int sizes[] = {size % 2 == 0 ? 2 : 1, size % 2 == 0 ? size / 2 : size}, periods[] = {1, 0},
            remains[] = {0, 1};
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &comm);
  use(comm, "cart");
  MPI_Cart_sub(comm, remains, &other);
  use_and_free(&other, "cart_sub");
  use_and_free(&comm, "cart again");
  int index[64], edges[64];
  for (int r = 0; r < size; ++r) {
    index[r] = r + 1;
    edges[r] = (r + 1) % size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &comm);
  use_and_free(&comm, "graph");
  const int next = (rank + 1) % size, last = (rank + size - 1) % size, one = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm);
  use_and_free(&comm, "dist_graph_create_adjacent");
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  use_and_free(&comm, "dist_graph_create");
}

static void between_groups(void) {
  MPI_Comm comm, other, local;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &comm);
  int got = -1, gives = rank;
  MPI_Allreduce(&gives, &got, 1, MPI_INT, MPI_MIN, comm);
  expect(got == 1 - rank % 2, "intercommunicator");
  MPI_Barrier(comm);
  MPI_Comm_dup(comm, &other);
  MPI_Allreduce(&gives, &got, 1, MPI_INT, MPI_MIN, other);
  expect(got == 1 - rank % 2, "intercommunicator again");
  MPI_Comm_free(&other);
  MPI_Intercomm_merge(comm, rank % 2, &other);
  use_and_free(&other, "merge");
  MPI_Comm_free(&comm);
  MPI_Comm_free(&local);
}

static void in_every_way(void) {
  by_splits_and_copies();
  by_groups();
  by_topologies();
  use(MPI_COMM_SELF, "self");
  if (size > 1) between_groups();
}

static int copies, deletes;
static int copied(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra;
  ++copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}
static int deleted(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deletes;
  return MPI_SUCCESS;
}
static void with_attributes(void) {
  int key, there, value = 17, *found = NULL;
  MPI_Comm comm, other;
  MPI_Comm_create_keyval(copied, deleted, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, key, &value);
  MPI_Comm_dup(comm, &other);
  MPI_Comm_get_attr(other, key, &found, &there);
  expect(there && *found == 17 && copies == 1, "an attribute is copied");
  use_and_free(&other, "with an attribute");
  expect(deletes == 1, "an attribute is deleted");
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
}

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}
static void mistakes(void) {
  MPI_Comm comm;
  MPI_Errhandler own;
  int word = 0, other = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  expect(class_of(MPI_Bcast(&word, 1, MPI_INT, size, comm)) == MPI_ERR_ROOT, "a root that is none");
  expect(class_of(MPI_Bcast(&word, -1, MPI_INT, 0, comm)) == MPI_ERR_COUNT, "a negative count");
  expect(class_of(MPI_Bcast(&word, 1, MPI_DATATYPE_NULL, 0, comm)) == MPI_ERR_TYPE, "no type");
  expect(class_of(MPI_Allreduce(&word, &other, 1, MPI_INT, MPI_OP_NULL, comm)) == MPI_ERR_OP, "no operator");
  expect(class_of(MPI_Allreduce(&word, &other, 1, MPI_DOUBLE_INT, MPI_SUM, comm)) == MPI_ERR_OP,
         "an operator that is not defined");
  expect(class_of(MPI_Reduce(&word, &other, 1, MPI_INT, MPI_SUM, -7, comm)) == MPI_ERR_ROOT,
         "a negative root");
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Gather(&word, 1, MPI_INT, &other, 1, MPI_INT, size + 3, comm);
  expect(handled == 1, "the handler is called once");
  MPI_Errhandler_free(&own);
  use_and_free(&comm, "after mistakes");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  mistakes(); /* on the first communicators, which have teams */
  report("mistakes");
  with_attributes();
  report("with attributes");
  for (int i = 0; i < 3; ++i) in_every_way();
  report("in every way");
  by_the_thousand(argc > 1 && strcmp(argv[1], "few") == 0 ? 100 : 2000);
  report("by the thousand");
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm left;
  MPI_Comm_dup(MPI_COMM_WORLD, &left);
  use(left, "left over");
  MPI_Finalize();
  return 0;
}
