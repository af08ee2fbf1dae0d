/* Fermata: barriers and small collectives that are planned for the machine on which they run. fermata.h
 * declares the C ABI, of which status.h, blocks.h and barriers.h are parts. hosts.h, mpi.h and job.h add
 * teams over several hosts.
 *
 * Conventions
 * - A function with an int status returns 0 (FERMATA_OK), a positive status that is no error, or a negative
 *   error. fermata_team_size, fermata_member_rank and fermata_member_count return a number instead of
 *   FERMATA_OK.
 * - Results go to out-pointers. A function writes them on success only, unless its description says
 * otherwise.
 * - fermata_error_detail() describes the calling thread's last error in a sentence. The functions of
 *   libfermata-rt (anonymous and ranked barriers) leave no detail.
 * - Handles are opaque. Destroying NULL does nothing. For a freed team or request, functions return ARGUMENT.
 * - Fermata never exits or aborts the process, and does not change signal masks. It prints only stall
 *   reports, and only if FERMATA_STALL_SECONDS or config.stall_seconds asks for them.
 * - A config struct begins with its own size. Initialize it with its _INIT macro.
 * - FERMATA_DISABLE=1 switches the preload libraries off, but not this API.
 * - The only state outside the process is the cache of plans and profiles, $XDG_CACHE_HOME/fermata. */
#ifndef FERMATA_FERMATA_H
#define FERMATA_FERMATA_H

#include <stddef.h>
#include <stdint.h>

#include <fermata/status.h>

#define FERMATA_VERSION_MAJOR 0
#define FERMATA_VERSION_MINOR 2
#define FERMATA_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Topology, profile, plan ------------------------------------------------------------------------------
 * Teams find their topology, profile and plans by themselves. These functions are for programs that read,
 * choose or make plans. A handle may be freed while teams that were made with it exist, but not while another
 * call uses it. */

typedef struct fermata_topology fermata_topology;
typedef struct fermata_profile fermata_profile;
typedef struct fermata_plan fermata_plan;

/* -- the CPUs and caches of a machine --
 * For programs that count the CPUs that they may use, or that make plans for another machine
 * (fermata_plan_request). Teams do not need these calls. Discover the topology again after the process's
 * affinity has changed: a handle stays as it was. */

/* Describes the CPUs that this process may use. It respects the process's affinity and cgroup quota. Errors:
 * SYSTEM. */
FERMATA_API int fermata_topology_discover(fermata_topology** out);
/* Loads a topology from a file: hwloc's XML, or what `fermata topo` prints with --text or --json. Load XML
 * only from a source that you trust, since hwloc reads it unchecked. Errors: NOT_FOUND, PARSE. */
FERMATA_API int fermata_topology_load(const char* path, fermata_topology** out);
/* Writes how many CPUs of the topology this process may use at once. */
FERMATA_API int fermata_topology_cpus(const fermata_topology* topology, int* count);
/* Frees the topology. NULL does nothing, here and in all functions below that free a handle. */
FERMATA_API void fermata_topology_destroy(fermata_topology* topology);

/* -- the measured costs of signals --
 * For programs that make plans with a profile of their choice (fermata_plan_request). Teams do not need
 * these calls. None of them measures: the command `fermata profile` does. */

/* Loads a profile that `fermata profile` has measured. path NULL: this machine's profile for threads, from
 * the cache. Errors: NOT_FOUND, PARSE. */
FERMATA_API int fermata_profile_load(const char* path, fermata_profile** out);
/* Frees the profile. */
FERMATA_API void fermata_profile_destroy(fermata_profile* profile);

/* -- make, load and describe a plan --
 * For programs that choose the schedule of a team themselves: pass the plans in config.plans of
 * fermata_team_create. Teams without such plans need none of these calls. A plan is for one number of
 * members: a team of another size refuses it. */

enum fermata_engine { FERMATA_THREADS = 0, FERMATA_PROCESSES = 1 };

