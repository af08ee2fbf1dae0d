/* MPI_THREAD_MULTIPLE: each thread has communicators of its own, and all use them at once, blocking and
 * non-blocking. One thread waits for requests that another thread began. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { kThreads = 3, kRounds = 60 };
static MPI_Comm comms[kThreads];
static int wrong[kThreads];
static MPI_Request begun[kThreads];
static int values[kThreads], sums[kThreads];

static void* work(void* argument) {
  const int t = (int)(long)argument;
  MPI_Comm comm = comms[t], made;
#ifdef PERSISTENT /* the MPI library has persistent collectives */
  int each = 0, all = 0;
  MPI_Request again;
  MPI_Allreduce_init(&each, &all, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &again);
#endif
  for (int i = 0; i < kRounds; ++i) {
#ifdef PERSISTENT
    each = rank + i;
    MPI_Start(&again);
#endif
    int sum = 0, word = rank == i % size ? 100 * t + i : -1, in[3000], out[3000];
    MPI_Request r[2];
    MPI_Allreduce(&(int){rank + t}, &sum, 1, MPI_INT, MPI_SUM, comm);
    wrong[t] += sum != size * (size - 1) / 2 + size * t;
    for (int k = 0; k < 3000; ++k) in[k] = rank + k + t;
    MPI_Ibcast(&word, 1, MPI_INT, i % size, comm, &r[0]);
    MPI_Iallreduce(in, out, 3000, MPI_INT, MPI_MAX, comm, &r[1]);
    MPI_Barrier(comm);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    wrong[t] += word != 100 * t + i || out[7] != size - 1 + 7 + t || out[2999] != size - 1 + 2999 + t;
    MPI_Sendrecv(&t, 1, MPI_INT, (rank + 1) % size, t, &word, 1, MPI_INT, (rank + size - 1) % size, t, comm,
                 MPI_STATUS_IGNORE);
    wrong[t] += word != t;
#ifdef PERSISTENT
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    wrong[t] += all != size * (size - 1) / 2 + size * i;
#endif
    if (i % 20 == 7) {
      MPI_Comm_dup(comm, &made);
      MPI_Barrier(made);
      MPI_Comm_free(&made);
    }
  }
#ifdef PERSISTENT
  MPI_Request_free(&again);
#endif
  values[t] = rank + 1;
  MPI_Iallreduce(&values[t], &sums[t], 1, MPI_INT, MPI_SUM, comm, &begun[t]);
  return NULL;
}

#ifdef PERSISTENT
static void* meet(void* comm) {
  MPI_Barrier(*(MPI_Comm*)comm);
  return NULL;
}

/* A thread of rank 0 waits in a barrier, to which the others come only after a message from its other thread.
 * That one first completes a persistent collective of the same communicator, and may free its request. */
static void complete_beside_a_barrier(MPI_Comm comm) {
  for (int round = 0; round < 12; ++round) {
    int each = rank + round, all = 0, index = 0, told = round;
    MPI_Request again;
    MPI_Allreduce_init(&each, &all, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &again);
    MPI_Start(&again);
    pthread_t thread;
    if (rank == 0) {
      pthread_create(&thread, NULL, meet, &comm);
      usleep(3000);
    }
    if (round % 3 == 0) MPI_Wait(&again, MPI_STATUS_IGNORE);
    if (round % 3 == 1) MPI_Waitany(1, &again, &index, MPI_STATUS_IGNORE);
    for (int done = 0; round % 3 == 2 && !done;) MPI_Test(&again, &done, MPI_STATUS_IGNORE);
    expect(all == size * (size - 1) / 2 + size * round, "persistent beside a barrier");
    if (round % 2 == 0) MPI_Request_free(&again);
    for (int r = 1; r < size && rank == 0; ++r) MPI_Send(&told, 1, MPI_INT, r, 7, comm);
    if (rank == 0) {
      pthread_join(thread, NULL);
    } else {
      MPI_Recv(&told, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
      meet(&comm);
    }
    if (round % 2 != 0) MPI_Request_free(&again);
  }
}
#endif

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  digest = 14695981039346656037ull * (unsigned)(rank + 1);
  if (provided < MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("threads: this library has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 0;
  }
  for (int t = 0; t < kThreads; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
  for (int round = 0; round < 3; ++round) {
    pthread_t threads[kThreads];
    for (long t = 0; t < kThreads; ++t) pthread_create(&threads[t], NULL, work, (void*)t);
    for (int t = 0; t < kThreads; ++t) pthread_join(threads[t], NULL);
    MPI_Waitall(kThreads, begun, MPI_STATUSES_IGNORE);
    for (int t = 0; t < kThreads; ++t) expect(wrong[t] == 0 && sums[t] == size * (size + 1) / 2, "threads");
    MPI_Barrier(MPI_COMM_WORLD);
  }
#ifdef PERSISTENT
  complete_beside_a_barrier(comms[0]);
#endif
  for (int t = 0; t < kThreads; ++t) MPI_Comm_free(&comms[t]);
  report("threads");
  MPI_Finalize();
  return 0;
}
