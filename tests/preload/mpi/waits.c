/* Rank 0 waits in the MPI library, in each possible way, while a collective of all ranks is outstanding. The
 * others make the call that ends its wait only after their own part of the collective, which needs rank 0's
 * progress (MPI 4.1, section 2.9).
 *
 *   waits            rank 0 begins the collective and then waits
 *   waits threads    a thread of rank 0 waits; then another one begins the collective
 *   waits serialized as the first, with MPI_THREAD_SERIALIZED: each second way in a thread of its own
 *   waits many       more communicators with outstanding requests than one look has time for
 *   waits alone      the preload cannot start its thread */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

enum { kLength = 100000, kBytes = 1 << 20, kUntilServed = 33 };
static double in[kLength], out[kLength];
static char message[kBytes], buffer[kBytes + 10000];
static MPI_Comm comm, grid;
static MPI_Win window;
static int *memory, word;

/* Replaces the C library's pthread_create. With "alone" it refuses the preload's thread for waiting calls,
 * which is the one without an argument. */
static int no_helper;
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  Dl_info info;
  const int named = no_helper && argument == NULL && dladdr((void*)start, &info) != 0;
  if (named && strstr(info.dli_fname, "libfermata-mpi") != NULL) return EAGAIN;
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  return next(thread, attributes, start, argument);
}

/* A ready send needs its receive first: the last rank posts it before the collective begins. Rank 0 then
 * sends while that rank is outside the MPI library, and waits until that rank comes to the collective. That
 * ends its wait, whatever the collective does. So this way shows that the message arrives, and not that the
 * collective advances meanwhile. */
