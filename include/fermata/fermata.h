/* Fermata: barriers and small collectives that are planned for the machine on which they run. This header
 * declares the C ABI. hosts.h, mpi.h and job.h add teams over several hosts.
 *
 * Conventions
 * - A function with an int status returns 0 (FERMATA_OK), a positive status that is no error, or a negative
 *   error. fermata_team_size, fermata_member_rank and fermata_member_count return a number instead of
 *   FERMATA_OK.
 * - Results go to out-pointers. A function writes them on success only, unless its comment says otherwise.
 * - fermata_error_detail() describes the calling thread's last error in a sentence. The functions of
 *   libfermata-rt (anonymous and ranked barriers) leave no detail.
 * - Handles are opaque. Destroying NULL does nothing. A team or request that was freed is refused as NULL is
 *   (ARGUMENT).
 * - Fermata never exits or aborts the process, and does not change signal masks. It prints only the stall
 *   report that FERMATA_STALL_SECONDS or config.stall_seconds asks for.
 * - A config struct begins with its own size. Initialize it with its _INIT macro.
 * - FERMATA_DISABLE=1 switches the preload libraries off, but not this API.
 * - The only state outside the process is the cache of plans and profiles, $XDG_CACHE_HOME/fermata. */
#ifndef FERMATA_FERMATA_H
#define FERMATA_FERMATA_H

#include <stddef.h>
#include <stdint.h>

#if defined(FERMATA_BUILDING) || defined(__GNUC__)
#define FERMATA_API __attribute__((visibility("default")))
#else
#define FERMATA_API
#endif

#define FERMATA_VERSION_MAJOR 0
#define FERMATA_VERSION_MINOR 2
#define FERMATA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status -----------------------------------------------------------------------------------------------
 * What the functions' int status means. Comments name errors without the prefix FERMATA_ERR_. */

enum fermata_status {
  FERMATA_OK = 0,
  FERMATA_PENDING = 1,          /* The operation has not finished yet. */
  FERMATA_LAST = 2,             /* This arrival filled the phase of an anonymous barrier. */
  FERMATA_ERR_ARGUMENT = -1,    /* An argument is out of its documented range. */
  FERMATA_ERR_MEMORY = -2,      /* There is no memory. */
  FERMATA_ERR_SYSTEM = -3,      /* A system call failed. The detail names it. */
  FERMATA_ERR_TIMEOUT = -4,     /* The time limit has passed. fermata_resume continues the operation. */
  FERMATA_ERR_MEMBER_LOST = -5, /* A member has died or left. The detail names it. The team is broken. */
  FERMATA_ERR_MISMATCH = -6,    /* Members disagree in tags, calls or plans. The detail names them. */
  FERMATA_ERR_BROKEN = -7,      /* An earlier error or fermata_team_abort broke the team. Destroy it. */
  FERMATA_ERR_PARSE = -8,       /* A file is malformed. The detail gives the line and the reason. */
  FERMATA_ERR_UNSUPPORTED = -9, /* The call is not available here. The detail says what would make it so. */
  FERMATA_ERR_FORKED = -10,     /* The handle belongs to the parent of this forked process. */
  FERMATA_ERR_BUSY = -11,       /* This member has an operation outstanding, or a rank or name is taken. */
  FERMATA_ERR_INTERRUPTED = -12, /* The idle hook ended the wait. fermata_resume continues the operation. */
  FERMATA_ERR_VERIFY = -13,     /* A schedule or plan failed its proof. */
  FERMATA_ERR_NOT_FOUND = -14,  /* The file, plan, profile or algorithm does not exist. */
  FERMATA_ERR_TRUNCATED = -15   /* More data came than fits. The rest was dropped. */
                                /* See fermata_member_set_bounded. */
};

/* Returns a general text for the status: static storage, never NULL. */
FERMATA_API const char* fermata_status_string(int status);
/* Returns a sentence about this thread's last error, or "" if there was none. The text is valid until the
 * thread's next call. */
FERMATA_API const char* fermata_error_detail(void);
FERMATA_API const char* fermata_version(void); /* Returns "0.2.0". */

/* ---- Topology, profile, plan ------------------------------------------------------------------------------
 * Teams find their topology, profile and plans by themselves. These functions are for programs that read,
 * choose or make plans. A handle may be freed while teams that were made with it exist. */

typedef struct fermata_topology fermata_topology;
typedef struct fermata_profile fermata_profile;
typedef struct fermata_plan fermata_plan;

/* Describes the CPUs that this process may use. It respects the process's affinity and cgroup quota. Errors:
 * SYSTEM. */
FERMATA_API int fermata_topology_discover(fermata_topology** out);
/* Loads a topology from a file: hwloc's XML, or what `fermata topo` prints with --text or --json. Load XML
 * only from a source that you trust, since hwloc reads it unchecked. Errors: NOT_FOUND, PARSE. */
