// A member writes random bytes over its team's memory while others work. They get errors or wrong data, and
// no process crashes or hangs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../../operation.hpp"
#include "../failures/forked_members.hpp"
#include "child.hpp"
#include "exec/team.hpp"
#include "fermata/fermata.h"
#include "team/handles.hpp"

namespace fermata {
namespace {

constexpr int kWorkers = 3;         // two of them are in one process
constexpr double kPatience = 0.15;  // s, for each call
constexpr std::int64_t kHangNs = 60'000'000'000;
constexpr int kSeeds = 20;
constexpr int kBursts = 60;
constexpr int kAlone = 50;
constexpr int kKinds = 14, kSplit = 10;
constexpr int kCalls = 400;            // of a worker, at most
constexpr std::size_t kLong = 20'000;  // elements: by address, or through ring buffers

using Random = std::mt19937_64;

struct Target {
  int fd = -1;
  char* memory = nullptr;
  std::size_t bytes = 0;
};

// Finds the memory of all teams that this process has.
std::vector<Target> segments() {
  std::vector<Target> found;
  for (int fd = 3; fd < 256; ++fd) {
    char name[64] = {}, target[64] = {};
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    struct stat file;
    if (readlink(name, target, sizeof target - 1) <= 0 || strstr(target, "memfd:fermata") == nullptr)
      continue;
    if (fstat(fd, &file) != 0) continue;
    const auto bytes = static_cast<std::size_t>(file.st_size);
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) found.push_back({fd, static_cast<char*>(memory), bytes});
  }
  return found;
}

// Finds the pages that have been or may soon be used: ring buffers and heap are mostly empty.
std::vector<std::size_t> used_pages(const Target& target) {
  std::vector<std::size_t> pages{0};
  char page[4096];
  for (std::size_t at = 0; at < target.bytes; at += sizeof page) {
    if (pread(target.fd, page, sizeof page, static_cast<off_t>(at)) <= 0) break;
    if (std::any_of(page, page + sizeof page, [](char c) { return c != 0; })) pages.push_back(at);
  }
  return pages;
}

std::uint64_t some_word(Random& random) {
  switch (random() % 6) {
    case 0: return 0;
    case 1: return ~std::uint64_t{0};
    case 2: return random() % 64;
    case 3: return std::uint64_t{1} << random() % 64;
    case 4: return random() % (std::uint64_t{64} << 20);  // an offset that may lie within the segment
    default: return random();
  }
}

// Writes a few words now and then, single bytes, or blocks, as `how` says. Most writes go to used pages.
void scribble(Random& random, int how, const std::vector<std::size_t>& pages, char* memory,
              std::size_t bytes) {
  const std::size_t page = pages[random() % pages.size()];
  const std::size_t at = std::min(page + random() % 4096 / 8 * 8, bytes - 8);
  const std::uint64_t word = some_word(random);
  if (how == 0) memcpy(memory + at, &word, 8);
  if (how == 1) memory[at + random() % 8] = static_cast<char>(word);
  if (how != 2) return;
  for (std::size_t i = at; i + 8 <= std::min(bytes, at + 256); i += 8) {
    const std::uint64_t other = some_word(random);
    memcpy(memory + i, &other, 8);
  }
}

void lie(std::uint64_t seed) {
  Random random(seed);
  const auto targets = segments();
  std::vector<std::vector<std::size_t>> used(targets.size());
  const int how = static_cast<int>(seed % 3);
  // writes single words, and not where members would see at once that the team is broken
  const bool gently = seed % 4 != 0;
  usleep(static_cast<useconds_t>(random() % 8 * 2000));
  for (int burst = 0; burst < kBursts; ++burst) {
    for (const Target& target : targets) {
      auto& pages = used[static_cast<std::size_t>(&target - targets.data())];
      if (burst % 20 == 0) pages = used_pages(target);
      if (gently) std::erase_if(pages, [](std::size_t page) { return page == 0; });
      const int writes = gently ? 1 : 1 << random() % 8;
      for (int i = 0; i < writes && !pages.empty(); ++i)
        scribble(random, how, pages, target.memory, target.bytes);
    }
    usleep(500);
  }
}

// A member with buffers that have room for each member's block.
struct Worker {
  Worker(fermata_team* of, fermata_member* joined, double patience) : team(of), member(joined) {
    fermata_member_set_timeout(member, patience);
  }
  // From this call on, a receiver may have room for more than it is sent.
  void be_bounded() {
    fermata_member_set_bounded(member, 1);
    room = 8;
  }

