/* Persistent collectives are started again and again with other data, in other orders on other ranks. They
 * are mixed with the MPI library's requests and with inactive ones in all completion calls, and freed at any
 * time. */
#include "check.h"

enum { kLong = 30000, kKinds = 6 };
static int one[kLong], sum[kLong], word, words[8], all[64], spread[20], gaps[20], got, last;

static int total(void) { return size * (size + 1) / 2; }

static void fill(int round) {
  for (int i = 0; i < kLong; ++i) one[i] = (rank + 1) * (i % 7 + round);
  memset(sum, -1, sizeof sum);
  memset(all, -1, sizeof all);
  memset(gaps, -1, sizeof gaps);
  word = rank == 0 ? 1000 + round : -1;
  for (int i = 0; i < 8; ++i) words[i] = rank + i + round;
  for (int i = 0; i < 20; ++i) spread[i] = rank + i + round;
}

static void verify(int round, const char* what) {
  for (int i = 0; i < kLong; ++i)
    if (sum[i] != total() * (i % 7 + round)) {
      expect(0, what);
      break;
    }
  expect(word == 1000 + round, what);
  for (int i = 0; i < 8; ++i) expect(words[i] == size - 1 + i + round, what);
  for (int r = 0; r < size; ++r) expect(all[r] == r + round, what);
  if (rank == size - 1)
    for (int i = 0; i < 20; ++i) expect(gaps[i] == (i % 2 ? -1 : size * (i + round) + total() - size), what);
}

static void add(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)out)[2 * i] += ((int*)in)[2 * i];
}

/* Types and operator are freed before the first start. */
static void make(MPI_Comm comm, MPI_Request* r) {
  MPI_Datatype vector, type;
  MPI_Op op;
  MPI_Type_vector(1, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, 2 * sizeof(int), &type);
  MPI_Type_commit(&type);
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce_init(one, sum, kLong, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[0]);
  MPI_Bcast_init(&word, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &r[1]);
  MPI_Allreduce_init(MPI_IN_PLACE, words, 8, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &r[2]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &r[3]);
  MPI_Allgather_init(words, 1, MPI_INT, all, 1, MPI_INT, comm, MPI_INFO_NULL, &r[4]);
  MPI_Reduce_init(spread, gaps, 10, type, op, size - 1, comm, MPI_INFO_NULL, &r[5]);
  MPI_Type_free(&type);
  MPI_Type_free(&vector);
  MPI_Op_free(&op);
}

/* More requests than MPICH tests together: persistent collectives, messages, and null requests. No
 * non-blocking collective has been begun before. */
static void among_many_messages(MPI_Comm comm) {
  enum { kEach = 30, kAll = 4 * kEach };
  static MPI_Request r[kAll], made[kEach];
  static int in[kEach], out[kEach], came[kEach];
  for (int i = 0; i < kEach; ++i)
    MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &made[i]);
  for (int round = 0; round < 20; ++round) {
    int flag = 0;
    for (int i = 0; i < kEach; ++i) {
      in[i] = rank + 1 + i * round;
      out[i] = came[i] = -1;
      r[4 * i] = made[i];
      MPI_Start(&made[i]);
      MPI_Irecv(&came[i], 1, MPI_INT, (rank + size - 1) % size, i, comm, &r[4 * i + 1]);
      MPI_Isend(&in[i], 1, MPI_INT, (rank + 1) % size, i, comm, &r[4 * i + 2]);
      r[4 * i + 3] = MPI_REQUEST_NULL;
    }
    while (!flag) MPI_Testall(kAll, r, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kEach; ++i) {
      expect(out[i] == total() + size * i * round, "a sum among many messages");
      expect(came[i] == (rank + size - 1) % size + 1 + i * round, "one of many messages");
      expect(r[4 * i] == made[i] && r[4 * i + 1] == MPI_REQUEST_NULL, "which requests are over");
    }
  }
  for (int i = 0; i < kEach; ++i) MPI_Request_free(&made[i]);
}

/* words is the input of one and in place of another, so one runs after the other. */
static void in_turn(MPI_Request* r, int rounds) {
  MPI_Status status;
  for (int round = 0; round < rounds; ++round) {
    fill(round);
    MPI_Start(&r[4]);
    MPI_Wait(&r[4], &status);
    expect(r[4] != MPI_REQUEST_NULL, "it stays");
    for (int i = 0; i < kKinds; ++i) { /* each rank has its own order */
      const int k = (i + rank * 5 + round) % kKinds;
      if (k != 4) MPI_Start(&r[k]);
    }
    for (int i = 0; i < kKinds; ++i) MPI_Wait(&r[(i * 5 + rank) % kKinds], MPI_STATUS_IGNORE);
    verify(round, "in turn");
  }
}

