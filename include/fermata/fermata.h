/* Fermata: barriers and small collectives synthesized for the machine at hand. The whole C ABI.
 *
 * Conventions. Every function returns an int status: 0 (FERMATA_OK), > 0 not finished, < 0 an error; results come by
 * out-pointer and are written only on success. fermata_error_detail() has a sentence about this thread's last error.
 * Handles are opaque; destroying NULL does nothing; a team or request that was freed is refused as NULL is (ARGUMENT).
 * The library never exits, aborts, prints (but for the stall report that FERMATA_STALL_SECONDS asks for) or touches signal
 * masks. Config structs start with their size: fill them with their _INIT macro. FERMATA_DISABLE=1 turns the preload
 * libraries off; this API has no hidden state but plans and profiles under $XDG_CACHE_HOME/fermata. */
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
#define FERMATA_VERSION_MINOR 1
#define FERMATA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------------------------- */

enum fermata_status {
  FERMATA_OK = 0,
  FERMATA_PENDING = 1,          /* not finished yet */
  FERMATA_LAST = 2,             /* this arrival filled the phase of an anonymous barrier */
  FERMATA_ERR_ARGUMENT = -1,    /* an argument is out of its documented range */
  FERMATA_ERR_MEMORY = -2,      /* no memory */
  FERMATA_ERR_SYSTEM = -3,      /* a system call failed; the detail names it */
  FERMATA_ERR_TIMEOUT = -4,     /* the time given has passed; the operation is still outstanding (fermata_resume) */
  FERMATA_ERR_MEMBER_LOST = -5, /* a member has died or left; the detail names it; the team is broken */
  FERMATA_ERR_MISMATCH = -6,    /* members disagree (tags, calls, plans); the detail names them */
  FERMATA_ERR_BROKEN = -7,      /* an earlier error, or fermata_team_abort, made the team unusable: destroy it */
  FERMATA_ERR_PARSE = -8,       /* a file is malformed; the detail gives line and reason */
  FERMATA_ERR_UNSUPPORTED = -9, /* not available here; the detail says what would make it so */
  FERMATA_ERR_FORKED = -10,     /* the handle belongs to the parent of this forked process */
  FERMATA_ERR_BUSY = -11,       /* an operation of this member is still outstanding */
  FERMATA_ERR_INTERRUPTED = -12, /* the idle hook asked to stop waiting; still outstanding (fermata_resume) */
  FERMATA_ERR_VERIFY = -13,     /* a schedule or plan failed its proof */
  FERMATA_ERR_NOT_FOUND = -14,  /* no such file, plan, profile or algorithm */
  FERMATA_ERR_TRUNCATED = -15   /* more came than there is room for, and the rest was dropped (fermata_member_set_bounded) */
};

FERMATA_API const char* fermata_status_string(int status); /* static storage; never NULL */
FERMATA_API const char* fermata_error_detail(void);        /* this thread's last error; "" if none; valid until the next call */
FERMATA_API const char* fermata_version(void);             /* "0.1.0" */

/* ---- Topology, profile, plan ------------------------------------------------------------------------------------- */

typedef struct fermata_topology fermata_topology;
typedef struct fermata_profile fermata_profile;
typedef struct fermata_plan fermata_plan;

/* What this process may use: affinity and cgroup quota honoured. Errors: SYSTEM. */
FERMATA_API int fermata_topology_discover(fermata_topology** out);
/* From a file: hwloc XML, or what `fermata topo` prints with --text or --json. Errors: NOT_FOUND, PARSE. XML is read by hwloc, which
   takes it on trust: only from a source that you trust. */
FERMATA_API int fermata_topology_load(const char* path, fermata_topology** out);
/* How many CPUs it has. */
FERMATA_API int fermata_topology_cpus(const fermata_topology* topology, int* count);
/* Frees it; NULL is fine, here and below. */
FERMATA_API void fermata_topology_destroy(fermata_topology* topology);

/* A profile measured by `fermata profile`; path NULL: this machine's from the cache. Errors: NOT_FOUND, PARSE. */
FERMATA_API int fermata_profile_load(const char* path, fermata_profile** out);
/* Frees it. */
FERMATA_API void fermata_profile_destroy(fermata_profile* profile);

