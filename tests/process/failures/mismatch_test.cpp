// Members make calls of every kind that differ, also calls in which no member waits for the other. Every
// member gets an error that names the calls, at the latest in its next call that synchronizes.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "forked_members.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kSpace = 4 * 20001;  // doubles
constexpr int kBarrier = 0;

struct Call {
  int collective;  // kBarrier or a fermata_collective
  std::size_t count = 0;
  int root = 0;
  int op = FERMATA_SUM;
  int type = FERMATA_DOUBLE;
};

struct Differing {
  const char* what;
  std::vector<Call> most, last;  // the calls of all but the last rank, and the calls of the last rank
  std::string names[2];          // their names in error messages
  bool begun = false;            // started, not blocking; waited for before the call that synchronizes
};

fermata_operation operation_of(const Call& c, double* in, double* out) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = c.collective;
  o.in = c.collective == FERMATA_BROADCAST ? nullptr : in;
  o.out = out;
  o.count = c.count;
  o.type = c.type;
  o.op = c.op;
  o.root = c.root;
  return o;
}

int call(fermata_member* m, const Call& c, double* in, double* out) {
  switch (c.collective) {
    case kBarrier: return fermata_barrier(m);
    case FERMATA_BROADCAST: return fermata_broadcast(m, out, c.count * sizeof(double), c.root);
    case FERMATA_REDUCE: return fermata_reduce(m, in, out, c.count, c.type, c.op, c.root);
    case FERMATA_ALLREDUCE: return fermata_allreduce(m, in, out, c.count, c.type, c.op);
    default: {
      const fermata_operation o = operation_of(c, in, out);
      return fermata_execute(m, &o);
    }
  }
}

int begin_and_wait(fermata_member* m, const std::vector<Call>& calls, double* in, double* out) {
  std::vector<fermata_request*> requests(calls.size());
  int status = FERMATA_OK;
  for (std::size_t i = 0; i < calls.size() && status == FERMATA_OK; ++i) {
    const fermata_operation o = operation_of(calls[i], in, out);
    status = fermata_begin(m, &o, &requests[i]);
  }
  const int waited = fermata_request_wait_all(requests.data(), requests.size());
  for (fermata_request* r : requests) fermata_request_free(r);
  return status != FERMATA_OK ? status : waited;
}

using Next = int (*)(fermata_member*);

int next_barrier(fermata_member* m) { return fermata_barrier(m); }
int next_split_barrier(fermata_member* m) {
  const int arrived = fermata_arrive(m);
  return arrived != FERMATA_OK ? arrived : fermata_depart(m);
}
int next_allreduce(fermata_member* m) {
  double x = 1;
  return fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM);
}
int next_allgather(fermata_member* m) {
  double x = 1, all[4];
  return fermata_allgather(m, &x, all, 1, FERMATA_DOUBLE);
}

void run_member(fermata_member* m, bool last, const Differing& d, Next next) {
  std::vector<double> in(kSpace), out(kSpace);
  const std::vector<Call>& calls = last ? d.last : d.most;
  int status = FERMATA_OK;
  if (d.begun) status = begin_and_wait(m, calls, in.data(), out.data());
  for (std::size_t i = 0; !d.begun && i < calls.size() && status == FERMATA_OK; ++i)
    status = call(m, calls[i], in.data(), out.data());
  if (status == FERMATA_OK) status = next(m);
  const std::string detail = fermata_error_detail();
  EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << detail;
  for (const std::string& name : d.names)
    EXPECT_NE(detail.find(name), std::string::npos) << name << " in: " << detail;
  EXPECT_NE(detail.find("rank " + std::to_string(fermata_member_count(m) - 1)), std::string::npos) << detail;
  EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_MISMATCH) << "the team stays broken";
  EXPECT_EQ(fermata_error_detail(), detail);
}

void run_rank(fermata_team* team, int rank, const Differing& d, Next next) {
  const int members = fermata_team_size(team);
  SCOPED_TRACE(std::string(d.what) + ", rank " + std::to_string(rank) + " of " + std::to_string(members));
  fermata_member* m = nullptr;
  ASSERT_EQ(fermata_team_join(team, rank, &m), FERMATA_OK) << fermata_error_detail();
  fermata_member_set_timeout(m, 20);
  run_member(m, rank == members - 1, d, next);
  fermata_member_leave(m);
}