  int request(bool prepared, std::size_t count) {
    const fermata_operation o =
        test::operation(FERMATA_ALLREDUCE, in.data(), out.data(), count, FERMATA_INT32);
    fermata_request* r = nullptr;
    int rc = prepared ? fermata_prepare(member, &o, &r) : fermata_begin(member, &o, &r);
    if (rc == FERMATA_OK && prepared) rc = fermata_request_start(r);
    if (rc == FERMATA_OK) rc = fermata_request_wait(r);
    if (r != nullptr) fermata_request_free(r);
    return rc;
  }
  int split() {
    fermata_member* made = nullptr;
    const int rc = fermata_team_split(member, 0, fermata_member_rank(member), &made);
    if (rc != FERMATA_OK) return rc;
    fermata_member_set_timeout(made, kPatience);
    const int met = fermata_barrier(made);
    fermata_member_leave(made);
    return met;
  }
  int within() {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = 2;
    config.engine = FERMATA_PROCESSES;
    std::uint64_t place = 0;
    fermata_team* mine = nullptr;
    fermata_team* other = nullptr;
    if (const int rc = fermata_team_create_within(team, &config, &place, &mine); rc != FERMATA_OK) return rc;
    const int rc = fermata_team_attach_within(team, place, &other);
    if (rc == FERMATA_OK) fermata_team_destroy(other);
    fermata_team_destroy(mine);
    return rc;
  }
  int report() {
    std::size_t length = text.size();
    return fermata_team_report(team, text.data(), &length);
  }
  int alltoallv() {
    const std::size_t counts[kWorkers + 1] = {100, 5, 3000, 0}, places[kWorkers + 1] = {0, 100, 105, 4000};
    const auto me = static_cast<std::size_t>(fermata_member_rank(member));
    std::size_t mine[kWorkers + 1], begins[kWorkers + 1];
    for (std::size_t r = 0; r <= kWorkers; ++r) mine[r] = counts[me], begins[r] = r * 4000;
    return fermata_alltoallv(member, in.data(), counts, places, out.data(), mine, begins, FERMATA_INT32);
  }
  int broadcast(std::size_t bytes, int root) {
    return fermata_broadcast(member, out.data(), fermata_member_rank(member) == root ? bytes : bytes + room,
                             root);
  }
  int call(int n) {
    switch (n % kKinds) {
      case 0: return fermata_barrier(member);
      case 1: return fermata_allreduce(member, in.data(), out.data(), 2, FERMATA_INT32, FERMATA_SUM);
      case 2: return fermata_allreduce(member, in.data(), out.data(), kLong, FERMATA_INT32, FERMATA_SUM);
      case 3: return broadcast(40, n % (kWorkers + 1));
      case 4: return broadcast(kLong * 4, n % (kWorkers + 1));
      case 5:
        return fermata_reduce(member, in.data(), out.data(), 1, FERMATA_INT32, FERMATA_SUM,
                              n % (kWorkers + 1));
      case 6: return fermata_alltoall(member, in.data(), out.data(), kLong, FERMATA_INT32);
      case 7: return alltoallv();
      case 8: return request(false, kLong);
      case 9: return request(true, 64);
      case kSplit: return split();
      case 11: return within();
      case 12: return report();
      default: return fermata_gather(member, in.data(), out.data(), kLong, FERMATA_INT32, n % (kWorkers + 1));
    }
  }
  // Makes calls until one fails. Calls with the same number are the same at all members. A split may wait for
  // half a minute after the liar has written to it.
  void work(int from) {
    for (int n = from; n < from + kCalls; ++n) {
      if (n % kKinds == kSplit && from % kKinds != kSplit) continue;
      if (call(n) != FERMATA_OK) break;
    }
    // Calls that need no other member still work, in whatever state the team is.
    for (int n = 0; n < kAlone; ++n) {
      within();
      report();
    }
  }

  fermata_team* team;
  fermata_member* member;
  std::size_t room = 0;
  std::vector<int> in = std::vector<int>((kWorkers + 1) * kLong, 1), out = in;
  std::vector<char> text = std::vector<char>(4096);
};

// The life of one member, in a thread of a process that may have another member.
void live(fermata_team* team, int rank, int from) {
  fermata_member* member = nullptr;
  if (fermata_team_join(team, rank, &member) != FERMATA_OK) return;
  Worker worker(team, member, kPatience);
  if (from % 3 == 1) worker.be_bounded();
  worker.work(from);
  fermata_member_leave(member);
}

// Expects the processes of ranks 0 to 2 to end well, while rank 3 works a little and then writes random
// bytes.
void expect_no_crash(int seed) {
  fermata_team* const team = test::make_team(kWorkers + 1, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const auto start = [&](auto&& work) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    _exit(0);
  };
  const int from = seed;
  const pid_t both = start([&] {
    std::thread other([&] { live(team, 1, from); });
    live(team, 0, from);
    other.join();
  });
  const pid_t alone = start([&] { live(team, 2, from); });
  const pid_t liar = start([&] {
    std::thread lies([&] { lie(static_cast<std::uint64_t>(seed)); });
    live(team, 3, from);
    lies.join();
  });
  EXPECT_EQ(result_of(both, kHangNs), 0) << "seed " << seed << ", the process of two";
  EXPECT_EQ(result_of(alone, kHangNs), 0) << "seed " << seed << ", the process of one";
  result_of(liar, kHangNs);  // it may crash or hang itself
  fermata_team_destroy(team);
}

class Liar : public testing::TestWithParam<const char*> {};

TEST_P(Liar, CrashesNobodyElse) {
  setenv("FERMATA_CMA", GetParam(), 1);
  const char* const wanted = getenv("FERMATA_TEST_SEEDS");  // first:count
  int first = 0, count = kSeeds / FERMATA_TEST_SCALE;
  ASSERT_TRUE(wanted == nullptr || sscanf(wanted, "%d:%d", &first, &count) == 2) << wanted;
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) expect_no_crash(seed);
  unsetenv("FERMATA_CMA");
}

