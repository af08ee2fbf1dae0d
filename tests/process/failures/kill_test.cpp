// A process is killed at a random moment in the middle of each collective. The trials cover blocking calls,
// started and persistent requests, and chains of them. They run with and without single copy, with a progress
// thread, and with several members in each process. Survivors report the lost rank within the set time, all
// their requests end, and no mapping, descriptor or zombie is left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "../mixed/house.hpp"
#include "fermata/collectives.hpp"
#include "kill.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kRequests = 3;  // outstanding at once

enum class Mode { kCalls, kBegun, kPersistent, kChained };

struct Trial {
  Mode mode;
  int collective;  // 0: barrier
  bool irregular;
  std::size_t count;  // doubles in a block
  int members;
  int each;    // members of a process, whose ranks are `processes` apart
  int victim;  // number of the process, and its first rank
  bool single_copy;
  bool polls;       // calls fermata_progress instead of waiting
  bool has_thread;  // a progress thread runs
  int processes() const { return members / each; }
};

// A survivor's complaint, as its exit code; 0: all is well.
enum Complaint { kFine = 0, kNotJoined = 100, kOtherError, kNamesAnother, kStillActive, kMapped, kOpen };

bool has_segment_mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:") != std::string::npos) return true;
  return false;
}

// Buffers of one outstanding request, and the operation on them.
struct Work {
  std::vector<double> in, out;
  std::vector<std::size_t> counts, other_counts;

  Work(const Trial& t, int rank) : in(t.count * static_cast<std::size_t>(t.members), 1.0), out(in.size()) {
    // Never 0: a member that exchanges no data with the victim does not wait for it.
    const auto share = [&](int n) {
      return std::max(std::size_t{1}, t.count / (1 + static_cast<std::size_t>(n % 2)));
    };
    for (int r = 0; r < t.members; ++r) counts.push_back(share(r + rank));
    for (int r = 0; r < t.members; ++r) other_counts.push_back(share(r));
  }

  fermata_operation operation(const Trial& t, int rank, int root) {
    fermata_operation o = FERMATA_OPERATION_INIT;
    o.collective = t.collective;
    o.in = rules_of(t.collective).has_one_buffer() ? nullptr : in.data();
    o.out = out.data();
    o.count = t.count;
    o.type = FERMATA_DOUBLE;
    o.op = FERMATA_MAX;
    o.root = root;
    if (!t.irregular) return o;
    o.irregular = 1;
    const CollectiveRules& rules = rules_of(t.collective);
    const std::vector<std::size_t>& c = rules.is_square() ? counts : other_counts;
    o.count = c[static_cast<std::size_t>(rank)];
    if (rules.reads_several(rank == root)) o.in_counts = c.data();
    if (rules.writes_several(rank == root)) o.out_counts = c.data();
    return o;
  }
};

int call(fermata_member* m, const Trial& t, Work& w, int root) {
  switch (t.collective) {
    case 0: return fermata_barrier(m);
    case FERMATA_BROADCAST: return fermata_broadcast(m, w.out.data(), t.count * sizeof(double), root);
    case FERMATA_REDUCE:
      return fermata_reduce(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, FERMATA_SUM, root);
    case FERMATA_ALLREDUCE:
      return fermata_allreduce(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, FERMATA_SUM);
    default: break;
  }
  // A short call by its own function is carried on lines.
  if (t.irregular || root % 2 == 1) {
    const fermata_operation o = w.operation(t, fermata_member_rank(m), root);
    return fermata_execute(m, &o);
  }
  switch (t.collective) {
    case FERMATA_GATHER: return fermata_gather(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, root);
    case FERMATA_SCATTER: return fermata_scatter(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, root);
    case FERMATA_ALLGATHER: return fermata_allgather(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE);
    case FERMATA_REDUCE_SCATTER:
      return fermata_reduce_scatter(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, FERMATA_MAX);
    case FERMATA_ALLTOALL: return fermata_alltoall(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE);
    case FERMATA_SCAN:
      return fermata_scan(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, FERMATA_MAX);
    default: return fermata_exscan(m, w.in.data(), w.out.data(), t.count, FERMATA_DOUBLE, FERMATA_MAX);
  }
}

// Waits until all requests have ended. Returns the first error.
int finish(fermata_member* m, const Trial& t, const std::vector<fermata_request*>& requests) {
  while (t.polls && fermata_progress(m, 50) == FERMATA_PENDING) continue;
  return fermata_request_wait_all(requests.data(), requests.size());
}

int begin_and_finish(fermata_member* m, const Trial& t, std::vector<Work>& works, unsigned turn) {
  std::vector<fermata_request*> requests(kRequests);
  int status = FERMATA_OK;
  for (std::size_t i = 0; i < kRequests && status == FERMATA_OK; ++i) {
    const int root = static_cast<int>((turn + i) % static_cast<unsigned>(t.members));
    const fermata_operation o = works[i].operation(t, fermata_member_rank(m), root);
    status = fermata_begin(m, &o, &requests[i]);
  }
  const int finished = finish(m, t, requests);
  for (fermata_request* r : requests)
    if (fermata_request_free(r) != FERMATA_OK) _exit(kStillActive);
  return status != FERMATA_OK ? status : finished;
}

struct Persistent {
  std::vector<fermata_request*> requests = std::vector<fermata_request*>(kRequests);