void expect_mismatch(fermata_team* team, const Differing& d, Next next) {
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  std::vector<std::thread> forked;
  for (int r = 0; r < fermata_team_size(team); ++r)
    forked.emplace_back([&, r] { run_rank(team, r, d, next); });
  for (std::thread& t : forked) t.join();
  fermata_team_destroy(team);
}

// each: members per process.
void expect_mismatch_of_processes(int processes, int each, const Differing& d, Next next) {
  fermata_team* team = make_team(processes * each, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  ForkedMembers forked(processes, [&](int process) {
    std::vector<std::thread> house;
    for (int k = 0; k < each; ++k)
      house.emplace_back([&, k] { run_rank(team, process + k * processes, d, next); });
    for (std::thread& t : house) t.join();
    return testing::Test::HasFailure() ? 1 : 0;
  });
  for (int p = 0; p < processes; ++p)
    EXPECT_EQ(forked.wait_for(p), 0) << d.what << ", process " << p << " of " << processes;
  fermata_team_destroy(team);
}

std::vector<Differing> calls_that_only_send(int members, std::size_t count) {
  const int last = members - 1;
  const std::string own = "root 0", other = "root " + std::to_string(last);
  std::vector<Differing> all;
  for (const int collective : {FERMATA_BROADCAST, FERMATA_SCATTER})
    all.push_back({"each is root", {{collective, count, 0}}, {{collective, count, last}}, {own, other}});
  for (const int collective : {FERMATA_REDUCE, FERMATA_GATHER})
    all.push_back(
        {"somebody else is root", {{collective, count, last}}, {{collective, count, 0}}, {own, other}});
  return all;
}

TEST(Mismatch, OfCallsThatNobodyWaitsFor) {
  for (const int members : {2, 3, 4})
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{20000}})
      for (const Differing& d : calls_that_only_send(members, count))
        expect_mismatch(make_team(members, FERMATA_THREADS), d, next_barrier);
}

TEST(Mismatch, BetweenProcesses) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{20000}}) {
    for (const int processes : {2, 3})
      for (const Differing& d : calls_that_only_send(processes, count))
        expect_mismatch_of_processes(processes, 1, d, next_barrier);
    for (const Differing& d : calls_that_only_send(4, count))
      expect_mismatch_of_processes(2, 2, d, next_barrier);
  }
}

constexpr const char* kNames[] = {"barrier",   "broadcast",      "reduce",   "allreduce", "gather", "scatter",
                                  "allgather", "reduce_scatter", "alltoall", "scan",      "exscan"};

TEST(Mismatch, OfEachCollectiveWithTheNext) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}})
    for (int collective = kBarrier; collective < FERMATA_EXSCAN; ++collective) {
      const Differing d{"collectives",
                        {{collective, count}},
                        {{collective + 1, count}},
                        {kNames[collective], kNames[collective + 1]}};
      expect_mismatch(make_team(2, FERMATA_THREADS), d, next_barrier);
      expect_mismatch(make_team(3, FERMATA_THREADS), d, next_allreduce);
      expect_mismatch_of_processes(2, 1, d, next_barrier);
    }
}

TEST(Mismatch, IsFoundByWhateverSynchronizesNext) {
  for (const Next next : {next_split_barrier, next_allreduce, next_allgather})
    for (const std::size_t count : {std::size_t{1}, std::size_t{100}})
      for (const Differing& d : calls_that_only_send(2, count))
        expect_mismatch(make_team(2, FERMATA_THREADS), d, next);
}

TEST(Mismatch, IsFoundByATaggedBarrier) {
  for (const Differing& d : calls_that_only_send(2, 1))
    expect_mismatch(make_team(2, FERMATA_THREADS, FERMATA_WAIT_AUTO, true), d,
                    [](fermata_member* m) { return fermata_barrier_tagged(m, 5); });
}

fermata_team* make_team_of_words(int members) {
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = members;
  request.algorithm = "counter";
  fermata_plan* plan = nullptr;
  if (fermata_plan_make(&request, &plan) != FERMATA_OK) return nullptr;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = members;
  const fermata_plan* plans[] = {plan};
  config.plans = plans;
  config.plan_count = 1;
  fermata_team* team = nullptr;
  const int made = fermata_team_create(&config, &team);
  fermata_plan_destroy(plan);
  return made == FERMATA_OK ? team : nullptr;
}

