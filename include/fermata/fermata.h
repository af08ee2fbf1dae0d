/* Fermata: barriers and small collectives that are planned for the machine on which they run. fermata.h
 * declares the C ABI, of which status.h, lines.h, blocks.h and barriers.h are parts. hosts.h, mpi.h and job.h
 * are for teams over several hosts, and for MPI.
 *
 * Conventions
 * - A function with an int status returns 0 (FERMATA_OK), a positive status that is no error, or a negative
 *   error. fermata_team_size, fermata_member_rank and fermata_member_count return the number that they are
 *   asked for, or a negative error.
 * - Results go to out-pointers. A function writes them on success only, unless its description says
 *   otherwise.
 * - fermata_error_detail() describes the calling thread's last error in a sentence. The functions of
 *   libfermata-rt (anonymous and ranked barriers) leave no detail. Those of mpi.h and job.h do not always
 *   leave one.
 * - Handles are opaque. Destroying NULL does nothing. Do not use a freed handle: not every function detects
 *   one and returns ARGUMENT.
 * - Fermata never exits or aborts the process. Signal masks stay as they are, except while a call creates the
 *   progress thread. The functions print only stall reports, and only if FERMATA_STALL_SECONDS or
 *   config.stall_seconds asks for them.
 * - fermata_team_config, fermata_plan_request and fermata_operation begin with their own size. Initialize
 *   them with their _INIT macros.
 * - FERMATA_DISABLE=1 switches the preload libraries off, but not this API.
 * - Plans and profiles are cached in files in $XDG_CACHE_HOME/fermata, or in $HOME/.cache/fermata if
 *   XDG_CACHE_HOME is not set or not an absolute path. The command `fermata` writes them. These functions
 *   only read them. But with FERMATA_REFRESH=SECONDS,keep, refreshes of a team update its profile. */
#ifndef FERMATA_FERMATA_H
#define FERMATA_FERMATA_H

#include <stddef.h>
#include <stdint.h>

/* The comments name errors without their prefix, as in TIMEOUT. */
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
 * SYSTEM (the topology of this machine cannot be read). */
FERMATA_API int fermata_topology_discover(fermata_topology** out);
/* Loads a topology from a file: hwloc's XML, or what `fermata topo` prints with --text or --json. Load XML
 * only from a source that you trust, since hwloc reads it unchecked. Errors: NOT_FOUND (the file cannot be
 * opened), PARSE (the file is no valid topology), UNSUPPORTED (this build of Fermata reads no JSON). */
FERMATA_API int fermata_topology_load(const char* path, fermata_topology** out);
/* Writes how many members can run at once: one on each CPU of the topology, or fewer if its cgroup quota
 * (rounded up) is less. */
FERMATA_API int fermata_topology_cpus(const fermata_topology* topology, int* count);
/* Frees the topology. NULL does nothing. */
FERMATA_API void fermata_topology_destroy(fermata_topology* topology);

/* -- the measured costs of signals --
 * For programs that make plans with a profile of their choice (fermata_plan_request). Teams do not need
 * these calls. None of them measures: the command `fermata profile` does. */

/* Loads a profile that `fermata profile` has measured, on any machine. path NULL: this machine's profile for
 * threads, from the cache. Errors: NOT_FOUND (the file of that path cannot be opened, or the cache has no
 * profile), PARSE (the file is no valid profile, or with path NULL another machine's), SYSTEM (only with path
 * NULL: the cache's file exists but cannot be opened or read, or the topology of this machine cannot be
 * read), UNSUPPORTED (this build of Fermata reads no JSON). */
FERMATA_API int fermata_profile_load(const char* path, fermata_profile** out);
/* Frees the profile. NULL does nothing. */
FERMATA_API void fermata_profile_destroy(fermata_profile* profile);

/* -- make, load and describe a plan --
 * For programs that choose the schedule of a team themselves: pass the plans in config.plans of
 * fermata_team_create. Teams without such plans need none of these calls. A plan is for one number of
 * members: a team of another size refuses it (ARGUMENT). A team ignores a plan for which it has no use, such
 * as that of a barrier with tags if config.tagged is 0. */

enum fermata_engine { FERMATA_THREADS = 0, FERMATA_PROCESSES = 1 };