FERMATA_API int fermata_topology_load(const char* path, fermata_topology** out);
/* Writes how many CPUs of the topology may be used at once. */
FERMATA_API int fermata_topology_cpus(const fermata_topology* topology, int* count);
/* Frees the topology. NULL does nothing, here and in all functions below that free a handle. */
FERMATA_API void fermata_topology_destroy(fermata_topology* topology);

/* Loads a profile that `fermata profile` has measured. path NULL: this machine's profile for threads, from
 * the cache. Errors: NOT_FOUND, PARSE. */
FERMATA_API int fermata_profile_load(const char* path, fermata_profile** out);
/* Frees the profile. */
FERMATA_API void fermata_profile_destroy(fermata_profile* profile);

enum fermata_kind { FERMATA_BARRIER = 0, FERMATA_BROADCAST = 1, FERMATA_REDUCE = 2, FERMATA_ALLREDUCE = 3 };
enum fermata_engine { FERMATA_THREADS = 0, FERMATA_PROCESSES = 1 };

typedef struct fermata_plan_request {
  size_t size;                       /* sizeof(fermata_plan_request) */
  int members;                       /* 1..4096 */
  int kind;                          /* enum fermata_kind */
  int engine;                        /* enum fermata_engine */
  size_t payload;                    /* bytes of data of each member, 0..56. */
                                     /* For a barrier 0, or more than 0 if it carries tags. */
  const int* cpus;                   /* `members` entries: the OS index of each rank's CPU. NULL: unpinned. */
  const char* algorithm;             /* e.g. "kary(4)". NULL: the planner chooses. */
  const char* layout;                /* e.g. "packed+2slots"; by stage, "packed:published". */
                                     /* NULL: the planner chooses. */
  const fermata_topology* topology;  /* NULL: this machine */
  const fermata_profile* profile;    /* NULL: this machine's profile from the cache, else estimates. */
                                     /* With a topology, NULL means estimates from that topology. */
} fermata_plan_request;
#define FERMATA_PLAN_REQUEST_INIT {sizeof(fermata_plan_request), 1, FERMATA_BARRIER, FERMATA_THREADS, 0, NULL, NULL, NULL, NULL, NULL}

/* Makes a proved plan. If the request names no topology, profile, algorithm or layout, the cache's plan is
 * taken, if there is one. Otherwise the planner chooses by the profile or by estimates. The call never
 * measures. Errors: ARGUMENT, NOT_FOUND, VERIFY, UNSUPPORTED. */
FERMATA_API int fermata_plan_make(const fermata_plan_request* request, fermata_plan** out);
/* Loads a plan that `fermata plan` has saved. The call proves the plan again before it accepts it. Errors:
 * NOT_FOUND, PARSE, VERIFY. */
FERMATA_API int fermata_plan_load(const char* path, fermata_plan** out);
/* Writes the text that `fermata explain` prints. *length is the buffer's capacity at the call and the bytes
 * needed, with the final NUL, at the return. A text that does not fit is cut. buffer may be NULL: only
 * *length is written. */
FERMATA_API int fermata_plan_text(const fermata_plan* plan, char* buffer, size_t* length);
/* Frees the plan. Teams that were made with it keep what they need. */
FERMATA_API void fermata_plan_destroy(fermata_plan* plan);

/* ---- Teams ------------------------------------------------------------------------------------------------
 * A team has a fixed number of members: threads, or processes with any number of threads. One process creates
 * the team. Each thread joins it as a rank, from 0 to members - 1, and calls the collectives with its member
 * handle. */

typedef struct fermata_team fermata_team;     /* Its members share it. */
typedef struct fermata_member fermata_member; /* One rank's handle. One thread at a time uses it. */

enum fermata_wait { FERMATA_WAIT_AUTO = 0, FERMATA_WAIT_SPIN = 1, FERMATA_WAIT_YIELD = 2, FERMATA_WAIT_PARK = 3 };

/* A waiting member calls its idle hook after a bounded spin, and before and between timed parks. The hook
 * returns 0 to go on waiting. Any other value makes the blocking call return FERMATA_ERR_INTERRUPTED, and the
 * operation stays outstanding. The hook must not call collectives of the same member. */
typedef int (*fermata_idle_hook)(fermata_member* member, void* user);

