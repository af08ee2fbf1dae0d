// A segment's memory, and the locks on ranks that lie in its file.
#include "exec/segment_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/line.hpp"

namespace fermata::exec {
namespace {

constexpr std::size_t kBytes = kMaxPage;
const char* why = "";

// Runs `check` in a forked process. True if it returned true.
template <class Check>
bool in_child(const Check& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct FileOfPlaces : testing::Test {
  static constexpr std::size_t kOwn = round_up(sizeof(PlaceTable), kMaxPage);
  SegmentMemory owner;

  FileOfPlaces() { EXPECT_EQ(SegmentMemory::create(true, kOwn, &owner), Status::kOk); }
  ~FileOfPlaces() override { owner.unmap(); }
  Places places() { return {*reinterpret_cast<PlaceTable*>(owner.base()), owner.fd(), kOwn}; }
  SegmentMemory taken() {
    SegmentMemory memory;
    EXPECT_EQ(SegmentMemory::take_place(places(), kBytes, kBytes, &memory), Status::kOk);
    return memory;
  }
  bool exists(std::uint64_t place) {
    SegmentMemory memory;
    if (SegmentMemory::map_place(places(), place, &memory) != Status::kOk) return false;
    memory.unmap();
    return true;
  }
};

TEST(SegmentMemory, OfThreadsHasNoFile) {
  SegmentMemory memory;
  ASSERT_EQ(SegmentMemory::create(false, kBytes, &memory), Status::kOk);
  EXPECT_FALSE(memory.is_shared());
  EXPECT_FALSE(memory.is_place());
  EXPECT_EQ(memory.bytes(), kBytes);
  EXPECT_FALSE(memory.is_in_child());
  EXPECT_TRUE(in_child([&] { return memory.is_in_child(); }));
  memory.unmap();
}

TEST(SegmentMemory, OfAFileIsSeenThroughEachDescriptor) {
  SegmentMemory memory, again;
  ASSERT_EQ(SegmentMemory::create(true, kBytes, &memory), Status::kOk);
  EXPECT_TRUE(memory.is_shared());
  EXPECT_TRUE(memory.owns_file(os::identify(memory.fd())));
  ASSERT_EQ(SegmentMemory::map_file(dup(memory.fd()), &again), Status::kOk);
  EXPECT_TRUE(again.owns_file(os::identify(memory.fd())));
  memory.base()[7] = std::byte{42};
  EXPECT_EQ(again.base()[7], std::byte{42});
  again.unmap();
  memory.unmap();
}

TEST(SegmentMemory, ARankIsClaimedUntilItsProcessDisclaimsItOrEnds) {
  SegmentMemory memory;
  ASSERT_EQ(SegmentMemory::create(true, kBytes, &memory), Status::kOk);
  ASSERT_EQ(memory.claim(1, &why), Status::kOk);
  memory.keep(dup(memory.fd()));
  EXPECT_FALSE(memory.is_claimed_elsewhere(1)) << "a process does not see its own locks";
  EXPECT_TRUE(in_child([&] {
    return memory.is_claimed_elsewhere(1) && !memory.is_claimed_elsewhere(0) &&
           memory.claim(1, &why) == Status::kBusy && memory.claim(0, &why) == Status::kOk;
  }));
  EXPECT_FALSE(memory.is_claimed_elsewhere(0)) << "the child has ended";
  memory.disclaim(1);
  EXPECT_TRUE(in_child([&] { return !memory.is_claimed_elsewhere(1); }));
  memory.unmap();
}

TEST_F(FileOfPlaces, AllProcessesMapTheSameBytes) {
  SegmentMemory memory = taken(), again;
  EXPECT_TRUE(memory.is_place());
  EXPECT_EQ(memory.fd(), owner.fd());
  EXPECT_FALSE(memory.owns_file(os::identify(owner.fd())));
  ASSERT_EQ(SegmentMemory::map_place(places(), memory.place(), &again), Status::kOk);
  memory.base()[7] = std::byte{42};
  EXPECT_EQ(again.base()[7], std::byte{42});
  EXPECT_EQ(again.bytes(), kBytes);
  again.unmap();
  memory.unmap();
}

TEST_F(FileOfPlaces, TheLastUserFreesThePlace) {
  SegmentMemory memory = taken(), again;
  const std::uint64_t place = memory.place();
  ASSERT_EQ(SegmentMemory::map_place(places(), place, &again), Status::kOk);
  memory.unmap();
  EXPECT_TRUE(exists(place));
  again.unmap();
  EXPECT_FALSE(exists(place));
}

TEST_F(FileOfPlaces, RanksOfTwoPlacesHaveTwoLocks) {
  SegmentMemory one = taken(), two = taken();
  ASSERT_EQ(one.claim(0, &why), Status::kOk);
  EXPECT_TRUE(in_child([&] { return one.is_claimed_elsewhere(0) && !two.is_claimed_elsewhere(0); }));
  one.disclaim(0);
  two.unmap();
  one.unmap();
}

// A forked child's copy is no user of the place, but a rank that it claims is.
TEST_F(FileOfPlaces, AChildCountsWhileItHasARank) {
  SegmentMemory memory = taken();
  const std::uint64_t place = memory.place();
  EXPECT_TRUE(in_child([&] {
    SegmentMemory copy = memory;
    copy.unmap();
    return true;
  }));
  EXPECT_TRUE(exists(place)) << "the child has not dropped its parent's place";
  EXPECT_TRUE(in_child([&] { return memory.claim(1, &why) == Status::kOk; }));  // ends without disclaim()
  SegmentMemory parents = memory;
  memory.unmap();
  EXPECT_TRUE(exists(place));
  EXPECT_TRUE(in_child([&] {
    parents.disclaim(1);
    return !exists(place) && parents.claim(1, &why) == Status::kArgument;
  }));
}

}  // namespace
}  // namespace fermata::exec
