/* Fermata: barriers and small collectives that are planned for the machine on which they run. fermata.h
 * declares the C ABI. hosts.h, mpi.h and job.h add teams over several hosts.
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
 * What the functions' int status means. A comment names errors without their prefix, as in TIMEOUT. Comments
 * leave out two errors: ARGUMENT for a NULL pointer that the function needs, and MEMORY where it
 * allocates. */

/* -- what a status means, and the reason of an error --
 * Call fermata_error_detail right after a function has returned an error, to log or show the reason.
 * fermata_status_string gives a general text for a status from anywhere. Compare statuses, not texts: the
 * texts may change. */

enum fermata_status {
  FERMATA_OK = 0,
  FERMATA_PENDING = 1,          /* The operation has not finished yet. */
  FERMATA_LAST = 2,             /* This arrival filled the phase of an anonymous barrier. */
  FERMATA_ERR_ARGUMENT = -1,    /* An argument is out of its documented range. */
  FERMATA_ERR_MEMORY = -2,      /* Memory ran out. */
  FERMATA_ERR_SYSTEM = -3,      /* A system call failed. The detail names it. */
  FERMATA_ERR_TIMEOUT = -4,     /* The time limit has passed. fermata_resume continues the operation. */
  FERMATA_ERR_MEMBER_LOST = -5, /* A member has died or left. The detail names it. The team is broken. */
  FERMATA_ERR_MISMATCH = -6,    /* Members disagree in tags, calls or plans. The detail names them. */
  FERMATA_ERR_BROKEN = -7,      /* An earlier error or fermata_team_abort broke the team. Destroy it. */
  FERMATA_ERR_PARSE = -8,       /* A file is malformed. The detail gives the line and the reason. */
  FERMATA_ERR_UNSUPPORTED = -9, /* The call is not available here. The detail says what it needs. */
  FERMATA_ERR_FORKED = -10,     /* The handle belongs to the parent of this forked process. */
  FERMATA_ERR_BUSY = -11,       /* This member has an operation outstanding, or a rank or name is taken. */
  FERMATA_ERR_INTERRUPTED = -12, /* The idle hook ended the wait. fermata_resume continues the operation. */
  FERMATA_ERR_VERIFY = -13,     /* A schedule or plan failed its proof. */
  FERMATA_ERR_NOT_FOUND = -14,  /* The file, plan, profile or algorithm does not exist. */
  FERMATA_ERR_TRUNCATED = -15   /* More data came than fits. Fermata dropped the rest. */
                                /* See fermata_member_set_bounded. */
};

/* Returns a general text for the status: static storage, never NULL. */
FERMATA_API const char* fermata_status_string(int status);
/* Returns a sentence about this thread's last error, or "" if there was none. The text is valid until this
 * thread's next call of Fermata. */
FERMATA_API const char* fermata_error_detail(void);

/* -- the version of the library --
 * Tells which library the program runs with. FERMATA_VERSION_MAJOR, FERMATA_VERSION_MINOR and
 * FERMATA_VERSION_PATCH tell which header it was compiled with. */

FERMATA_API const char* fermata_version(void); /* Returns "0.2.0". */

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

/* ---- Collectives on blocks of any size --------------------------------------------------------------------
 * A block is `count` elements of a type; P is the number of members. This holds for the functions below, and
 * for allreduce, reduce and broadcast of more than 56 bytes. All members make the calls in the same order.
 *
 * - Buffers: the count may be 0, and a buffer without elements may be NULL. in and out must not overlap,
 *   except in place.
 * - Completion: a call returns when this member's part is done. Its input may be changed, and its output is
 *   complete. Other members may still be in the call.
 * - Results: they are bitwise the same on every run of a plan.
 * - Memory: each pair of members that exchange blocks has a ring buffer of at most 288 KiB, allocated at its
 *   first use. Some schedules also need memory for blocks in transit, up to half of all the blocks.
 * - Paths: up to 56 bytes in all blocks together can travel on signals' cache lines. The receiver reads a
 *   long block directly from the sender's memory (single copy). Between processes it does so where the system
 *   permits it and the profile says that it is faster.
 *
 * Errors of each call: those of fermata_barrier, ARGUMENT (also for an unknown type, operator or root, and
 * for a count that is too large), UNSUPPORTED (a team of more than 1,024 members, or 256 for alltoall). */

/* Pass it instead of `in`, and the input is read from the place where the output goes. That place is out. For
 * allgather, and for gather's root, it is this member's block in out. A scatter's root passes it instead of
 * `out`, and its own block stays where it is. ARGUMENT: there is no such place. */