typedef struct fermata_plan_request {
  size_t size;                       /* sizeof(fermata_plan_request) */
  int members;                       /* 1..4096 */
  int collective;                    /* enum fermata_collective, up to FERMATA_ALLREDUCE */
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
#define FERMATA_PLAN_REQUEST_INIT \
  {sizeof(fermata_plan_request), 1, FERMATA_BARRIER, FERMATA_THREADS, 0, NULL, NULL, NULL, NULL, NULL}

/* Makes a proved plan. If the request names no topology, profile, algorithm or layout, the call takes the
 * cache's plan, if there is one. Otherwise the planner chooses by the profile or by estimates. The call never
 * measures. Errors: ARGUMENT, NOT_FOUND, VERIFY, UNSUPPORTED. */
FERMATA_API int fermata_plan_make(const fermata_plan_request* request, fermata_plan** out);
/* Loads a plan that `fermata plan` has saved. The call proves the plan again before it accepts it. Errors:
 * NOT_FOUND, PARSE, VERIFY. */
FERMATA_API int fermata_plan_load(const char* path, fermata_plan** out);
/* Writes the text that `fermata explain` prints. At the call, *length is the buffer's capacity in bytes. At
 * the return, it is the number of bytes that the text needs, with the final NUL. A text that does not fit is
 * cut. buffer may be NULL: the call then writes only *length. */
FERMATA_API int fermata_plan_text(const fermata_plan* plan, char* buffer, size_t* length);
/* Frees the plan. Teams that were made with it keep what they need. */
FERMATA_API void fermata_plan_destroy(fermata_plan* plan);

/* ---- Teams ------------------------------------------------------------------------------------------------
 * These functions make the teams whose members call collectives together. A team has a fixed number of
 * members: threads, or processes with any number of threads. One process creates the team. Each thread joins
 * it as a rank, from 0 to members - 1, and calls the collectives with its member handle. Two threads must not
 * use one member handle at the same time. */

typedef struct fermata_team fermata_team;     /* Its members share it. */
typedef struct fermata_member fermata_member; /* One rank's handle. One thread at a time uses it. */

/* -- make and free a team --
 * One process makes the team before any of its threads joins. With FERMATA_PROCESSES, forked children
 * inherit the team, and unrelated processes attach to it (fermata_team_attach). Do not make a team for
 * each call: make it once and keep it. */

enum fermata_wait {
  FERMATA_WAIT_AUTO = 0,  /* spins, yields or parks, whichever suits the number of members and CPUs */
  FERMATA_WAIT_SPIN = 1,  /* spins: for a CPU for each member */
  FERMATA_WAIT_YIELD = 2, /* yields: for more members than CPUs, and no other programs */
  FERMATA_WAIT_PARK = 3   /* sleeps until it is woken: for loaded machines and long waits */
};

typedef struct fermata_team_config {
  size_t size;               /* sizeof(fermata_team_config) */
  int members;               /* 1..4096 */
  int engine;                /* FERMATA_THREADS: the team is in memory of this process. */
                             /* FERMATA_PROCESSES: the team is in a memfd, which a forked child inherits. */
                             /* Each process may join any number of ranks, for threads of its own. */
  int wait;                  /* enum fermata_wait. */
                             /* The environment's FERMATA_WAIT=auto|spin|yield|park overrides it. */
  int tagged;                /* Not 0: the team's barrier carries tags, so fermata_barrier_tagged works. */
  const int* cpus;           /* `members` entries: the CPU on which each rank will run. NULL: unpinned. */
                             /* The planner uses them. The team does not pin its members. */
  const fermata_plan* const* plans; /* plan_count plans that replace the cached or estimated ones */
  size_t plan_count;
  double stall_seconds;      /* > 0: a member that has waited for so long reports on stderr. */
                             /* 0: FERMATA_STALL_SECONDS decides; without it there are no reports. */
  double refresh_seconds;    /* Over several hosts. > 0: the running team refreshes its profile, at most */
                             /* this often, and changes its plans where that pays. */
                             /* 0: FERMATA_REFRESH decides; without it there are no refreshes. < 0: never. */
} fermata_team_config;
#define FERMATA_TEAM_CONFIG_INIT \
  {sizeof(fermata_team_config), 1, FERMATA_THREADS, FERMATA_WAIT_AUTO, 0, NULL, NULL, 0, 0.0, 0.0}

/* Makes a team. Its plans come from config->plans, from the cache or from estimates. The call measures
 * nothing. Errors: ARGUMENT, MEMORY, SYSTEM, VERIFY. */
FERMATA_API int fermata_team_create(const fermata_team_config* config, fermata_team** out);
/* Frees this process's handle. When the last process frees its handle, the team's memory is freed. Before the
 * call, each member of this process must have left (fermata_member_leave). A member that has not left must
 * never be used again. */
FERMATA_API void fermata_team_destroy(fermata_team* team);
/* Returns the number of members, joined or not. */
FERMATA_API int fermata_team_size(const fermata_team* team);

/* -- share a team with unrelated processes --
 * For processes of one user that did not inherit the team by fork. One process serves the team under a
 * name, and the others attach to it by that name. Then each process joins its ranks. Any process of the
 * user may attach: the name is no secret. */

/* Offers a team of processes to unrelated processes of the same user, through an abstract Unix socket. Waits
 * until `count` processes have attached, or until `seconds` have passed (TIMEOUT). Then the name is free
 * again. Errors: ARGUMENT (also for a team of threads), BUSY (the name is taken), SYSTEM, TIMEOUT (fewer
 * processes have attached). */
FERMATA_API int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds);
/* Attaches to a served team. The call retries until `seconds` have passed (TIMEOUT). A process needs one
 * handle, however many ranks it joins. Further handles are for the same team. Errors: ARGUMENT (the name is
 * too long), MISMATCH (another version of Fermata made the team), SYSTEM, TIMEOUT (nobody serves the
 * team). */