INSTANTIATE_TEST_SUITE_P(Reads, Liar, testing::Values("0", "1"), [](const auto& by) {
  return std::string(by.param[0] == '0' ? "ThroughRings" : "ByTheKernel");
});

// Copies a segment's file, as another process might serve it; -1: the copy failed.
int copy_of(const Target& original, const std::vector<std::size_t>& pages) {
  const int file = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || ftruncate(file, static_cast<off_t>(original.bytes)) != 0 ||
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    return -1;
  for (const std::size_t page : pages)
    if (pwrite(file, original.memory + page, 4096, static_cast<off_t>(page)) != 4096) return -1;
  return file;
}

// Null: the file was refused.
fermata_team* taken(int file) {
  exec::Team* team = nullptr;
  const char* detail = "";
  if (exec::Team::attach(file, nullptr, 0, &team, &detail) != Status::kOk) return nullptr;
  auto* const handle = new fermata_team;
  handle->team = team;
  return handle;
}

// Runs the members' calls in a copy of a team's segment with a changed layout. -1: the attach was refused.
int attach_changed(void (*change)(exec::TeamLayout&)) {
  fermata_team* const team = test::make_team(2, FERMATA_PROCESSES);
  const auto found = segments();
  if (team == nullptr || found.size() != 1) return 1;
  const int file = copy_of(found[0], used_pages(found[0]));
  exec::TeamLayout layout = team->team->layout();
  change(layout);
  if (file < 0 || pwrite(file, &layout, sizeof layout, 0) != sizeof layout) return 2;
  fermata_team* const handle = taken(file);
  if (handle == nullptr) return -1;
  std::atomic<int> failed{0};
  const auto work = [&](int rank) {
    fermata_member* member = nullptr;
    if (fermata_team_join(handle, rank, &member) != FERMATA_OK) failed = 5;
    for (int i = 0; i < 100 && failed == 0; ++i)
      if (fermata_barrier(member) != FERMATA_OK) failed = 6;
  };
  std::thread other([&] { work(1); });
  work(0);
  other.join();
  return failed;
}

TEST(ALiarsLayout, IsOfNoUse) {
  EXPECT_EQ(in_child(kHangNs, [] { return attach_changed([](exec::TeamLayout&) {}); }), 0);
  // No place for other teams, so the table of places is at the start of the segment.
  const auto work = [] {
    return attach_changed([](exec::TeamLayout& l) { l.places = l.rings = 0; }) == -1 ? 0 : 7;
  };
  EXPECT_EQ(in_child(kHangNs, work), 0);
}

// Another process made the segment and changed some of it. A process that attaches gets an error, or a team
// whose calls end.
TEST(ALiarsSegment, CrashesNobody) {
  fermata_team* const team = test::make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  const auto found = segments();
  ASSERT_EQ(found.size(), 1u);
  const std::size_t bytes = found[0].bytes;
  const auto pages = used_pages(found[0]);
  const int status = in_child(2 * kHangNs, [&] {
    int joined = 0;
    for (int seed = 0; seed < 1000 / FERMATA_TEST_SCALE; ++seed) {
      Random random(static_cast<std::uint64_t>(seed));
      const int file = copy_of(found[0], pages);
      if (file < 0) return 1;
      auto* const copy =
          static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
      const int writes = static_cast<int>(random() % 4);  // with 0 writes the copy equals the original
      for (int i = 0; i < writes; ++i) scribble(random, seed % 3, pages, copy, bytes);
      munmap(copy, bytes);
      fermata_team* const handle = taken(file);
      if (handle == nullptr) continue;
      fermata_member* member = nullptr;
      if (fermata_team_join(handle, 0, &member) == FERMATA_OK) {
        ++joined;
        Worker alone(handle, member, 1e-4);
        alone.call(seed);
        alone.report();
        fermata_member_leave(member);
      }
      fermata_team_destroy(handle);
    }
    return joined > 0 ? 0 : 2;  // without one join, the test shows nothing
  });
  EXPECT_EQ(status, 0) << (status == kHung ? "it hangs" : "");
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata
