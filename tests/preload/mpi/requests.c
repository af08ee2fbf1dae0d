/* Non-blocking collectives among the MPI library's own requests, in all completion calls. Ranks also wait in
 * the MPI library while others need the collectives that they began. */
#include "check.h"

enum { kLong = 200000 };
static int one[kLong], sum[kLong], big[kLong], got[kLong];

static long total(void) { return (long)size * (size + 1) / 2; }

/* One round: two messages, a small sum, a long one and a broadcast, begun together. */
static void start(MPI_Request* r, MPI_Comm comm, int round) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  for (int i = 0; i < kLong; ++i) {
    one[i] = rank + 1;
    sum[i] = got[i] = 0;
    big[i] = rank == round % size ? i + round : -1;
  }
  MPI_Irecv(got, kLong, MPI_INT, last, round, comm, &r[0]);
  MPI_Iallreduce(one, sum, 1, MPI_INT, MPI_SUM, comm, &r[1]);
  MPI_Isend(one, kLong, MPI_INT, next, round, comm, &r[2]);
  MPI_Iallreduce(one + 1, sum + 1, 50000, MPI_INT, MPI_SUM, comm, &r[3]);
  MPI_Ibcast(big, kLong, MPI_INT, round % size, comm, &r[4]);
  MPI_Ibarrier(comm, &r[5]);
}
static void finish(int round, const char* what) {
  const int last = (rank + size - 1) % size;
  expect(got[0] == last + 1 && got[kLong - 1] == last + 1, what);
  expect(sum[0] == total() && sum[1] == total() && sum[50000] == total() && sum[50001] == 0, what);
  expect(big[0] == round && big[kLong - 1] == kLong - 1 + round, what);
}

/* One request of communicators that are made and freed while the team stays the same. */
static void renewed(void) {
  for (int turn = 0; turn < 4; ++turn) {
    MPI_Comm comm;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 5; ++round) {
      one[0] = rank + round;
      memset(got, -1, sizeof(int) * (size_t)size);
      MPI_Iallgather(one, 1, MPI_INT, got, 1, MPI_INT, comm, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      for (int p = 0; p < size; ++p)
        expect(got[p] == p + round, "allgather of a communicator that was made again");
    }
    MPI_Iallgather(one, 1, MPI_INT, got, 1, MPI_INT, comm, &r);
    MPI_Comm_free(&comm);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int p = 0; p < size; ++p) expect(got[p] == p + 4, "allgather that outlives its communicator");
  }
}

static void mixed(MPI_Comm comm) {
  MPI_Request r[6];
  MPI_Status statuses[6];
  int flag, index, count, indices[6];
  start(r, comm, 0);
  MPI_Waitall(6, r, statuses);
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  expect(count == kLong && statuses[0].MPI_TAG == 0, "status of the message");
  finish(0, "Waitall");
  start(r, comm, 1);
  for (int done = 0; done < 6; ++done) {
    MPI_Waitany(6, r, &index, MPI_STATUS_IGNORE);
    expect(index >= 0 && index < 6 && r[index] == MPI_REQUEST_NULL, "Waitany");
  }
  MPI_Waitany(6, r, &index, MPI_STATUS_IGNORE);
  expect(index == MPI_UNDEFINED, "Waitany of nothing");
  finish(1, "Waitany");
  start(r, comm, 2);
  for (int done = 0; done < 6; done += count) MPI_Waitsome(6, r, &count, indices, statuses);
  finish(2, "Waitsome");
  start(r, comm, 3);
  do MPI_Testall(6, r, &flag, MPI_STATUSES_IGNORE);
  while (!flag);
  finish(3, "Testall");
  start(r, comm, 4);
  for (int done = 0; done < 6; done += flag) MPI_Testany(6, r, &index, &flag, MPI_STATUS_IGNORE);
  finish(4, "Testany");
  start(r, comm, 5);
  for (int done = 0; done < 6; done += count) MPI_Testsome(6, r, &count, indices, MPI_STATUSES_IGNORE);
  finish(5, "Testsome");
  start(r, comm, 6);
  for (int i = 5; i >= 0; --i) {
    do MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
    while (!flag);
    MPI_Wait(&r[i], MPI_STATUS_IGNORE);
  }
  finish(6, "Request_get_status");
  start(r, comm, 7);
  for (int i = 0; i < 6; ++i) MPI_Wait(&r[(i + rank) % 6], MPI_STATUS_IGNORE);
  finish(7, "Wait in different orders");
}

