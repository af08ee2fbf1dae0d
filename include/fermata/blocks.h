/* Collectives on blocks of any size, and requests: nonblocking and persistent collectives. fermata.h includes
 * this header. */
#ifndef FERMATA_BLOCKS_H
#define FERMATA_BLOCKS_H

#include <fermata/fermata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Collectives on blocks of any size --------------------------------------------------------------------
 * A block is `count` elements of a type; P is the number of members. All members make the calls in the same
 * order. These notes hold for all collectives on blocks, and for allreduce, reduce and broadcast of more than
 * 56 bytes:
 *
 * - Buffers: the count may be 0, and a buffer without elements may be NULL. A count is too large if P blocks
 *   of it have 2^62 bytes or more. in and out must not overlap. Exception: they may be the same place, given
 *   by FERMATA_IN_PLACE or by its address.
 * - Completion: a call returns when this member's part is done. The caller may then change the input, and the
 *   output is complete. Other members may still be in the call. With little data, a member that only sends
 *   may return before the others make the call. With long data, a sender may wait until its receivers have
 *   read the data. With empty blocks (a count of 0) a call may return without waiting for anybody.
 * - Results: they are bitwise the same on every run of a plan. After an error, the output may be written in
 *   part.
 * - Memory: each sender has a ring buffer of about 2.1 MiB at most for each receiver, or of about 4.2 MiB if
 *   the receiver is on another host. Each part of it is allocated at its first use. Some schedules need
 *   memory for up to P - 1 blocks in transit at a member. A call in place may also copy its whole input.
 * - Paths: blocks of a few bytes can travel on signals' cache lines, except in scans. On one host, the
 *   receiver reads a long block directly from the sender's memory (single copy). In a team of processes it
 *   does so where the system permits it and the profile says that it is faster. FERMATA_CMA overrides the
 *   profile.
 *
 * Errors of each call: those of fermata_barrier, ARGUMENT (or in and out overlap, or a count is too large),
 * UNSUPPORTED (the team has more than 1,024 members). */

/* Pass it instead of `in`, and the input is read from the place where the output goes. That place is out. For
 * allgather, and for gather's root, it is this member's block in out. A scatter's root passes it instead of
 * `out`, and its own block stays where it is. A member that has no such place, such as another member of a
 * gather, gets FERMATA_ERR_ARGUMENT if the count is not 0. */
#define FERMATA_IN_PLACE ((void*)-1)

/* -- collect a block of every member at the root --
 * For results that one member writes or shows. The root waits for all, if no block is empty. Each other
 * member returns when it has sent its block, and those that it passes on for others. So this is not a
 * barrier. fermata_allgather gives the blocks to all members. */

/* in: count elements. out: at the root P x count elements, by rank; elsewhere it is ignored. Errors:
 * TRUNCATED. */
FERMATA_API int fermata_gather(fermata_member* member, const void* in, void* out, size_t count, int type,
                               int root);
/* As fermata_gather, with blocks of different sizes. counts and displacements are in elements, have an entry
 * per rank, and are read at the root only. displacements say where the blocks lie in the output; NULL: they
 * follow each other in rank order. Sender and receiver of a block give it the same count. The blocks of the
 * output may lie in any order, but must not overlap. Errors: ARGUMENT (or in and out overlap, or two blocks
 * of the output do, or a count is too large), TRUNCATED. */
FERMATA_API int fermata_gatherv(fermata_member* member, const void* in, size_t count, void* out,
                                const size_t* counts, const size_t* displacements, int type, int root);

/* -- deal out the root's blocks --
 * For work that one member divides among all. The others wait for the root. The root returns when it has
 * sent all blocks, so this is not a barrier. */

/* in: at the root P x count elements, by rank; elsewhere it is ignored. out: count elements. Errors:
 * TRUNCATED. */
FERMATA_API int fermata_scatter(fermata_member* member, const void* in, void* out, size_t count, int type,
                                int root);