typedef struct fermata_team_config {
  size_t size;               /* sizeof(fermata_team_config) */
  int members;               /* 1..4096 */
  int engine;                /* FERMATA_THREADS: the team lies in memory of this process. */
                             /* FERMATA_PROCESSES: the team lies in a memfd, which a forked child inherits. */
                             /* Each process may join any number of ranks, for threads of its own. */
  int wait;                  /* enum fermata_wait. */
                             /* The environment's FERMATA_WAIT=auto|spin|yield|park overrides it. */
  int tagged;                /* Not 0: the team's barrier carries tags, so fermata_barrier_tagged works. */
  const int* cpus;           /* `members` entries: the CPU on which each rank will run. NULL: unpinned. */
                             /* The planner uses them. The team pins nobody. */
  const fermata_plan* const* plans; /* plan_count plans that replace the cached or estimated ones */
  size_t plan_count;
  double stall_seconds;      /* > 0: a member that has waited for so long reports on stderr. */
                             /* 0: FERMATA_STALL_SECONDS decides; without it there are no reports. */
  double refresh_seconds;    /* Over several hosts. > 0: the running team refreshes its profile, at most */
                             /* this often, and changes its plans where that pays. */
                             /* 0: FERMATA_REFRESH decides; without it there are no refreshes. < 0: never. */
} fermata_team_config;
#define FERMATA_TEAM_CONFIG_INIT {sizeof(fermata_team_config), 1, FERMATA_THREADS, FERMATA_WAIT_AUTO, 0, NULL, NULL, 0, 0.0, 0.0}

/* Makes a team. Its plans come from config->plans, from the cache or from estimates. The call measures
 * nothing. Errors: ARGUMENT, MEMORY, SYSTEM, VERIFY. */
FERMATA_API int fermata_team_create(const fermata_team_config* config, fermata_team** out);
/* Frees this process's handle. The team's memory is freed when the last process has freed its handle. Before
 * the call, each member of this process must have left (fermata_member_leave), or never be used again. */
FERMATA_API void fermata_team_destroy(fermata_team* team);
/* Returns the number of members, joined or not. */
FERMATA_API int fermata_team_size(const fermata_team* team);

/* Offers a team of processes to unrelated processes of the same user, through an abstract Unix socket. Blocks
 * until `count` processes have attached, or until `seconds` have passed (TIMEOUT). Then the name is free
 * again. BUSY: the name is taken. */
FERMATA_API int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds);
/* Attaches to a served team. The call retries until `seconds` have passed (TIMEOUT). A process needs one
 * handle, however many ranks it joins. Further handles are of the same team. */
FERMATA_API int fermata_team_attach(const char* name, double seconds, fermata_team** out);

/* Makes a team of processes in the memory of `neighbour`, a team that all these processes have created or
 * attached to. No descriptor is opened or passed. The two teams may have different members, and nobody need
 * have joined the neighbour. The others attach by *place, while this process holds the new team. The
 * neighbour's memory stays until the last team in it is gone. At most 2,048 teams lie in it at a time
 * (MEMORY). Teams with the same members, tags and CPUs share one search for plans. A forked child may use its
 * copy of the handle while its parent's is valid, or once the child has joined. The memory that a killed
 * process held stays taken. Errors: as fermata_team_create. */
FERMATA_API int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config, uint64_t* place, fermata_team** out);
/* Attaches to the team at `place`. `neighbour` is any team in the same memory. Errors: ARGUMENT (the team
 * does not exist or has been destroyed), MEMORY, MISMATCH. */
FERMATA_API int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out);

#define FERMATA_ANY_RANK (-2) /* the lowest rank that nobody has joined yet */

/* Joins the team as `rank`: 0..members-1, or FERMATA_ANY_RANK. Each rank is joined once. The thread or
 * process that will call the collectives makes this call. The call compares the plans' hash with the team's
 * (MISMATCH). Errors: ARGUMENT, BUSY (the rank is taken), FORKED, MISMATCH. */
FERMATA_API int fermata_team_join(fermata_team* team, int rank, fermata_member** out);
/* Gives up the rank and frees the handle. Members that wait for this one, at the time or later, get
 * FERMATA_ERR_MEMBER_LOST. NULL does nothing. */
FERMATA_API void fermata_member_leave(fermata_member* member);
/* Makes the team unusable. All members that wait or will wait get FERMATA_ERR_BROKEN. A member whose calls
 * never wait gets it within 16,384 calls. The function is async-signal-safe. */
FERMATA_API void fermata_team_abort(fermata_team* team);
/* Collective. Members with equal colour form a new team, ordered by (key, rank). A member with colour < 0
 * joins none and gets *out = NULL. fermata_member_leave leaves the new team and frees the member's share of
 * it. Processes pass each other the new team within the member's timeout, 30 s at most (TIMEOUT). */
FERMATA_API int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out);

FERMATA_API int fermata_member_rank(const fermata_member* member);  /* Returns its rank, from 0. */
FERMATA_API int fermata_member_count(const fermata_member* member); /* Returns its team's size. */
/* Sets how many seconds a blocking call may wait. <= 0: no limit (the default). After FERMATA_ERR_TIMEOUT the
 * operation is still outstanding. fermata_resume waits on, with the same buffers. fermata_team_abort or
 * fermata_member_leave gives the operation up. Every other collective of this member returns BUSY. */