typedef struct fermata_plan_request {
  size_t size;                       /* sizeof(fermata_plan_request) */
  int members;                       /* 1..4096 */
  int collective;                    /* enum fermata_collective, up to FERMATA_ALLREDUCE */
  int engine;                        /* enum fermata_engine */
  size_t payload;                    /* bytes of each member, 0..56; the plan serves 0..8 or 9..56. */
                                     /* For a barrier: 0, or any other size if it carries tags. */
  const int* cpus;                   /* `members` entries: the OS index of each rank's CPU. NULL: unpinned. */
  const char* algorithm;             /* e.g. "kary(4)", or by level, outermost first, "kary(8)/linear". */
                                     /* NULL: the planner chooses. */
  const char* layout;                /* e.g. "packed+2slots". NULL: the planner chooses. */
                                     /* "packed:published": stage by stage; the last holds for the rest. */
  const fermata_topology* topology;  /* NULL: this machine */
  const fermata_profile* profile;    /* NULL: the cached one for the engine or for threads, else estimates. */
                                     /* With a topology, NULL means estimates from that topology. */
} fermata_plan_request;
#define FERMATA_PLAN_REQUEST_INIT \
  {sizeof(fermata_plan_request), 1, FERMATA_BARRIER, FERMATA_THREADS, 0, NULL, NULL, NULL, NULL, NULL}

/* Makes a proved plan. If topology, profile, algorithm and layout are all NULL, the call takes the cache's
 * plan, if there is one. Otherwise the planner chooses by the profile or by estimates. The call never
 * measures. Errors: ARGUMENT, NOT_FOUND (the algorithm does not exist), PARSE (the name of the algorithm or
 * the layout is malformed), VERIFY, UNSUPPORTED (no plan has this algorithm, layout and payload, or the
 * payload exceeds 56 bytes), SYSTEM (the topology of this machine cannot be read). */
FERMATA_API int fermata_plan_make(const fermata_plan_request* request, fermata_plan** out);
/* Loads a plan that `fermata plan` has saved: of a barrier, or of a broadcast, reduce or allreduce of at most
 * 56 bytes. The call proves the plan again before it accepts it. Errors: NOT_FOUND (the file cannot be
 * opened), PARSE (the file is no such plan), VERIFY, UNSUPPORTED (this build of Fermata reads no JSON). */
FERMATA_API int fermata_plan_load(const char* path, fermata_plan** out);
/* Writes the text that `fermata explain` prints. At the call, *length is the buffer's capacity in bytes. At
 * the return, it is the number of bytes that the text needs, with the final NUL. A text that does not fit is
 * no error: it is cut, and ends with a NUL. buffer may be NULL: the call then writes only *length. */
FERMATA_API int fermata_plan_text(const fermata_plan* plan, char* buffer, size_t* length);
/* Frees the plan. Teams that were made with it keep what they need. NULL does nothing. */
FERMATA_API void fermata_plan_destroy(fermata_plan* plan);

/* ---- Teams ------------------------------------------------------------------------------------------------
 * The members of a team call collectives together. A team has a fixed number of members: threads, or
 * processes with any number of threads. One process creates the team, or one process of each host, or all
 * processes together (fermata_team_create_mpi). Each thread joins it as a rank, from 0 to members - 1, and
 * calls the collectives with its member handle. Two threads must not use one member handle at the same
 * time. */

typedef struct fermata_team fermata_team;     /* Its members share it. */
typedef struct fermata_member fermata_member; /* One rank's handle. One thread at a time uses it. */

/* -- make and free a team --
 * One process makes the team before any of its threads joins. With FERMATA_PROCESSES, forked children
 * inherit the team, and unrelated processes attach to it (fermata_team_attach). Do not make a team for
 * each call: make it once and keep it. */

enum fermata_wait {
  FERMATA_WAIT_AUTO = 0,  /* spins, yields or sleeps: by the numbers of members and CPUs, and by the load */
  FERMATA_WAIT_SPIN = 1,  /* spins: where each member has a CPU */
  FERMATA_WAIT_YIELD = 2, /* yields: where members outnumber CPUs, without other programs */
  FERMATA_WAIT_PARK = 3   /* sleeps until it is woken: for loaded machines and long waits */
};