enum fermata_kind { FERMATA_BARRIER = 0, FERMATA_BROADCAST = 1, FERMATA_REDUCE = 2, FERMATA_ALLREDUCE = 3 };
enum fermata_engine { FERMATA_THREADS = 0, FERMATA_PROCESSES = 1 };

typedef struct fermata_plan_request {
  size_t size;                       /* sizeof(fermata_plan_request) */
  int members;                       /* 1..4096 */
  int kind;                          /* enum fermata_kind */
  int engine;                        /* enum fermata_engine */
  size_t payload;                    /* bytes, 0..56; 0 for a barrier */
  const int* cpus;                   /* members entries, OS index of each rank's CPU; NULL: unpinned */
  const char* algorithm;             /* NULL: the planner's choice; else e.g. "kary(4)" */
  const char* layout;                /* NULL: the planner's choice; else e.g. "packed+2slots", "packed:published" by stage */
  const fermata_topology* topology;  /* NULL: this machine */
  const fermata_profile* profile;    /* NULL: the cached one, else estimates from the topology */
} fermata_plan_request;
#define FERMATA_PLAN_REQUEST_INIT {sizeof(fermata_plan_request), 1, FERMATA_BARRIER, FERMATA_THREADS, 0, NULL, NULL, NULL, NULL, NULL}

/* A proved plan: from the cache, else by estimates; never measures. Errors: ARGUMENT, NOT_FOUND, VERIFY, UNSUPPORTED. */
FERMATA_API int fermata_plan_make(const fermata_plan_request* request, fermata_plan** out);
/* A plan saved by `fermata plan`. Verified again before it is accepted. Errors: NOT_FOUND, PARSE, VERIFY. */
FERMATA_API int fermata_plan_load(const char* path, fermata_plan** out);
/* Text as `fermata explain` prints it. *length in: capacity of buffer; out: bytes needed with the final NUL. */
FERMATA_API int fermata_plan_text(const fermata_plan* plan, char* buffer, size_t* length);
/* Frees it; teams made with it keep what they need. */
FERMATA_API void fermata_plan_destroy(fermata_plan* plan);

/* ---- Teams ------------------------------------------------------------------------------------------------------- */

typedef struct fermata_team fermata_team;     /* shared by its members */
typedef struct fermata_member fermata_member; /* one rank's handle: used by one thread at a time */

enum fermata_wait { FERMATA_WAIT_AUTO = 0, FERMATA_WAIT_SPIN = 1, FERMATA_WAIT_YIELD = 2, FERMATA_WAIT_PARK = 3 };

/* Called while a member waits: after a bounded spin, and before and between timed parks. Return 0 to go on waiting,
 * anything else to make the blocking call return FERMATA_ERR_INTERRUPTED with the operation still outstanding. */
typedef int (*fermata_idle_hook)(fermata_member* member, void* user);

typedef struct fermata_team_config {
  size_t size;               /* sizeof(fermata_team_config) */
  int members;               /* 1..4096 */
  int engine;                /* FERMATA_THREADS: heap memory; FERMATA_PROCESSES: a memfd that fork inherits; each process may join
                              * any number of ranks, for threads of its own */
  int wait;                  /* enum fermata_wait; the environment's FERMATA_WAIT=auto|spin|yield|park wins */
  int tagged;                /* non-zero: fermata_barrier_tagged works on this team (its barrier carries the tags) */
  const int* cpus;           /* members entries or NULL: where each rank will run, for planning; nobody is pinned by it */
  const fermata_plan* const* plans; /* plan_count plans to use instead of the cache's or the estimated ones */
  size_t plan_count;
  double stall_seconds;      /* > 0: a report on stderr after waiting so long; 0: FERMATA_STALL_SECONDS, else none */
  double refresh_seconds;    /* of a team over several hosts: > 0: its profile is refreshed while it runs, this often at most, and it
                              * changes its plans where that pays; 0: FERMATA_REFRESH, else never; < 0: never */
} fermata_team_config;
#define FERMATA_TEAM_CONFIG_INIT {sizeof(fermata_team_config), 1, FERMATA_THREADS, FERMATA_WAIT_AUTO, 0, NULL, NULL, 0, 0.0, 0.0}