#define FERMATA_IN_PLACE ((void*)-1)

/* -- collect a block of every member at the root --
 * For results that one member writes or shows. The root waits for all. Each other member returns when it
 * has sent its block, so this is not a barrier. fermata_allgather gives the blocks to all members. */

/* in: count elements. out: at the root P x count elements, by rank; elsewhere it is ignored. */
FERMATA_API int fermata_gather(fermata_member* member, const void* in, void* out, size_t count, int type, int
                               root);
/* As fermata_gather, with blocks of different sizes. counts and displacements are in elements, have an entry
 * per rank, and are read at the root only. displacements NULL: the blocks follow each other in rank order.
 * Sender and receiver of a block give it the same count. The blocks of the output may lie in any order, but
 * must not overlap (ARGUMENT). */
FERMATA_API int fermata_gatherv(fermata_member* member, const void* in, size_t count, void* out, const size_t*
                                counts, const size_t* displacements, int type, int root);

/* -- deal out the root's blocks --
 * For work that one member divides among all. The others wait for the root. The root returns when it has
 * sent all blocks, so this is not a barrier. */

/* in: at the root P x count elements, by rank; elsewhere it is ignored. out: count elements. */
FERMATA_API int fermata_scatter(fermata_member* member, const void* in, void* out, size_t count, int type, int
                                root);
/* As fermata_scatter, with blocks of different sizes. counts and displacements are as in fermata_gatherv. */
FERMATA_API int fermata_scatterv(fermata_member* member, const void* in, const size_t* counts, const size_t*
                                 displacements, void* out, size_t count, int type, int root);

/* -- collect a block of every member at all members --
 * For data of which every member needs all parts. All members wait for all. Do not use it where the
 * members need only the sum: fermata_allreduce moves less. */

/* in: count elements. out: P x count elements, by rank. */
FERMATA_API int fermata_allgather(fermata_member* member, const void* in, void* out, size_t count, int type);
/* As fermata_allgather, with blocks of different sizes. counts and displacements are in elements and have an
 * entry per rank. counts are the same at all members. displacements NULL: the blocks follow each other in
 * rank order. The blocks of the output must not overlap (ARGUMENT). */
FERMATA_API int fermata_allgatherv(fermata_member* member, const void* in, void* out, const size_t* counts,
                                   const size_t* displacements, int type);

/* -- fold blocks, and give each member one of them --
 * For sums of which each member needs only its own part, such as the residual of its rows. All members
 * wait for all. fermata_allreduce gives the whole result to all members, and moves more data. */

/* in: P x count elements. out: count elements. Rank r gets the fold of all members' blocks number r. */
FERMATA_API int fermata_reduce_scatter(fermata_member* member, const void* in, void* out, size_t count, int
                                       type, int op);
/* As fermata_reduce_scatter, with blocks of different sizes. counts are in elements, have an entry per rank,
 * and are the same at all members. out: as many elements as this rank's entry of counts says. In place, out
 * holds all blocks at the call, and begins with the result at the return. */
FERMATA_API int fermata_reduce_scatterv(fermata_member* member, const void* in, const size_t* counts, const
                                        size_t* displacements, void* out, int type, int op);

/* -- send a block from every member to every member --
 * For transposes, sorts, and other redistributions of data. All members wait for all. Where each
 * member has data for a few others only, this is the wrong call: it sends to all. */

/* in: P x count elements; block j is for rank j. out: P x count elements; block i is from rank i. */
FERMATA_API int fermata_alltoall(fermata_member* member, const void* in, void* out, size_t count, int type);
/* As fermata_alltoall, with blocks of different sizes. Every member gives counts for both sides, in elements,
 * with an entry per rank. Displacements are as in fermata_allgatherv. */
FERMATA_API int fermata_alltoallv(fermata_member* member, const void* in, const size_t* in_counts, const
                                  size_t* in_displacements, void* out, const size_t* out_counts, const size_t*
                                  out_displacements, int type);

/* -- fold the data of the ranks up to this one --
 * For offsets: with counts as data, fermata_exscan tells each member where its part begins. A member waits
 * only for the ranks below it, so this is not a barrier. At rank 0, initialize the output of
 * fermata_exscan before the call. */

/* fermata_scan writes to out the fold of ranks 0 to this one, in rank order. fermata_exscan leaves out this
 * member's own contribution, and does not touch out at rank 0. */