FERMATA_API int fermata_member_set_timeout(fermata_member* member, double seconds);
/* Sets the function that this member calls while it waits, with `user` as argument. NULL: none. */
FERMATA_API int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user);
/* Sets how long this member may sleep between two calls of its idle hook. seconds > 0: an eighth of the time
 * that it has waited so far, at least 50 us and at most `seconds`. <= 0: up to 20 ms (the default); over
 * hosts an eighth, up to 1 ms. Set it for a hook that drives something on which others wait. */
FERMATA_API int fermata_member_set_idle_sleep(fermata_member* member, double seconds);
/* on not 0: lengths may differ between members, as in MPI, without a MISMATCH. All members set the same
 * value. A receiver takes what it has room for, and leaves the rest of a longer buffer unchanged. If more
 * came, it gets TRUNCATED; the team stays usable. This holds for gatherv, scatterv and alltoallv; for
 * blocking broadcast, scatter, gather and reduce; and for broadcast and reduce that are begun. In a reduce or
 * gather, all members but the root must give the same length. 0: off (the default). */
FERMATA_API int fermata_member_set_bounded(fermata_member* member, int on);
/* Continues the operation that a timeout or an idle hook left outstanding, with the same buffers. ARGUMENT:
 * nothing is outstanding. */
FERMATA_API int fermata_resume(fermata_member* member);
/* Writes which call each member is in: a text with one line per member. *length as in fermata_plan_text. */
FERMATA_API int fermata_team_report(const fermata_team* team, char* buffer, size_t* length);
/* Pins the calling thread to one CPU (OS index). Errors: ARGUMENT (the CPU is not allowed here), SYSTEM. */
FERMATA_API int fermata_pin(int cpu);

/* ---- Collectives ------------------------------------------------------------------------------------------
 * All members of a team make these calls, in the same order. Each call may return MEMBER_LOST, MISMATCH,
 * BROKEN, TIMEOUT, INTERRUPTED, FORKED or BUSY. What a member wrote before its call is visible to every
 * member whose result depends on it, once its call has returned. In a barrier or allreduce that is all to
 * all, in a broadcast root to all, in a reduce all to root. */

enum fermata_type {
  FERMATA_INT32, FERMATA_INT64, FERMATA_UINT32, FERMATA_UINT64, FERMATA_FLOAT, FERMATA_DOUBLE,
  FERMATA_INT8, FERMATA_UINT8, FERMATA_INT16, FERMATA_UINT16,
  FERMATA_HALF, FERMATA_BFLOAT16, /* IEEE 754 binary16, and bfloat16. Operators compute in float, and round */
                                  /* to nearest even after each operation. */
  FERMATA_FLOAT_INT, FERMATA_DOUBLE_INT, FERMATA_INT32_INT, FERMATA_INT64_INT, FERMATA_INT16_INT /* pairs */
};
enum fermata_op {
  FERMATA_SUM, FERMATA_PROD, FERMATA_MIN, FERMATA_MAX, /* for numbers; integers wrap around */
  FERMATA_AND, FERMATA_OR, FERMATA_XOR,                /* for integers, bit by bit */
  FERMATA_LAND, FERMATA_LOR,                           /* for numbers; the result is 0 or 1 */
  FERMATA_MINLOC, FERMATA_MAXLOC                       /* pairs: the one with the least or largest value */
};
/* min and max of floating-point numbers: -0 is less than +0. If a value is a NaN, the result is a NaN. minloc
 * and maxloc: of equal values, the pair with the lower index wins; -0 and +0 are equal. A NaN comes before
 * every number. Among NaNs, the one with the lowest index wins. sum and prod: if values are NaNs, they are
 * made quiet, and the result is the one whose bits are the largest unsigned number. A NaN that arises
 * (infinity - infinity, 0 * infinity) is the positive quiet NaN without payload. So every member gets the
 * same bits, NaNs included. All members must use the same rounding mode, and must agree on whether subnormal
 * numbers are flushed to zero. */
typedef struct fermata_float_int { float value; int32_t index; } fermata_float_int;
typedef struct fermata_double_int { double value; int32_t index; } fermata_double_int;
typedef struct fermata_int32_int { int32_t value; int32_t index; } fermata_int32_int;
typedef struct fermata_int64_int { int64_t value; int32_t index; } fermata_int64_int;
typedef struct fermata_int16_int { int16_t value; int32_t index; } fermata_int16_int;
#define FERMATA_MAX_PAYLOAD 56 /* bytes that ride on a signal's line */

/* Waits until all members have called it. */
FERMATA_API int fermata_barrier(fermata_member* member);
/* A split-phase barrier. fermata_arrive returns at once, and fermata_depart waits until all members have
 * arrived. Work between the two overlaps with the wait. fermata_test returns OK if fermata_depart would not
 * wait, else PENDING. */
FERMATA_API int fermata_arrive(fermata_member* member);
FERMATA_API int fermata_depart(fermata_member* member);
FERMATA_API int fermata_test(fermata_member* member);
/* A barrier that compares tags, as UPC's barrier with an expression. If two members gave different tags,
 * every member gets MISMATCH, and the team stays usable. Members that called fermata_barrier match any tag.
 * UNSUPPORTED: config.tagged was 0. */