/* Makes a team; plans come from the cache or estimates, nothing is measured. Errors: ARGUMENT, MEMORY, SYSTEM, VERIFY. */
FERMATA_API int fermata_team_create(const fermata_team_config* config, fermata_team** out);
/* Frees this process's handle; memory goes when the last process has let go. Members of this process must have left
 * (fermata_member_leave) or never be used again. */
FERMATA_API void fermata_team_destroy(fermata_team* team);
FERMATA_API int fermata_team_size(const fermata_team* team); /* its members, joined or not */

/* Offers a process team to unrelated processes under an abstract unix socket: `count` attaches, then the name is gone. Blocks
 * until all have come or `seconds` have passed (TIMEOUT). Same user only. */
FERMATA_API int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds);
/* Attaches to a served team; retries until `seconds` have passed (TIMEOUT). Once per process will do, however many ranks it joins; a
 * further handle is of the same team. */
FERMATA_API int fermata_team_attach(const char* name, double seconds, fermata_team** out);

/* Makes a team of processes that lies in the memory of one that they have all created or attached to already (its members need not be the
 * same, nor have joined): no descriptor is opened or handed out. *place says where, for the others to attach by while this process has
 * the team. The neighbour's memory stays until the last team in it has gone. At most 2048 lie there at a time (MEMORY), and plans for the
 * same members, tags and CPUs are looked for once. A forked child's handle is good as long as its parent's, or once it has joined. What a
 * process had that was killed stays taken. Errors: as fermata_team_create. */
FERMATA_API int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config, uint64_t* place, fermata_team** out);
/* Attaches to the team in that place of the same neighbour, or of another one that lies beside it. Errors: ARGUMENT (there is none, or no
 * longer), MEMORY, MISMATCH. */
FERMATA_API int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out);

#define FERMATA_ANY_RANK (-2) /* the lowest rank that nobody has joined yet */

/* Becomes `rank` (0..members-1, or FERMATA_ANY_RANK), each once, from the thread or process that will call the collectives. Members
 * compare the plans' hash here: a different one is FERMATA_ERR_MISMATCH. Errors: ARGUMENT, BUSY (rank taken), FORKED, MISMATCH. */
FERMATA_API int fermata_team_join(fermata_team* team, int rank, fermata_member** out);
/* Gives the rank up. Members that wait for it, now or later, get FERMATA_ERR_MEMBER_LOST. NULL is fine. */
FERMATA_API void fermata_member_leave(fermata_member* member);
/* Makes the team unusable: all that wait or will wait get FERMATA_ERR_BROKEN, and whoever never waits gets it within 16,384 calls.
 * Async-signal-safe. */
FERMATA_API void fermata_team_abort(fermata_team* team);
/* Collective: members with equal colour form a new team, ordered by (key, rank); colour < 0: none, *out = NULL. The
 * new member is left with fermata_member_leave, which frees its share of the sub-team. Processes hand the new team over within
 * the member's timeout, at most 30 s (TIMEOUT). */
FERMATA_API int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out);

FERMATA_API int fermata_member_rank(const fermata_member* member);  /* in its team, from 0 */
FERMATA_API int fermata_member_count(const fermata_member* member); /* members of its team */
/* Seconds that a blocking call may wait; <= 0: for ever (the default). On FERMATA_ERR_TIMEOUT the operation is
 * still outstanding: fermata_resume goes on waiting with the same buffers, every other collective of this member says BUSY,
 * fermata_team_abort or fermata_member_leave gives up. */
FERMATA_API int fermata_member_set_timeout(fermata_member* member, double seconds);
/* What to call while this member waits, with `user`; NULL: nothing. */
FERMATA_API int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user);
/* How long this member may sleep between two calls of its idle hook: an eighth of the time that it has waited so far, at least 50 us and
 * at most `seconds`; <= 0: up to 20 ms (the default). For hooks that drive something which others wait for. */