/* Completes them in the way `how`, with a message around the ring of ranks and a request that is never
 * started. */
static void among_others(MPI_Request* r, MPI_Comm comm) {
  enum { kAll = kKinds + 3 };
  MPI_Request mixed[kAll], idle;
  MPI_Status statuses[kAll];
  int flag, index, count, indices[kAll];
  MPI_Recv_init(&got, 1, MPI_INT, (rank + size - 1) % size, 5, comm, &mixed[kKinds]);
  MPI_Send_init(&last, 1, MPI_INT, (rank + 1) % size, 5, comm, &mixed[kKinds + 1]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &idle);
  mixed[kKinds + 2] = idle;
  memcpy(mixed, r, kKinds * sizeof *r);
  for (int how = 0; how < 12; ++how) {
    fill(how);
    last = rank + how;
    got = -1;
    MPI_Start(&r[4]);
    do MPI_Request_get_status(r[4], &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Test(&r[4], &flag, &statuses[0]);
    expect(flag, "Test of what is over");
    MPI_Startall(4, mixed);
    MPI_Startall(3, mixed + 5);
    switch (how % 6) {
      case 0: MPI_Waitall(kAll, mixed, statuses); break;
      case 1:
        for (int done = 0; done < 7; ++done) {
          MPI_Waitany(kAll, mixed, &index, MPI_STATUS_IGNORE);
          expect(index >= 0 && index != 4 && index < kAll - 1, "Waitany");
        }
        break;
      case 2:
        for (int done = 0; done < 7; done += count) MPI_Waitsome(kAll, mixed, &count, indices, statuses);
        break;
      case 3:
        do MPI_Testall(kAll, mixed, &flag, MPI_STATUSES_IGNORE);
        while (!flag);
        break;
      case 4:
        for (int done = 0; done < 7; done += flag) MPI_Testany(kAll, mixed, &index, &flag, MPI_STATUS_IGNORE);
        break;
      default:
        for (int done = 0; done < 7; done += count)
          MPI_Testsome(kAll, mixed, &count, indices, MPI_STATUSES_IGNORE);
        break;
    }
    verify(how, "among others");
    expect(got == (rank + size - 1) % size + how, "the message beside them");
    MPI_Waitany(kAll, mixed, &index, MPI_STATUS_IGNORE);
    expect(index == MPI_UNDEFINED, "Waitany of inactive ones");
    MPI_Testall(kAll, mixed, &flag, MPI_STATUSES_IGNORE);
    expect(flag, "Testall of inactive ones");
    MPI_Wait(&idle, MPI_STATUS_IGNORE);
    for (int i = 0; i < kKinds; ++i) expect(mixed[i] == r[i], "handles");
  }
  MPI_Request_free(&idle);
  expect(idle == MPI_REQUEST_NULL, "freed");
  MPI_Request_free(&mixed[kKinds]);
  MPI_Request_free(&mixed[kKinds + 1]);
}

/* Adds elements of so many ints, which are longer than Fermata supports. */
enum { kWide = 1100 };
static void add_wide(void* left, void* right, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count * kWide; ++i) ((int*)right)[i] += ((const int*)left)[i];
}

/* The MPI library does reductions of such elements: one beside one of Fermata's and a message, completed in
 * each way. A completed request is not passed to MPI again: MPICH 4.0 returns its own completed ones
 * repeatedly. */
