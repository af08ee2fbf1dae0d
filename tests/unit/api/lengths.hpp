// Shared by the tests of differing lengths.
#ifndef FERMATA_TESTS_UNIT_API_LENGTHS_HPP
#define FERMATA_TESTS_UNIT_API_LENGTHS_HPP

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "../../operation.hpp"
#include "../../with_members.hpp"

namespace fermata::test {

inline constexpr int kThree = 3;
inline constexpr int kGuard = -77;

using Numbers = std::vector<std::int32_t>;

// The ways to make a call: in two phases on a line, if it is small, else begun on blocks; begun on blocks; by
// the collective's own function; by fermata_execute.
enum Form { kSmallOnLines, kBlocks, kBlocking, kExecuted };

inline int done(fermata_member* m, const fermata_operation& o, Form form) {
  if (form == kExecuted) return fermata_execute(m, &o);
  if (form == kBlocking) {
    if (o.collective == FERMATA_BROADCAST)
      return fermata_broadcast(m, o.out, o.count * sizeof(std::int32_t), o.root);
    if (o.collective == FERMATA_GATHER) return fermata_gather(m, o.in, o.out, o.count, o.type, o.root);
    return fermata_reduce(m, o.in, o.out, o.count, o.type, o.op, o.root);
  }
  if (form == kSmallOnLines && o.count <= 14) {
    const int begun = fermata_arrive_with(m, &o);
    if (begun != FERMATA_OK) return begun;
    for (int i = 0; i < 3 && fermata_test(m) == FERMATA_PENDING; ++i) continue;
    return fermata_depart(m);
  }
  fermata_request* request = nullptr;
  int status = fermata_begin(m, &o, &request);
  if (status == FERMATA_OK) status = fermata_request_wait(request);
  fermata_request_free(request);
  return status;
}

inline void lives_on(fermata_member* m) {
  std::int32_t one = 1, sum = 0;
  ASSERT_EQ(fermata_allreduce(m, &one, &sum, 1, FERMATA_INT32, FERMATA_SUM), FERMATA_OK)
      << fermata_error_detail();
  EXPECT_EQ(sum, kThree);
  for (int root = 0; root < kThree; ++root) {
    std::int32_t told = fermata_member_rank(m) == root ? root : -1;
    ASSERT_EQ(fermata_broadcast(m, &told, sizeof told, root), FERMATA_OK) << fermata_error_detail();
    EXPECT_EQ(told, root);
  }
}

}  // namespace fermata::test
#endif