FERMATA_API int fermata_member_set_idle_sleep(fermata_member* member, double seconds);
/* on: lengths that differ are no MISMATCH, as in MPI; all members say the same. This member takes what it has room for, leaves the rest of
 * longer buffers as it is, and gets TRUNCATED if more came; the team stays usable. For gatherv, scatterv and alltoallv; for broadcast,
 * scatter, gather and reduce while they block, and for broadcast and reduce that are begun, if all but the one with the result
 * or the data agree. 0: off, the default. */
FERMATA_API int fermata_member_set_bounded(fermata_member* member, int on);
/* Goes on with the operation that a timeout or an idle hook left outstanding. */
FERMATA_API int fermata_resume(fermata_member* member);
/* Who is in which call: text, one line per member. *length as in fermata_plan_text. */
FERMATA_API int fermata_team_report(const fermata_team* team, char* buffer, size_t* length);
/* Pins the calling thread to one CPU (OS index). Errors: ARGUMENT (not allowed here), SYSTEM. */
FERMATA_API int fermata_pin(int cpu);

/* ---- Collectives -------------------------------------------------------------------------------------------------
 * Called by all members of a team in the same order. All may return MEMBER_LOST, MISMATCH, BROKEN, TIMEOUT, INTERRUPTED,
 * FORKED, BUSY. What a member wrote before is visible to each member whose call returned after depending on it: all
 * members for barrier and allreduce, root to all for broadcast, all to root for reduce. */

enum fermata_type {
  FERMATA_INT32, FERMATA_INT64, FERMATA_UINT32, FERMATA_UINT64, FERMATA_FLOAT, FERMATA_DOUBLE,
  FERMATA_INT8, FERMATA_UINT8, FERMATA_INT16, FERMATA_UINT16,
  FERMATA_HALF, FERMATA_BFLOAT16, /* IEEE 754 binary16, bfloat16: computed in float, rounded to nearest even after each operation */
  FERMATA_FLOAT_INT, FERMATA_DOUBLE_INT, FERMATA_INT32_INT, FERMATA_INT64_INT, FERMATA_INT16_INT /* the structs below */
};
enum fermata_op {
  FERMATA_SUM, FERMATA_PROD, FERMATA_MIN, FERMATA_MAX, /* numbers; integers wrap around */
  FERMATA_AND, FERMATA_OR, FERMATA_XOR,                /* integers: bitwise */
  FERMATA_LAND, FERMATA_LOR,                           /* numbers: 0 or 1 */
  FERMATA_MINLOC, FERMATA_MAXLOC                       /* pairs alone: the pair with the least or the largest value */
};
/* Floating-point min and max: -0 is less than +0, and a NaN among the values gives a NaN. minloc and maxloc: of equal values (-0 and +0
 * are equal) the one with the lower index, and a NaN, the one with the lowest index, before every number. A sum or product of NaNs is,
 * of them made quiet, the one whose bits are the largest unsigned number; one that arises (infinity - infinity, 0 * infinity) is the
 * positive quiet NaN without payload. So every member gets the same bits, NaNs included. The members' rounding mode, and whether they
 * flush subnormal numbers to zero, must be the same. */
typedef struct fermata_float_int { float value; int32_t index; } fermata_float_int;
typedef struct fermata_double_int { double value; int32_t index; } fermata_double_int;
typedef struct fermata_int32_int { int32_t value; int32_t index; } fermata_int32_int;
typedef struct fermata_int64_int { int64_t value; int32_t index; } fermata_int64_int;
typedef struct fermata_int16_int { int16_t value; int32_t index; } fermata_int16_int;
#define FERMATA_MAX_PAYLOAD 56 /* bytes that ride on a signal's line */

/* Nobody returns before all have called it. */
FERMATA_API int fermata_barrier(fermata_member* member);
/* Split phase: arrive returns at once; depart waits for all; what lies between overlaps. test: OK when depart would not
 * wait, else PENDING. */
FERMATA_API int fermata_arrive(fermata_member* member);
FERMATA_API int fermata_depart(fermata_member* member);
FERMATA_API int fermata_test(fermata_member* member);
/* UPC's barrier with an expression: every member gets MISMATCH if two members gave different tags; members that called
 * fermata_barrier match any. The team stays usable. Needs config.tagged, else UNSUPPORTED. */
