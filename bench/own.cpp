#include "bench/own.hpp"

#include <cstdlib>
#include <sstream>

#include "algo/algorithm.hpp"
#include "bench/team_subject.hpp"

namespace fermata::bench {
namespace {

// Whether the planner plans it. Otherwise it is an operation on blocks, which needs no plan.
bool rides(Collective collective, int bytes) {
  return rides_on_a_line(collective) && bytes <= static_cast<int>(kLinePayload);
}

class Own final : public TeamSubject {
 public:
  explicit Own(OwnSubject choice) : choice_(std::move(choice)) {}
  ~Own() override { fermata_plan_destroy(plan_); }

  std::string prepare(const Case& c, Arena&) override {
    if (rides(c.collective, c.bytes)) {
      const std::string failed = plan(c);
      if (!failed.empty()) return failed;
    }
    return make_team(c, plan_);
  }

  void work(int rank, Turn& turn) override {
    if (turn.order.quantity == Quantity::kOverlap) return overlap(rank, turn);
    fermata_member* const m = member_of(rank);
    const auto n = static_cast<size_t>(turn.doubles);
    const auto run = [&](auto call) { run_calls(rank, turn, call); };
    switch (turn.collective) {
      case Collective::kBarrier: return run([=] { return fermata_barrier(m); });
      case Collective::kBroadcast:
        return run([=](In in, Out out, int root) {
          double* const data = rank == root ? const_cast<double*>(in) : out;
          return fermata_broadcast(m, data, n * sizeof(double), root);
        });
      case Collective::kReduce:
        return run(
            [=](In in, Out out, int root) { return fermata_reduce(m, in, out, n, kType, kSum, root); });
      case Collective::kAllreduce:
        return run([=](In in, Out out) { return fermata_allreduce(m, in, out, n, kType, kSum); });
      case Collective::kGather:
        return run([=](In in, Out out, int root) { return fermata_gather(m, in, out, n, kType, root); });
      case Collective::kScatter:
        return run([=](In in, Out out, int root) { return fermata_scatter(m, in, out, n, kType, root); });
      case Collective::kAllgather:
        return run([=](In in, Out out) { return fermata_allgather(m, in, out, n, kType); });
      case Collective::kReduceScatter:
        return run([=](In in, Out out) { return fermata_reduce_scatter(m, in, out, n, kType, kSum); });
      case Collective::kAlltoall:
        return run([=](In in, Out out) { return fermata_alltoall(m, in, out, n, kType); });
      case Collective::kScan:
        return run([=](In in, Out out) { return fermata_scan(m, in, out, n, kType, kSum); });
      case Collective::kExscan:
        return run([=](In in, Out out) { return fermata_exscan(m, in, out, n, kType, kSum); });
    }
  }

  std::string description() const override {
    if (plan_ == nullptr) return {};
    size_t length = 0;
    fermata_plan_text(plan_, nullptr, &length);
    std::string text(length, '\0');
    if (length == 0 || fermata_plan_text(plan_, text.data(), &length) != FERMATA_OK) return {};
    text.resize(length == 0 ? 0 : length - 1);
    return text;
  }

 private:
  using In = const double*;
  using Out = double*;
  static constexpr int kType = FERMATA_DOUBLE, kSum = FERMATA_SUM;

  // Begins the request, computes with a call for progress after each chunk, and waits.
  void overlap(int rank, Turn& turn) {
    static_assert(static_cast<int>(Collective::kAllreduce) == FERMATA_ALLREDUCE);
    fermata_member* const member = member_of(rank);
    fermata_operation sum = FERMATA_OPERATION_INIT;
    sum.collective = static_cast<int>(turn.collective);
    sum.count = static_cast<size_t>(turn.doubles);
    sum.type = kType;
    sum.op = kSum;
    run_calls(rank, turn, [&](In in, Out out) {
      sum.in = in;
      sum.out = out;
      fermata_request* request = nullptr;
      int status = fermata_begin(member, &sum, &request);
      for (std::uint64_t chunk = 0; chunk < turn.order.chunks && status >= 0; ++chunk) {
        delay(turn.order.delay_rounds);
        status = fermata_progress(member, 0);
      }
      if (status >= 0) status = fermata_request_wait(request);
      return status == FERMATA_OK ? fermata_request_free(request) : status;
    });
    if (turn.collective != Collective::kAllreduce) turn.lines[rank].status = FERMATA_ERR_UNSUPPORTED;
  }