typedef struct fermata_team_config {
  size_t size;               /* sizeof(fermata_team_config) */
  int members;               /* 1..4096 */
  int engine;                /* FERMATA_THREADS: the team is in memory of this process. */
                             /* FERMATA_PROCESSES: the team is in a memfd, which a forked child inherits. */
                             /* Each process may join any number of ranks, for threads of its own. */
  int wait;                  /* enum fermata_wait, for all processes of the team. The variable FERMATA_WAIT */
                             /* (auto, spin, yield or park) overrides it. In the process that makes the */
                             /* team, the variable holds for all processes; in one that attaches, for that */
                             /* process. */
  int tagged;                /* Not 0: the team's barrier carries tags, so fermata_barrier_tagged works. */
  const int* cpus;           /* `members` entries: the CPU to which the program pins each rank. NULL: */
                             /* unpinned. The planner uses them. The team does not pin its members. With */
                             /* NULL, a team on one host that later finds each member pinned to one CPU */
                             /* may change to plans for these CPUs. It then drops `plans`, too: give */
                             /* cpus with them. */
  const fermata_plan* const* plans; /* plan_count plans that replace the cached or estimated ones; not in */
                                    /* sub-teams (fermata_team_split) */
  size_t plan_count;
  double stall_seconds;      /* > 0: a member that has waited for so long reports on stderr, in any */
                             /* process of the team. <= 0: FERMATA_STALL_SECONDS of the process that */
                             /* makes the team decides for all. If it is 0 or not set there, that of */
                             /* each attaching process decides for that process. Without it there are */
                             /* no reports. */
  double refresh_seconds;    /* Over several hosts. > 0: the running team refreshes its profile, about */
                             /* every so many seconds, and changes its plans where that pays. */
                             /* 0: FERMATA_REFRESH decides; without it there are no refreshes. < 0: never. */
                             /* There are none, either, in a team of more than 1,024 members, nor after */
                             /* fermata_prepare. */
} fermata_team_config;
#define FERMATA_TEAM_CONFIG_INIT \
  {sizeof(fermata_team_config), 1, FERMATA_THREADS, FERMATA_WAIT_AUTO, 0, NULL, NULL, 0, 0.0, 0.0}

/* Makes a team. A collective's plan comes from config->plans, else from the cache, else from the planner: by
 * the cache's profile, or without one by estimates. The call measures nothing. Errors: ARGUMENT (or a plan is
 * for another number of members, or for several hosts), MEMORY, SYSTEM, UNSUPPORTED (a plan cannot be
 * compiled), VERIFY. */
FERMATA_API int fermata_team_create(const fermata_team_config* config, fermata_team** out);
/* Frees this process's handle. When the last process frees its handle, the team's memory is freed. Before the
 * call, each member of this process must have left (fermata_member_leave). NULL does nothing. */
FERMATA_API void fermata_team_destroy(fermata_team* team);
/* Returns the number of members, joined or not. */
FERMATA_API int fermata_team_size(const fermata_team* team);

/* -- share a team with unrelated processes --
 * For processes of one user that did not inherit the team by fork. One process serves the team under a
 * name, and the others attach to it by that name. Then each process joins its ranks. Any process of the
 * user may attach: the name is no secret. */

/* Offers a team of processes to unrelated processes of the same user, through an abstract Unix socket. `name`
 * has 1 to 99 bytes. The call waits until it has served `count` calls of fermata_team_attach, or until
 * `seconds` have passed (TIMEOUT). Then the name is free again. A process that attaches again counts again.
 * The serving process has the team already, and does not attach. Errors: ARGUMENT (or the team is of threads,
 * or from fermata_team_create_within), BUSY (the name is taken), SYSTEM, TIMEOUT (fewer than `count` calls of
 * fermata_team_attach were served). */
FERMATA_API int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds);
/* Attaches to a served team. The call retries until `seconds` have passed (TIMEOUT). A process needs one
 * handle, however many ranks it joins. If it attaches again, it gets another handle of the same team. The
 * team's configuration holds here, too. The FERMATA_WAIT of this process overrides config.wait, if the
 * process has no handle of the team yet. Errors: ARGUMENT (the name is empty or too long), MISMATCH (another
 * version of Fermata made the team, or its memory is damaged), MEMORY, SYSTEM, TIMEOUT (no process of this
 * user has served a team under this name, or it did not answer). */
FERMATA_API int fermata_team_attach(const char* name, double seconds, fermata_team** out);

/* -- make further teams of processes that share one --
 * For processes that have one team in common and need more teams, without a name or a descriptor for each.
 * One process makes the team and passes *place to the others, for example by a broadcast. */

/* Makes a team of processes in the memory of `neighbour`. Each process of the new team needs a handle of
 * `neighbour`, or of another team in that memory. The call opens no descriptor and passes none. The two teams
 * may have different members. Nobody needs to have joined `neighbour`. As long as any process holds the new
 * team, the other processes can attach by *place. The memory of `neighbour` stays until its last team is
 * freed. It holds at most 2,048 further teams at a time. Teams without plans of their own in `config` share
 * one search for plans if the members, tagged and cpus of their `config` and FERMATA_REPRODUCIBLE are equal
 * (up to 128 different searches). A forked child holds the new team only while it has a member in it.
 * Otherwise another process must hold it while the child uses its copy of the handle. What a killed process
 * held stays taken, and counts among the 2,048, until the memory of `neighbour` is freed. Errors: ARGUMENT
 * (or one of the two teams is of threads), MEMORY (memory ran out, or the memory of `neighbour` holds 2,048
 * further teams), those of fermata_team_create. */