FERMATA_API int fermata_barrier_tagged(fermata_member* member, uint32_t tag);

/* Up to 56 bytes ride on the signals' lines, and may overlap; more goes as below. in == out is allowed. Every member gets the bitwise same
 * result, and the same on every run of a plan. Operators on types that they are not defined for: ARGUMENT. */
FERMATA_API int fermata_allreduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* The result is written at root only; out may be NULL elsewhere. Others return when their part is on its way. */
FERMATA_API int fermata_reduce(fermata_member* member, const void* in, void* out, size_t count, int type, int op, int root);
/* bytes <= 56. root returns when the data is on its way, the others when they have it. */
FERMATA_API int fermata_broadcast(fermata_member* member, void* data, size_t bytes, int root);

/* ---- Collectives on blocks of any size ---------------------------------------------------------------------------
 * A block is `count` elements of a type. All of these, and allreduce, reduce and broadcast beyond 56 bytes, take any count, 0 too. Buffers
 * don't overlap, but for FERMATA_IN_PLACE; one without elements may be NULL. A call returns when this member's part is done: its input
 * may be changed, its output is there. Memory: a ring of at most 264 KiB for each pair of members that exchange blocks, taken when first
 * used, and for some schedules space of this member's blocks again. Long blocks are read where they lie, between processes where the
 * system permits it.
 * Results are bitwise the same on every run of a plan. Teams of at most 1024 members (alltoall: 256), else UNSUPPORTED. Where all blocks of
 * scatter, allgather, alltoall or reduce_scatter have at most 56 bytes together, they ride on the lines of a broadcast or an allreduce. */

/* Instead of `in`: the input is where the output goes: out itself, or for gather's root and allgather this member's block of out; for
 * scatter's root, instead of `out`: its own block stays where it is. Where there is no such place: ARGUMENT. */
#define FERMATA_IN_PLACE ((void*)-1)