  std::string plan(const Case& c) {
    if (!choice_.plan_file.empty()) {
      const int loaded = fermata_plan_load(choice_.plan_file.c_str(), &plan_);
      return loaded == FERMATA_OK ? "" : failure("plan", loaded);
    }
    fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
    static_assert(static_cast<int>(Collective::kReduce) == FERMATA_REDUCE);
    request.members = c.members;
    request.collective = static_cast<int>(c.collective);
    request.engine = engine_of(c.engine);
    request.payload = static_cast<size_t>(c.bytes);
    request.cpus = c.cpus.empty() ? nullptr : c.cpus.data();
    request.algorithm = choice_.algorithm.empty() ? nullptr : choice_.algorithm.c_str();
    request.layout = choice_.layout.empty() ? nullptr : choice_.layout.c_str();
    const int status = fermata_plan_make(&request, &plan_);
    return status == FERMATA_OK ? "" : failure("plan", status);
  }

  const OwnSubject choice_;
  fermata_plan* plan_ = nullptr;
};

std::vector<std::string> spellings(const std::vector<std::string>& wanted, int members) {
  if (wanted.size() != 1 || wanted[0] != "all") return wanted;
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.has_degree) {
      names.emplace_back(algorithm.name);
      continue;
    }
    for (const int degree : {2, 4, 8}) {
      // A degree above the number of members gives the same tree again.
      if (degree == 2 || degree <= members)
        names.push_back(std::string(algorithm.name) + "(" + std::to_string(degree) + ")");
    }
  }
  return names;
}

}  // namespace

std::vector<OwnSubject> own_subjects(Collective collective, int members, int bytes,
                                     const std::vector<std::string>& algorithms,
                                     const std::vector<std::string>& layouts) {
  std::vector<OwnSubject> subjects = {{.name = "planned"}};
  if (!rides(collective, bytes)) return subjects;
  for (const std::string& spelled : spellings(algorithms, members)) {
    const Result<AlgorithmName> parsed = parse_algorithm(spelled);
    int stages = 0;
    if (parsed) {
      const Request request{.collective = collective, .members = members, .degree = parsed->degree};
      if (!parsed->algorithm->applicable(request)) continue;
      if (!serves(*parsed->algorithm, request, traits_of(Op::kSum, Type::kDouble))) continue;
      stages = static_cast<int>(parsed->algorithm->build(request).stages.size());
    }  // else the plan request reports the bad name
    for (const std::string& layout : layouts.empty() ? std::vector<std::string>{""} : layouts) {
      subjects.push_back({.name = "fermata:" + spelled + (layout.empty() ? "" : "/" + layout),
                          .algorithm = spelled,
                          .layout = layout,
                          .stages = stages});
    }
  }
  return subjects;
}

PlanFacts facts_of(const std::string& plan_text) {
  PlanFacts facts;
  std::istringstream lines(plan_text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key, value;
    if (!(words >> key >> value)) continue;
    if (key == "algorithm" && facts.algorithm.empty()) facts.algorithm = value;
    if (key == "layout" && facts.layout.empty()) facts.layout = value;
    if (key == "stages" && facts.stages == 0) facts.stages = std::atoi(value.c_str());
  }
  return facts;
}

std::unique_ptr<Subject> make_own(const OwnSubject& subject) { return std::make_unique<Own>(subject); }

}  // namespace fermata::bench
