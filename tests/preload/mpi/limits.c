/* More of everything than Fermata or its preload has room for. The MPI library then does the rest, at all
 * ranks alike, and the results are right. "communicators": more of them than teams, of which there are at
 * most kMostTeams. "elements": some that are too long only for a large team. */
#include "check.h"

enum { kMany = 3000, kLength = 500, kCommunicators = 1100, kTeams = 1024, kTeamsOverHosts = 256 };

/* Requests outstanding at a time in one communicator: on lines, then on blocks. */
static void outstanding(int length) {
  int* in = malloc(sizeof(int) * (size_t)length);
  int* out = calloc((size_t)length * kMany, sizeof(int));
  MPI_Request* r = malloc(kMany * sizeof *r);
  for (int i = 0; i < length; ++i) in[i] = rank + 1;
  for (int i = 0; i < kMany; ++i)
    MPI_Iallreduce(in, out + (size_t)i * length, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i]);
  MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
  const int sum = size * (size + 1) / 2;
  for (int i = 0; i < kMany; ++i)
    expect(out[(size_t)i * length] == sum && out[(size_t)(i + 1) * length - 1] == sum, "one of many sums");
  free(in);
  free(out);
  free(r);
}

#ifdef PERSISTENT
/* More requests than slots: the MPI library does the last ones. They are started in order, as the MPI library
 * needs it. */
static void persistent(int length) {
  int* in = malloc(sizeof(int) * (size_t)length);
  int* out = calloc((size_t)length * kMany, sizeof(int));
  MPI_Request* r = malloc(kMany * sizeof *r);
  for (int i = 0; i < length; ++i) in[i] = rank + 1;
  for (int i = 0; i < kMany; ++i)
    MPI_Allreduce_init(in, out + (size_t)i * length, length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &r[i]);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < (size_t)length * kMany; ++i) out[i] = 0;
    MPI_Startall(kMany, r);
    MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMany; ++i)
      expect(out[(size_t)(i + 1) * length - 1] == size * (size + 1) / 2, "one of many persistent sums");
  }
  for (int i = 0; i < kMany; ++i) MPI_Request_free(&r[i]);
  /* One after the other: more than the smallest number of tags that an MPI library may have. */
  for (int i = 0; i < 70000; ++i) {
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    if (i % 1000 == 0) MPI_Start(&r[0]);
    if (i % 1000 == 0) MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&r[0]);
  }
  expect(1, "persistent barriers");
  free(in);
  free(out);
  free(r);
}
#endif

static void add(void* in, void* out, int* n, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  for (int i = 0; i < *n * bytes; ++i) ((char*)out)[i] = (char)(((char*)out)[i] + ((char*)in)[i]);
}
static void long_elements(int bytes) {
  const size_t all = 3 * (size_t)bytes;
  const char sum = (char)(size * (size + 1) / 2);
  char *in = malloc(all), *out = malloc(all);
  MPI_Datatype type;
  MPI_Op op;
  MPI_Request r;
  MPI_Type_contiguous(bytes, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add, 1, &op);
  memset(in, rank + 1, all);
  MPI_Allreduce(in, out, 3, type, op, MPI_COMM_WORLD);
  expect(out[0] == sum && out[all - 1] == sum, "sum of long elements");
  memset(out, 0, all);
  MPI_Iallreduce(in, out, 3, type, op, MPI_COMM_WORLD, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  expect(out[0] == sum && out[all - 1] == sum, "begun sum of long elements");
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  free(in);
  free(out);
}

static void complete(MPI_Request* request) {
  int index = 0;
  MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE);
}

/* Each gets a team while there is room: the first ones at once, others after some 30 blocking collectives.
 * `teams`: how many there is room for. MPI_COMM_WORLD has one of them. */
static void communicators(int many, int teams) {
  enum { kUntilTeam = 40 };
  MPI_Comm* comms = malloc((size_t)many * sizeof *comms);
  MPI_Request* r = malloc((size_t)many * sizeof *r);
  int* out = calloc((size_t)many, sizeof *out);
  for (int i = 0; i < many; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int n = 0; n < kUntilTeam; ++n) MPI_Allreduce(&rank, &out[i], 1, MPI_INT, MPI_MAX, comms[i]);
    expect(out[i] == size - 1, "maximum of one of many communicators");
  }
  for (int i = many - 100; i < many; ++i)
    MPI_Iallreduce(&rank, &out[i], 1, MPI_INT, MPI_SUM, comms[i], &r[i]);
  if (rank == 0) MPI_Waitall(100, r + many - 100, MPI_STATUSES_IGNORE);
  /* The last call to complete is of the last communicator with a team. Its team must be free again, too. */
  for (int i = many - 1; rank != 0 && i >= teams - 1; --i) complete(&r[i]);
  for (int i = many - 100; rank != 0 && i < teams - 1; ++i) complete(&r[i]);
  for (int i = many - 100; i < many; ++i) {
    expect(out[i] == size * (size - 1) / 2, "begun sum of one of many communicators");
  }
  MPI_Comm again; /* made when there is room again */
  for (int i = 0; i < many; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  for (int n = 0; n < kUntilTeam; ++n) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, again);
    expect(sum == size, "a communicator behind them");
  }
  MPI_Comm_free(&again);
  free(comms);
  free(r);
  free(out);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "elements") == 0) {
    static const int bytes[] = {48, 1536, 1537, 4096};
    for (int i = 0; i < 4; ++i) long_elements(bytes[i]);
    report("elements");
  } else if (argc > 1) {
    communicators(argc > 2 ? atoi(argv[2]) : kCommunicators, argc > 2 ? kTeamsOverHosts : kTeams);
    report("communicators");
  } else {
    outstanding(1);
    outstanding(kLength);
    report("outstanding");
    long_elements(5000);
    report("long elements");
#ifdef PERSISTENT
    persistent(kLength);
    report("persistent");
#endif
  }
  MPI_Finalize();
  return 0;
}
