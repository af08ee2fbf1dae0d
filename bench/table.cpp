// All subjects except those over Fermata's teams (bench/own.cpp, mockups.cpp and overlap.cpp).
#include "bench/floors/floors.hpp"
#include "bench/rivals/rivals.hpp"

namespace fermata::bench {
namespace {

constexpr unsigned kBarrier = bit(Collective::kBarrier);
constexpr unsigned kAllreduce = bit(Collective::kAllreduce);
constexpr unsigned kBlocks = bit(Collective::kBroadcast) | kAllreduce;
constexpr unsigned kRooted = bit(Collective::kBroadcast) | bit(Collective::kReduce);
constexpr unsigned kAnyCollective = (1u << kCollectiveCount) - 1;
constexpr unsigned kFolding = kReductions | bit(Collective::kReduceScatter) | bit(Collective::kScan);
// Between two members exscan only moves data.
constexpr unsigned kMoving = kAnyCollective & ~(kBarrier | kFolding);
constexpr unsigned kThreads = bit(Engine::kThreads);
constexpr unsigned kProcesses = bit(Engine::kProcesses);
constexpr const char* kGompWorker = "fermata-bench-worker-gomp";
constexpr const char* kOmpWorker = "fermata-bench-worker-omp";
constexpr const char* kPthreadWorker = "fermata-bench-worker-pthread";
constexpr const char* kOpenMpiWorker = "fermata-bench-worker-openmpi";
constexpr const char* kNeedsGomp = "g++ with libgomp (Debian: g++)";
constexpr const char* kNeedsOmp =
    "clang++ with libomp (Debian: clang-19 libomp-19-dev), found when configuring";
constexpr const char* kLibcxxWorker = "fermata-bench-worker-libcxx";
constexpr const char* kNeedsLibcxx =
    "clang++ with libc++ (Debian: clang-19 libc++-19-dev), found when configuring";
constexpr const char* kNeedsCk = "Concurrency Kit (Debian: libck-dev), found when configuring";
constexpr const char* kNeedsOpenMpi = "Open MPI (Debian: libopenmpi-dev openmpi-bin), found when configuring";
constexpr const char* kNeedsMpich = "MPICH (Debian: libmpich-dev mpich), found when configuring";
constexpr const char* kNeedsWheels = "scripts/bootstrap --rivals, before configuring";

constexpr const char* kDefaults = "OMP_DYNAMIC=false";
constexpr const char* kGompActive = "OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite OMP_DYNAMIC=false";
constexpr const char* kGompPassive = "OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 OMP_DYNAMIC=false";
constexpr const char* kOmpHyper =
    "KMP_PLAIN_BARRIER_PATTERN=hyper,hyper KMP_FORKJOIN_BARRIER_PATTERN=hyper,hyper "
    "KMP_REDUCTION_BARRIER_PATTERN=hyper,hyper KMP_WARNINGS=0 OMP_DYNAMIC=false";
constexpr const char* kOmpDist =
    "KMP_PLAIN_BARRIER_PATTERN=dist,dist KMP_FORKJOIN_BARRIER_PATTERN=dist,dist "
    "KMP_REDUCTION_BARRIER_PATTERN=dist,dist KMP_WARNINGS=0 OMP_DYNAMIC=false";

#ifdef FERMATA_BENCH_CK
#define FERMATA_CK(name) make_ck_##name
#else
#define FERMATA_CK(name) nullptr
#endif

constexpr Entry floor(const char* name, const char* variant, unsigned collectives,
                      std::unique_ptr<Subject> (*make)(), Sizes bytes = kOnALine) {
  return {name, variant, Role::kFloor, collectives, kBothEngines, 2, bytes, make, nullptr, "", ""};
}
constexpr Entry probe(const char* name, const char* variant, unsigned engines,
                      std::unique_ptr<Subject> (*make)()) {
  return {name, variant, Role::kProbe, kAnyCollective, engines, 0, kAnySize, make, nullptr, "", ""};
}
constexpr Entry rival(const char* name, unsigned collectives, unsigned engines,
                      std::unique_ptr<Subject> (*make)(), const char* needs = "") {
  return {name, "", Role::kRival, collectives, engines, 0, kOnALine, make, nullptr, "", needs};
}
constexpr Entry runtime(const char* name, const char* worker, const char* environment, const char* needs) {
  return {name,   "",          Role::kRival, kBarrier | kReductions, kThreads, 0, kOnALine, nullptr,
          worker, environment, needs};
}
constexpr Entry preloaded(const char* name, const char* preload, unsigned collectives, unsigned engines,
                          const char* worker, const char* environment, const char* needs) {
  return {name,    "",     Role::kRival, collectives, engines, 0,      kOnALine,
          nullptr, worker, environment,  needs,       false,   preload};
}
constexpr Entry mpi(const char* name, const char* worker, const char* needs, const char* environment = "",
                    const char* preload = "") {
  return {name,    "",     Role::kRival, kAnyCollective, kProcesses, 0,      kAnySize,
          nullptr, worker, environment,  needs,          true,       preload};
}

const Entry kTable[] = {
    floor("floor_private", "pause", kBarrier, [] { return floor_private(1); }),
    floor("floor_private", "4 pauses", kBarrier, [] { return floor_private(4); }),
    floor("floor_private", "no pause", kBarrier, [] { return floor_private(0); }),
    floor("floor_private", "2 slots, pause", kBarrier, [] { return floor_private_slots(1); }),
    floor("floor_private", "2 slots, no pause", kBarrier, [] { return floor_private_slots(0); }),
    floor("floor_packed", "pause", kBarrier, [] { return floor_packed(1); }),
    floor("floor_packed", "4 pauses", kBarrier, [] { return floor_packed(4); }),
    floor("floor_packed", "no pause", kBarrier, [] { return floor_packed(0); }),
    floor("floor_counter", "pause", kBarrier, [] { return floor_counter(1); }),
    floor("floor_counter", "no pause", kBarrier, [] { return floor_counter(0); }),
    floor("floor_exchange", "dense, pause", kAllreduce, [] { return floor_exchange_dense(1); }),
    floor("floor_exchange", "dense, 4 pauses", kAllreduce, [] { return floor_exchange_dense(4); }),
    floor("floor_exchange", "dense, no pause", kAllreduce, [] { return floor_exchange_dense(0); }),
    floor("floor_exchange", "spaced, pause", kAllreduce, [] { return floor_exchange_spaced(1); }),
    floor("floor_exchange", "spaced, 4 pauses", kAllreduce, [] { return floor_exchange_spaced(4); }),
    floor("floor_exchange", "spaced, no pause", kAllreduce, [] { return floor_exchange_spaced(0); }),
    floor("floor_stream", "pause", kRooted, [] { return floor_stream(1); }),
    floor("floor_stream", "no pause", kRooted, [] { return floor_stream(0); }),
    floor("floor_memcpy", "own", kMoving, floor_direct_own, kLarge),
    floor("floor_memcpy", "shared", kMoving, floor_direct_shared, kLarge),
    floor("floor_sum", "own", kFolding, floor_direct_own, kLarge),
    floor("floor_sum", "shared", kFolding, floor_direct_shared, kLarge),
    floor(
        "floor_two_copies", "256 KiB", kBlocks, [] { return floor_two_copies(false); }, kLarge),
    floor(
        "floor_two_copies", "2 MiB", kBlocks, [] { return floor_two_copies(true); }, kLarge),
    floor("floor_two_copies", "past caches", kBlocks, floor_two_copies_past_caches, kLarge),
    probe("probe_one_way", "pause", kThreads, [] { return probe_one_way(1); }),
    probe("probe_one_way", "no pause", kThreads, [] { return probe_one_way(0); }),
    probe("probe_switch", "", kBothEngines, probe_switch),
    rival("pthread", kBarrier, kThreads, make_pthread),
    rival("pthread_shared", kBarrier, kProcesses, make_pthread_shared),
    rival("std_barrier", kBarrier, kThreads, make_std_barrier),
    rival("counter_yield", kBarrier, kBothEngines, make_counter_yield),
    rival("counter_futex", kBarrier, kBothEngines, make_counter_futex),
    {"libcxx_barrier", "", Role::kRival, kBarrier, kThreads, 0, kOnALine, nullptr, kLibcxxWorker, "",
     kNeedsLibcxx},
    rival("fermata_barrier", kBarrier, kThreads, make_fermata_barrier),
    runtime("libgomp", kGompWorker, kDefaults, kNeedsGomp),
    runtime("libgomp_active", kGompWorker, kGompActive, kNeedsGomp),
    runtime("libgomp_passive", kGompWorker, kGompPassive, kNeedsGomp),
    runtime("libomp", kOmpWorker, kDefaults, kNeedsOmp),
    runtime("libomp_hyper", kOmpWorker, kOmpHyper, kNeedsOmp),
    runtime("libomp_dist", kOmpWorker, kOmpDist, kNeedsOmp),
    preloaded("pthread_preloaded", "pthread", kBarrier, kThreads, kPthreadWorker, "", "the tool's build"),
    preloaded("pthread_shared_preloaded", "pthread", kBarrier, kProcesses, kPthreadWorker, "",
              "the tool's build"),
    preloaded("libgomp_preloaded", "openmp", kBarrier | kReductions, kThreads, kGompWorker, kDefaults,
              kNeedsGomp),
    preloaded("libomp_preloaded", "openmp", kBarrier | kReductions, kThreads, kOmpWorker, kDefaults,
              kNeedsOmp),
    rival("ck_centralized", kBarrier, kBothEngines, FERMATA_CK(centralized), kNeedsCk),
    rival("ck_dissemination", kBarrier, kBothEngines, FERMATA_CK(dissemination), kNeedsCk),
    rival("ck_tournament", kBarrier, kBothEngines, FERMATA_CK(tournament), kNeedsCk),
    rival("ck_mcs", kBarrier, kBothEngines, FERMATA_CK(mcs), kNeedsCk),
    rival("ck_combining", kBarrier, kBothEngines, FERMATA_CK(combining), kNeedsCk),
    rival("reduce_naive", kReductions, kBothEngines, make_reduce_naive),
    mpi("openmpi", kOpenMpiWorker, kNeedsOpenMpi),
    mpi("openmpi_yielding", kOpenMpiWorker, kNeedsOpenMpi, "OMPI_MCA_mpi_yield_when_idle=1"),
    mpi("openmpi_preloaded", kOpenMpiWorker, kNeedsOpenMpi, "", "mpi-openmpi"),
    mpi("mpich", "fermata-bench-worker-mpich", kNeedsMpich),
    mpi("openmpi5", "fermata-bench-worker-openmpi5", kNeedsWheels),
    mpi("mpich5", "fermata-bench-worker-mpich5", kNeedsWheels),
};

}  // namespace

std::span<const Entry> table() { return kTable; }

}  // namespace fermata::bench
