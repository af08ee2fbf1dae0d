/* Barriers, and collectives whose data may travel on the signals' cache lines. fermata.h includes this
 * header. */
#ifndef FERMATA_LINES_H
#define FERMATA_LINES_H

#include <fermata/fermata.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Collectives ------------------------------------------------------------------------------------------
 * Collectives synchronize members, or move data among them, or both. All members of a team make the same
 * calls, in the same order. Do not make these calls in a callback (fermata_callback), nor in an idle hook for
 * its own member.
 *
 * A call whose result depends on another member also makes visible what that member wrote before its own
 * call. In a barrier or allreduce, each member sees the writes of all. In a broadcast, all see the root's
 * writes. In a reduce, the root sees the writes of all.
 *
 * Errors of each call: MEMBER_LOST, MISMATCH (members made different calls; the detail names the members, and
 * the team is broken), BROKEN, TIMEOUT, INTERRUPTED, FORKED, BUSY (a split-phase or interrupted call of this
 * member is outstanding; active requests do not count). */

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
/* Every member gets the same bits (except in a pair's padding), also of these values:
 * - min and max of floating-point numbers: -0 is less than +0. If a value is a NaN, the result is the
 *   positive quiet NaN without payload.
 * - minloc and maxloc: among pairs with equal values, the one with the lowest index wins. Here -0 and +0 are
 *   equal, and NaNs are equal. A NaN wins over every number.
 * - sum and prod: NaNs are made quiet, and the one whose bits are the largest unsigned number is the result.
 *   A NaN that arises (infinity - infinity, 0 * infinity) is the positive quiet NaN without payload.
 * - FERMATA_HALF and FERMATA_BFLOAT16: the only NaN that an operator gives is the positive quiet one without
 *   payload.
 *
 * All members must use the same rounding mode. They must also agree on whether subnormal numbers are flushed
 * to zero. */

typedef struct fermata_float_int { float value; int32_t index; } fermata_float_int;
typedef struct fermata_double_int { double value; int32_t index; } fermata_double_int;
typedef struct fermata_int32_int { int32_t value; int32_t index; } fermata_int32_int;
typedef struct fermata_int64_int { int64_t value; int32_t index; } fermata_int64_int;
typedef struct fermata_int16_int { int16_t value; int32_t index; } fermata_int16_int;

/* -- wait until all members have come --
 * For phases of a computation: after the call, each member sees what all wrote before it. Use fermata_arrive
 * and fermata_depart where a member has work between the two that needs nobody else. Where members also need
 * a sum, call fermata_allreduce alone: it is a barrier, too. */

/* Waits until all members have called it. */
FERMATA_API int fermata_barrier(fermata_member* member);
/* The first half of a split-phase barrier. It does not wait. It never returns TIMEOUT or INTERRUPTED. */
FERMATA_API int fermata_arrive(fermata_member* member);
/* The second half: waits until all members have arrived. It also ends what fermata_arrive_with has begun.
 * After TIMEOUT or INTERRUPTED, call it again, or fermata_resume, which then does the same. Errors: ARGUMENT
 * (nothing is outstanding, or only an interrupted call on blocks is), TRUNCATED (fermata_arrive_with began
 * the operation, and more data came than fits). It never returns BUSY. */
FERMATA_API int fermata_depart(fermata_member* member);
/* Tells whether fermata_depart would wait. After OK, the member must still depart. Returns PENDING if
 * fermata_depart would wait, else OK, also if nothing is outstanding. It never returns TIMEOUT, INTERRUPTED
 * or BUSY. */
FERMATA_API int fermata_test(fermata_member* member);

/* -- a barrier that finds members at different places --
 * For programs in which members may reach different barriers by mistake: each barrier of the source gives a
 * tag of its own. It needs config.tagged (fermata_team_create). Do not set that for teams without tags, since
 * it rules out some of the fastest plans. */

/* A barrier that compares tags, as UPC's barrier with an expression. If two members gave different tags,
 * every member gets MISMATCH, and the team stays usable. A member that calls fermata_barrier matches any tag,
 * and also gets that error. After MISMATCH, fermata_test returns OK if the team is usable. MISMATCH: members
 * gave different tags (the detail has the largest and the smallest), or made different calls (the detail
 * names two of these members, and the team is broken). UNSUPPORTED: config.tagged was 0. */
FERMATA_API int fermata_barrier_tagged(fermata_member* member, uint32_t tag);

/* -- fold the data of all members --
 * For sums, extremes and flags over all members. Put values that are due at the same time into one call: it
 * costs less than two calls. fermata_reduce is not a barrier: only the root waits for all. Another member may
 * wait for members whose data it passes on, or until its own data have been read. All members give the same
 * count, type and operator. */

#define FERMATA_MAX_PAYLOAD 56 /* bytes of data that the cache line of a signal carries */

/* Folds `count` elements of every member by `op`, and writes the result to out at every member. Up to 56
 * bytes travel on the signals' cache lines, and then in and out may overlap in any way. Larger data moves as
 * blocks (see fermata_allgather). in == out is allowed at any size. Every member gets the same bits, and
 * every run of a plan gives them again. Errors: ARGUMENT (or the operator is not defined for the type, or
 * buffers of more than 56 bytes overlap, or the count is too large), UNSUPPORTED (a team of more than 1,024
 * members takes at most 56 bytes). */
FERMATA_API int fermata_allreduce(fermata_member* member, const void* in, void* out, size_t count, int type,
                                  int op);
/* As fermata_allreduce, but only the root gets the result. Elsewhere out may be NULL. Errors: those of
 * fermata_allreduce, ARGUMENT (or root is not a rank of the team), TRUNCATED. */
FERMATA_API int fermata_reduce(fermata_member* member, const void* in, void* out, size_t count, int type,
                               int op, int root);

/* -- copy one member's data to all --
 * For parameters, decisions and data that one member has. It is not a barrier: with little data, the root may
 * return before the others make the call. With long data, the root may wait until its receivers have read it.
 * All members give the same number of bytes; see fermata_member_set_bounded for programs that cannot. */

/* Copies `bytes` bytes of the root to all members. Up to 56 bytes travel on the signals' cache lines. Larger
 * data moves as a block (see fermata_allgather). The other members return when they have the data and have
 * passed it on. Errors: ARGUMENT (root is not a rank of the team, or there are too many bytes), UNSUPPORTED
 * (a team of more than 1,024 members takes at most 56 bytes), TRUNCATED. */
FERMATA_API int fermata_broadcast(fermata_member* member, void* data, size_t bytes, int root);

#ifdef __cplusplus
}
#endif
#endif