/* As fermata_scatter, with blocks of different sizes. counts and displacements are in elements, have an entry
 * per rank, and are read at the root only. displacements say where the blocks lie in the input; NULL: they
 * follow each other in rank order. count is the size of this member's own block. Sender and receiver of a
 * block give it the same count. Errors: TRUNCATED. */
FERMATA_API int fermata_scatterv(fermata_member* member, const void* in, const size_t* counts,
                                 const size_t* displacements, void* out, size_t count, int type, int root);

/* -- collect a block of every member at all members --
 * For data of which every member needs all parts. Every member waits for each member whose block is not
 * empty. Do not use it where the members need only the sum: fermata_allreduce moves less. */

/* in: count elements. out: P x count elements, by rank. */
FERMATA_API int fermata_allgather(fermata_member* member, const void* in, void* out, size_t count, int type);
/* As fermata_allgather, with blocks of different sizes. counts and displacements are in elements and have an
 * entry per rank. counts are the same at all members. displacements say where the blocks lie in the
 * output; NULL: they follow each other in rank order. The blocks of the output must not overlap. Errors:
 * ARGUMENT (or in and out overlap, or two blocks of the output do, or a count is too large). */
FERMATA_API int fermata_allgatherv(fermata_member* member, const void* in, void* out, const size_t* counts,
                                   const size_t* displacements, int type);

/* -- fold blocks, and give each member one of them --
 * For sums of which each member needs only its own part, such as the residual of its rows. A member whose
 * own block is not empty waits for all members. fermata_allreduce gives the whole result to all members, and
 * moves more data. */

/* in: P x count elements. out: count elements. Rank r gets the fold of all members' blocks number r. In
 * place, out holds all P blocks at the call. At the return it begins with the result, and the rest of it may
 * have changed. Errors: ARGUMENT (or the operator is not defined for the type, or in and out overlap, or a
 * count is too large). */
FERMATA_API int fermata_reduce_scatter(fermata_member* member, const void* in, void* out, size_t count,
                                       int type, int op);
/* As fermata_reduce_scatter, with blocks of different sizes. counts and displacements are in elements and
 * have an entry per rank. counts are the same at all members. displacements may differ: they say where the
 * blocks lie in this member's input. NULL: the blocks follow each other in rank order. out: as many elements
 * as this rank's entry of counts says. In place, displacements say where the blocks lie in out, and the
 * result goes to the beginning of out. Errors: ARGUMENT (or the operator is not defined for the type, or in
 * and out overlap, or a count is too large). */
FERMATA_API int fermata_reduce_scatterv(fermata_member* member, const void* in, const size_t* counts,
                                        const size_t* displacements, void* out, int type, int op);

/* -- send a block from every member to every member --
 * For transposes, sorts, and other redistributions of data. A member waits for each member whose block for
 * it is not empty. Where each member has data for a few others only, call fermata_alltoallv with counts of 0
 * for the rest. */

/* in: P x count elements; block j is for rank j. out: P x count elements; block i is from rank i. Errors:
 * UNSUPPORTED (the team has more than 256 members). */
FERMATA_API int fermata_alltoall(fermata_member* member, const void* in, void* out, size_t count, int type);
/* As fermata_alltoall, with blocks of different sizes. Every member gives counts for both sides, in elements,
 * with an entry per rank: in_counts[j] at rank i equals out_counts[i] at rank j. Displacements are as in
 * fermata_allgatherv, for each side. With FERMATA_IN_PLACE, the output's counts and displacements describe
 * both sides: pass out_counts as in_counts, too. Errors: ARGUMENT (or in and out overlap, or two blocks of
 * the output do, or a count is too large), UNSUPPORTED (the team has more than 256 members), TRUNCATED. */
FERMATA_API int fermata_alltoallv(fermata_member* member, const void* in, const size_t* in_counts,
                                  const size_t* in_displacements, void* out, const size_t* out_counts,
                                  const size_t* out_displacements, int type);

/* -- fold the data of the ranks up to this one --
 * For offsets: with counts as data, fermata_exscan tells each member where its part begins. A member needs
 * data only of the ranks below it, so this is not a barrier. At rank 0, initialize the output of
 * fermata_exscan before the call. */