FERMATA_API int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config,
                                           uint64_t* place, fermata_team** out);
/* Attaches to the team at `place`. `neighbour` is any team in the same memory. Errors: ARGUMENT (the team
 * does not exist or has been destroyed, or `neighbour` is a team of threads), MEMORY, MISMATCH (another
 * version of Fermata made the team, or its memory is damaged). */
FERMATA_API int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out);

/* -- become a member of a team, and stop being one --
 * Each thread that will call collectives joins first, and leaves when it has made its last call. A process
 * may join several ranks, one for each of its threads. Do not leave while other members still wait for
 * this one. Two threads must not use one member at the same time. */

#define FERMATA_ANY_RANK (-2) /* the lowest rank of this host that nobody has joined yet */

/* Joins the team as `rank`: 0..members-1, or FERMATA_ANY_RANK. Each rank is joined once: it is not free again
 * after fermata_member_leave. Call it in the process that will call the collectives, and best in the same
 * thread: reports name the thread that joined, and the team counts the CPUs that it may use. The call checks
 * that the plans in the team's memory are still those with which the team was made. Errors: ARGUMENT (or the
 * rank is on another host, or the team is over several hosts and fermata_team_connect has not been called, or
 * a forked child joins a team from fermata_team_create_within that all other processes have freed), BUSY (a
 * member has joined as this rank before, or, with FERMATA_ANY_RANK, as every rank of this host), FORKED (a
 * forked child cannot join a team of threads), MEMORY, MISMATCH (the plans have changed), SYSTEM. */
FERMATA_API int fermata_team_join(fermata_team* team, int rank, fermata_member** out);
/* Gives up the rank and frees the handle. Members that wait for this one, at the time or later, get
 * FERMATA_ERR_MEMBER_LOST. NULL does nothing. */
FERMATA_API void fermata_member_leave(fermata_member* member);
FERMATA_API int fermata_member_rank(const fermata_member* member);  /* Returns the member's rank. */
FERMATA_API int fermata_member_count(const fermata_member* member); /* Returns the team's size. */

/* -- break a team --
 * For an error or a signal after which the members shall wait no longer. A broken team stays broken: leave
 * it, destroy it, and make a new one. */

/* Makes the team unusable. All members that wait in the team or will wait get FERMATA_ERR_BROKEN, in all
 * processes. Those on other hosts get it once a member of this host has got it or has left. A member whose
 * calls never wait gets it later, mostly within 16,384 calls. Sub-teams (fermata_team_split) are teams of
 * their own: the call does not break them. Any thread may call the function. It is async-signal-safe. */
FERMATA_API void fermata_team_abort(fermata_team* team);

/* -- divide a team into sub-teams --
 * For collectives among some of the members, such as the rows of a matrix. Every member of the team makes
 * the call. Do not call it for each step: keep the new teams. */

/* Collective. Members with equal colour form a new team, ordered by (key, rank). A member with colour < 0
 * joins none and gets *out = NULL. fermata_member_leave leaves the new team and frees the member's share of
 * it. Processes pass each other the new team within 30 s, or within the member's timeout if that is shorter.
 * After TIMEOUT or INTERRUPTED the split cannot continue: break the team (fermata_team_abort). If one member
 * of a new team gets SYSTEM or MEMORY, all of them get an error. Errors: those of fermata_barrier, MEMORY
 * (the team may be broken then), SYSTEM, UNSUPPORTED (only if the team that is split is over hosts: it has
 * more than 1,024 members, or was split about a million times). */
FERMATA_API int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out);

/* -- limit the time of a wait, and go on after it --
 * For programs that must not wait for ever. A timeout ends the wait, not the operation. So do not use the
 * buffers before fermata_resume has ended the operation. After a timeout of fermata_request_wait, wait_all or
 * wait_any, wait for the requests again instead. */

