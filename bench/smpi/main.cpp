// Barriers, broadcasts and allreduces of 8 bytes in a simulated MPI job (SimGrid's SMPI), in simulated time.
// scripts/bench-smpi starts it by smpirun, with -no-privatize: all ranks share the global state below.
//
//   fermata-smpi PER_HOST MEMORY plans FILE...   by plans, which `fermata plan --json` wrote
//   fermata-smpi PER_HOST MEMORY mpi             by MPI_Barrier, MPI_Bcast and MPI_Allreduce
//   fermata-smpi PER_HOST MEMORY probe RANK...   costs of messages from rank 0 to these ranks, on other hosts
//
// PER_HOST: ranks per host. MEMORY: a profile of one host with as many cores. Rank 0 prints JSON.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/smpi/replay.hpp"
#include "profile/store.hpp"
#include "topo/topology.hpp"

namespace fermata::smpi {
namespace {

// The last one counts: before the first one no core has a line yet, and some selectors make communicators.
constexpr int kCalls = 2;
constexpr sim::Time kApart = 50'000'000'000;  // ps from one call's begin to the next one's
constexpr sim::Time kLate = 200'000'000;      // ps by which a rank is late in the check of a barrier
constexpr int kMessages = 9;                  // of a burst

// Of all ranks.
struct World {
  std::unique_ptr<sim::Machine> machine;
  std::vector<std::unique_ptr<HostMemory>> hosts;
  std::vector<std::unique_ptr<Member>> members;
  std::vector<Replay> replays;
  std::vector<Plan> plans;
  std::vector<sim::Time> left;  // when each rank has left the present call
  std::string flaw;             // why the run is worth nothing; empty: nothing is wrong
  sim::Time first = 0;          // when the first call begins
};
World world;

struct Rank {
  int me = 0, size = 1;
  std::uint64_t episode = 0;
};

template <class T>
T take(Result<T> result) {
  if (result) return std::move(result.value());
  std::fprintf(stderr, "fermata-smpi: %s\n", result.error().message.c_str());
  std::abort();
}

bool is_for(const PlanKey& key, int size, int per_host) {
  if (key.members != size || (key.hosts.empty() && per_host < size)) return false;
  for (std::size_t rank = 0; rank < key.hosts.size(); ++rank)
    if (key.hosts[rank] != static_cast<int>(rank) / per_host) return false;
  return true;
}

// The machine of one host: its cores in the order of the profile.
void make_world(int size, int per_host, const char* memory, char** plans, int count) {
  const Profile profile = take(load_profile_file(memory));
  PlanKey key;
  key.members = per_host;
  key.cpus = place(profile.topology, per_host, Placement::kCore);
  world.machine = std::make_unique<sim::Machine>(sim::machine_of(profile, profile.topology, key, {}));
  for (int host = 0; host * per_host < size; ++host)
    world.hosts.push_back(std::make_unique<HostMemory>(*world.machine));
  for (int rank = 0; rank < size; ++rank)
    world.members.push_back(std::make_unique<Member>(*world.hosts[static_cast<std::size_t>(rank / per_host)],
                                                     rank % per_host, rank));
  for (int k = 0; k < count; ++k) {
    world.plans.push_back(take(load_plan_file(plans[k])));
    if (!is_for(world.plans.back().key, size, per_host)) world.flaw = "the plan is for other hosts";
    world.replays.push_back(take(replay_of(world.plans.back())));
  }
  world.left.assign(static_cast<std::size_t>(size), 0);
  world.first = (now() / kApart + 1) * kApart;
}

// All ranks begin a call at the same time; `late`: but this one later. Returns in rank 0 how long it took,
// from the last one's begin to the last one's end.
template <class Call>
double timed(Rank& rank, int late, Call&& call) {
  ++rank.episode;
  const sim::Time begin = world.first + static_cast<sim::Time>(rank.episode) * kApart;
  if (now() > begin) world.flaw = "a call took too long";
  sleep_until(begin + (rank.me == late ? kLate : 0));
  call();
  world.left[static_cast<std::size_t>(rank.me)] = now();
  sleep_until(begin + kApart / 2);
  sim::Time last = 0;
  for (const sim::Time left : world.left) {
    last = std::max(last, left);
    if (late >= 0 && left < begin + kLate) world.flaw = "a rank has left a barrier before all had entered it";
  }
  return sim::to_ns(last - begin - (late >= 0 ? kLate : 0));
}

std::uint64_t contribution(int rank, std::uint64_t episode) {
  return (static_cast<std::uint64_t>(rank) + 1) * episode;
}

void check(const Rank& rank, Collective collective, std::uint64_t got) {
  const auto n = static_cast<std::uint64_t>(rank.size);
  if (collective == Collective::kBroadcast && got != contribution(0, rank.episode))
    world.flaw = "a broadcast's value is wrong";
  if (collective == Collective::kAllreduce && got != n * (n + 1) / 2 * rank.episode)
    world.flaw = "an allreduce's sum is wrong";
}

void print_row(const Rank& rank, Collective collective, double ns, const char* more) {
  if (rank.me == 0)
    std::printf("{\"collective\": \"%s\", \"us\": %.4f%s}\n", name_of(collective), ns / 1e3, more);
}

void run_plans(Rank& rank) {
  Member& member = *world.members[static_cast<std::size_t>(rank.me)];
  for (std::size_t k = 0; k < world.replays.size(); ++k) {
    const Replay& replay = world.replays[k];
    double ns = 0;
    for (int call = 0; call < kCalls; ++call)
      ns = timed(rank, -1, [&] {
        check(rank, replay.collective,
              member.call(replay, rank.episode, contribution(rank.me, rank.episode)));
      });
    if (replay.collective == Collective::kBarrier)
      timed(rank, rank.size / 2, [&] { member.call(replay, rank.episode, 0); });
    const Plan& plan = world.plans[k];
    const std::string more = ", \"algorithm\": \"" + plan.schedule.algorithm +
                             "\", \"predicted_us\": " + std::to_string(plan.predicted_latency_ns / 1e3);
    print_row(rank, replay.collective, ns, more.c_str());
  }
}

void run_mpi(Rank& rank) {
  for (const Collective collective : {Collective::kBarrier, Collective::kBroadcast, Collective::kAllreduce}) {
    double ns = 0;
    for (int call = 0; call < kCalls; ++call)
      ns = timed(rank, -1, [&] {
        std::uint64_t mine = contribution(rank.me, rank.episode), got = mine;
        if (collective == Collective::kBarrier) MPI_Barrier(MPI_COMM_WORLD);
        if (collective == Collective::kBroadcast) MPI_Bcast(&got, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        if (collective == Collective::kAllreduce)
          MPI_Allreduce(&mine, &got, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        check(rank, collective, got);
      });
    print_row(rank, collective, ns, "");
  }
}

void exchange(int from, int to, int me) {
  char bytes[24] = {};
  if (me == from) MPI_Send(bytes, sizeof bytes, MPI_BYTE, to, 1, MPI_COMM_WORLD);
  if (me == to) MPI_Recv(bytes, sizeof bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// One way to each of the ranks; what a send keeps its sender busy; what each further message of a burst takes
// that comes to rank 0.
void run_probe(Rank& rank, char** peers, int count) {
  double send_ns = 0;
  for (int k = 0; k < count; ++k) {
    const int peer = std::atoi(peers[k]);
    const double ns = timed(rank, -1, [&] {
      const sim::Time begin = now();
      exchange(0, peer, rank.me);
      if (rank.me == 0) send_ns = sim::to_ns(now() - begin);
    });
    if (rank.me == 0) std::printf("{\"rank\": %d, \"one_way_us\": %.4f}\n", peer, ns / 1e3);
  }
  const int far = rank.size - 1;
  double burst[2] = {};
  for (const int messages : {1, kMessages})
    burst[messages == 1 ? 0 : 1] = timed(rank, -1, [&] {
      for (int m = 0; m < messages; ++m) exchange(far, 0, rank.me);
    });
  if (rank.me == 0)
    std::printf("{\"send_us\": %.4f, \"further_us\": %.4f}\n", send_ns / 1e3,
                (burst[1] - burst[0]) / (kMessages - 1) / 1e3);
}

int usage() {
  std::fprintf(stderr, "usage: fermata-smpi PER_HOST MEMORY plans FILE... | mpi | probe RANK...\n");
  return 2;
}

int run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Rank rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank.me);
  MPI_Comm_size(MPI_COMM_WORLD, &rank.size);
  const std::string what = argc > 3 ? argv[3] : "";
  if (what != "plans" && what != "mpi" && what != "probe") return usage();
  if (rank.me == 0)
    make_world(rank.size, std::atoi(argv[1]), argv[2], argv + 4, what == "plans" ? argc - 4 : 0);
  MPI_Barrier(MPI_COMM_WORLD);  // the world has been made
  if (what == "plans" && world.flaw.empty()) run_plans(rank);
  if (what == "mpi") run_mpi(rank);
  if (what == "probe") run_probe(rank, argv + 4, argc - 4);
  MPI_Finalize();
  if (world.flaw.empty()) return 0;
  if (rank.me == 0) std::fprintf(stderr, "fermata-smpi: %s\n", world.flaw.c_str());
  return 1;
}

}  // namespace
}  // namespace fermata::smpi

// smpirun loads this program as a library.
[[gnu::visibility("default")]] int main(int argc, char** argv) { return fermata::smpi::run(argc, argv); }