/* fermata_scan writes to out the fold of ranks 0 to this one. The operands stay in the order of the ranks,
 * and the plan chooses their grouping. For one fold from left to right see fermata_execute. fermata_exscan
 * leaves out this member's own contribution, and does not touch out at rank 0. Errors: ARGUMENT (or the
 * operator is not defined for the type, or in and out overlap, or a count is too large). */
FERMATA_API int fermata_scan(fermata_member* member, const void* in, void* out, size_t count, int type,
                             int op);
FERMATA_API int fermata_exscan(fermata_member* member, const void* in, void* out, size_t count, int type,
                               int op);

/* ---- Requests ---------------------------------------------------------------------------------------------
 * Requests let a member compute, or do other operations, while a collective goes on. An operation describes a
 * collective as data. A member does it at once (fermata_execute), begins it as a nonblocking collective
 * (fermata_begin), or prepares it as a persistent one (fermata_prepare). Two threads must not use one
 * member's requests at the same time. */

typedef struct fermata_request fermata_request; /* a begun or prepared operation, or a chain */

/* -- do a collective that is described as data --
 * For what the collective's own function, such as fermata_allreduce, cannot describe: elements or operators
 * of the caller's own, and an order of folds. fermata_begin and fermata_prepare take the same structure. For
 * the types and operators of enum fermata_type and enum fermata_op, the plain functions are shorter. */

enum fermata_collective {
  FERMATA_BARRIER = 0, /* only for a plan: a barrier is no operation */
  FERMATA_BROADCAST = 1,
  FERMATA_REDUCE = 2,
  FERMATA_ALLREDUCE = 3,
  FERMATA_GATHER = 4,
  FERMATA_SCATTER = 5,
  FERMATA_ALLGATHER = 6,
  FERMATA_REDUCE_SCATTER = 7,
  FERMATA_ALLTOALL = 8,
  FERMATA_SCAN = 9,
  FERMATA_EXSCAN = 10
};
/* The order in which contributions are folded. */
enum fermata_order {
  FERMATA_ANY_ORDER = 0,    /* The plan's order, mostly the fastest: the same at all members, and on every */
                            /* run of the plan. An operator of the caller's own must then commute bit by */
                            /* bit, and associate, except for rounding. */
  FERMATA_RANK_ORDER = 1,   /* For an operator of the caller's own that does not commute. The operands stay */
                            /* in rank order, and the plan groups them: the operator must associate. */
                            /* Without fold, this is as FERMATA_ANY_ORDER. */
  FERMATA_LEFT_TO_RIGHT = 2 /* ((0 op 1) op 2) op ...: bit by bit the result of a serial loop over the */
                            /* ranks, whatever the team and the machine. It suits sums of floating-point */
                            /* numbers, and operators that do not associate. */
};
/* Computes out[i] = left[i] op right[i] for count elements. out may be left or right. Any member may call it,
 * for any part of a block. It must not call Fermata. */
typedef void (*fermata_operator)(void* out, const void* left, const void* right, size_t count, void* user);
typedef struct fermata_operation {
  size_t size;    /* sizeof(fermata_operation) */
  int collective; /* enum fermata_collective, except FERMATA_BARRIER */
  const void* in; /* For a broadcast NULL: its data is in out. */
  void* out;
  size_t count; /* elements of a block. If irregular is not 0: of this member's own block in a gather or */
                /* scatter, else ignored. */
  int type;     /* enum fermata_type; ignored if element is not 0 */
  int op;       /* enum fermata_op; ignored if fold is not NULL */
  int root;
  int irregular;           /* not 0, at all members: blocks differ in size, as with the v functions */
  const size_t* in_counts; /* This and the next three are as the v functions take them. They are */
                           /* ignored where those take none, and must be NULL if irregular is 0. */
  const size_t* in_displacements;
  const size_t* out_counts;
  const size_t* out_displacements;
  size_t element;        /* bytes of an opaque element, 1..4096; 0: the size of type. In a team of more */
                         /* than 40 members the limit may be lower: 48 in the largest teams. */
  fermata_operator fold; /* an operator of the caller's own; NULL: op */
  void* user;            /* argument of fold */
  int ordered;           /* enum fermata_order */
} fermata_operation;
#define FERMATA_OPERATION_INIT \
  {sizeof(fermata_operation), 0, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, 0}