TEST(Mismatch, IsFoundByABarrierWhoseSignalsCarryNothing) {
  const Differing late{"an arrival too early",
                       {{FERMATA_BROADCAST, 1, 0}, {kBarrier}},
                       {{kBarrier}},
                       {"broadcast", "barrier"}};
  for (const int members : {2, 3}) {
    for (const Differing& d : calls_that_only_send(members, 1)) {
      expect_mismatch(make_team_of_words(members), d, next_barrier);
      expect_mismatch(make_team_of_words(members), d, next_split_barrier);
    }
    expect_mismatch(make_team_of_words(members), late, next_barrier);
  }
}

TEST(Mismatch, AfterAgreementInSuchBarriers) {
  fermata_team* team = make_team_of_words(2);
  const std::vector<Call> before{
      {FERMATA_BROADCAST, 1, 0}, {kBarrier}, {kBarrier}, {FERMATA_REDUCE, 1, 1}, {kBarrier}};
  Differing d{"later", before, before, {"root 0", "root 1"}};
  d.most.push_back({FERMATA_BROADCAST, 1, 0});
  d.last.push_back({FERMATA_BROADCAST, 1, 1});
  expect_mismatch(team, d, next_barrier);
}

TEST(Mismatch, OfCallsOnLines) {
  const Differing all[] = {
      {"operators",
       {{FERMATA_ALLREDUCE, 1, 0, FERMATA_SUM}},
       {{FERMATA_ALLREDUCE, 1, 0, FERMATA_MAX}},
       {"sum", "max"}},
      {"types",
       {{FERMATA_ALLREDUCE, 1}},
       {{FERMATA_ALLREDUCE, 1, 0, FERMATA_SUM, FERMATA_INT64}},
       {"double", "int64"}},
      {"types on blocks",
       {{FERMATA_ALLREDUCE, 9}},
       {{FERMATA_ALLREDUCE, 9, 0, FERMATA_SUM, FERMATA_INT64}},
       {"double", "int64"}},
      {"types of what is moved",
       {{FERMATA_GATHER, 9}},
       {{FERMATA_GATHER, 9, 0, 0, FERMATA_INT64}},
       {"double", "int64"}},
      {"several words",
       {{FERMATA_ALLREDUCE, 5, 0, FERMATA_SUM}},
       {{FERMATA_ALLREDUCE, 5, 0, FERMATA_MAX}},
       {"sum", "max"}},
      {"counts", {{FERMATA_ALLREDUCE, 5}}, {{FERMATA_ALLREDUCE, 6}}, {"40 bytes", "48 bytes"}},
      {"counts of a broadcast", {{FERMATA_BROADCAST, 3}}, {{FERMATA_BROADCAST, 4}}, {"24 bytes", "32 bytes"}},
      {"one call too many", {{FERMATA_BROADCAST, 1}}, {}, {"broadcast", "barrier"}},
      {"order",
       {{FERMATA_BROADCAST, 1}, {FERMATA_REDUCE, 1, 1}},
       {{FERMATA_REDUCE, 1, 1}, {FERMATA_BROADCAST, 1}},
       {"broadcast", "reduce"}},
      {"long ago",
       {{FERMATA_BROADCAST, 1, 0}, {kBarrier}, {FERMATA_BROADCAST, 1, 0}, {FERMATA_BROADCAST, 1, 0}},
       {{FERMATA_BROADCAST, 1, 0}, {kBarrier}, {FERMATA_BROADCAST, 1, 1}, {FERMATA_BROADCAST, 1, 1}},
       {"call 3", "root 1"}},
  };
  for (const int members : {2, 3, 4})
    for (const Differing& d : all) expect_mismatch(make_team(members, FERMATA_THREADS), d, next_barrier);
}

TEST(Mismatch, OfSizesTellsThem) {
  const Differing all[] = {
      {"large", {{FERMATA_ALLREDUCE, 20000}}, {{FERMATA_ALLREDUCE, 20001}}, {"160000 bytes", "160008 bytes"}},
      {"small", {{FERMATA_ALLREDUCE, 8}}, {{FERMATA_ALLREDUCE, 9}}, {"64 bytes", "72 bytes"}},
      {"none",
       {{FERMATA_ALLGATHER, 0}},
       {{FERMATA_ALLGATHER, 1}},
       {"allgather(double, 0 bytes)", "allgather(double, 8 bytes)"}},
  };
  for (const Differing& d : all) expect_mismatch(make_team(2, FERMATA_THREADS), d, next_barrier);
}