  int prepare(fermata_member* m, const Trial& t, std::vector<Work>& works) {
    int status = FERMATA_OK;
    for (std::size_t i = 0; i < kRequests && status == FERMATA_OK; ++i) {
      const int root = static_cast<int>(i % static_cast<unsigned>(t.members));
      const fermata_operation o = works[i].operation(t, fermata_member_rank(m), root);
      status = fermata_prepare(m, &o, &requests[i]);
    }
    if (status == FERMATA_OK && t.mode == Mode::kChained) {
      fermata_request* chain = nullptr;
      status = fermata_chain(requests.data(), requests.size(), &chain);
      requests.assign(1, chain);
    }
    return status;
  }
  int run(fermata_member* m, const Trial& t, unsigned turn) {
    int status = FERMATA_OK;
    const std::size_t n = requests.size();
    for (std::size_t i = 0; i < n && status == FERMATA_OK; ++i)
      status =
          fermata_request_start(requests[(turn * static_cast<unsigned>(fermata_member_rank(m) + 1) + i) % n]);
    const int finished = finish(m, t, requests);
    return status != FERMATA_OK ? status : finished;
  }
  void free_all() {
    for (fermata_request* r : requests)
      if (fermata_request_free(r) != FERMATA_OK) _exit(kStillActive);
  }
};

int run_until_lost(fermata_member* m, const Trial& t, std::atomic<int>& ready) {
  std::vector<Work> works;
  for (std::size_t i = 0; i < kRequests; ++i) works.emplace_back(t, fermata_member_rank(m));
  Persistent persistent;
  const bool prepares = t.mode == Mode::kPersistent || t.mode == Mode::kChained;
  int status = prepares ? persistent.prepare(m, t, works) : FERMATA_OK;
  ++ready;
  for (unsigned turn = 0; status == FERMATA_OK; ++turn) {
    switch (t.mode) {
      case Mode::kCalls:
        status = call(m, t, works[0], static_cast<int>(turn % static_cast<unsigned>(t.members)));
        break;
      case Mode::kBegun: status = begin_and_finish(m, t, works, turn); break;
      default: status = persistent.run(m, t, turn); break;
    }
  }
  bool named = true;
  for (int rank = t.victim; rank < t.members; rank += t.processes())
    named = named && std::strstr(fermata_error_detail(), ("rank " + std::to_string(rank)).c_str()) != nullptr;
  if (status != FERMATA_ERR_MEMBER_LOST)
    std::fprintf(stderr, "rank %d: %d, %s\n", fermata_member_rank(m), status, fermata_error_detail());
  if (prepares) persistent.free_all();
  return status != FERMATA_ERR_MEMBER_LOST ? kOtherError : named ? kFine : kNamesAnother;
}

int survive(fermata_team* team, const Trial& t, int process, std::atomic<int>& ready, int descriptors) {
  setenv("FERMATA_CMA", t.single_copy ? "1" : "0", 1);
  if (t.has_thread && fermata_progress_thread(1) != FERMATA_OK) return kNotJoined;
  std::vector<int> ranks;
  for (int rank = process; rank < t.members; rank += t.processes()) ranks.push_back(rank);
  const int complaint =
      live_in_house(team, ranks, [&](fermata_member* m, int) { return run_until_lost(m, t, ready); });
  if (t.has_thread && fermata_progress_thread(0) != FERMATA_OK) return kNotJoined;
  fermata_team_destroy(team);
  if (complaint != kFine) return complaint;
  if (has_segment_mapped()) return kMapped;
  return open_descriptors() == descriptors ? kFine : kOpen;
}

// Takes each collective in each mode, one after the other; chooses the rest at random.
Trial trial_of(int number, std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  Trial t{};
  t.collective = number % 11;
  t.mode = t.collective == 0 ? Mode::kCalls : static_cast<Mode>(number / 11 % 4);
  const int processes = 2 + below(3);
  t.each = number / 44 % 2 + 1;
  t.members = processes * t.each;
  t.victim = below(static_cast<unsigned>(processes));
  static constexpr std::size_t kCounts[] = {1, 7, 40, 1000, 8192, 131072};
  t.count = kCounts[below(6)];
  t.irregular = rules_of(t.collective).has_several() && below(2) == 0;
  t.single_copy = below(2) == 0;
  t.polls = below(3) == 0;
  t.has_thread = t.mode != Mode::kCalls && below(4) == 0;
  return t;
}

std::string describe(const Trial& t) {
  static const char* const kModes[] = {"calls", "begun", "persistent", "chained"};
  return "collective " + std::to_string(t.collective) + ", " + kModes[static_cast<int>(t.mode)] + ", count " +
         std::to_string(t.count) + (t.irregular ? ", irregular" : "") + (t.single_copy ? ", lent" : "") +
         (t.polls ? ", polled" : "") + (t.has_thread ? ", progress thread" : "") + ", victim " +
         std::to_string(t.victim) + " of " + std::to_string(t.processes()) + " processes of " +
         std::to_string(t.each);
}

int wanted_kills() {
  const char* text = std::getenv("FERMATA_KILLS");
  return text != nullptr ? std::atoi(text) : 132 / FERMATA_TEST_SCALE;
}

// FERMATA_KILLS=1000 asks for 1,000 trials.
TEST(Kill, InTheMiddleOfEachCollective) {
  std::mt19937 random(20);
  const int kills = wanted_kills();
  const int descriptors = open_descriptors();
  for (int n = 0; n < kills && !HasFailure(); ++n) {
    const Trial t = trial_of(n, random);
    SCOPED_TRACE("kill " + std::to_string(n) + ": " + describe(t));
    const auto body = [&](fermata_team* team, int rank, std::atomic<int>& ready) {
      return survive(team, t, rank, ready, descriptors);
    };
    expect_survivors_exit({t.victim, t.processes(), static_cast<int>(random() % 10000), t.each}, kFine, body);
    EXPECT_FALSE(has_segment_mapped());
    EXPECT_EQ(open_descriptors(), descriptors);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace fermata::test