static void beside_librarys(MPI_Comm comm) {
  enum { kAll = 4, kMost = 64 };
  static int parts[kMost * kWide], part[kWide];
  MPI_Request made[kAll], left[kAll];
  MPI_Status statuses[kAll];
  int flag, count, indices[kAll];
  MPI_Datatype wide;
  MPI_Op add;
  MPI_Type_contiguous(kWide, MPI_INT, &wide);
  MPI_Type_commit(&wide);
  MPI_Op_create(add_wide, 1, &add);
  MPI_Reduce_scatter_block_init(parts, part, 1, wide, add, comm, MPI_INFO_NULL, &made[0]);
  MPI_Allreduce_init(one, sum, 5, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &made[1]);
  MPI_Barrier_init(comm, MPI_INFO_NULL, &made[2]);
  MPI_Recv_init(&got, 1, MPI_INT, (rank + size - 1) % size, 6, comm, &made[3]);
  for (int how = 0; how < 36; ++how) {
    fill(how);
    for (int i = 0; i < size * kWide; ++i) parts[i] = rank + i + how;
    memset(part, -1, sizeof part);
    got = -1;
    MPI_Startall(kAll, made);
    MPI_Send(&how, 1, MPI_INT, (rank + 1) % size, 6, comm);
    memcpy(left, made, sizeof made);
    if (how % 6 == 4) MPI_Waitall(kAll, left, statuses);
    flag = 0;
    while (how % 6 == 5 && !flag) MPI_Testall(kAll, left, &flag, statuses);
    for (int done = 0; how % 6 < 4 && done < kAll;) {
      count = 1;
      if (how % 6 == 0) MPI_Waitany(kAll, left, indices, statuses);
      if (how % 6 == 1) MPI_Testany(kAll, left, indices, &count, statuses);
      if (how % 6 == 2) MPI_Waitsome(kAll, left, &count, indices, statuses);
      if (how % 6 == 3) MPI_Testsome(kAll, left, &count, indices, statuses);
      expect(count >= 0 && count <= kAll - done, "how many are over");
      for (int i = 0; i < count; ++i) {
        expect(indices[i] >= 0 && indices[i] < kAll && left[indices[i]] != MPI_REQUEST_NULL, "which is over");
        left[indices[i]] = MPI_REQUEST_NULL;
      }
      done += count;
    }
    expect(got == how, "a message beside persistent collectives");
    for (int i = 0; i < 5; ++i) expect(sum[i] == total() * (i % 7 + how), "ours beside the library's");
    for (int i = 0; i < kWide; ++i)
      expect(part[i] == total() - size + size * (rank * kWide + i + how), "the library's beside ours");
  }
  for (int i = 0; i < kAll; ++i) MPI_Request_free(&made[i]);
  MPI_Op_free(&add);
  MPI_Type_free(&wide);
}

/* Rank 0 waits for a message that the others send after they have completed what all have started. */
static void in_library(MPI_Request* r) {
  for (int round = 0; round < 3; ++round) {
    fill(round);
    MPI_Start(&r[4]);
    MPI_Wait(&r[4], MPI_STATUS_IGNORE);
    MPI_Startall(4, r);
    MPI_Start(&r[5]);
    if (rank == 0) MPI_Recv(&got, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(kKinds, r, MPI_STATUSES_IGNORE);
    if (rank == size - 1) MPI_Ssend(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    verify(round, "while waiting in the library");
  }
}

/* Rank 0 has started a barrier. The others start it only after rank 0 has completed what all have started. */
static void beside_begun(MPI_Request* r) {
  MPI_Request barrier;
  for (int round = 0; round < 5; ++round) {
    fill(round);
    if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    MPI_Startall(1, r);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    for (int other = 1; rank == 0 && other < size; ++other)
      MPI_Send(&word, 1, MPI_INT, other, 9, MPI_COMM_WORLD);
    if (rank != 0) MPI_Recv(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    expect(sum[0] == total() * round, "beside a barrier that was begun before");
  }
}

/* More requests than a team has room for: the MPI library does the rest, on all ranks. The same again after
 * they are freed. */
static void many(MPI_Comm comm) {
  enum { kMany = 100, kEach = 20000 };
  MPI_Request r[kMany];
  int(*in)[kEach] = calloc(kMany, sizeof *in), (*out)[kEach] = calloc(kMany, sizeof *out);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kMany; ++i)
      MPI_Allreduce_init(in[i], out[i], kEach, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &r[i]);
    for (int i = 0; i < kMany; ++i) {
      in[i][0] = in[i][kEach - 1] = rank + i + round;
      out[i][0] = out[i][kEach - 1] = -1;
    }
    for (int i = 0; i < kMany; ++i) MPI_Start(&r[i]);
    MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMany; ++i) {
      const int expected = total() - size + size * (i + round);
      expect(out[i][0] == expected && out[i][kEach - 1] == expected, "many");
      MPI_Request_free(&r[i]);
    }
  }
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  MPI_Request r[kKinds], forgotten;
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  among_many_messages(comm);
  report("among many messages");
  make(comm, r);
  in_turn(r, 30);
  report("in turn");
  among_others(r, comm);
  report("among others");
  beside_librarys(comm);
  report("beside the library's own");
  in_library(r);
  report("in the library");
  MPI_Comm_free(&comm); /* the requests outlive it */
  in_turn(r, 3);
  for (int i = 0; i < kKinds; ++i) MPI_Request_free(&r[i]);
  report("behind their communicator");
  MPI_Allreduce_init(one, sum, kLong, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  beside_begun(r);
  MPI_Request_free(&r[0]);
  report("beside what was begun");
  many(MPI_COMM_WORLD);
  report("many");
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &forgotten);
  MPI_Start(&forgotten);
  MPI_Wait(&forgotten, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