/* Does the operation, as the collective's own function does: fermata_allreduce for FERMATA_ALLREDUCE, and so
 * on. Either all members call fermata_execute, or all call that function. Errors: those of the collective's
 * own function, ARGUMENT (or the fields contradict each other), UNSUPPORTED (the team has more than 1,024
 * members, whatever the number of bytes, or an element is too large for this team, or irregular is set for a
 * collective that takes no counts). */
FERMATA_API int fermata_execute(fermata_member* member, const fermata_operation* operation);

/* -- small data in a split-phase collective --
 * For a member that has work between its contribution and the result, as with fermata_arrive. For data of any
 * size, use fermata_begin. Do not use the result before fermata_depart has returned. */

/* Begins a broadcast, reduce or allreduce of at most 56 bytes, in two phases as fermata_arrive, and returns
 * at once. The operation needs a type of enum fermata_type and an operator of enum fermata_op. The team's
 * plan sets the order of the fold. So the call returns UNSUPPORTED for sums and products of floating-point
 * numbers with FERMATA_LEFT_TO_RIGHT. fermata_test and fermata_depart continue it, and return the errors that
 * come later. The result is there when fermata_depart has returned. Other members may call the blocking
 * function instead. Errors: ARGUMENT, BUSY (a split-phase or interrupted call of this member is outstanding),
 * UNSUPPORTED (the call does not take this collective, type, operator, order or number of bytes), FORKED,
 * BROKEN, MEMBER_LOST, MISMATCH (members made different calls; the detail names the members, and the team is
 * broken). */
FERMATA_API int fermata_arrive_with(fermata_member* member, const fermata_operation* operation);

/* -- begin a nonblocking collective --
 * For collectives that go on while the member computes, once or seldom. For one that is repeated,
 * fermata_prepare saves the work at each start. Do not touch the buffers before the request is over
 * (fermata_request_wait). The data moves only in some calls of this thread, unless there is a progress thread
 * (fermata_progress). */

/* Begins the operation, and does not wait for other members. All members make this call in the same order as
 * their other calls. The operation goes on while this thread waits in a collective or for a request,
 * when it tests a request, and in fermata_progress. Until it is over, the request cannot be freed, and the
 * buffers, the operator and its argument must stay valid. The structure, counts and displacements may be
 * freed at once. Errors: those of fermata_execute (except TIMEOUT, INTERRUPTED and TRUNCATED). */
FERMATA_API int fermata_begin(fermata_member* member, const fermata_operation* operation,
                              fermata_request** out);

/* -- make a persistent collective --
 * For a collective that is repeated with the same arguments: what can be computed once is computed here,
 * and fermata_request_start only starts it. Free it when it is no longer needed: it holds memory of the
 * team. */

/* Makes a persistent operation. All members make this call in the same order as their other calls. It may
 * wait. Then each member starts the operation any number of times. Its starts need not come in the same order
 * with other calls at all members. A start needs no further memory, except after fermata_request_reset. An
 * operation holds slots of the team until all members have freed it. Over several hosts, freed slots serve
 * only operations with the same ring buffers between the same ranks. After TIMEOUT or INTERRUPTED this member
 * gets no request, even when fermata_resume has ended the call. Members that have got one free it. Errors:
 * MEMORY (at all members: the team's slots, 16 MiB or over several hosts 128 MiB, have no room for this
 * operation, or rank 0 has no memory; at one member alone: it has no memory for its part, and the others must
 * free theirs), those of fermata_execute (except TRUNCATED). */
FERMATA_API int fermata_prepare(fermata_member* member, const fermata_operation* operation,
                                fermata_request** out);

/* -- start, change and free a request --
 * For requests from fermata_begin, fermata_prepare and fermata_chain. The caller frees each of them, when it
 * is over; a chain frees its links. Do not start, reset or free a request while it is active. */

