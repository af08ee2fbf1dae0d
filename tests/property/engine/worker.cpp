#include "worker.hpp"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "api/values.hpp"
#include "fermata/hosts.h"
#include "plan/hosts.hpp"
#include "team/handles.hpp"

namespace fermata::test {
namespace {

constexpr int kMostMembers = 64;

// Shared by the members of a case: an anonymous shared mapping, which processes see too.
struct Shared {
  struct alignas(128) Cell {
    std::uint64_t plain = 0;  // written before, read after: ordered only by the collective
    std::atomic<std::uint64_t> entered{0};
    double result[7] = {};
  };
  std::array<Cell, kMostMembers> cells;
  std::atomic<int> failures{0};
  char message[400] = {};

  void report(const char* what, int rank, std::uint64_t episode) {
    if (failures.fetch_add(1) == 0)
      std::snprintf(message, sizeof message, "%s (rank %d, episode %llu)", what, rank,
                    static_cast<unsigned long long>(episode));
  }
};

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  return x ^ x >> 29;
}

// Spreads arrivals by yields, not by time; the kernel's scheduler adds the rest.
void delay(const PropertyCase& test, int rank, std::uint64_t episode) {
  int turns = 0;
  if (test.arrivals == Arrivals::kOneLate &&
      static_cast<int>(episode % static_cast<unsigned>(test.members)) == rank)
    turns = 8;
  if (test.arrivals == Arrivals::kOneEarly &&
      static_cast<int>(episode % static_cast<unsigned>(test.members)) != rank)
    turns = 8;
  if (test.arrivals == Arrivals::kRandom)
    turns = static_cast<int>(mix(episode * 64 + static_cast<unsigned>(rank)) % 4);
  for (int i = 0; i < turns; ++i) std::this_thread::yield();
}

// Not associative in doubles: different trees would give different bits.
double contribution(int rank, std::uint64_t episode, int i) {
  return 1.0 / (3.0 + rank) + static_cast<double>(episode % 1000) * 0.1 + i;
}

class Worker {
 public:
  Worker(const PropertyCase& test, Shared& shared, fermata_member* member, int rank)
      : test_(test), shared_(shared), member_(member), rank_(rank), count_(test.payload > 8 ? 7 : 1) {}

  void run() {
    for (std::uint64_t e = 1; e <= static_cast<std::uint64_t>(test_.episodes); ++e) {
      delay(test_, rank_, e);
      shared_.cells[rank_].plain = e;
      shared_.cells[rank_].entered.store(e, std::memory_order_relaxed);
      const int status = episode(e);
      if (status != FERMATA_OK) {
        shared_.report((std::string(fermata_status_string(status)) + ": " + fermata_error_detail()).c_str(),
                       rank_, e);
        return;
      }
      if (shared_.failures.load(std::memory_order_relaxed) != 0) return;
    }
  }

 private:
  int root(std::uint64_t e) const { return static_cast<int>(e % static_cast<unsigned>(test_.members)); }

  int episode(std::uint64_t e) {
    switch (test_.collective) {
      case FERMATA_BARRIER: return barrier(e);
      case FERMATA_ALLREDUCE: return allreduce(e);
      case FERMATA_REDUCE: return reduce(e);
      default: return broadcast(e);
    }
  }

  // In one episode, some members make one call and others two: each kind of call must cope with the state
  // that the other left.
  int whole_or_split_barrier(std::uint64_t e) {
    if ((e + static_cast<unsigned>(rank_)) % 3 != 0) return fermata_barrier(member_);
    const int arrived = fermata_arrive(member_);
    return arrived != FERMATA_OK ? arrived : fermata_depart(member_);
  }

  // A second barrier keeps the next episode's plain writes after these reads.
  int barrier(std::uint64_t e) {
    if (test_.sabotage && rank_ == 0) {
      const int arrived = fermata_arrive(member_);
      if (arrived != FERMATA_OK) return arrived;
      check_all_entered(e);
      const int departed = fermata_depart(member_);
      return departed != FERMATA_OK ? departed : fermata_barrier(member_);
    }
    const int status = test_.tagged && rank_ % 2 == 0
                           ? fermata_barrier_tagged(member_, static_cast<std::uint32_t>(e))
                           : fermata_barrier(member_);
    if (status != FERMATA_OK) return status;
    check_all_entered(e);
    return whole_or_split_barrier(e);
  }

