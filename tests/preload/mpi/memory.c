/* One rank gets no memory, at each allocation of Fermata in turn. Every rank then has the right result or an
 * error of its communicator. None waits for ever, and the communicator stays usable. The MPI library always
 * has memory. Usage: memory [communicators] [from].
 * communicators  allocations while the first communicators are made, which get their teams at once;
 *                otherwise allocations in collectives
 * from           all later allocations fail, too; without "from" they succeed */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t n, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

enum { kMostObjects = 16, kLength = 3000, kMostFailures = 200 };
static struct {
  uintptr_t begin, end;
} objects[kMostObjects]; /* Fermata's libraries, and the library with operator new */
static int object_count, all_that_follow;
static long failing; /* number of the allocation that fails, from 1; 0: none fails */
static int failed;

static int find_objects(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "fermata") == NULL && strstr(info->dlpi_name, "libstdc++") == NULL) return 0;
  for (int i = 0; i < info->dlpi_phnum && object_count < kMostObjects; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
      objects[object_count].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      objects[object_count++].end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    }
  return 0;
}

static int fails(void* caller) {
  if (failing == 0) return 0;
  int known = 0;
  for (int i = 0; i < object_count; ++i)
    known |= (uintptr_t)caller >= objects[i].begin && (uintptr_t)caller < objects[i].end;
  if (!known || (failing > 1 && failing--)) return 0;
  failing = all_that_follow ? 1 : 0;
  failed = 1;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(alignment, bytes);
  return *out != NULL ? 0 : ENOMEM;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int half = 0; half < 3; half += 2) ((int*)inout)[3 * i + half] += ((int*)in)[3 * i + half];
}

static MPI_Comm comm;
static MPI_Datatype gaps; /* an int, a gap, an int */
static MPI_Op sum;
static int in[16 * 3 * kLength], out[16 * 3 * kLength];

/* Element i of the data from rank `from` to rank `to`. */
static int value(int from, int to, int i) { return 100000 * from + 10000 * to + i; }

static void fill(void) {
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < kLength; ++i)
      for (int part = 0; part < 3; ++part)
        in[3 * (r * kLength + i) + part] = part == 1 ? -1 : value(rank, r, i);
  memset(out, -1, sizeof out);
}

/* Whether a block of the output is right: one rank's data, or the sum over all. */
static int holds(int block, int from, int to, int summed) {
  int wrong = 0;
  for (int i = 0; i < kLength; ++i) {
    int expected = value(from, to, i);
    if (summed) expected = size * (size - 1) / 2 * 100000 + size * (10000 * to + i);
    const int* at = &out[3 * (block * kLength + i)];
    wrong += at[0] != expected || at[1] != -1 || at[2] != expected;
  }
  return wrong == 0;
}

enum {
  kBcast,
  kAllreduce,
  kReduce,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kReduceScatter,
  kScan,
  kAllgatherv,
  kPlain,
  kBarrier,
  kKinds
};
static const char* const names[] = {"bcast",   "allreduce",  "reduce",        "gather",
                                    "scatter", "allgather",  "alltoall",      "reduce_scatter",
                                    "scan",    "allgatherv", "int allreduce", "barrier"};

enum { kBlocking, kBegun, kPersistent, kForms };
#ifdef PERSISTENT
#define INIT(Name, ...) MPI_##Name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, r)
#define INIT_BARRIER MPI_Barrier_init(comm, MPI_INFO_NULL, r)
#else
#define INIT(Name, ...) MPI_ERR_OTHER
#define INIT_BARRIER MPI_ERR_OTHER
#endif

static int call(int kind, int root, int form, MPI_Request* r) {
  static int counts[16], places[16];
  for (int k = 0; k < size; ++k) counts[k] = kLength, places[k] = k * kLength;
  const int n = kLength;
#define EITHER(Name, name, ...)                                  \
  return form == kPersistent ? INIT(Name, __VA_ARGS__)           \
         : form == kBegun    ? MPI_I##name(__VA_ARGS__, comm, r) \
                             : MPI_##Name(__VA_ARGS__, comm)
  switch (kind) {
    case kBcast: EITHER(Bcast, bcast, rank == root ? in : out, n, gaps, root);
    case kAllreduce: EITHER(Allreduce, allreduce, in, out, n, gaps, sum);
    case kReduce: EITHER(Reduce, reduce, in, out, n, gaps, sum, root);
    case kGather: EITHER(Gather, gather, in, n, gaps, out, n, gaps, root);
    case kScatter: EITHER(Scatter, scatter, in, n, gaps, out, n, gaps, root);
    case kAllgather: EITHER(Allgather, allgather, in, n, gaps, out, n, gaps);
    case kAlltoall: EITHER(Alltoall, alltoall, in, n, gaps, out, n, gaps);
    case kReduceScatter: EITHER(Reduce_scatter, reduce_scatter, in, out, counts, gaps, sum);
    case kScan: EITHER(Scan, scan, in, out, n, gaps, sum);
    case kAllgatherv: EITHER(Allgatherv, allgatherv, in, n, gaps, out, counts, places, gaps);
    case kPlain: EITHER(Allreduce, allreduce, in, out, 3 * n, MPI_INT, MPI_SUM);
    default:
      return form == kPersistent ? INIT_BARRIER : form == kBegun ? MPI_Ibarrier(comm, r) : MPI_Barrier(comm);
  }
}