FERMATA_API int fermata_team_attach(const char* name, double seconds, fermata_team** out);

/* -- make further teams of processes that share one --
 * For processes that have one team in common and need more teams, without a name or a descriptor for each.
 * One process makes the team and passes *place to the others, for example by a broadcast. */

/* Makes a team of processes in the memory of `neighbour`. All these processes have created that team or
 * attached to it. The call opens no descriptor and passes none. The two teams may have different members. No
 * member need have joined the neighbour. The other processes attach by *place, while this process holds the
 * new team. The neighbour's memory stays until its last team is freed. It holds at most 2,048 teams at a
 * time (MEMORY). Teams with the same members, tags and CPUs share one search for plans. A forked child may
 * use its copy of the handle while its parent's is valid, or once the child has joined. The memory that a
 * killed process held stays taken. Errors: those of fermata_team_create. */
FERMATA_API int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config,
                                           uint64_t* place, fermata_team** out);
/* Attaches to the team at `place`. `neighbour` is any team in the same memory. Errors: ARGUMENT (the team
 * does not exist or has been destroyed), MEMORY, MISMATCH. */
FERMATA_API int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out);

/* -- become a member of a team, and stop being one --
 * Each thread that will call collectives joins first, and leaves when it has made its last call. A process
 * may join several ranks, one for each of its threads. Do not leave while other members still wait for
 * this one. Two threads must not use one member at the same time. */

#define FERMATA_ANY_RANK (-2) /* the lowest rank that nobody has joined yet */

/* Joins the team as `rank`: 0..members-1, or FERMATA_ANY_RANK. Each rank is joined once. The thread or
 * process that will call the collectives makes this call. The call compares the plans' hash with the team's
 * (MISMATCH). Errors: ARGUMENT, BUSY (the rank is taken), FORKED, MISMATCH. */
FERMATA_API int fermata_team_join(fermata_team* team, int rank, fermata_member** out);
/* Gives up the rank and frees the handle. Members that wait for this one, at the time or later, get
 * FERMATA_ERR_MEMBER_LOST. NULL does nothing. */
FERMATA_API void fermata_member_leave(fermata_member* member);
FERMATA_API int fermata_member_rank(const fermata_member* member);  /* Returns its rank, from 0. */
FERMATA_API int fermata_member_count(const fermata_member* member); /* Returns its team's size. */

/* -- break a team --
 * For an error or a signal after which the members shall wait no longer. A broken team stays broken: leave
 * it, destroy it, and make a new one. */

/* Makes the team unusable. All members that wait or will wait get FERMATA_ERR_BROKEN. A member whose calls
 * never wait gets it within 16,384 calls. Any thread may call the function. It is async-signal-safe. */
FERMATA_API void fermata_team_abort(fermata_team* team);

/* -- divide a team into sub-teams --
 * For collectives among some of the members, such as the rows of a matrix. Every member of the team makes
 * the call. Do not call it for each step: keep the new teams. */

/* Collective. Members with equal colour form a new team, ordered by (key, rank). A member with colour < 0
 * joins none and gets *out = NULL. fermata_member_leave leaves the new team and frees the member's share of
 * it. Processes pass each other the new team within the member's timeout, 30 s at most (TIMEOUT). Errors:
 * those of a collective, MEMORY, SYSTEM, UNSUPPORTED (a team over hosts was split too often). */
FERMATA_API int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out);