FERMATA_API int fermata_scan(fermata_member* member, const void* in, void* out, size_t count, int type, int
                             op);
FERMATA_API int fermata_exscan(fermata_member* member, const void* in, void* out, size_t count, int type, int
                               op);

/* ---- Requests ---------------------------------------------------------------------------------------------
 * Requests let a member compute, or do other operations, while a collective goes on. An operation describes a
 * collective as data. A member does it at once (fermata_execute), begins it as a nonblocking collective
 * (fermata_begin), or prepares it as a persistent one (fermata_prepare). The caller must free each request.
 * Two threads must not use one member's requests at the same time. */

typedef struct fermata_request fermata_request; /* an operation that its member has begun or prepared */

/* -- do a collective that is described as data --
 * For collectives that the function of the same name cannot describe: elements or operators of the
 * caller's own, and an order of folds. fermata_begin and fermata_prepare take the same structure. For the
 * types and operators of this header, the plain functions are shorter. */

enum fermata_collective {
  FERMATA_DO_BROADCAST = 1, FERMATA_DO_REDUCE, FERMATA_DO_ALLREDUCE, FERMATA_DO_GATHER, FERMATA_DO_SCATTER,
  FERMATA_DO_ALLGATHER, FERMATA_DO_REDUCE_SCATTER, FERMATA_DO_ALLTOALL, FERMATA_DO_SCAN, FERMATA_DO_EXSCAN
};
/* The order in which contributions are folded. */
enum fermata_order {
  FERMATA_ANY_ORDER = 0,    /* The fastest one, the same at all members and on every run. An operator of */
                            /* the caller's own must then commute bit by bit. */
  FERMATA_RANK_ORDER = 1,   /* For an operator that does not commute. It must associate. */
  FERMATA_LEFT_TO_RIGHT = 2 /* ((0 op 1) op 2) op ...: bit by bit the result of a serial loop over the */
                            /* ranks, whatever the team and the machine. It suits sums of floating-point */
                            /* numbers, and operators that do not associate. */
};
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
#define FERMATA_OPERATION_INIT \
  {sizeof(fermata_operation), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0}

/* Does the operation, as the function of the same name does. Either all members call fermata_execute, or all
 * call that function. Errors: those of that function. */
FERMATA_API int fermata_execute(fermata_member* member, const fermata_operation* operation);

/* -- small data in a split-phase collective --
 * For a member that has work between its contribution and the result, as with fermata_arrive.
 * fermata_begin does so for data of any size. Do not use the result before fermata_depart has returned. */

/* Begins a broadcast, reduce or allreduce of at most 56 bytes, in two phases as fermata_arrive, and returns
 * at once. The type and the operator must be of the enumerations above. fermata_test and fermata_depart
 * continue it. The result is there when fermata_depart has returned. Other members may call the blocking
 * function instead. Errors: ARGUMENT, BUSY (another call of this member is outstanding), UNSUPPORTED (any
 * other operation). */
FERMATA_API int fermata_arrive_with(fermata_member* member, const fermata_operation* operation);

/* -- begin a nonblocking collective --
 * For collectives that go on while the member computes, once or seldom. For one that is repeated,
 * fermata_prepare saves the work at each start. Do not touch the buffers before the request is over
 * (fermata_request_wait). The data moves only while this thread calls Fermata, unless there is a progress
 * thread (fermata_progress). */

/* Begins the operation and returns at once. All members make this call in the same order as their other
 * calls. The operation goes on in every call of this member that waits, and in fermata_progress. Until it is
 * over, the request cannot be freed, and the buffers, the operator and its argument must stay valid. The
 * structure, counts and displacements may be freed at once. Errors: those of fermata_execute. */
FERMATA_API int fermata_begin(fermata_member* member, const fermata_operation* operation, fermata_request**
                              out);

/* -- make a persistent collective --
 * For a collective that is repeated with the same arguments: what can be computed once is computed here,
 * and fermata_request_start only starts it. Free it when it is no longer needed: it holds memory of the
 * team. */

/* Makes a persistent operation. All members make this call in the same order as their other calls. It may
 * wait. Then each member starts the operation any number of times, in any order with other requests. A start
 * needs no memory. An operation holds slots of the team until all members have freed it. After a TIMEOUT
 * there is no operation, and fermata_resume ends the call. Errors: MEMORY (at all members: persistent
 * operations hold all of the team's 16 MiB of slots; at one member alone: it has no memory for its part, and
 * the others must free theirs), those of fermata_execute. */