/* More requests at a time than an MPI library tests together, of all kinds: long and short collectives,
 * messages, and null requests. The last are short collectives only. */
enum { kMany = 200 };
enum { kLongSum, kShortSum, kReceive, kSend, kNothing };
static int kind_of_request(int i) {
  if (i < 192 && (i % 8 == 0 || (i < 64 && i % 8 < 5))) return kLongSum;
  return i % 8 == 5 || i >= 192 ? kShortSum : i % 8 == 6 ? kReceive : i % 8 == 7 ? kSend : kNothing;
}
static void many(int way, MPI_Comm other) {
  static int sums[kMany][kLong / 5], words[kMany], messages[kMany], indices[kMany];
  static MPI_Request r[kMany];
  static MPI_Status statuses[kMany];
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int flag = 0, index = 0, count = 0, left = 0;
  for (int i = 0; i < kMany; ++i) {
    const int kind = kind_of_request(i);
    r[i] = MPI_REQUEST_NULL;
    words[i] = messages[i] = -1;
    if (kind == kLongSum) MPI_Iallreduce(one, sums[i], kLong / 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i]);
    if (kind == kShortSum) MPI_Iallreduce(&rank, &words[i], 1, MPI_INT, MPI_SUM, other, &r[i]);
    if (kind == kReceive) MPI_Irecv(&messages[i], 1, MPI_INT, last, i, other, &r[i]);
    if (kind == kSend) MPI_Isend(&rank, 1, MPI_INT, next, i - 1, other, &r[i]);
    left += r[i] != MPI_REQUEST_NULL;
  }
  if (way == 0) MPI_Waitall(kMany, r, statuses);
  while (way == 1 && !flag) MPI_Testall(kMany, r, &flag, statuses);
  while (way == 2 && !flag) MPI_Testall(kMany, r, &flag, MPI_STATUSES_IGNORE);
  for (; way == 3 && left > 0; --left) MPI_Waitany(kMany, r, &index, MPI_STATUS_IGNORE);
  for (; way == 4 && left > 0; left -= flag) MPI_Testany(kMany, r, &index, &flag, MPI_STATUS_IGNORE);
  for (; way == 5 && left > 0; left -= count) MPI_Waitsome(kMany, r, &count, indices, statuses);
  for (; way == 6 && left > 0; left -= count) MPI_Testsome(kMany, r, &count, indices, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i) {
    const int kind = kind_of_request(i);
    expect(r[i] == MPI_REQUEST_NULL, "one of many requests is over");
    if (kind == kLongSum)
      expect(sums[i][0] == size && sums[i][kLong / 5 - 1] == size, "sum of one of many requests");
    if (kind == kShortSum) expect(words[i] == size * (size - 1) / 2, "short sum of one of many requests");
    if (kind == kReceive) expect(messages[i] == last, "message of one of many requests");
    if (kind == kReceive && way < 2)
      expect(statuses[i].MPI_SOURCE == last && statuses[i].MPI_TAG == i, "status of one of many requests");
  }
}

/* Long collectives, and then short ones, which have most likely ended when they have begun. MPI libraries
 * test 64 requests together, and look each time at the kinds of these. */
static void long_and_short(MPI_Comm other) {
  enum { kLongOnes = 64, kAll = 66, kEach = kLong / 5 };
  static int sums[kLongOnes][kEach];
  MPI_Request r[kAll];
  int words[kAll] = {0}, flag = 0;
  for (int i = 0; i < kLongOnes; ++i)
    MPI_Iallreduce(one, sums[i], kEach, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i]);
  for (int i = kLongOnes; i < kAll; ++i) MPI_Iallreduce(&rank, &words[i], 1, MPI_INT, MPI_SUM, other, &r[i]);
  while (!flag) MPI_Testall(kAll, r, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kLongOnes; ++i)
    expect(sums[i][0] == size && sums[i][kEach - 1] == size, "long sum in MPI_Testall");
  for (int i = kLongOnes; i < kAll; ++i)
    expect(words[i] == size * (size - 1) / 2, "short sum in MPI_Testall");
}