/* in: count elements; out: at the root P x count, by rank; elsewhere not looked at. */
FERMATA_API int fermata_gather(fermata_member* member, const void* in, void* out, size_t count, int type, int root);
/* in: at the root P x count; out: count elements. */
FERMATA_API int fermata_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int root);
/* in: count elements; out: P x count, by rank. */
FERMATA_API int fermata_allgather(fermata_member* member, const void* in, void* out, size_t count, int type);
/* in: P x count; out: count elements, the fold of everybody's block number rank. */
FERMATA_API int fermata_reduce_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* in: P x count, block j for rank j; out: P x count, block i from rank i. */
FERMATA_API int fermata_alltoall(fermata_member* member, const void* in, void* out, size_t count, int type);
/* out: the fold of ranks 0 .. this one, in rank order; exscan: without this one, and untouched at rank 0. */
FERMATA_API int fermata_scan(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
FERMATA_API int fermata_exscan(fermata_member* member, const void* in, void* out, size_t count, int type, int op);
/* Blocks of different sizes: counts and displacements in elements, an entry per rank; displacements NULL: one behind the other. Both
 * ends of a block give it the same count. Blocks of an output may lie in any order, but not over one another: ARGUMENT. */
FERMATA_API int fermata_gatherv(fermata_member* member, const void* in, size_t count, void* out, const size_t* counts,
                                const size_t* displacements, int type, int root);
FERMATA_API int fermata_scatterv(fermata_member* member, const void* in, const size_t* counts, const size_t* displacements, void* out,
                                 size_t count, int type, int root);
/* counts: the same at all members. */
FERMATA_API int fermata_allgatherv(fermata_member* member, const void* in, void* out, const size_t* counts,
                                   const size_t* displacements, int type);
/* counts: the same at all members. out: as many elements as this one's entry says; in place it has all blocks, and the result first. */
FERMATA_API int fermata_reduce_scatterv(fermata_member* member, const void* in, const size_t* counts, const size_t* displacements,
                                        void* out, int type, int op);
FERMATA_API int fermata_alltoallv(fermata_member* member, const void* in, const size_t* in_counts, const size_t* in_displacements,
                                  void* out, const size_t* out_counts, const size_t* out_displacements, int type);

/* ---- Requests ------------------------------------------------------------------------------------------------------
 * Any collective as data: for requests, and for elements and operators of the caller's own. */

enum fermata_collective {
  FERMATA_DO_BROADCAST = 1, FERMATA_DO_REDUCE, FERMATA_DO_ALLREDUCE, FERMATA_DO_GATHER, FERMATA_DO_SCATTER, FERMATA_DO_ALLGATHER,
  FERMATA_DO_REDUCE_SCATTER, FERMATA_DO_ALLTOALL, FERMATA_DO_SCAN, FERMATA_DO_EXSCAN
};
/* In which order contributions are folded. Any order: whichever is fast, the same at all members and on every run. Rank order: for a
 * fold that does not commute; it must associate. Left to right: ((0 op 1) op 2) op ..., bit by bit what a serial loop over the ranks
 * gives, whatever team and machine choose for a schedule; for sums of floating-point numbers, and folds that do not associate. */
enum fermata_order { FERMATA_ANY_ORDER = 0, FERMATA_RANK_ORDER = 1, FERMATA_LEFT_TO_RIGHT = 2 };
/* out[i] = left[i] op right[i] for count elements; out may be left or right. Called by any member, for any part of a block. */
typedef void (*fermata_operator)(void* out, const void* left, const void* right, size_t count, void* user);
typedef struct fermata_operation {
  size_t size;                     /* sizeof(fermata_operation) */
  int collective;                  /* enum fermata_collective */
  const void* in;                  /* broadcast: NULL; the data are in out */
  void* out;
  size_t count;                    /* of a block; where counts are given not looked at */
  int type;                        /* enum fermata_type; not looked at if element is not 0 */
  int op;                          /* enum fermata_op; not looked at if fold is not NULL */
  int root;
  int irregular;                   /* not 0, at all members: blocks differ in size, as with the v functions */
  const size_t* in_counts;         /* as the v functions take them; not looked at where they take none, NULL if irregular is 0 */
  const size_t* in_displacements;
  const size_t* out_counts;
  const size_t* out_displacements;
  size_t element;                  /* bytes of an opaque element, 1..4096; 0: type's */
  fermata_operator fold;           /* the caller's own; NULL: op */
  void* user;                      /* of fold */
  int ordered;                     /* enum fermata_order */
} fermata_operation;
#define FERMATA_OPERATION_INIT {sizeof(fermata_operation), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0}

/* Does it, as the function of its name would; all members by this, or all by that. */
FERMATA_API int fermata_execute(fermata_member* member, const fermata_operation* operation);
/* Split phase with data: a broadcast, reduce or allreduce of at most 56 bytes of a type and operator above begins, and returns at once.
 * fermata_test and fermata_depart go on with it as with a barrier; the result is there when fermata_depart has returned. The others may
 * do it by the function of its name. Errors: ARGUMENT, BUSY (another call of this member is outstanding), UNSUPPORTED (anything else). */
FERMATA_API int fermata_arrive_with(fermata_member* member, const fermata_operation* operation);

/* begin: by all members in the same order as their other calls; returns at once; the request goes on in every call of this
 * member that waits, and in fermata_progress; it may not be freed before it is over. Everything that the operation points to stays until
 * then (the structure itself may go, and counts and displacements). */
typedef struct fermata_request fermata_request;
FERMATA_API int fermata_begin(fermata_member* member, const fermata_operation* operation, fermata_request** out);
/* A persistent operation: made by all members in the same order (it may wait), then started any number of times, each in any order
 * with other requests. Errors: MEMORY when the team's 16 MiB of slots are held by such operations: those that all members have freed
 * hold none; or, at one member alone, when it has no memory: the others free theirs. After it a start needs no memory. One that times
 * out makes none; fermata_resume ends its call. */
FERMATA_API int fermata_prepare(fermata_member* member, const fermata_operation* operation, fermata_request** out);
/* BUSY while it is active. Of one that fermata_begin has made: the same operation is begun once more, as another call of that would. */
FERMATA_API int fermata_request_start(fermata_request* request);
FERMATA_API int fermata_request_test(fermata_request* request);             /* OK, PENDING, or its error */
FERMATA_API int fermata_request_wait(fermata_request* request);             /* as set_timeout says; then it is still active */
/* The first error, if any. NULL entries are passed over, here and below. */
FERMATA_API int fermata_request_wait_all(fermata_request* const* requests, size_t count);
/* *index: of one that is over; entries that are not active are. Of any members that this thread uses; as their first one's set_timeout
 * says. Returns how that one ended. */
FERMATA_API int fermata_request_wait_any(fermata_request* const* requests, size_t count, size_t* index);
/* The same without waiting: PENDING when all are active. */
FERMATA_API int fermata_request_test_any(fermata_request* const* requests, size_t count, size_t* index);
/* Other buffers for the next start, of the same geometry; not while it is active. */
FERMATA_API int fermata_request_reset(fermata_request* request, const void* in, void* out);
/* Called whenever it is over, in the thread that makes progress. May start requests, this one too, and reset it first, or free it if
 * nobody waits for it; may not wait (requests and calls on blocks of its member are BUSY). */
typedef void (*fermata_callback)(fermata_request* request, int status, void* user);
FERMATA_API int fermata_request_set_callback(fermata_request* request, fermata_callback callback, void* user);
FERMATA_API int fermata_request_free(fermata_request* request);             /* BUSY while it is active */
/* A chain: persistent operations, 1 or more, none of them active, as one request. Its start starts the first one; each that is over
 * starts the next; the chain is over with the last one, or with the first that fails. They may be several members', of teams of a
 * hierarchy: a reduce among neighbours, an allreduce among leaders, a broadcast back; all used by one thread. They are the chain's from
 * here on, which frees them with itself; between uses they may still be reset, and have callbacks, which run before the next one starts
 * and may reset that. fermata_request_reset of the chain: the first one's input and the last one's output. Local. Errors: ARGUMENT,
 * BUSY. */
FERMATA_API int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out);
/* Gives each of this member's requests its turn, a piece of bounded size, again and again for at most max_us microseconds; then the next
 * call goes on where this one stopped. max_us 0: one turn each, and up to 2 us more while answers come. The thread's other members get
 * turns, too, as they do in each call that waits. OK when none of this member's is active, else PENDING. A thread that takes over a
 * member which has requests outstanding calls this, or tests or waits for one of them, before anything else. */