enum { kReady = 12, kReadyTag = 99 };
static MPI_Request posted = MPI_REQUEST_NULL;
static void post_receive(void) {
  memset(buffer, 0, kBytes);
  memset(message, 'r', rank == 0 ? kBytes : 0);
  if (rank == size - 1) MPI_Irecv(buffer, kBytes, MPI_CHAR, 0, kReadyTag, comm, &posted);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void complete_receive(void) {
  MPI_Wait(&posted, MPI_STATUS_IGNORE);
  long wrong = 0;
  for (int i = 0; i < kBytes; ++i) wrong += buffer[i] != 'r';
  expect(wrong == 0, "Rsend");
}

/* Receives of rank 0 that it completes in different ways. */
static void by_request(int way, int waits, int peer, int tag) {
  MPI_Request r = MPI_REQUEST_NULL;
  int index, flag = 0, count = 0;
  if (way == kReady) {
    if (!waits) complete_receive();
    if (waits) MPI_Rsend(message, kBytes, MPI_CHAR, peer, kReadyTag, comm);
    return;
  }
  if (!waits) MPI_Send(&word, 1, MPI_INT, peer, tag, comm);
  if (!waits) return;
  MPI_Irecv(&word, 1, MPI_INT, peer, tag, comm, &r);
  switch (way) {
    case 8: MPI_Wait(&r, MPI_STATUS_IGNORE); break;
    case 9: MPI_Waitall(1, &r, MPI_STATUSES_IGNORE); break;
    case 10: MPI_Waitany(1, &r, &index, MPI_STATUS_IGNORE); break;
    case 11: MPI_Waitsome(1, &r, &count, &index, MPI_STATUSES_IGNORE); break;
    default:
      while (!flag) MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      break;
  }
}

/* Messages: rank 0 waits until its peer, the last rank, sends or receives. */
static void by_message(int way, int waits) {
  const int peer = waits ? size - 1 : 0;
  MPI_Message matched;
  int count = 0, tag = 100 + way;
  char* at = buffer;
  switch (way) {
    case 0:
      if (!waits) MPI_Ssend(&word, 1, MPI_INT, peer, tag, comm);
      if (waits) MPI_Recv(&word, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
      break;
    case 1:
      if (!waits) MPI_Recv(&word, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
      if (waits) MPI_Ssend(&word, 1, MPI_INT, peer, tag, comm);
      break;
    case 2:
      if (!waits) MPI_Recv(message, kBytes, MPI_CHAR, peer, tag, comm, MPI_STATUS_IGNORE);
      if (waits) MPI_Send(message, kBytes, MPI_CHAR, peer, tag, comm);
      break;
    case 3:
      if (!waits) MPI_Recv(message, kBytes, MPI_CHAR, peer, tag, comm, MPI_STATUS_IGNORE);
      if (waits) MPI_Buffer_attach(buffer, sizeof buffer);
      if (waits) MPI_Bsend(message, kBytes, MPI_CHAR, peer, tag, comm);
      if (waits) MPI_Buffer_detach(&at, &count);
      break;
    case 4:
      if (!waits) MPI_Send(message, kBytes, MPI_CHAR, peer, tag, comm);
      if (waits) MPI_Mprobe(peer, tag, comm, &matched, MPI_STATUS_IGNORE);
      if (waits) MPI_Mrecv(message, kBytes, MPI_CHAR, &matched, MPI_STATUS_IGNORE);
      break;
    case 5:
      if (!waits) MPI_Send(&word, 1, MPI_INT, peer, tag, comm);
      if (waits) MPI_Probe(peer, tag, comm, MPI_STATUS_IGNORE);
      if (waits) MPI_Recv(&word, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
      break;
    case 6:
      MPI_Sendrecv(&rank, 1, MPI_INT, peer, tag, &word, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
      expect(word == peer, "Sendrecv");
      break;
    case 7:
      word = rank;
      MPI_Sendrecv_replace(&word, 1, MPI_INT, peer, tag, peer, tag, comm, MPI_STATUS_IGNORE);
      expect(word == peer, "Sendrecv_replace");
      break;
    default: by_request(way, waits, peer, tag); break;
  }
}
enum { kMessages = 14 };

/* Windows and files, and calls that all ranks make together. */
static void by_window(int way, int waits) {
  MPI_Group all, other;
  const int peer = waits ? size - 1 : 0;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &peer, &other);
  if (way == 0) {
    MPI_Win_fence(0, window);
  } else if (waits || rank == size - 1) { /* the waiting rank is the origin, then the target */
    if (waits == (way == 1)) {
      MPI_Win_start(other, 0, window);
      MPI_Put(&rank, 1, MPI_INT, peer, way, 1, MPI_INT, window);
      MPI_Win_complete(window);
    } else {
      MPI_Win_post(other, 0, window);
      MPI_Win_wait(window);
    }
  }
  MPI_Group_free(&all);
  MPI_Group_free(&other);
}

static void by_file(int way) {
  static MPI_File file;
  char name[32];
  snprintf(name, sizeof name, "waits-file-%d", (int)getpid());
  MPI_Status status;
  switch (way) {
    case 0:
      MPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
      expect(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file) == MPI_SUCCESS,
             "File_open");
      break;
    case 1:
      MPI_File_write_at_all_begin(file, (MPI_Offset)rank * kBytes, message, kBytes, MPI_CHAR);
      MPI_File_write_at_all_end(file, message, &status);
      break;
    case 2: MPI_File_set_atomicity(file, 0); break;
    case 3: MPI_File_read_at_all(file, (MPI_Offset)rank * kBytes, message, kBytes, MPI_CHAR, &status); break;
    default: MPI_File_close(&file); break;
  }
}

static void together(int way) {
  MPI_Comm made;
  MPI_Request r;
  int counts[16], displacements[16];
  static int from[16], to[16];
  MPI_Datatype types[16];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    displacements[i] = i * (int)sizeof(int);
    types[i] = MPI_INT;
    from[i] = 100 * rank + i;
  }
  switch (way) {
    case 0:
      MPI_Comm_split(comm, 0, 0, &made);
      MPI_Comm_free(&made);
      break;
    case 1:
      MPI_Alltoallw(from, counts, displacements, types, to, counts, displacements, types, comm);
      expect(to[size - 1] == 100 * (size - 1) + rank, "Alltoallw");
      break;
    case 2: MPI_Neighbor_allgather(&rank, 1, MPI_INT, to, 1, MPI_INT, grid); break;
    case 3:
      MPI_Ialltoallw(from, counts, displacements, types, to, counts, displacements, types, comm, &r);
      MPI_Wait(&r, MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, rank == 0 ? size - 1 : 0, 9, &made);
      MPI_Comm_free(&made);
      break;
    case 5:
      MPI_Comm_dup(comm, &made);
      MPI_Comm_free(&made);
      break;
    default: MPI_Barrier(comm); break;
  }
}
enum { kWindows = 3, kFiles = 5, kTogether = 7 };

#ifdef WIDE
static void by_wide_message(int way, int waits) {
  const int peer = waits ? size - 1 : 0, tag = 200 + way;
  MPI_Message matched;
  MPI_Count count;
  char* at;
  if (way < 3 && !waits) MPI_Recv_c(message, kBytes, MPI_CHAR, peer, tag, comm, MPI_STATUS_IGNORE);
  if (way >= 3 && way < 5 && !waits) MPI_Send_c(message, kBytes, MPI_CHAR, peer, tag, comm);
  if (way == 0 && waits) MPI_Send_c(message, kBytes, MPI_CHAR, peer, tag, comm);
  if (way == 1 && waits) MPI_Ssend_c(message, kBytes, MPI_CHAR, peer, tag, comm);
  if (way == 2 && waits) {
    MPI_Buffer_attach_c(buffer, sizeof buffer);
    MPI_Bsend_c(message, kBytes, MPI_CHAR, peer, tag, comm);
    MPI_Buffer_detach_c(&at, &count);
  }
  if (way == 3 && waits) MPI_Recv_c(message, kBytes, MPI_CHAR, peer, tag, comm, MPI_STATUS_IGNORE);
  if (way == 4 && waits) {
    MPI_Mprobe(peer, tag, comm, &matched, MPI_STATUS_IGNORE);
    MPI_Mrecv_c(message, kBytes, MPI_CHAR, &matched, MPI_STATUS_IGNORE);
  }
  if (way == 5)
    MPI_Sendrecv_c(&rank, 1, MPI_INT, peer, tag, &word, 1, MPI_INT, peer, tag, comm, MPI_STATUS_IGNORE);
  if (way == 6) MPI_Sendrecv_replace_c(&word, 1, MPI_INT, peer, tag, peer, tag, comm, MPI_STATUS_IGNORE);
  if (way == 7) {
    MPI_Request r;
    int flag = 0;
    if (waits) {
      MPI_Precv_init(message, 1, 1000, MPI_CHAR, peer, tag, comm, MPI_INFO_NULL, &r);
      MPI_Start(&r);
      while (!flag) MPI_Parrived(r, 0, &flag);
    } else {
      MPI_Psend_init(message, 1, 1000, MPI_CHAR, peer, tag, comm, MPI_INFO_NULL, &r);
      MPI_Start(&r);
      MPI_Pready(0, r);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
  }
  if (way == 8 && !waits) complete_receive();
  if (way == 8 && waits) MPI_Rsend_c(message, kBytes, MPI_CHAR, peer, kReadyTag, comm);
}
enum { kWide = 9 };
#else
enum { kWide = 0 };
static void by_wide_message(int way, int waits) { (void)way, (void)waits; }
#endif

enum { kWays = kMessages + kWindows + kFiles + kTogether + kWide };
static void wait_by(int way, int waits) {
  if (way < kMessages) {
    if (waits || rank == size - 1) by_message(way, waits);
  } else if ((way -= kMessages) < kWindows) {
    by_window(way, waits);
  } else if ((way -= kWindows) < kFiles) {
    by_file(way);
  } else if ((way -= kFiles) < kTogether) {
    if (way != 4 || waits || rank == size - 1) together(way);
  } else if (waits || rank == size - 1) {
    by_wide_message(way - kTogether, waits);
  }
}

/* There MPICH 5 advances no outstanding collective, its own neither, if ranks are on several hosts. */
static int library_rests(int way) {
#ifdef MPICH
  const int with_group = way == kMessages + 1 || way == kMessages + 2;
  const int between = way == kMessages + kWindows + kFiles + 4;
  return getenv("FERMATA_FAKE_HOSTS") != NULL && (with_group || between);
#else
  (void)way;
  return 0;
#endif
}

static void* wait_in_thread(void* way) {
  wait_by(*(int*)way, 1);
  return NULL;
}

enum { kBegun = 4 }; /* a long sum, and short ones of which each begins when the one before is over */
static void round_of(int way, int threads) {
  MPI_Request r[kBegun];
  pthread_t thread;
  const int waits = rank == 0;
  int sums[kBegun] = {0};
  for (int i = 0; i < kLength; ++i) out[i] = 0;
  if (way == kReady || (kWide != 0 && way == kWays - 1)) post_receive();
  if (waits && threads) {
    pthread_create(&thread, NULL, wait_in_thread, &way);
    usleep(20000);
  }
  if (!waits) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(20000); /* rank 0 is in its call by then, most likely */
  }
  for (int i = 1; i < kBegun; ++i)
    MPI_Iallreduce(&rank, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[i]);
  MPI_Iallreduce(in, out, kLength, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[0]);
  for (int to = 1; waits && to < size; ++to) MPI_Send(NULL, 0, MPI_INT, to, 1, MPI_COMM_WORLD);
  if (!waits) MPI_Waitall(kBegun, r, MPI_STATUSES_IGNORE);
  if (waits && threads) pthread_join(thread, NULL);
  else wait_by(way, waits);
  if (waits) MPI_Waitall(kBegun, r, MPI_STATUSES_IGNORE);
  for (int i = 1; i < kBegun; ++i)
    expect(sums[i] == size * (size - 1) / 2, "short sum that was begun before");
  expect(out[0] == size && out[kLength - 1] == size, "sum that was begun before");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void* round_in_thread(void* way) {
  round_of(*(int*)way, 0);
  return NULL;
}

/* The first communicator's collective has to advance; a look comes to it last. */
static void many_communicators(int many) {
  MPI_Comm* comms = malloc((size_t)many * sizeof *comms);
  MPI_Request* r = malloc((size_t)many * sizeof *r);
  static double sums[kLength / 50];
  int* values = calloc((size_t)many, sizeof *values);
  for (int i = 0; i < many; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  /* With many communicators, each gets its team after kUntilServed blocking collectives. */
  for (int i = 0; i < many; ++i)
    for (int n = 0; n < kUntilServed; ++n) MPI_Barrier(comms[i]);
  if (rank != 0) usleep(100000); /* rank 0 is in its MPI_Recv by then */
  MPI_Iallreduce(in, sums, kLength / 50, MPI_DOUBLE, MPI_SUM, comms[0], &r[0]);
  if (rank != 0) MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  if (rank == size - 1) MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
  for (int i = 1; i < many; ++i) MPI_Iallreduce(&rank, &values[i], 1, MPI_INT, MPI_SUM, comms[i], &r[i]);
  if (rank == 0) MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(many, r, MPI_STATUSES_IGNORE);
  expect(sums[0] == size && sums[kLength / 50 - 1] == size, "sum of the first of many communicators");
  for (int i = 1; i < many; ++i)
    expect(values[i] == size * (size - 1) / 2, "sum of one of many communicators");
  for (int i = 0; i < many; ++i) MPI_Comm_free(&comms[i]);
  free(comms);
  free(r);
  free(values);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const int threads = strcmp(how, "threads") == 0, serialized = strcmp(how, "serialized") == 0;
  const int level = threads ? MPI_THREAD_MULTIPLE : serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_SINGLE;
  int provided;
  no_helper = strcmp(how, "alone") == 0;
  MPI_Init_thread(&argc, &argv, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  digest = 14695981039346656037ull * (unsigned)(rank + 1);
  for (int i = 0; i < kLength; ++i) in[i] = 1;
  if (strcmp(how, "many") == 0) {
    many_communicators(70);
  } else {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Cart_create(comm, 1, &size, &(int){1}, 0, &grid);
    MPI_Win_allocate(16 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &window);
    const int ways = no_helper ? kMessages : kWays; /* some libraries cannot do the rest natively */
    for (int way = 0; way < ways; ++way) {
      pthread_t thread;
      if (library_rests(way)) continue;
      if (serialized && way % 2 != 0) {
        pthread_create(&thread, NULL, round_in_thread, &way);
        pthread_join(thread, NULL);
      } else {
        round_of(way, threads);
      }
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&comm);
  }
  report("waits");
  MPI_Finalize();
  return 0;
}