TEST(Mismatch, OfBegunRequests) {
  for (const int members : {2, 3})
    for (const std::size_t count : {std::size_t{1}, std::size_t{100}})
      for (Differing d : calls_that_only_send(members, count)) {
        d.begun = true;
        expect_mismatch(make_team(members, FERMATA_THREADS), d, next_barrier);
      }
}

TEST(Mismatch, OfPreparedOperations) {
  fermata_team* team = make_team(2, FERMATA_THREADS);
  std::vector<std::thread> forked;
  for (int r = 0; r < 2; ++r)
    forked.emplace_back([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
      std::vector<double> x(100);
      fermata_operation o = operation_of({FERMATA_ALLREDUCE, 100}, x.data(), x.data());
      o.op = r == 0 ? FERMATA_SUM : FERMATA_MAX;
      fermata_request* request = nullptr;
      int status = fermata_prepare(m, &o, &request);
      if (status == FERMATA_OK) status = fermata_barrier(m);
      const std::string detail = fermata_error_detail();
      EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << detail;
      EXPECT_NE(detail.find("prepare allreduce(double, sum, 800 bytes)"), std::string::npos) << detail;
      EXPECT_NE(detail.find("prepare allreduce(double, max, 800 bytes)"), std::string::npos) << detail;
      fermata_request_free(request);
      fermata_member_leave(m);
    });
  for (std::thread& t : forked) t.join();
  fermata_team_destroy(team);
}

TEST(Mismatch, OfABlockWhoseEndsDiffer) {
  for (const std::size_t sent : {std::size_t{1}, std::size_t{3}, std::size_t{600}}) {
    fermata_team* team = make_team(2, FERMATA_THREADS);
    std::vector<std::thread> forked;
    for (int r = 0; r < 2; ++r)
      forked.emplace_back([&, r] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
        fermata_member_set_timeout(m, 20);
        std::vector<double> in(600, 1.0), out(1200);
        const std::size_t counts[] = {2, 2};
        int status =
            fermata_gatherv(m, in.data(), r == 0 ? 2 : sent, out.data(), counts, nullptr, FERMATA_DOUBLE, 0);
        EXPECT_EQ(status, r == 0 ? FERMATA_ERR_MISMATCH : status);
        if (status == FERMATA_OK) status = fermata_barrier(m);
        EXPECT_EQ(status, FERMATA_ERR_MISMATCH) << fermata_error_detail();
        const std::string detail = fermata_error_detail();
        EXPECT_TRUE(r == 1 || detail.find("ranks 0 and 1") != std::string::npos) << detail;
        fermata_member_leave(m);
      });
    for (std::thread& t : forked) t.join();
    fermata_team_destroy(team);
  }
}

TEST(Mismatch, ATimeoutBeforeDoesNotHideItsReason) {
  fermata_team* team = make_team(2, FERMATA_THREADS);
  std::atomic<bool> timed_out{false};
  std::vector<std::thread> forked;
  for (int r = 0; r < 2; ++r)
    forked.emplace_back([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
      double x = 0;
      if (r == 0) {
        fermata_member_set_timeout(m, 0.01);
        EXPECT_EQ(fermata_barrier(m), FERMATA_ERR_TIMEOUT);
        timed_out = true;
        fermata_member_set_timeout(m, 20);
      } else {
        while (!timed_out) std::this_thread::yield();
      }
      EXPECT_EQ(r == 0 ? fermata_resume(m) : fermata_allreduce(m, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM),
                FERMATA_ERR_MISMATCH);
      const std::string detail = fermata_error_detail();
      EXPECT_NE(detail.find("barrier"), std::string::npos) << detail;
      EXPECT_NE(detail.find("allreduce"), std::string::npos) << detail;
      fermata_member_leave(m);
    });
  for (std::thread& t : forked) t.join();
  fermata_team_destroy(team);
}

}  // namespace
}  // namespace fermata::test