/* Sets how many seconds one wait in a blocking call may take. Most calls wait once, and fermata_team_split
 * waits several times. After some calls the team looks for better plans. Waits in that have 60 s if the limit
 * is less, and an error in it breaks the team. <= 0: no limit (the default). After FERMATA_ERR_TIMEOUT of a
 * call, its operation is still outstanding. fermata_resume waits for it again, with the same buffers.
 * fermata_team_abort or fermata_member_leave abandons it. Until then, this member may start persistent
 * operations, and all its other collectives return FERMATA_ERR_BUSY. Waits for requests differ: after
 * FERMATA_ERR_TIMEOUT the requests are still active, and the member may make any call. Errors: ARGUMENT
 * (seconds is a NaN). */
FERMATA_API int fermata_member_set_timeout(fermata_member* member, double seconds);
/* Continues the operation that a timeout or an idle hook left outstanding, with the same buffers. The
 * member's time limit holds for this wait, too. It does not continue a wait for a request. Errors: ARGUMENT
 * (nothing is outstanding), those of the operation. */
FERMATA_API int fermata_resume(fermata_member* member);

/* -- do other work while a member waits --
 * For programs whose waiting threads must also serve something else: an event loop, a signal flag, a
 * transport. The hook must not call collectives of the same member. It should be short: the member does
 * not look for its signal meanwhile. */

/* A waiting member calls its idle hook after a bounded spin, and then before each further spin, yield or
 * sleep. If the hook returns 0, the member waits on. Any other value makes the blocking call return
 * FERMATA_ERR_INTERRUPTED, and the operation stays outstanding: fermata_resume continues it (except
 * fermata_team_split), and fermata_team_abort or fermata_member_leave abandons it. In a wait for a request,
 * the request stays active: wait for it again. After some calls the team looks for better plans. During that
 * the hook is called, but its value does not count. */
typedef int (*fermata_idle_hook)(fermata_member* member, void* user);

/* Sets the function that this member calls while it waits, with `user` as its last argument. NULL: none. */
FERMATA_API int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user);
/* Sets how long this member may sleep between two calls of its idle hook. seconds > 0: at most an eighth of
 * the time that it has waited so far, or 50 us if that is more, but never longer than `seconds` or 20 ms.
 * <= 0 (the default): up to 20 ms, also early in the wait. In a team over several hosts, or split from one,
 * it is then as with 0.001. Call this function if the hook drives work for which others wait. Errors:
 * ARGUMENT (seconds is a NaN). */
FERMATA_API int fermata_member_set_idle_sleep(fermata_member* member, double seconds);

/* -- let members give different lengths --
 * For programs, such as MPI programs, whose receivers give the size of their buffer instead of the size of
 * the data. Leave it off elsewhere: with it, Fermata does not report lengths that differ by mistake. */

/* on not 0: members may give different lengths, as in MPI, without a MISMATCH. 0: off (the default). All
 * members set the same value between the same two calls, while nothing of theirs is outstanding. A receiver
 * stores as much as fits into its buffer. If its buffer is longer than the data, the rest of the buffer stays
 * unchanged. If more data came than fits, it gets TRUNCATED, and the team stays usable. This holds for:
 * - gatherv, scatterv and alltoallv, also begun and prepared. But an empty block needs an empty buffer.
 * - blocking broadcast, scatter, gather and reduce
 * - broadcast and reduce that are begun (fermata_begin, fermata_arrive_with)
 *
 * In a reduce, and in a gather other than gatherv, all members but the root must give the same length.
 * In collectives that are not in the list, all members must give the same lengths: Fermata may not notice if
 * they do not. */
FERMATA_API int fermata_member_set_bounded(fermata_member* member, int on);

/* -- see where each member is --
 * For logs and debuggers, when a team seems to hang. FERMATA_STALL_SECONDS and config.stall_seconds make
 * waiting members write such lines by themselves. The text is for people: do not parse it. */

/* Writes a text with one line per member: the call in which the member is, or its last one. For a member on
 * another host the text only says whether it has left, or has waited long in a call. The capacity and the
 * length of the text are given as in fermata_plan_text: a text that does not fit is cut, which is no error.
 * Any thread may call it while the handle is valid. */
FERMATA_API int fermata_team_report(const fermata_team* team, char* buffer, size_t* length);

/* -- pin a thread --
 * For members of a team with config.cpus: the planner uses these CPUs, but the team pins nobody. Do not
 * pin members if there are more of them than CPUs. */

/* Pins the calling thread to one CPU (OS index). The CPU may lie outside the thread's present affinity.
 * Errors: ARGUMENT (the machine has no such CPU, or the process's cgroup does not allow it), SYSTEM (the
 * system does not permit it). */
FERMATA_API int fermata_pin(int cpu);

#ifdef __cplusplus
}
#endif

#include <fermata/barriers.h>
#include <fermata/blocks.h>
#include <fermata/lines.h>

#endif