  void check_all_entered(std::uint64_t e) {
    for (int r = 0; r < test_.members; ++r) {
      if (shared_.cells[r].entered.load(std::memory_order_relaxed) < e)
        shared_.report("left before all had entered", rank_, e);
      if (shared_.cells[r].plain != e)
        shared_.report("plain data written before is not seen after", rank_, e);
    }
  }

  int allreduce(std::uint64_t e) {
    double in[7];
    double out[7];
    for (int i = 0; i < count_; ++i) in[i] = contribution(rank_, e, i);
    int status =
        fermata_allreduce(member_, in, out, static_cast<std::size_t>(count_), FERMATA_DOUBLE, FERMATA_SUM);
    if (status != FERMATA_OK) return status;
    check_all_entered(e);
    std::memcpy(shared_.cells[rank_].result, out, sizeof out[0] * static_cast<unsigned>(count_));
    check_sum(out, e);
    // Calls 0 and 1 are alike; before call 2 another type comes between.
    for (std::int64_t call = 0; call < 3; ++call) {
      if (call == 2) {
        std::int32_t half = 1;  // fewer bytes than a whole word
        status = fermata_allreduce(member_, &half, &half, 1, FERMATA_INT32, FERMATA_SUM);
        if (status != FERMATA_OK) return status;
        if (half != test_.members) shared_.report("wrong count", rank_, e);
      }
      const std::int64_t mine = rank_ * 10 + static_cast<std::int64_t>(e % 7) + call;
      std::int64_t largest = 0;
      status = fermata_allreduce(member_, &mine, &largest, 1, FERMATA_INT64, FERMATA_MAX);
      if (status != FERMATA_OK) return status;
      if (largest != mine + (test_.members - 1 - rank_) * 10) shared_.report("wrong maximum", rank_, e);
    }
    for (int r = 0; r < test_.members; ++r)
      if (std::memcmp(shared_.cells[r].result, out, sizeof out[0] * static_cast<unsigned>(count_)) != 0)
        shared_.report("results differ in their bits", rank_, e);
    std::int64_t all = 1;
    return fermata_allreduce(member_, &all, &all, 1, FERMATA_INT64, FERMATA_LAND);
  }

  void check_sum(const double* out, std::uint64_t e) {
    for (int i = 0; i < count_; ++i) {
      double sum = 0;
      for (int r = 0; r < test_.members; ++r) sum += contribution(r, e, i);
      const double error = out[i] > sum ? out[i] - sum : sum - out[i];
      if (!(error <= 1e-12 * (sum + 1))) shared_.report("wrong sum", rank_, e);
    }
  }

  // Back to back and with changing roots: only slots and credits keep members together.
  int reduce(std::uint64_t e) {
    double in[7];
    double out[7] = {};
    for (int i = 0; i < count_; ++i) in[i] = contribution(rank_, e, i);
    const int to = e % 3 == 0 ? root(e) : 0;
    const int status =
        fermata_reduce(member_, in, out, static_cast<std::size_t>(count_), FERMATA_DOUBLE, FERMATA_SUM, to);
    if (status == FERMATA_OK && rank_ == to) check_sum(out, e);
    return status;
  }

  int broadcast(std::uint64_t e) {
    const int from = e % 3 == 0 ? root(e) : 0;
    double data[7];
    for (int i = 0; i < count_; ++i) data[i] = rank_ == from ? contribution(from, e, i) : -1.0;
    const int status = fermata_broadcast(member_, data, sizeof data[0] * static_cast<unsigned>(count_), from);
    if (status != FERMATA_OK) return status;
    for (int i = 0; i < count_; ++i)
      if (data[i] != contribution(from, e, i)) shared_.report("wrong broadcast", rank_, e);
    return status;
  }