FERMATA_API int fermata_progress(fermata_member* member, double max_us);
/* One thread per process that moves the data of requests while their members' threads compute. on: 1; 0: it ends, before this returns;
 * -1: as FERMATA_PROGRESS_THREAD=1 in the environment, or its absence, says, which is the default. It needs a CPU of its own to be of use.
 * Completion, callbacks and the next links of chains stay with the member's own thread and its next call; operators of the caller's own
 * run in either. Any thread may call this, at any time. Errors: SYSTEM. */
FERMATA_API int fermata_progress_thread(int on);

/* ---- Anonymous barriers ------------------------------------------------------------------------------------------
 * For threads of one process without ranks: any thread may arrive, as pthread_barrier_t and std::barrier allow. A phase is full
 * after `count` arrivals; arrivals beyond belong to the next one, so more than `count` threads may use it. In libfermata-rt. */

typedef struct fermata_anonymous fermata_anonymous;

/* Whoever fills a phase gets FERMATA_LAST from arrive or drop and must call fermata_anonymous_release once it has done what is to be
 * done before the others go on. Without this flag the filling arrival itself releases them. */
#define FERMATA_ANONYMOUS_COMPLETION 1u

/* count: 1..2^30 arrivals per phase. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_anonymous_create(uint32_t count, unsigned flags, fermata_anonymous** out);
/* The address that a report calls the barrier by, where FERMATA_STALL_SECONDS asks for reports; its own without this. Before it is used. */
FERMATA_API void fermata_anonymous_name(fermata_anonymous* barrier, const void* name);
/* Allowed as soon as no thread will arrive any more and all waits of the last phase are over or leaving: whoever is still on its way
 * out of a wait touches memory of the library only, which is never returned to the system. */
FERMATA_API void fermata_anonymous_destroy(fermata_anonymous* barrier);
/* Arrives `arrivals` times (at least 1; all in one phase: at most what it still lacks where COMPLETION is set). *phase is what to wait
 * for. FERMATA_LAST in the arrival that fills the phase, else FERMATA_OK. */