FERMATA_API int fermata_prepare(fermata_member* member, const fermata_operation* operation, fermata_request**
                                out);

/* -- start, change and free a request --
 * For requests from fermata_begin, fermata_prepare and fermata_chain. The caller frees each of them, when
 * it is over. Do not start, reset or free a request while it is active. */

/* Starts the request. A request from fermata_begin begins the same operation once more, as another
 * fermata_begin would. BUSY: the request is active. ARGUMENT: it is a link of a chain. */
FERMATA_API int fermata_request_start(fermata_request* request);
/* Sets other buffers for the next start. Counts, displacements and types stay. Errors: ARGUMENT (as for the
 * operation), BUSY (the request is active). */
FERMATA_API int fermata_request_reset(fermata_request* request, const void* in, void* out);
/* Frees the request. NULL does nothing. BUSY: the request is active. ARGUMENT: it is a link of a chain. */
FERMATA_API int fermata_request_free(fermata_request* request);

/* -- wait for requests, or test them --
 * Each of these calls moves the data of the requests on. fermata_request_test and fermata_request_test_any
 * do not wait. Do not test in an endless loop without other work: wait, which spins and then sleeps. Do
 * not wait in a callback. */

/* Waits until the request is over, and returns its result. After a TIMEOUT (fermata_member_set_timeout) or
 * INTERRUPTED, the request is still active. Errors: those of the operation. */
FERMATA_API int fermata_request_wait(fermata_request* request);
/* Waits for all requests and returns the first error, if any. TIMEOUT or INTERRUPTED ends the call at once.
 * This function, fermata_request_wait_any and fermata_request_test_any skip NULL entries. */
FERMATA_API int fermata_request_wait_all(fermata_request* const* requests, size_t count);
/* Waits until one request is over, writes its index, and returns its result, even if that is an error. A
 * request that is not active counts as over. The requests may belong to any members that this thread uses.
 * The timeout of the first request's member holds. ARGUMENT: all entries are NULL. */
FERMATA_API int fermata_request_wait_any(fermata_request* const* requests, size_t count, size_t* index);
/* Moves the request on. Returns OK, PENDING, or the operation's error. */
FERMATA_API int fermata_request_test(fermata_request* request);
/* As fermata_request_wait_any, without waiting. PENDING: all requests are active. */
FERMATA_API int fermata_request_test_any(fermata_request* const* requests, size_t count, size_t* index);

/* -- call a function when a request is over --
 * For work that follows from a result, such as the next operation of a pipeline, without a thread that
 * waits for it. Set the callback while the request is not active. Do not wait in it. */

/* Is called in the thread that makes progress, whenever the request is over. It may start requests, also this
 * one, and may reset this one first. It may free this one if no call waits for it. It must not wait: a wait
 * for a request and a call on blocks return BUSY there. */
typedef void (*fermata_callback)(fermata_request* request, int status, void* user);

/* Sets the function that is called whenever the request is over. NULL: none. */
FERMATA_API int fermata_request_set_callback(fermata_request* request, fermata_callback callback, void* user);

/* -- one request of several persistent collectives --
 * For collectives that follow each other, such as a reduce among neighbours, an allreduce among leaders
 * and a broadcast back. The chain needs no call of its member between two of them but those that make
 * progress. Do not start or free a link by itself. */

/* Makes one request, a chain, of one or more persistent operations, none of which is active. Starting the
 * chain starts the first operation, and the end of each operation starts the next one. The chain is over
 * with the last operation, or with the first that fails. The operations may belong to several members, in
 * the teams of a hierarchy, if one thread uses them all. The chain owns its operations and frees them with
 * itself. Between uses, each may be reset. Each may have a callback, which runs before the next operation
 * starts and may reset that one. fermata_request_reset of a chain sets the first operation's input and the
 * last one's output. The call is local. Errors: ARGUMENT (also if an operation is not persistent or is in a
 * chain), BUSY (one is active). */
FERMATA_API int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out);

/* -- move requests on while the program computes --
 * Requests move only while their thread calls Fermata. Call fermata_progress now and then during a long
 * computation. Or switch the progress thread on, if the process has a CPU for it. Do not switch it on
 * where all CPUs compute: it takes time from them. */

