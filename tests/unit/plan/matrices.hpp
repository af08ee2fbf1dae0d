// Cost models built from published figures, for tests that need nothing else.
#ifndef FERMATA_TESTS_UNIT_PLAN_MATRICES_HPP
#define FERMATA_TESTS_UNIT_PLAN_MATRICES_HPP

#include <functional>

#include "schedule/cost.hpp"

namespace fermata::test {

// d(i,j) in ns between ranks: nine tenths are O, one tenth is L.
inline CostModel model_of(std::int32_t members, const std::function<double(std::int32_t, std::int32_t)>& d) {
  CostModel m;
  m.members = members;
  m.o.assign(static_cast<std::size_t>(members) * members, 0);
  m.l = m.o;
  for (std::int32_t i = 0; i < members; ++i)
    for (std::int32_t j = 0; j < members; ++j) {
      if (i == j) continue;
      m.o[static_cast<std::size_t>(i) * members + j] = 0.9 * d(i, j);
      m.l[static_cast<std::size_t>(i) * members + j] = 0.1 * d(i, j);
    }
  return m;
}

// power8-barriers: chips A, B on socket 0, C, D on socket 1, 6 cores each. The tables give the latency from
// chip A. This model assumes that the module's two chips and the two sockets are symmetric.
inline double power8(std::int32_t i, std::int32_t j, const double (&to_chip)[4]) {
  const int a = i / 6, b = j / 6;
  return to_chip[a ^ b];  // 0: same chip, 1: the module's other chip, 2 and 3: the other socket
}
inline constexpr double kPower8Table1[4] = {670, 1270, 1380, 1470};  // 0-byte ping-pong, ns
inline constexpr double kPower8Table2[4] = {330, 390, 430, 460};     // barrier of 2 tasks, ns

// heterogeneous-mpi-barriers: hosts with two sockets; on-chip and off-chip messages differ by a factor of
// about 4 (section VII.A, Figure 9). Between hosts: gigabit Ethernet, tens of microseconds (an estimate after
// Figures 5 and 6).
inline double cluster(std::int32_t host_i, std::int32_t core_i, std::int32_t host_j, std::int32_t core_j,
                      int cores_per_socket) {
  if (host_i != host_j) return 50000;
  return core_i / cores_per_socket == core_j / cores_per_socket ? 500 : 2000;
}

}  // namespace fermata::test
#endif