FERMATA_API int fermata_anonymous_arrive(fermata_anonymous* barrier, uint32_t arrivals, uint64_t* phase);
/* Arrives once, and each later phase takes one arrival less. Without FERMATA_ANONYMOUS_COMPLETION nobody gets FERMATA_LAST for a later
 * phase whose threads have all arrived before the thread that filled the phase before it has gone on. */
FERMATA_API int fermata_anonymous_drop(fermata_anonymous* barrier, uint64_t* phase);
/* Lets the threads of a full phase go on; by whoever got FERMATA_LAST, where FERMATA_ANONYMOUS_COMPLETION is set. */
FERMATA_API int fermata_anonymous_release(fermata_anonymous* barrier, uint64_t phase);
/* Returns when that phase is over; at once if it is. */
FERMATA_API int fermata_anonymous_wait(fermata_anonymous* barrier, uint64_t phase);
/* arrive once and wait: FERMATA_LAST in exactly one caller per phase. Not with FERMATA_ANONYMOUS_COMPLETION: UNSUPPORTED. */
FERMATA_API int fermata_anonymous_meet(fermata_anonymous* barrier);

/* The same between processes, in memory of the caller's: 24 bytes that all who meet have mapped, at whatever addresses, and that
 * hold all there is, so nothing else need be shared and no descriptor passed. Their contents are this library version's own. */
typedef struct fermata_anonymous_shared {
  uint64_t state[3];
} fermata_anonymous_shared;

/* count: 1..2^30 arrivals per phase. Over whatever the memory holds; once, before others know of it. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_shared_init(fermata_anonymous_shared* barrier, uint32_t count);
/* Arrivals per phase, as it was initialized. */
FERMATA_API uint32_t fermata_anonymous_shared_count(const fermata_anonymous_shared* barrier);
/* Arrives and waits: FERMATA_LAST in exactly one caller per phase, else FERMATA_OK. A process that dies in it leaves the others waiting. */
FERMATA_API int fermata_anonymous_shared_meet(fermata_anonymous_shared* barrier);
/* Allowed as soon as no thread will arrive any more; returns when all have left, which needs the last phase to be full. From then on
 * the memory is the caller's: it may be unmapped or be initialized again. */
FERMATA_API void fermata_anonymous_shared_destroy(fermata_anonymous_shared* barrier);

/* ---- Ranked barriers of threads ----------------------------------------------------------------------------------
 * For threads of one process that know their number, without a planner: the plan that `fermata plan` has saved for this many
 * unpinned threads of this machine if there is one, else a built-in, placement-free one. In libfermata-rt. */

typedef struct fermata_ranked fermata_ranked;

/* members: 1..4096. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_ranked_create(uint32_t members, fermata_ranked** out);
/* Once all have left it. NULL is fine. */
FERMATA_API void fermata_ranked_destroy(fermata_ranked* barrier);
/* The barrier. A rank's calls may come from different threads as long as each happens before the next. errno stays as it is. Errors:
 * ARGUMENT. */
FERMATA_API int fermata_ranked_meet(fermata_ranked* barrier, uint32_t rank);
/* acc = acc op other; never called with aliases. */
typedef void (*fermata_fold)(void* acc, const void* other, void* context);
/* data (1..56 bytes) of every rank is folded in rank order; every rank gets the bitwise same result in its data. */
FERMATA_API int fermata_ranked_allreduce(fermata_ranked* barrier, uint32_t rank, void* data, size_t bytes, fermata_fold fold,
                                         void* context);
/* Calls that this rank has made so far, 0 for one that is none. For whoever may call as that rank. */
FERMATA_API uint64_t fermata_ranked_calls(const fermata_ranked* barrier, uint32_t rank);
/* What the barrier is made of, for people: "dissemination, packed; saved; waiting: auto", ended by a zero and cut to capacity bytes.
 * saved: by `fermata plan`; else built-in. Errors: ARGUMENT. */
FERMATA_API int fermata_ranked_describe(const fermata_ranked* barrier, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