/* Advances this member's requests for at most max_us microseconds: each in turn, by a piece of bounded size.
 * The next call continues where this one stopped. max_us 0: the call advances each request once. If that
 * moved something, the call waits up to 2 us for each of a few further answers. It also advances the requests
 * of the thread's other members, as each call that waits does. Returns OK if none of this member's requests
 * is active, else PENDING. A thread may take over a member that has requests outstanding. Its first call must
 * then be this one, or a test or wait for one of these requests. */
FERMATA_API int fermata_progress(fermata_member* member, double max_us);
/* Switches this process's progress thread on or off. That thread moves the data of requests while their
 * members' threads compute. It helps only if it has a CPU of its own. on 1: it runs. 0: it ends before the
 * call returns. -1: it runs if FERMATA_PROGRESS_THREAD=1 is in the environment (the default). A member's own
 * thread completes its requests, runs their callbacks and starts the next links of chains, in its next call.
 * Operators of the caller's own run in either thread. Any thread may make this call, at any time. Errors:
 * SYSTEM. */
FERMATA_API int fermata_progress_thread(int on);

/* ---- Anonymous barriers -----------------------------------------------------------------------------------
 * Barriers for threads of one process that have no ranks. With many threads that do know their rank, ranked
 * barriers are faster (fermata_ranked_create). Any thread may arrive, as at a pthread_barrier_t or
 * std::barrier. A phase is full after `count` arrivals, and further arrivals belong to the next phase. So
 * more than `count` threads may use the barrier. The functions are in libfermata-rt. */

typedef struct fermata_anonymous fermata_anonymous;

/* -- make and free a barrier of threads without ranks --
 * For threads of one process that have no ranks, in place of pthread_barrier_t. Make the barrier once and
 * keep it. Do not use it between processes: that is fermata_anonymous_shared_init. */

/* A flag for fermata_anonymous_create: the program does a step of its own before each release. The arrive or
 * drop that fills a phase returns FERMATA_LAST. Its caller does the step, and then calls
 * fermata_anonymous_release. Without the flag, the arrival that fills a phase releases it. */
#define FERMATA_ANONYMOUS_COMPLETION 1u

/* Makes a barrier of `count` arrivals per phase, 1..2^30. flags: 0 or FERMATA_ANONYMOUS_COMPLETION. Errors:
 * ARGUMENT, MEMORY. */
FERMATA_API int fermata_anonymous_create(uint32_t count, unsigned flags, fermata_anonymous** out);
/* Sets the address by which the reports of FERMATA_STALL_SECONDS name the barrier. The default is the
 * barrier's own address. Call it before the barrier is used. */
FERMATA_API void fermata_anonymous_name(fermata_anonymous* barrier, const void* name);
/* Frees the barrier. No thread may arrive after this call, and the last phase must be over. Threads may still
 * be returning from their wait for it: they touch only memory that Fermata never returns to the system. */
FERMATA_API void fermata_anonymous_destroy(fermata_anonymous* barrier);

/* -- meet at a barrier of threads without ranks --
 * fermata_anonymous_meet is the whole barrier. fermata_anonymous_arrive and fermata_anonymous_wait are its
 * two halves, for a thread with work between them. fermata_anonymous_drop is for a thread that stops
 * taking part. Threads that do a step before each release (FERMATA_ANONYMOUS_COMPLETION) must not call
 * fermata_anonymous_meet. */

/* Arrives once and waits. Returns FERMATA_LAST to exactly one caller per phase, FERMATA_OK to the others.
 * UNSUPPORTED: the barrier has FERMATA_ANONYMOUS_COMPLETION. */
FERMATA_API int fermata_anonymous_meet(fermata_anonymous* barrier);
/* Arrives `arrivals` times, 1..2^30, and writes to *phase the phase for which to wait. With
 * FERMATA_ANONYMOUS_COMPLETION, all arrivals must be in one phase: at most as many as it still lacks. Returns
 * FERMATA_LAST if an arrival fills the phase, else FERMATA_OK. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_arrive(fermata_anonymous* barrier, uint32_t arrivals, uint64_t* phase);
/* Arrives once, and makes each later phase one arrival smaller. Returns as fermata_anonymous_arrive. Without
 * FERMATA_ANONYMOUS_COMPLETION, a later phase may have no FERMATA_LAST. That happens if all its threads
 * arrive before the thread that filled the previous phase continues. */
FERMATA_API int fermata_anonymous_drop(fermata_anonymous* barrier, uint64_t* phase);
/* Releases the threads of a full phase. With FERMATA_ANONYMOUS_COMPLETION, the thread that got FERMATA_LAST
 * calls it. UNSUPPORTED: the barrier has no FERMATA_ANONYMOUS_COMPLETION. */