/* Starts the request. A request from fermata_begin begins the same operation once more, as another
 * fermata_begin would. Errors: BUSY (the request is active, or it is from fermata_begin and a split-phase or
 * interrupted call of its member is outstanding), ARGUMENT (the request was freed or is a link of a chain, or
 * its member has left), FORKED, BROKEN, MEMBER_LOST, MISMATCH (members made different calls; the detail names
 * them, and the team is broken). */
FERMATA_API int fermata_request_start(fermata_request* request);
/* Sets other buffers for the next start. Counts, displacements and types stay. A chain's first operation gets
 * the input, and its last one the output. A link can also be reset by itself. Errors: ARGUMENT (the buffers
 * do not fit the operation, or the request was freed, or its member has left), BUSY (the request is active),
 * FORKED. */
FERMATA_API int fermata_request_reset(fermata_request* request, const void* in, void* out);
/* Frees the request. NULL does nothing. BUSY: the request is active. ARGUMENT: the request was freed or is
 * a link of a chain. */
FERMATA_API int fermata_request_free(fermata_request* request);

/* -- wait for requests, or test them --
 * Each of these calls moves the data of the requests on. fermata_request_test and fermata_request_test_any
 * do not wait. Do not test in an endless loop without other work: wait, so that the team's wait policy
 * applies (config.wait). Do not wait in a callback: a wait there that does not return BUSY may last for ever.
 * After TIMEOUT or INTERRUPTED the request is still active. Then wait for it again, since fermata_resume does
 * not continue a wait for a request. A request that is not active counts as over. Its result is that of its
 * last use, or OK if it has had none. */

/* Waits until the request is over, and returns its result. A chain has the time limit and the idle hook of
 * its first operation's member. Errors: ARGUMENT (the request was freed, or its member has left), TIMEOUT
 * (the member's time limit has passed; the request is still active), INTERRUPTED (the idle hook ended the
 * wait; the request is still active), BUSY (a callback made the call, and the request is active and of that
 * callback's member), those of the operation. */
FERMATA_API int fermata_request_wait(fermata_request* request);
/* Waits for all requests, one after the other. Returns OK, or the first error in the order of the list.
 * FERMATA_ERR_TIMEOUT or FERMATA_ERR_INTERRUPTED ends the call at once, and is then its result. For each
 * request, the time limit of its member holds, and counts from the start of the call. This function,
 * fermata_request_wait_any and fermata_request_test_any skip NULL entries. Errors: ARGUMENT (a request was
 * freed, or its member has left), TIMEOUT (a member's time limit has passed; requests are still active),
 * INTERRUPTED (an idle hook ended the wait; requests are still active), BUSY (a callback made the call, and a
 * request is active and of that callback's member), those of the operation. */
FERMATA_API int fermata_request_wait_all(fermata_request* const* requests, size_t count);
/* Waits until one request is over, writes its index, and returns its result, even if that is an error. If
 * none is over, *index stays as it was. The requests may belong to any members that this thread uses. The
 * time limit and the idle hook of one member hold: that of the first entry that is not NULL. Errors: ARGUMENT
 * (count is 0 or all entries are NULL, or a request was freed, or its member has left), TIMEOUT (the time
 * limit has passed; all requests are still active), INTERRUPTED (the idle hook ended the wait; all requests
 * are still active), BUSY (a callback made the call, all requests are active, and the first entry that is not
 * NULL is of that callback's member), those of the operation. */
FERMATA_API int fermata_request_wait_any(fermata_request* const* requests, size_t count, size_t* index);
/* Moves the request on. Returns OK, PENDING, or the operation's error. Errors: ARGUMENT (the request was
 * freed, or its member has left), those of the operation. */
FERMATA_API int fermata_request_test(fermata_request* request);
/* As fermata_request_wait_any, without waiting. Returns PENDING if all requests are active, else as
 * fermata_request_wait_any. Errors: ARGUMENT (count is 0 or all entries are NULL, or a request was freed, or
 * its member has left), those of the operation. */
FERMATA_API int fermata_request_test_any(fermata_request* const* requests, size_t count, size_t* index);