static void two_communicators(void) {
  MPI_Comm comm[2];
  MPI_Request r[2][8];
  int value[2][8];
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
  for (int round = 0; round < 20; ++round) {
    for (int k = 0; k < 2; ++k) {
      const int c = (k + rank) % 2; /* neighbours begin in different orders */
      for (int i = 0; i < 8; ++i) {
        value[c][i] = rank == i % size ? 100 * c + i + round : -1;
        if (i % 4 == 3) MPI_Ibarrier(comm[c], &r[c][i]);
        else MPI_Ibcast(&value[c][i], 1, MPI_INT, i % size, comm[c], &r[c][i]);
      }
    }
    for (int i = 7; i >= 0; --i) MPI_Wait(&r[round % 2][i], MPI_STATUS_IGNORE);
    MPI_Waitall(8, r[1 - round % 2], MPI_STATUSES_IGNORE);
    for (int c = 0; c < 2; ++c)
      for (int i = 0; i < 8; ++i)
        expect(i % 4 == 3 || value[c][i] == 100 * c + i + round, "two communicators");
  }
  MPI_Comm_free(&comm[0]);
  MPI_Comm_free(&comm[1]);
}

/* Waits for the message of rank `from`, which comes with tag 7, in one of these ways. */
static void wait_for_message(int way, int from) {
  MPI_Request request;
  MPI_Status status;
  MPI_Message message;
  int theirs = 0, index = 0, flag = 0;
  switch (way) {
    case 1: MPI_Probe(from, 7, MPI_COMM_WORLD, &status); break;
    case 2:
      MPI_Mprobe(from, 7, MPI_COMM_WORLD, &message, &status);
      MPI_Mrecv(&theirs, 1, MPI_INT, &message, &status);
      return;
    case 3: MPI_Sendrecv(&rank, 1, MPI_INT, 0, 8, &theirs, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &status); break;
    case 4:
      MPI_Irecv(&theirs, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    case 5:
      MPI_Irecv(&theirs, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &request);
      MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
      return;
    case 6:
      while (!flag) MPI_Iprobe(from, 7, MPI_COMM_WORLD, &flag, &status);
      break;
    default: break;
  }
  MPI_Recv(&theirs, 1, MPI_INT, from, 7, MPI_COMM_WORLD, &status);
}

/* Calls of all ranks. */
static void wait_for_all(int way, MPI_Comm other, MPI_Win window) {
  MPI_Comm made;
  int largest = 0;
  switch (way) {
    case 9:
      MPI_Barrier(other);
      break; /* the MPI library's: its communicator was made by a function that the preload does not watch */
    case 10: MPI_Win_fence(0, window); break;
    case 11:
      MPI_Comm_dup(MPI_COMM_WORLD, &made);
      MPI_Comm_free(&made);
      break;
    default: MPI_Allreduce(&rank, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); break;
  }
}

/* Rank 0 waits in the MPI library, in each of these ways, for a message or a call. The others make it only
 * after they have completed what all have begun. */
enum { kMessages = 7, kSends = 9, kWaysToWait = 13 };
static void in_library(int way, MPI_Comm other, MPI_Win window) {
  MPI_Request r, barrier;
  int word = 0, theirs = 0;
  MPI_Iallreduce(&(int){rank + 1}, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  const int waits = rank == 0, peer = size - 1, helps = rank == peer;
  if (!waits) MPI_Wait(&r, MPI_STATUS_IGNORE);
  if (!waits) MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  if (way < kMessages) {
    if (helps) MPI_Ssend(&rank, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    if (waits) wait_for_message(way, peer);
  } else if (way < kSends) {
    if (helps) MPI_Recv(&theirs, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (waits && way == kMessages) MPI_Ssend(&rank, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
    if (waits && way > kMessages) MPI_Send(&rank, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
  } else {
    wait_for_all(way, other, window);
  }
  if (waits) MPI_Wait(&r, MPI_STATUS_IGNORE);
  if (waits) MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  expect(word == total(), "begun before waiting in the library");
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm comm, other;
  MPI_Request r;
  MPI_Win window;
  int* memory = NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 2; ++i) mixed(comm);
  report("mixed");
  for (int i = 0; i < kLong; ++i) one[i] = 1;
  for (int i = 0; i < 7; ++i) many(i, comm);
  for (int i = 0; i < 8; ++i) long_and_short(comm);
  report("many");
  renewed();
  report("renewed");
  two_communicators();
  report("two communicators");
  MPI_Comm_idup(MPI_COMM_WORLD, &other, &r);
  MPI_Wait(&r, MPI_STATUS_IGNORE);
  MPI_Win_allocate(sizeof one, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int round = 0; round < 3; ++round)
    for (int way = 0; size > 1 && way < kWaysToWait; ++way) in_library(way, other, window);
  MPI_Win_free(&window);
  report("in the library");
  MPI_Comm_free(&comm);
  MPI_Comm_free(&other);
  MPI_Finalize();
  return 0;
}