FERMATA_API int fermata_anonymous_release(fermata_anonymous* barrier, uint64_t phase);
/* Waits until the phase is over. If it is, the call returns at once. */
FERMATA_API int fermata_anonymous_wait(fermata_anonymous* barrier, uint64_t phase);

/* -- a barrier in memory that processes share --
 * For processes that map common memory, in place of a process-shared pthread_barrier_t. Where a process
 * may die while others wait, use a team of processes (fermata_team_create), which reports it. */

/* A barrier between processes, in 24 bytes of memory that all participants have mapped, each at any address.
 * The participants share nothing else, not even a descriptor. All must use the same version of Fermata. */
typedef struct fermata_anonymous_shared {
  uint64_t state[3];
} fermata_anonymous_shared;

/* Initializes the barrier for `count` arrivals per phase, 1..2^30, whatever the memory holds. One process
 * calls it, once, before others use the barrier. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_shared_init(fermata_anonymous_shared* barrier, uint32_t count);
/* Returns the arrivals per phase with which the barrier was initialized. */
FERMATA_API uint32_t fermata_anonymous_shared_count(const fermata_anonymous_shared* barrier);
/* Arrives and waits. If a process dies in this call, the others wait for ever. Returns FERMATA_LAST to
 * exactly one caller per phase, FERMATA_OK to the others. */
FERMATA_API int fermata_anonymous_shared_meet(fermata_anonymous_shared* barrier);
/* Ends the use of the barrier. No thread may arrive after this call, and the last phase must be full. The
 * call waits until all threads have left. Then the memory may be unmapped, or initialized again. */
FERMATA_API void fermata_anonymous_shared_destroy(fermata_anonymous_shared* barrier);

/* ---- Ranked barriers of threads ---------------------------------------------------------------------------
 * Barriers and allreduces for threads of one process that know their rank. They need no planner. The
 * barrier's plan is the one that `fermata plan` has saved for this many unpinned threads of this machine.
 * Without a saved plan, the barrier uses a built-in one, which does not depend on where threads run. It also
 * does so if the machine has enough CPUs for the threads, but this process may not use enough of them. The
 * functions are in libfermata-rt. */

typedef struct fermata_ranked fermata_ranked;

/* -- make, describe and free a barrier of threads with ranks --
 * For threads of one process that know their number, without the planner and the libraries that it needs.
 * A team (fermata_team_create) also finds mistakes, knows processes, and has more collectives. */

/* Makes a barrier for `members` ranks, 1..4096. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_ranked_create(uint32_t members, fermata_ranked** out);
/* Frees the barrier. All threads must have left it. NULL does nothing. */
FERMATA_API void fermata_ranked_destroy(fermata_ranked* barrier);
/* Writes a description of the barrier for people: "dissemination, packed; saved; waiting: auto". A NUL ends
 * it, and it is cut to capacity bytes. "saved": the plan comes from `fermata plan`; else "built-in". Errors:
 * ARGUMENT. */
FERMATA_API int fermata_ranked_describe(const fermata_ranked* barrier, char* text, size_t capacity);

/* -- meet at a barrier of threads with ranks --
 * All ranks call it, once for each phase. Two threads must not call it with the same rank at the same
 * time. */

/* Waits until all ranks have called it. A rank's calls may come from different threads, as long as each call
 * happens before the next. The call does not change errno. Errors: ARGUMENT. */
FERMATA_API int fermata_ranked_meet(fermata_ranked* barrier, uint32_t rank);
/* Returns how many calls the rank has made so far, or 0 if the rank is not valid. Only a thread that may make
 * the rank's calls may call this. */
FERMATA_API uint64_t fermata_ranked_calls(const fermata_ranked* barrier, uint32_t rank);

/* -- fold data of up to 56 bytes of threads with ranks --
 * For a sum or another fold that all ranks need, in one call that is also a barrier. All ranks give the
 * same number of bytes and the same fold: nothing compares them. */

/* Computes acc = acc op other. acc and other never overlap. */
typedef void (*fermata_fold)(void* acc, const void* other, void* context);
/* Folds the data of all ranks, 1..56 bytes, in rank order. Every rank gets the same bits in its data. Errors:
 * ARGUMENT. */
FERMATA_API int fermata_ranked_allreduce(fermata_ranked* barrier, uint32_t rank, void* data, size_t bytes,
                                         fermata_fold fold, void* context);

#ifdef __cplusplus
}
#endif
#endif