/* -- call a function when a request is over --
 * For work that follows from a result, such as the next operation of a pipeline, without a thread that waits
 * for it. Set the callback before the request starts. For a request from fermata_begin, set it right after
 * that call. If the request is over by then, the callback is not called, and fermata_request_test returns the
 * result. Do not wait in a callback. */

/* Fermata calls it whenever the request is over: in a call of the thread that uses the member, never in the
 * progress thread. It may start requests, also this one, and may reset this one first. It may free this one
 * if no call waits for it. It must not wait. A wait for an active request of its own member, and a call on
 * blocks of that member, return FERMATA_ERR_BUSY there. So do fermata_begin, and a start of what
 * fermata_begin made, while that member is in a call on lines, such as a barrier. Fermata does not detect
 * other waits, which may last for ever. */
typedef void (*fermata_callback)(fermata_request* request, int status, void* user);

/* Sets the function that is called whenever the request is over. NULL: none. Errors: ARGUMENT (the request
 * was freed, or its member has left), FORKED. */
FERMATA_API int fermata_request_set_callback(fermata_request* request, fermata_callback callback, void* user);

/* -- one request of several persistent collectives --
 * For collectives that follow each other, such as a reduce among neighbours, an allreduce among leaders and a
 * broadcast back. The next one starts in a call of the members' own thread, such as fermata_progress or a
 * wait. The library's progress thread (fermata_progress_thread) does not start it. Do not start or free an
 * operation of a chain by itself. */

/* Makes one request, a chain, of one or more persistent operations, none of which is active. Starting the
 * chain starts the first operation, and the end of each operation starts the next one. The chain is over with
 * the last operation, or with the first that fails. After a failure only free the chain. The operations may
 * belong to several members, in the teams of a hierarchy, if one thread uses all these members. No other
 * member takes part in this call. The chain owns its operations and frees them with itself; if this call
 * fails, they stay the caller's. Between uses of the chain, each operation may be reset. Each may have a
 * callback, which runs before the next operation starts and may give that one other buffers
 * (fermata_request_reset). fermata_request_reset of a chain sets the first operation's input and the last
 * one's output. Errors: ARGUMENT (there is no operation, or one is not persistent, or is a
 * chain or in one, or was freed, or its member has left), BUSY (an operation is active), FORKED. */
FERMATA_API int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out);

/* -- move requests on while the program computes --
 * Requests move only while their thread calls Fermata. Call fermata_progress now and then during a long
 * computation. Or switch the progress thread on, if the process has a CPU for it. Do not switch it on
 * where all CPUs compute: it takes time from them. */

/* Advances this member's requests for about max_us microseconds, or until all are over, by pieces of bounded
 * size. Requests from fermata_begin advance one after the other, in the order in which they began. The others
 * take turns. The next call continues where this one stopped. max_us <= 0: each request that can move gets
 * one piece. If that moved something, the call waits up to 2 us for each of a few further answers. It also
 * advances the requests of the thread's other members, as each call that waits does. Returns OK if none of
 * this member's requests is active, else PENDING. An active chain counts only for the member whose operation
 * in it is active. A thread may take over a member that has requests outstanding. Its first call must then be
 * this one, or a test or wait for one of these requests. Errors: FORKED, BROKEN, MEMBER_LOST, MISMATCH
 * (members made different calls; the detail names the members, and the team is broken). */
FERMATA_API int fermata_progress(fermata_member* member, double max_us);
/* Switches this process's progress thread on or off. That thread moves the data of requests while their
 * members' threads compute. It helps only if it has a CPU of its own. on > 0: it runs. 0: it ends before the
 * call returns. < 0, which is the default: it runs if FERMATA_PROGRESS_THREAD in the environment is on. A
 * member's own thread completes its requests, runs their callbacks and starts the next links of chains, in
 * its next call. Operators of the caller's own run in either thread. Any thread may make this call, at any
 * time. Errors: SYSTEM (the thread could not be created). */
FERMATA_API int fermata_progress_thread(int on);

#ifdef __cplusplus
}
#endif
#endif