FERMATA_API int fermata_barrier_tagged(fermata_member* member, uint32_t tag);

/* Folds `count` elements of every member by `op`, and writes the result to out at every member. Up to 56
 * bytes travel on the signals' cache lines, and then in and out may overlap in any way. Larger data moves as
 * blocks (fermata_blocks(3)). in == out is allowed at any size. Every member gets the same bits, and gets
 * them again on every run of a plan. ARGUMENT: the operator is not defined for the type. */
FERMATA_API int fermata_allreduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* As fermata_allreduce, but only the root gets the result. Elsewhere out may be NULL. The other members
 * return when their part is on its way. */
FERMATA_API int fermata_reduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op, int root);
/* Copies `bytes` bytes of the root to all members. Up to 56 bytes travel on the signals' cache lines. Larger
 * data moves as a block (fermata_blocks(3)). The root returns when the data is on its way, the others when
 * they have it. */
FERMATA_API int fermata_broadcast(fermata_member* member, void* data, size_t bytes, int root);

/* ---- Collectives on blocks of any size --------------------------------------------------------------------
 * A block is `count` elements of a type; P is the number of members. These functions take any count, also 0,
 * and so do allreduce, reduce and broadcast of more than 56 bytes. in and out must not overlap (ARGUMENT),
 * except in place. A buffer without elements may be NULL. A call returns when this member's part is done: its
 * input may be changed, and its output is complete. Results are bitwise the same on every run of a plan.
 * Memory: each pair of members that exchange blocks has a ring buffer of at most 288 KiB, from its first use
 * on. Some schedules also need memory for blocks in transit, up to half of all the collective's blocks. The
 * receiver reads a long block directly from the sender's memory (single copy). Between processes it does so
 * where the system permits it and the profile says that it is faster. Teams have at most 1,024 members, for
 * alltoall 256 (UNSUPPORTED). In a gather, scatter, allgather, alltoall or reduce_scatter, blocks of at most
 * 56 bytes together can travel on signals' cache lines. */

/* Pass it instead of `in`, and the input is read from the place where the output goes. That place is out; for
 * allgather and gather's root it is this member's block of out. scatter's root passes it instead of `out`,
 * and its own block stays where it is. ARGUMENT: there is no such place. */
#define FERMATA_IN_PLACE ((void*)-1)

/* in: count elements. out: at the root P x count elements, by rank; elsewhere it is ignored. */
FERMATA_API int fermata_gather(fermata_member* member, const void* in, void* out, size_t count, int type, int root);
/* in: at the root P x count elements, by rank; elsewhere it is ignored. out: count elements. */
FERMATA_API int fermata_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int root);
/* in: count elements. out: P x count elements, by rank. */
FERMATA_API int fermata_allgather(fermata_member* member, const void* in, void* out, size_t count, int type);
/* in: P x count elements. out: count elements. Rank r gets the fold of all members' blocks number r. */
FERMATA_API int fermata_reduce_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* in: P x count elements; block j is for rank j. out: P x count elements; block i is from rank i. */
FERMATA_API int fermata_alltoall(fermata_member* member, const void* in, void* out, size_t count, int type);
/* fermata_scan writes to out the fold of ranks 0 to this one, in rank order. fermata_exscan leaves out this
 * member's own contribution, and does not touch out at rank 0. */
