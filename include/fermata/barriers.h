/* Barriers without a team, which libfermata-rt has: anonymous ones, and ranked ones of threads. fermata.h
 * includes this header. */
#ifndef FERMATA_BARRIERS_H
#define FERMATA_BARRIERS_H

#include <fermata/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Anonymous barriers -----------------------------------------------------------------------------------
 * Barriers for threads without ranks, of one process or of several (fermata_anonymous_shared_init). With many
 * threads of one process that do know their rank, ranked barriers are mostly faster (fermata_ranked_create).
 * Any thread may arrive, as at a pthread_barrier_t or std::barrier. A phase is full after `count` arrivals,
 * and further arrivals belong to the next phase. So more than `count` threads may use the barrier, unless
 * threads drop (fermata_anonymous_drop) or it has FERMATA_ANONYMOUS_COMPLETION. A barrier between processes
 * has neither drops nor that flag. The functions are in libfermata-rt. */

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
/* Sets the address by which reports of long waits (FERMATA_STALL_SECONDS) name the barrier. The default is
 * `barrier` itself. Call it before the barrier is used. */
FERMATA_API void fermata_anonymous_name(fermata_anonymous* barrier, const void* name);
/* Frees the barrier. By the time of the call, the last phase must be over, and no thread may arrive any more.
 * Threads may still be returning from their wait for that phase: they touch only memory that Fermata never
 * returns to the system. */
FERMATA_API void fermata_anonymous_destroy(fermata_anonymous* barrier);

/* -- meet at a barrier of threads without ranks --
 * fermata_anonymous_meet is the whole barrier. fermata_anonymous_arrive and fermata_anonymous_wait are its
 * two halves, for a thread with work between them. fermata_anonymous_drop is for a thread that stops taking
 * part. Threads that do a step before each release (FERMATA_ANONYMOUS_COMPLETION) arrive and wait instead of
 * calling fermata_anonymous_meet. */

/* Arrives once and waits. Returns FERMATA_LAST to exactly one caller per phase, FERMATA_OK to the others
 * (fermata_anonymous_drop has an exception). UNSUPPORTED: the barrier has FERMATA_ANONYMOUS_COMPLETION. */
FERMATA_API int fermata_anonymous_meet(fermata_anonymous* barrier);
/* Arrives `arrivals` times, 1..2^30, and writes to *phase the phase of the last arrival, for which to wait.
 * With FERMATA_ANONYMOUS_COMPLETION, all arrivals must be in one phase: at most as many as it still lacks.
 * Nothing checks that: a call with more may never return. Returns FERMATA_LAST if one of the arrivals fills a
 * phase, else FERMATA_OK. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_arrive(fermata_anonymous* barrier, uint32_t arrivals, uint64_t* phase);
/* Arrives once, and makes each later phase one arrival smaller. When a phase would have none left, no thread
 * may arrive any more. Returns as fermata_anonymous_arrive. The present phase must not be able to fill
 * without this arrival. So no thread may drop at a barrier that more threads use than a phase has arrivals.
 * Without FERMATA_ANONYMOUS_COMPLETION, a later phase may have no FERMATA_LAST. That happens if all its
 * threads arrive before the thread that filled the previous phase continues. */
FERMATA_API int fermata_anonymous_drop(fermata_anonymous* barrier, uint64_t* phase);
/* Releases the threads of a full phase. With FERMATA_ANONYMOUS_COMPLETION, the thread that got FERMATA_LAST
 * calls it, with the phase that it got. UNSUPPORTED: the barrier has no FERMATA_ANONYMOUS_COMPLETION. */
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

/* Initializes the barrier for `count` arrivals per phase, 1..2^30. The memory may hold anything before. One
 * process calls it, once, before others use the barrier. Errors: ARGUMENT. */
FERMATA_API int fermata_anonymous_shared_init(fermata_anonymous_shared* barrier, uint32_t count);
/* Returns the arrivals per phase with which the barrier was initialized. */
FERMATA_API uint32_t fermata_anonymous_shared_count(const fermata_anonymous_shared* barrier);
/* Arrives and waits. If a process dies in this call, the present phase may still end. But then later phases
 * have an arrival too few, and fermata_anonymous_shared_destroy waits for ever. Returns FERMATA_LAST to
 * exactly one caller per phase, FERMATA_OK to the others. */
FERMATA_API int fermata_anonymous_shared_meet(fermata_anonymous_shared* barrier);
/* Ends the use of the barrier. One process calls it. By the time of the call, the last phase must be full,
 * and no thread of any process may arrive any more. The call waits until all threads have left. Then the
 * memory may be unmapped, or initialized again. */
