// Coherent memory in virtual time: who owns a line, and what one move of it carries.
#include "sim/memory.hpp"

#include <gtest/gtest.h>

namespace fermata::sim {
namespace {

constexpr Time ns(std::int64_t n) { return n * 1000; }
constexpr std::uint32_t kLine = 7;

// Three cores: a signal takes 100 ns, half of it the reader's miss; 10 ns between two accesses.
Machine three_cores() {
  Machine m;
  m.members = m.cores = 3;
  m.core = {0, 1, 2};
  m.host = {0, 0, 0};
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b) {
      m.signal.push_back(a == b ? 0 : ns(100));
      m.further.push_back(a == b ? 0 : ns(10));
    }
  return m;
}

TEST(SimulatedMemory, ASignalIsAnInvalidationAndAMiss) {
  const Machine machine = three_cores();
  Memory memory(machine);
  EXPECT_EQ(memory.store(0, kLine, 0), 0);  // nobody else has the line
  EXPECT_EQ(memory.read(1, kLine, 0), ns(50));
  EXPECT_EQ(memory.store(0, kLine, ns(60)), ns(110));
  EXPECT_EQ(memory.ready(1, kLine), -1);
  EXPECT_EQ(memory.read(1, kLine, ns(110)), ns(160));
}

// A request needs half of its time to reach the owner. Until then the owner's stores need nobody.
TEST(SimulatedMemory, AReadCarriesWhatTheOwnerStoresUntilTheRequestReachesIt) {
  const Machine machine = three_cores();
  Memory memory(machine);
  memory.store(0, kLine, 0);
  EXPECT_EQ(memory.read(1, kLine, ns(10)), ns(60));
  EXPECT_EQ(memory.store(0, kLine, ns(20)), ns(20));
  EXPECT_EQ(memory.store(0, kLine, ns(35)), ns(35));
  // This one comes too late: the line is busy with the read until 60, then core 1 loses its copy.
  EXPECT_EQ(memory.store(0, kLine, ns(36)), ns(110));
}

TEST(SimulatedMemory, StoresThatWaitForALineAreDoneByOneMove) {
  const Machine machine = three_cores();
  Memory memory(machine);
  memory.store(0, kLine, 0);
  memory.read(1, kLine, 0);
  EXPECT_EQ(memory.store(1, kLine, ns(60)), ns(110));
  EXPECT_EQ(memory.store(1, kLine, ns(70)), ns(110));
  EXPECT_EQ(memory.ready(1, kLine), ns(50));  // its copy is good until it owns the line
  // Core 0 takes the line next. What core 1 stores until that request comes is carried, too.
  EXPECT_EQ(memory.store(0, kLine, ns(80)), ns(160));
  EXPECT_EQ(memory.store(1, kLine, ns(90)), ns(110));
  EXPECT_EQ(memory.store(1, kLine, ns(135)), ns(135));
  EXPECT_EQ(memory.store(1, kLine, ns(136)), ns(210));
}

TEST(SimulatedMemory, StoresOfACoreAreDoneInTheirOrder) {
  const Machine machine = three_cores();
  Memory memory(machine);
  memory.store(0, kLine + 1, 0);
  memory.store(0, kLine, 0);
  memory.read(1, kLine, 0);
  EXPECT_EQ(memory.store(0, kLine, ns(60)), ns(110));
  EXPECT_EQ(memory.store(0, kLine + 1, ns(61)), ns(110));  // its own line, but after the other store
}

TEST(SimulatedMemory, AnAddIsFreeForTheOwnerAlone) {
  const Machine machine = three_cores();
  Memory memory(machine);
  EXPECT_EQ(memory.add(0, kLine, 0), 0);
  EXPECT_EQ(memory.add(0, kLine, ns(5)), ns(5));
  EXPECT_EQ(memory.add(1, kLine, ns(5)), ns(105));
  EXPECT_EQ(memory.add(0, kLine, ns(60)), ns(205));
}

TEST(SimulatedMemory, ALineServesItsReadersOneAfterTheOther) {
  Machine machine = three_cores();
  for (const double share : {1.0, 0.5, 0.2}) {
    machine.served_share = share;
    Memory memory(machine);
    memory.store(0, kLine, 0);
    EXPECT_EQ(memory.read(1, kLine, 0), ns(50));
    EXPECT_EQ(memory.read(2, kLine, 0), share < 0.5 ? ns(70) : ns(100)) << share;
  }
}

}  // namespace
}  // namespace fermata::sim