/* -- limit the time of a wait, and go on after it --
 * For programs that must not wait for ever. A timeout ends the wait, not the operation. So do not use the
 * buffers, and do not begin another collective, before fermata_resume has ended the operation. */

/* Sets how many seconds a blocking call may wait. <= 0: no limit (the default). After FERMATA_ERR_TIMEOUT the
 * operation is still outstanding. fermata_resume waits for it again, with the same buffers.
 * fermata_team_abort or fermata_member_leave abandons it. Meanwhile every other collective of this member
 * returns BUSY. Errors: ARGUMENT (seconds is a NaN). */
FERMATA_API int fermata_member_set_timeout(fermata_member* member, double seconds);
/* Continues the operation that a timeout or an idle hook left outstanding, with the same buffers. ARGUMENT:
 * nothing is outstanding. */
FERMATA_API int fermata_resume(fermata_member* member);

/* -- do other work while a member waits --
 * For programs whose waiting threads must also serve something else: an event loop, a signal flag, a
 * transport. The hook must not call collectives of the same member. It should be short: the member does
 * not look for its signal meanwhile. */

/* A waiting member calls its idle hook after a bounded spin, and before and between timed parks. If the hook
 * returns 0, the member waits on. Any other value makes the blocking call return FERMATA_ERR_INTERRUPTED, and
 * the operation stays outstanding: fermata_resume ends it. */
typedef int (*fermata_idle_hook)(fermata_member* member, void* user);

/* Sets the function that this member calls while it waits, with `user` as its last argument. NULL: none. */
FERMATA_API int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user);
/* Sets how long this member may sleep between two calls of its idle hook. seconds > 0: an eighth of the time
 * that it has waited so far, at least 50 us and at most `seconds`. <= 0: up to 20 ms (the default). Over
 * hosts, the default is an eighth, up to 1 ms. Set it for a hook that drives work for which others wait.
 * Errors: ARGUMENT (seconds is a NaN). */
FERMATA_API int fermata_member_set_idle_sleep(fermata_member* member, double seconds);

/* -- let members give different lengths --
 * For programs, such as MPI programs, whose receivers give the size of their buffer instead of the size of
 * the data. Leave it off elsewhere: with it, Fermata does not report lengths that differ by mistake. */

/* on not 0: members may give different lengths, as in MPI, without a MISMATCH. All members set the same
 * value. A receiver stores as much as fits into its buffer. If its buffer is longer than the data, the rest
 * of the buffer stays unchanged. If more data came than fits, it gets TRUNCATED, and the team stays usable.
 * This holds for gatherv, scatterv and alltoallv; for blocking broadcast, scatter, gather and reduce; and for
 * broadcast and reduce that are begun. In a reduce or gather, all members but the root must give the same
 * length. 0: off (the default). */
FERMATA_API int fermata_member_set_bounded(fermata_member* member, int on);

/* -- see where each member is --
 * For logs and debuggers, when a team seems to hang. FERMATA_STALL_SECONDS and config.stall_seconds make
 * waiting members write such lines by themselves. The text is for people: do not parse it. */

/* Writes a text with one line per member: the call in which the member is. *length is as in
 * fermata_plan_text. Any thread may call it at any time. */
FERMATA_API int fermata_team_report(const fermata_team* team, char* buffer, size_t* length);

/* -- pin a thread --
 * For members of a team with config.cpus: the planner uses these CPUs, but the team pins nobody. Do not
 * pin members if there are more of them than CPUs. */

/* Pins the calling thread to one CPU (OS index). Errors: ARGUMENT (the CPU is not allowed here), SYSTEM. */
FERMATA_API int fermata_pin(int cpu);

/* ---- Collectives ------------------------------------------------------------------------------------------
 * These calls synchronize members, and move small data on the way. All members of a team make these calls, in
 * the same order. A callback or idle hook must not make them for its own member.
 *
 * A call whose result depends on another member also makes visible what that member wrote before its own
 * call. In a barrier or allreduce, each member sees the writes of all. In a broadcast, all see the root's
 * writes. In a reduce, the root sees the writes of all.
 *
 * Errors of each call: MEMBER_LOST, MISMATCH, BROKEN, TIMEOUT, INTERRUPTED, FORKED, BUSY. */