FERMATA_API void fermata_anonymous_shared_destroy(fermata_anonymous_shared* barrier);

/* ---- Ranked barriers of threads ---------------------------------------------------------------------------
 * Barriers and allreduces for threads of one process that know their rank. They need no planner.
 * fermata_ranked_meet runs the plan that `fermata plan` has saved for a barrier of this many unpinned threads
 * of this machine. Without a saved plan, or with one rank, it runs a built-in one, which does not depend on
 * where threads run. It also runs the built-in one if the machine has a CPU for each thread, but affinity or
 * the cgroup quota gives this process too few. It does the same if it does not trust the saved plan: the file
 * is damaged, the plan is not proved, the file or its folder belongs to another user or is a symbolic link,
 * or its group or other users may write there. fermata_ranked_allreduce always runs a built-in plan. The
 * functions are in libfermata-rt. */

typedef struct fermata_ranked fermata_ranked;

/* -- make, describe and free a barrier of threads with ranks --
 * For threads of one process that know their number, without the planner and the libraries that it needs. A
 * team (fermata_team_create) also finds more mistakes, knows processes, and has more collectives. */

/* Makes a barrier for `members` ranks, 1..4096. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_ranked_create(uint32_t members, fermata_ranked** out);
/* Does the same, for a barrier whose threads share the process's CPUs with `beside` other threads that work
 * or wait in barriers, too. If there are fewer CPUs than threads in all, its threads soon give up their CPUs
 * when they wait, as those of a barrier with more members than CPUs do. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_ranked_create_beside(uint32_t members, uint32_t beside, fermata_ranked** out);
/* Frees the barrier. All calls of it must have returned. NULL does nothing. */
FERMATA_API void fermata_ranked_destroy(fermata_ranked* barrier);
/* Writes a description of the barrier for people: "dissemination, packed; saved; waiting: auto". It names the
 * plan's algorithm, how the plan lays its signals out in memory, whether the plan comes from `fermata plan`
 * ("saved") or not ("built-in"), and how threads wait. A NUL ends it, and it is cut to capacity bytes.
 * Errors: ARGUMENT (capacity is 0). */
FERMATA_API int fermata_ranked_describe(const fermata_ranked* barrier, char* text, size_t capacity);

/* -- meet at a barrier of threads with ranks --
 * All ranks call fermata_ranked_meet, once for each phase. Two threads must not call it with the same rank at
 * the same time. */

/* Waits until all ranks have called it. A rank's calls may come from different threads, as long as each call
 * happens before the next. The call does not change errno. Errors: ARGUMENT, FORKED, MISMATCH (ranks made
 * different calls; the barrier cannot be used again). */
FERMATA_API int fermata_ranked_meet(fermata_ranked* barrier, uint32_t rank);
/* Returns how often the rank has called fermata_ranked_meet or fermata_ranked_allreduce so far; 0 if the rank
 * is not valid. Only a thread that may make the rank's calls may call this. */
FERMATA_API uint64_t fermata_ranked_calls(const fermata_ranked* barrier, uint32_t rank);

/* -- fold data of up to 56 bytes of threads with ranks --
 * For a sum or another fold that all ranks need, in one call that is also a barrier. All ranks give the same
 * number of bytes and the same fold. Nothing compares the folds. */

/* Computes acc = acc op other. acc and other never overlap. Several ranks may call it at the same time, each
 * with its own context. */
typedef void (*fermata_fold)(void* acc, const void* other, void* context);
/* Folds the data of all ranks, 1..56 bytes, in rank order and from the left: ((0 op 1) op 2) op ... Every
 * rank gets the same bits in its data. Errors: ARGUMENT, FORKED, MISMATCH (ranks made different calls; the
 * barrier cannot be used again). */
FERMATA_API int fermata_ranked_allreduce(fermata_ranked* barrier, uint32_t rank, void* data, size_t bytes,
                                         fermata_fold fold, void* context);

/* ---- Fork and join of threads -----------------------------------------------------------------------------
 * For threads of one process that stay together while one of them, rank 0, gives them work again and again:
 *
 *   rank 0                                       the others
 *     loop:                                        fermata_forkjoin_await(team, rank, 0, &work)
 *       fermata_forkjoin_join(team, &notes)        loop:
 *       work alone                                   do the work
 *       fermata_forkjoin_fork(team, &work, bytes)    fermata_forkjoin_await(team, rank, notes, &work)
 *       do the own part of the work
 *
 * The others wait once for each piece of work: with one signal each of them says that it is ready, and with
 * one signal it gets the next piece. All that a thread did before its signal is visible to the one that gets
 * it. Waits are those of ranked barriers. In a team by fermata_forkjoin_create none is reported as a stall,
 * and none is taken for the sign of a loaded machine because it is long.
 *
 * A team by fermata_forkjoin_create_folding folds data of any size at the join (fermata_forkjoin_fold). The
 * functions are in libfermata-rt. */