  const PropertyCase& test_;
  Shared& shared_;
  fermata_member* member_;
  int rank_;
  int count_;
};

void run_member(const PropertyCase& test, Shared& shared, fermata_team* team, int rank) {
  fermata_member* member = nullptr;
  const int status = fermata_team_join(team, rank, &member);
  if (status != FERMATA_OK) {
    shared.report(fermata_error_detail(), rank, 0);
    fermata_team_abort(team);
    return;
  }
  fermata_member_set_timeout(member, 30);
  Worker(test, shared, member, rank).run();
  if (shared.failures.load() != 0) fermata_team_abort(team);
  fermata_member_leave(member);
}

struct Handles {
  fermata_plan* plan = nullptr;
  fermata_team* team = nullptr;  // if there is one host
  std::vector<int> host_of;      // of each rank, if there are several hosts
  PretendedHosts hosts;
  Shared* shared = nullptr;
  fermata_team* team_of(int rank) const { return team != nullptr ? team : hosts.team_of(rank); }
  ~Handles() {
    fermata_team_destroy(team);
    fermata_plan_destroy(plan);
    if (shared != nullptr) munmap(shared, sizeof(Shared));
  }
};

std::string make_plan_over_hosts(const PropertyCase& test, Handles& h) {
  PlanOptions options;
  options.key.collective = static_cast<Collective>(test.collective);
  options.key.members = test.members;
  options.key.payload = test.tagged ? 8 : test.payload;
  options.key.hosts = h.host_of;
  options.key.cpus.resize(h.host_of.size());
  std::iota(options.key.cpus.begin(), options.key.cpus.end(), 0);
  options.algorithm = test.algorithm;
  options.layout = test.layout;
  const Topology topology = topology_of_hosts(h.host_of);
  auto plan = make_plan(topology, profile_of_hosts(topology), options, nullptr);
  if (!plan)
    return (plan.error().status == Status::kUnsupported ? "unsupported: " : "plan: ") + plan.error().message;
  h.plan = new fermata_plan{std::move(*plan)};
  return {};
}

std::string prepare(const PropertyCase& test, Handles& h) {
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = test.members;
  request.collective = test.collective;
  const int engine = team_engine(test.engine);
  request.engine = engine;
  request.payload = static_cast<std::size_t>(test.tagged ? 8 : test.payload);
  request.algorithm = test.algorithm.empty() ? nullptr : test.algorithm.c_str();
  request.layout = test.layout.empty() ? nullptr : test.layout.c_str();
  if (test.hosts > 1) {
    h.host_of = hosts_of_ranks(test.members, test.hosts, test.scattered);
    if (const std::string problem = make_plan_over_hosts(test, h); !problem.empty()) return problem;
  } else {
    const int status = fermata_plan_make(&request, &h.plan);
    if (status == FERMATA_ERR_UNSUPPORTED) return std::string("unsupported: ") + fermata_error_detail();
    if (status != FERMATA_OK) return std::string("plan: ") + fermata_error_detail();
  }
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = test.members;
  config.engine = engine;
  config.wait = test.wait;
  config.tagged = test.tagged ? 1 : 0;
  const fermata_plan* plans[] = {h.plan};
  config.plans = plans;
  config.plan_count = 1;
  if (test.hosts > 1) {
    if (const std::string problem = h.hosts.make(config, h.host_of, test.hosts, test.links); !problem.empty())
      return problem;
  } else {
    if (fermata_team_create(&config, &h.team) != FERMATA_OK)
      return std::string("team: ") + fermata_error_detail();
  }
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return "mmap failed";
  h.shared = new (page) Shared;
  return {};
}

}  // namespace

std::string run_property(const PropertyCase& test) {
  Handles h;
  std::string problem = prepare(test, h);
  if (!problem.empty()) return problem;
  run_members(
      test.engine, test.members, [&](int rank) { run_member(test, *h.shared, h.team_of(rank), rank); },
      [&](int how) { h.shared->report(("a member's process died: " + std::to_string(how)).c_str(), -1, 0); });
  if (h.shared->failures.load() == 0) return {};
  std::size_t length = 8192;
  std::string report(length, '\0');
  fermata_team_report(h.team_of(0), report.data(), &length);
  return std::string(h.shared->message) + "\n" + report.c_str();
}

}  // namespace fermata::test