static int is_right(int kind, int root) {
  int right = 1;
  switch (kind) {
    case kBcast: return rank == root || holds(0, root, 0, 0);
    case kAllreduce: return holds(0, 0, 0, 1);
    case kReduce: return rank != root || holds(0, 0, 0, 1);
    case kScatter: return holds(0, root, rank, 0);
    case kGather:
    case kAllgather:
    case kAllgatherv:
      for (int r = 0; r < size && (kind != kGather || rank == root); ++r) right = right && holds(r, r, 0, 0);
      return right;
    case kAlltoall:
      for (int r = 0; r < size; ++r) right = right && holds(r, r, rank, 0);
      return right;
    case kReduceScatter: return holds(0, 0, rank, 1);
    case kScan: return rank != size - 1 || holds(0, 0, 0, 1);
    case kPlain: return out[0] == size * (size - 1) / 2 * 100000 && out[1] == -size;
    default: return 1;
  }
}

static void lives_on(const char* what) {
  int one = 1, all = 0, rc = MPI_ERR_OTHER;
  for (int tries = 0; rc != MPI_SUCCESS && tries < 3; ++tries)
    rc = MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
  expect(rc == MPI_SUCCESS && all == size, what);
}

/* Returns whether some rank had no memory. */
static int one_round(int kind, int form, int root, int victim, int number) {
  MPI_Request request = MPI_REQUEST_NULL;
  int any = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int i = 0; i < 40; ++i)
    MPI_Barrier(comm); /* after these it has a team, however many were made
                        * before */
  fill();
  PMPI_Barrier(MPI_COMM_WORLD);
  failed = 0;
  failing = rank == victim ? number : 0;
  int rc = call(kind, root, form, &request);
  if (rc == MPI_SUCCESS && form == kPersistent) rc = MPI_Start(&request);
  if (rc == MPI_SUCCESS && form != kBlocking) rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
  failing = 0;
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  expect(rc == MPI_SUCCESS || form != kPersistent,
         "a persistent collective is the library's, if one rank has no memory for it");
  expect(rc != MPI_SUCCESS || is_right(kind, root), names[kind]);
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  expect(any || rc == MPI_SUCCESS, "an error for no reason");
  lives_on(names[kind]);
  MPI_Comm_free(&comm);
  return any;
}

/* Allocations fail while a communicator and its team are made. The communicator, and another one made from
 * it, must work as usual. They stay alive, so that each needs memory. */
static int make(int victim, int number) {
  MPI_Comm of_it;
  int any = 0;
  PMPI_Barrier(MPI_COMM_WORLD);
  failed = 0;
  failing = rank == victim ? number : 0;
  expect(MPI_Comm_split(MPI_COMM_WORLD, 0, number % 2 == 0 ? rank : -rank, &comm) == MPI_SUCCESS,
         "a communicator is made");
  failing = all_that_follow ? failing : 0;
  MPI_Comm_dup(comm, &of_it);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(of_it, MPI_ERRORS_RETURN);
  for (int i = 0; i < 40; ++i) {
    expect(MPI_Barrier(comm) == MPI_SUCCESS || failing != 0, "a barrier");
    expect(MPI_Barrier(of_it) == MPI_SUCCESS || failing != 0, "a barrier of what was made of it");
  }
  failing = 0;
  lives_on("a communicator whose team could not be made");
  PMPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any;
}

static void make_all(void) {
  for (int number = 1, misses = 0; misses < size && number < kMostFailures; number += 1 + number / 2)
    misses = make(number % size, number) ? 0 : misses + 1;
  report("communicators");
}

int main(int argc, char** argv) {
  static const int lengths[2] = {1, 1};
  static const MPI_Aint places[2] = {0, 2 * sizeof(int)};
  static const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  int forms = kPersistent;
#ifdef PERSISTENT
  forms = kForms;
#endif
  begin(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "communicators") == 0) forms = 0;
    if (strcmp(argv[i], "from") == 0) all_that_follow = 1;
  }
  dl_iterate_phdr(find_objects, NULL);
  MPI_Type_create_struct(2, lengths, places, types, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Op_create(add, 1, &sum);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int form = 0; form < forms; ++form) {
    int hits = 0;
    for (int kind = 0; kind < kKinds; ++kind) {
      const int rooted = kind == kBcast || kind == kReduce || kind == kGather || kind == kScatter;
      /* At one rank after the other, the first allocations and some of the later ones fail. Collectives with
       * a root try each rank at each root. */
      for (int number = 1, misses = 0; misses < (rooted ? 1 : size) && number < kMostFailures;
           number += 1 + number / 2) {
        int hit = 0;
        if (!rooted) hit = one_round(kind, form, 0, number % size, number);
        for (int pair = 0; rooted && pair < size * size; ++pair)
          hit |= one_round(kind, form, pair / size, pair % size, number);
        misses = hit ? 0 : misses + 1;
        hits += hit;
      }
    }
    expect(hits > 0, "no allocation was made to fail");
    report(form == kBlocking ? "collectives"
           : form == kBegun  ? "begun collectives"
                             : "persistent collectives");
  }
  make_all();
  MPI_Op_free(&sum);
  MPI_Type_free(&gaps);
  MPI_Finalize();
  return 0;
}