/* -- element types, and operators on them --
 * The type and the operator of a reduction: fermata_allreduce, fermata_reduce, fermata_reduce_scatter,
 * fermata_scan, fermata_exscan. Calls that only move data take a type, too. For other types and operators,
 * use fermata_execute. Do not give an operator to a type for which it is not defined: that is ARGUMENT. */

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
/* Every member gets the same bits, also of these values:
 * - min and max of floating-point numbers: -0 is less than +0. If a value is a NaN, the result is a NaN.
 * - minloc and maxloc: among pairs with equal values, the one with the lowest index wins. Here -0 and +0 are
 *   equal, and NaNs are equal. A NaN wins over every number.
 * - sum and prod: NaNs are made quiet, and the one whose bits are the largest unsigned number is the result.
 *   A NaN that arises (infinity - infinity, 0 * infinity) is the positive quiet NaN without payload.
 *
 * All members must use the same rounding mode. They must also agree on whether subnormal numbers are flushed
 * to zero. */

typedef struct fermata_float_int { float value; int32_t index; } fermata_float_int;
typedef struct fermata_double_int { double value; int32_t index; } fermata_double_int;
typedef struct fermata_int32_int { int32_t value; int32_t index; } fermata_int32_int;
typedef struct fermata_int64_int { int64_t value; int32_t index; } fermata_int64_int;
typedef struct fermata_int16_int { int16_t value; int32_t index; } fermata_int16_int;

/* -- wait until all members have come --
 * For phases of a computation: after the call, each member sees what all wrote before it. Use
 * fermata_arrive and fermata_depart where a member has work between the two that needs nobody else. Where
 * members also need a sum or a broadcast value, call fermata_allreduce instead of both. */

/* Waits until all members have called it. */
FERMATA_API int fermata_barrier(fermata_member* member);
/* A split-phase barrier. fermata_arrive returns at once, and fermata_depart waits until all members have
 * arrived. Work between the two overlaps with the wait. */
FERMATA_API int fermata_arrive(fermata_member* member);
FERMATA_API int fermata_depart(fermata_member* member);
/* Tells whether fermata_depart would wait. Returns OK if it would not, else PENDING. */
FERMATA_API int fermata_test(fermata_member* member);

/* -- a barrier that finds members at different places --
 * For programs in which members may reach different barriers by mistake: each barrier of the source gives
 * a tag of its own. It needs config.tagged. Do not set that for teams without tags, since it rules out
 * some of the fastest plans. */

/* A barrier that compares tags, as UPC's barrier with an expression. If two members gave different tags,
 * every member gets MISMATCH, and the team stays usable. A member that called fermata_barrier matches any
 * tag. UNSUPPORTED: config.tagged was 0. */
FERMATA_API int fermata_barrier_tagged(fermata_member* member, uint32_t tag);

/* -- fold the data of all members --
 * For sums, extremes and flags over all members. Put values that are due at the same time into one call:
 * two cost about as much as one. fermata_reduce is not a barrier: only the root waits for all. Calls with
 * different counts, types or operators at different members are a mistake (MISMATCH). */

#define FERMATA_MAX_PAYLOAD 56 /* bytes of data that the cache line of a signal carries */

/* Folds `count` elements of every member by `op`, and writes the result to out at every member. Up to 56
 * bytes travel on the signals' cache lines, and then in and out may overlap in any way. Larger data moves as
 * blocks (see fermata_allgather). in == out is allowed at any size. Every member gets the same bits, and
 * every run of a plan gives them again. ARGUMENT: the operator is not defined for the type. */
FERMATA_API int fermata_allreduce(fermata_member* member, const void* in, void* out, size_t count, int type,
                                  int op);
/* As fermata_allreduce, but only the root gets the result. Elsewhere out may be NULL. Each other member
 * returns when it has sent its part. ARGUMENT: also if root is no rank. */
FERMATA_API int fermata_reduce(fermata_member* member, const void* in, void* out, size_t count, int type, int
                               op, int root);

/* -- copy one member's data to all --
 * For parameters, decisions and data that one member has. It is not a barrier: the root does not wait for
 * the others. All members give the same number of bytes; see fermata_member_set_bounded for programs that
 * cannot. */

/* Copies `bytes` bytes of the root to all members. Up to 56 bytes travel on the signals' cache lines. Larger
 * data moves as a block (see fermata_allgather). The root returns when it has sent the data, the others when
 * they have it. ARGUMENT: root is no rank. */
FERMATA_API int fermata_broadcast(fermata_member* member, void* data, size_t bytes, int root);

#ifdef __cplusplus
}
#endif

#include <fermata/barriers.h>
#include <fermata/blocks.h>

#endif