FERMATA_API int fermata_scan(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
FERMATA_API int fermata_exscan(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* As fermata_gather and fermata_scatter, with blocks of different sizes. counts and displacements are in
 * elements and have an entry per rank. Here only the root's are read. displacements NULL: the blocks follow
 * each other in rank order. Both ends of a block give it the same count. The blocks of an output may lie in
 * any order, but must not overlap (ARGUMENT). */
FERMATA_API int fermata_gatherv(fermata_member* member, const void* in, size_t count, void* out, const size_t* counts,
                                const size_t* displacements, int type, int root);
FERMATA_API int fermata_scatterv(fermata_member* member, const void* in, const size_t* counts, const size_t* displacements, void* out,
                                 size_t count, int type, int root);
/* As fermata_allgather, with blocks of different sizes. counts are the same at all members. */
FERMATA_API int fermata_allgatherv(fermata_member* member, const void* in, void* out, const size_t* counts,
                                   const size_t* displacements, int type);
/* As fermata_reduce_scatter, with blocks of different sizes. counts are the same at all members. out: as many
 * elements as this rank's entry of counts says. In place, out holds all blocks at the call, and begins with
 * the result at the return. */
FERMATA_API int fermata_reduce_scatterv(fermata_member* member, const void* in, const size_t* counts, const size_t* displacements,
                                        void* out, int type, int op);
/* As fermata_alltoall, with blocks of different sizes. Every member gives counts for both sides. */
FERMATA_API int fermata_alltoallv(fermata_member* member, const void* in, const size_t* in_counts, const size_t* in_displacements,
                                  void* out, const size_t* out_counts, const size_t* out_displacements, int type);

/* ---- Requests ---------------------------------------------------------------------------------------------
 * An operation describes a collective as data. It is done at once (fermata_execute), begun as a nonblocking
 * collective (fermata_begin), or prepared as a persistent one (fermata_prepare). Operations also allow
 * elements and operators of the caller's own. A request that was begun or prepared must be freed. */

enum fermata_collective {
  FERMATA_DO_BROADCAST = 1, FERMATA_DO_REDUCE, FERMATA_DO_ALLREDUCE, FERMATA_DO_GATHER, FERMATA_DO_SCATTER, FERMATA_DO_ALLGATHER,
  FERMATA_DO_REDUCE_SCATTER, FERMATA_DO_ALLTOALL, FERMATA_DO_SCAN, FERMATA_DO_EXSCAN
};
/* The order in which contributions are folded. Any order: the fastest one, the same at all members and on
 * every run. An operator of the caller's own must then commute bit by bit. Rank order: for an operator that
 * does not commute; it must associate. Left to right: ((0 op 1) op 2) op ..., bit by bit the result of a
 * serial loop over the ranks. The team's and the machine's choice of a schedule does not change it. It suits
 * sums of floating-point numbers, and operators that do not associate. */
enum fermata_order { FERMATA_ANY_ORDER = 0, FERMATA_RANK_ORDER = 1, FERMATA_LEFT_TO_RIGHT = 2 };
/* Computes out[i] = left[i] op right[i] for count elements. out may be left or right. Any member may call it,
 * for any part of a block. It must not call Fermata. */
typedef void (*fermata_operator)(void* out, const void* left, const void* right, size_t count, void* user);
typedef struct fermata_operation {
  size_t size;                     /* sizeof(fermata_operation) */
  int collective;                  /* enum fermata_collective */
  const void* in;                  /* For a broadcast NULL: its data is in out. */
  void* out;
  size_t count;                    /* elements of a block; ignored where counts are given */
  int type;                        /* enum fermata_type; ignored if element is not 0 */
  int op;                          /* enum fermata_op; ignored if fold is not NULL */
  int root;
  int irregular;                   /* not 0, at all members: blocks differ in size, as with the v functions */
  const size_t* in_counts;         /* This and the next three are as the v functions take them. They are */
                                   /* ignored where those take none, and must be NULL if irregular is 0. */
  const size_t* in_displacements;
  const size_t* out_counts;
  const size_t* out_displacements;
  size_t element;                  /* bytes of an opaque element, 1..4096; 0: the size of type */
  fermata_operator fold;           /* an operator of the caller's own; NULL: op */
  void* user;                      /* argument of fold */
  int ordered;                     /* enum fermata_order */
} fermata_operation;
#define FERMATA_OPERATION_INIT {sizeof(fermata_operation), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0}

/* Does the operation, as the function of its name does. Either all members call fermata_execute for it, or
 * all call that function. */
FERMATA_API int fermata_execute(fermata_member* member, const fermata_operation* operation);
/* Begins a broadcast, reduce or allreduce of at most 56 bytes, in two phases as fermata_arrive, and returns
 * at once. The type and the operator must be of the enumerations above. fermata_test and fermata_depart
 * continue it. The result is there when fermata_depart has returned. Other members may call the function of
 * its name instead. Errors: ARGUMENT, BUSY (another call of this member is outstanding), UNSUPPORTED (any
 * other operation). */
FERMATA_API int fermata_arrive_with(fermata_member* member, const fermata_operation* operation);

/* Begins the operation and returns at once. All members make this call in the same order as their other
 * calls. The operation goes on in every call of this member that waits, and in fermata_progress. Until it is
 * over, the request cannot be freed, and the buffers, the operator and its argument must stay. The structure,
 * counts and displacements may go at once. */
typedef struct fermata_request fermata_request;
FERMATA_API int fermata_begin(fermata_member* member, const fermata_operation* operation, fermata_request** out);
/* Makes a persistent operation. All members make this call in the same order as their other calls, and it may
 * wait. Then each member starts the operation any number of times, in any order with other requests. A start
 * needs no memory. MEMORY at all members: persistent operations hold all of the team's 16 MiB of slots. An
 * operation holds its slots until all members have freed it. MEMORY at one member alone: it has no memory for
 * its part, and the others free theirs. After a TIMEOUT there is no operation, and fermata_resume ends the
 * call. */
FERMATA_API int fermata_prepare(fermata_member* member, const fermata_operation* operation, fermata_request** out);
/* Starts the request. A request of fermata_begin begins the same operation once more, as another
 * fermata_begin would. BUSY: it is active. */
FERMATA_API int fermata_request_start(fermata_request* request);
/* Returns OK, PENDING, or the operation's error. */
FERMATA_API int fermata_request_test(fermata_request* request);
/* Waits until the request is over, for as long as fermata_member_set_timeout allows. After a TIMEOUT it is
 * still active. */
FERMATA_API int fermata_request_wait(fermata_request* request);
/* Waits for all requests and returns the first error, if any. TIMEOUT or INTERRUPTED ends the call at once.
 * This function and the next two skip NULL entries. */
FERMATA_API int fermata_request_wait_all(fermata_request* const* requests, size_t count);
/* Waits until one request is over, writes its index, and returns its result, even if that is an error. A
 * request that is not active counts as over. The requests may belong to any members that this thread uses.
 * The timeout is the first request's member's. ARGUMENT: all entries are NULL. */
FERMATA_API int fermata_request_wait_any(fermata_request* const* requests, size_t count, size_t* index);
/* As fermata_request_wait_any, without waiting. PENDING: all requests are active. */
FERMATA_API int fermata_request_test_any(fermata_request* const* requests, size_t count, size_t* index);
/* Sets other buffers for the next start. Counts, displacements and types stay. BUSY: the request is
 * active. */
FERMATA_API int fermata_request_reset(fermata_request* request, const void* in, void* out);
/* Sets the function that is called whenever the request is over, in the thread that makes progress. NULL:
 * none. The callback may start requests, also this one, and may reset this one first. It may free this one if
 * nobody waits for it. It must not wait: requests and calls on blocks of its member return BUSY. */
typedef void (*fermata_callback)(fermata_request* request, int status, void* user);
FERMATA_API int fermata_request_set_callback(fermata_request* request, fermata_callback callback, void* user);
/* Frees the request. BUSY: it is active. */
FERMATA_API int fermata_request_free(fermata_request* request);
/* Makes one request, a chain, of one or more persistent operations, none of which is active. Starting the
 * chain starts the first operation, and each one that is over starts the next. The chain is over with the
 * last operation, or with the first that fails. The operations may be of several members, in the teams of a
 * hierarchy, if one thread uses them all. An example is a reduce among neighbours, an allreduce among leaders
 * and a broadcast back. The chain owns its operations and frees them with itself. Between uses, each may be
 * reset. Each may have a callback, which runs before the next operation starts and may reset that one.
 * fermata_request_reset of a chain sets the first operation's input and the last one's output. The call is
 * local. Errors: ARGUMENT, BUSY. */
FERMATA_API int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out);
/* Advances this member's requests in turns, each a piece of bounded size, for at most max_us microseconds.
 * The next call goes on where this one stopped. max_us 0: each request gets one turn. If that moved
 * something, the call waits up to 2 us for each of a few further answers. The thread's other members get
 * turns too, as in each call that waits. Returns OK if none of this member's requests is active, else
 * PENDING. A thread may take over a member that has requests outstanding. Its first call must then be this
 * one, or a test of or a wait for one of them. */
FERMATA_API int fermata_progress(fermata_member* member, double max_us);
/* Switches this process's progress thread. The thread moves the data of requests while their members' threads
 * compute. It is of use only with a CPU of its own. on 1: it runs. 0: it ends before the call returns. -1: it
 * runs if FERMATA_PROGRESS_THREAD=1 is in the environment (the default). A member's own thread completes its
 * requests, runs their callbacks and starts the next links of chains, in its next call. Operators of the
 * caller's own run in either thread. Any thread may make this call, at any time. Errors: SYSTEM. */
FERMATA_API int fermata_progress_thread(int on);

/* ---- Anonymous barriers -----------------------------------------------------------------------------------
 * Barriers for threads of one process without ranks. Any thread may arrive, as at a pthread_barrier_t or
 * std::barrier. A phase is full after `count` arrivals, and further arrivals belong to the next phase. So
 * more than `count` threads may use the barrier. The functions are in libfermata-rt. */

typedef struct fermata_anonymous fermata_anonymous;

/* A flag for fermata_anonymous_create: a step of the program comes before the release. The arrive or drop
 * that fills a phase returns FERMATA_LAST. Its caller does the step and then calls fermata_anonymous_release.
 * Without the flag, the arrival that fills a phase releases it. */
#define FERMATA_ANONYMOUS_COMPLETION 1u

/* Makes a barrier of `count` arrivals per phase, 1..2^30. flags: 0 or FERMATA_ANONYMOUS_COMPLETION. Errors:
 * ARGUMENT, MEMORY. */
FERMATA_API int fermata_anonymous_create(uint32_t count, unsigned flags, fermata_anonymous** out);
/* Sets the address by which the reports of FERMATA_STALL_SECONDS name the barrier. The default is the
 * barrier's own address. Call it before the barrier is used. */
FERMATA_API void fermata_anonymous_name(fermata_anonymous* barrier, const void* name);
/* Frees the barrier. No thread may arrive any more, and all waits of the last phase must be over or leaving.
 * A thread that still leaves a wait touches only memory of Fermata, which Fermata never returns to the
 * system. */
FERMATA_API void fermata_anonymous_destroy(fermata_anonymous* barrier);
/* Arrives `arrivals` times, at least once, and writes to *phase the phase to wait for. With
 * FERMATA_ANONYMOUS_COMPLETION, all arrivals must be in one phase: at most as many as it still lacks. Returns
 * FERMATA_LAST if an arrival fills the phase, else FERMATA_OK. */
FERMATA_API int fermata_anonymous_arrive(fermata_anonymous* barrier, uint32_t arrivals, uint64_t* phase);
/* Arrives once, and makes each later phase one arrival smaller. Without FERMATA_ANONYMOUS_COMPLETION, a later
 * phase may have no FERMATA_LAST. That happens if all its threads arrive while the thread that filled the
 * previous phase has not gone on yet. */
FERMATA_API int fermata_anonymous_drop(fermata_anonymous* barrier, uint64_t* phase);
/* Releases the threads of a full phase. With FERMATA_ANONYMOUS_COMPLETION, the thread that got FERMATA_LAST
 * calls it. */
FERMATA_API int fermata_anonymous_release(fermata_anonymous* barrier, uint64_t phase);
/* Waits until the phase is over. Returns at once if it is. */
FERMATA_API int fermata_anonymous_wait(fermata_anonymous* barrier, uint64_t phase);
/* Arrives once and waits. Exactly one caller per phase gets FERMATA_LAST. UNSUPPORTED: the barrier has
 * FERMATA_ANONYMOUS_COMPLETION. */
FERMATA_API int fermata_anonymous_meet(fermata_anonymous* barrier);

/* A barrier between processes, in 24 bytes of memory that all participants have mapped, each at any address.
 * These bytes are all that the participants share: no descriptor is passed. Their contents are particular to
 * this version of Fermata. */
typedef struct fermata_anonymous_shared {
  uint64_t state[3];
} fermata_anonymous_shared;

/* Initializes the barrier for `count` arrivals per phase, 1..2^30, whatever the memory holds. One process
 * calls it, once, before others use the barrier. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_shared_init(fermata_anonymous_shared* barrier, uint32_t count);
/* Returns the arrivals per phase with which the barrier was initialized. */
FERMATA_API uint32_t fermata_anonymous_shared_count(const fermata_anonymous_shared* barrier);
/* Arrives and waits. Exactly one caller per phase gets FERMATA_LAST, the others FERMATA_OK. If a process dies
 * in this call, the others wait for ever. */
FERMATA_API int fermata_anonymous_shared_meet(fermata_anonymous_shared* barrier);
/* Ends the use of the barrier. No thread may arrive any more, and the last phase must be full. The call waits
 * until all threads have left. Then the memory may be unmapped, or initialized again. */
FERMATA_API void fermata_anonymous_shared_destroy(fermata_anonymous_shared* barrier);

/* ---- Ranked barriers of threads ---------------------------------------------------------------------------
 * Barriers and allreduces for threads of one process that know their rank. They need no planner. The
 * barrier's plan is the one that `fermata plan` has saved for this many unpinned threads of this machine.
 * Without one it is built in, and does not depend on where threads run. A saved plan is not used if the
 * machine has enough CPUs for the threads, but this process has not. The functions are in libfermata-rt. */

typedef struct fermata_ranked fermata_ranked;

/* Makes a barrier for `members` ranks, 1..4096. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_ranked_create(uint32_t members, fermata_ranked** out);
/* Frees the barrier. All threads must have left it. NULL does nothing. */
FERMATA_API void fermata_ranked_destroy(fermata_ranked* barrier);
/* Waits until all ranks have called it. A rank's calls may come from different threads, as long as each call
 * happens before the next. errno stays unchanged. Errors: ARGUMENT. */
FERMATA_API int fermata_ranked_meet(fermata_ranked* barrier, uint32_t rank);
/* Computes acc = acc op other. acc and other never overlap. */
typedef void (*fermata_fold)(void* acc, const void* other, void* context);
/* Folds the data of all ranks, 1..56 bytes, in rank order. Every rank gets the same bits in its data. Errors:
 * ARGUMENT. */
FERMATA_API int fermata_ranked_allreduce(fermata_ranked* barrier, uint32_t rank, void* data, size_t bytes, fermata_fold fold,
                                         void* context);
/* Returns how many calls the rank has made so far, or 0 if the rank is not valid. Only a thread that may call
 * as that rank may call this. */
FERMATA_API uint64_t fermata_ranked_calls(const fermata_ranked* barrier, uint32_t rank);
/* Writes a description of the barrier for people: "dissemination, packed; saved; waiting: auto". A final NUL
 * ends it, and it is cut to capacity bytes. "saved": the plan is one of `fermata plan`; else it is
 * "built-in". Errors: ARGUMENT. */
FERMATA_API int fermata_ranked_describe(const fermata_ranked* barrier, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