typedef struct fermata_forkjoin fermata_forkjoin;

/* -- make and free a team that is given work --
 * For a thread that has pieces of work for the same other threads, many times a second, and for run-time
 * libraries of parallel regions. Where all threads meet as equals, use a ranked barrier. */

#define FERMATA_FORKJOIN_BYTES 48 /* the most that rank 0 hands over in one fork */

/* Makes a team of `members` threads, 1..4096. beside: other threads that share the process's CPUs with these,
 * as for fermata_ranked_create_beside. awake_us: for so many microseconds a thread that waits, and
 * that may have a CPU to itself, spins and yields before it sleeps; 0: it sleeps at once. Threads that
 * outnumber the CPUs sleep after a few yields. FERMATA_WAIT, if it is not auto, overrides this. Errors:
 * ARGUMENT, MEMORY. */
FERMATA_API int fermata_forkjoin_create(uint32_t members, uint32_t beside, uint32_t awake_us,
                                        fermata_forkjoin** out);
/* Makes a team for threads that call fermata_forkjoin_fold as equals. They wait as the threads of a ranked
 * barrier do: a long wait may be reported as a stall. beside: as above. Errors: ARGUMENT, MEMORY. */
FERMATA_API int fermata_forkjoin_create_folding(uint32_t members, uint32_t beside, fermata_forkjoin** out);
/* Frees the team. All calls of it must have returned, so the others must have left their loop. NULL does
 * nothing. */
FERMATA_API void fermata_forkjoin_destroy(fermata_forkjoin* team);
/* -- give work to the others, and await its end --
 * One fork and one join for each piece of work. Rank 0 makes fermata_forkjoin_join and then
 * fermata_forkjoin_fork, each other rank fermata_forkjoin_await. */

/* For ranks other than 0: says that this thread is ready, and waits for the next fork. notes: bits for rank
 * 0, which gets those of all others, or-ed. data: room for FERMATA_FORKJOIN_BYTES bytes; beyond the bytes of
 * the fork they are 0. A rank's calls may come from different threads, as long as each call happens before
 * the next. Errors: ARGUMENT, FORKED. */
FERMATA_API int fermata_forkjoin_await(fermata_forkjoin* team, uint32_t rank, uint64_t notes, void* data);
/* For rank 0: waits until all others are ready. *notes: the bits of all their notes. Errors: ARGUMENT, BUSY
 * (a join without a fork since the last one), FORKED. */
FERMATA_API int fermata_forkjoin_join(fermata_forkjoin* team, uint64_t* notes);
/* For rank 0, after a join: hands `bytes` bytes, 0..FERMATA_FORKJOIN_BYTES, to all others, which go on. Does
 * not wait. data may be NULL if bytes is 0. Errors: ARGUMENT (also without a join since the last fork),
 * FORKED. */
FERMATA_API int fermata_forkjoin_fork(fermata_forkjoin* team, const void* data, size_t bytes);
/* Returns how many joins, awaits and folds the rank has begun so far; 0 if the rank is not valid. Only a
 * thread that may make the rank's calls may call this. */
FERMATA_API uint64_t fermata_forkjoin_calls(const fermata_forkjoin* team, uint32_t rank);

/* -- fold data of any size into that of rank 0 --
 * For a reduction over data that stays where it is: only its address moves. Each rank calls
 * fermata_forkjoin_fold in place of a join or an await, and rank 0 then calls fermata_forkjoin_fork with no
 * bytes. For at most 56 bytes that all ranks need, fermata_ranked_allreduce is mostly faster. */

/* Rank 0's call returns when its data has the fold of all ranks' data. It then calls fermata_forkjoin_fork
 * with no bytes, and the calls of the others return. Until then other ranks read a rank's data and write
 * partial folds into it; after an error it may have some of them. Any rank's fold may be called, for any two
 * ranks' data. Neighbours fold first, as in a binomial tree: ((0 op 1) op (2 op 3)) op ..., always in the
 * same order. fold: computes acc = acc op other, for two ranks' data; several ranks may call it at the same
 * time, each with its own context. Errors: ARGUMENT, BUSY (rank 0: a join or fold without a fork since),
 * FORKED, MISMATCH (others await without a fold; the team cannot be used again). */
FERMATA_API int fermata_forkjoin_fold(fermata_forkjoin* team, uint32_t rank, void* data, fermata_fold fold,
                                      void* context);

#ifdef __cplusplus
}
#endif
#endif
