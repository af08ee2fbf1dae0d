#include "algo/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <functional>

#include "algo/build.hpp"
#include "schedule/contents.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr OpTraits kIntegerSum{.associative = true, .commutative = true, .idempotent = false};
constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kMax{.associative = true, .commutative = true, .idempotent = true};
constexpr OpTraits kMatrixProduct{.associative = true, .commutative = false, .idempotent = false};
// Vector clocks are quadratic in members; larger teams show nothing new.
constexpr std::int32_t kReuseUpTo = 70;

std::string describe(const Schedule& s) {
  return s.algorithm + " " + name_of(s.collective) + " P=" + std::to_string(s.members) +
         " root=" + std::to_string(s.root);
}

const char* describe(OpTraits op) {
  return op.idempotent ? "max" : op.associative ? "integer sum" : "floating-point sum";
}

void note(SweepRow& row, const std::string& what) {
  if (row.wrong++ == 0) row.first_wrong = what;
}

void check_one(const Algorithm& algorithm, const Request& request, SweepRow& row) {
  const Schedule s = algorithm.build(request);
  const bool data = s.collective != Collective::kBarrier;
  for (const OpTraits op : {kIntegerSum, kFloatSum, kMax}) {
    const Result<Verified> verdict = verify(s, op);
    const bool must = serves(algorithm, request, op);
    if (verdict.ok() != must) {
      note(row, describe(s) + ", " + describe(op) + ": " +
                    (verdict ? "proved, must be refused" : verdict.error().message));
    } else {
      must ? ++row.proved[static_cast<int>(s.collective)] : ++row.refused;
    }
    if (!folds(s.collective)) break;  // the operator makes no difference
  }
  if (folds(s.collective)) {
    ++row.rank_order_of;
    if (verify(s, kMatrixProduct)) ++row.rank_order;
  }
  if (s.members > kReuseUpTo || (s.words.empty() && (!data || !synchronizes(s.collective)))) return;
  // A member that finishes has heard from all, so all have finished the episode before. Two slots always
  // suffice.
  if (reuse_hazards(s, 2, data).empty()) {
    ++row.reuse;
  } else {
    note(row, describe(s) + ": run-ahead hazard");
  }
}

void count(BreakRow& row, bool refused, const std::string& what) {
  ++row.tried;
  if (refused == row.must_refuse) return;
  if (row.wrong++ == 0) row.first_wrong = what;
}

using Table = std::span<const Algorithm>;

// Visits each schedule of one algorithm with P = from ... to, for every degree.
using EachSchedule = std::function<void(const Request&, const Schedule&)>;
void each_schedule_of(const Algorithm& algorithm, Collective collective, std::int32_t from, std::int32_t to,
                      const EachSchedule& visit) {
  for (const std::int32_t degree : degrees_of(algorithm)) {
    for (std::int32_t p = from; p <= to; ++p) {
      const Request request{.collective = collective, .members = p, .degree = degree};
      if (algorithm.applicable(request)) visit(request, algorithm.build(request));
    }
  }
}

void each_schedule(Table table, Collective collective, std::int32_t from, std::int32_t to,
                   const EachSchedule& visit) {
  for (const Algorithm& algorithm : table) each_schedule_of(algorithm, collective, from, to, visit);
}

// Visits each schedule of a list without one of its transfers.
using EachBroken = std::function<void(const Schedule& broken, const std::string& where)>;
void each_without_one(const Schedule& s, const EachBroken& visit) {
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i)
      visit(without(s, a, i), describe(s) + ", stage " + std::to_string(a));
  }
}

BreakRow signals_removed(Table table) {
  BreakRow row{.what = "a minimal barrier without one of its signals, P = 2..12"};
  for (const Algorithm& algorithm : table) {
    if (!algorithm.minimal) continue;
    each_schedule_of(algorithm, Collective::kBarrier, 2, 12, [&row](const Request&, const Schedule& s) {
      each_without_one(s, [&row](const Schedule& broken, const std::string& where) {
        count(row, !verify(broken, kMax), where);
      });
    });
  }
  return row;
}

// An algorithm that is minimal, but does not say so, would be spared the row above.
BreakRow unneeded_signals_removed(Table table) {
  BreakRow row{.what = "any other barrier without some signal at some P = 2..12", .must_refuse = false};
  for (const Algorithm& algorithm : table) {
    if (algorithm.minimal) continue;
    bool all_needed = true;
    each_schedule_of(algorithm, Collective::kBarrier, 2, 12, [&](const Request&, const Schedule& s) {
      each_without_one(s, [&](const Schedule& broken, const std::string&) {
        all_needed = all_needed && !verify(broken, kMax);
      });
    });
    count(row, all_needed, std::string(algorithm.name) + ": every signal is needed, so it is minimal");
  }
  return row;
}

// Every member hears from every other one in several ways, by stages of one signal over the distances 1, 2, 4
// and 3.
BreakRow repeated_signals_removed() {
  BreakRow row{.what = "a barrier that says more than it must, without a signal, P = 5",
               .must_refuse = false};
  EdgeStages stages;
  for (const std::int32_t distance : {1, 2, 4, 3}) {
    std::vector<Edge>& stage = stages.emplace_back();
    for (std::int32_t i = 0; i < 5; ++i) stage.push_back({i, (i + distance) % 5});
  }
  each_without_one(
      from_exchange({.members = 5}, "with a stage more", stages),
      [&row](const Schedule& broken, const std::string& where) { count(row, !verify(broken, kMax), where); });
  return row;
}

BreakRow thresholds_off(Table table) {
  BreakRow row{.what = "a word's threshold one too high or too low, P = 2..33"};
  each_schedule(table, Collective::kBarrier, 2, 33, [&row](const Request&, const Schedule& s) {
    for (std::size_t w = 0; w < s.words.size(); ++w) {
      for (const std::int32_t by : {-1, 1}) {
        Schedule broken = s;
        broken.words[w].threshold += by;
        count(row, !verify(broken, kMax), describe(s) + ", word " + std::to_string(w));
      }
    }
  });
  return row;
}

BreakRow contributions_lost(Table table) {
  BreakRow row{.what = "an allreduce without one of its transfers, sum, P = 2..12"};
  for (const Algorithm& algorithm : table) {
    each_schedule_of(algorithm, Collective::kAllreduce, 2, 12,
                     [&](const Request& request, const Schedule& s) {
                       if (!serves(algorithm, request, kIntegerSum)) return;
                       each_without_one(s, [&row](const Schedule& broken, const std::string& where) {
                         count(row, !verify(broken, kIntegerSum), where);
                       });
                     });
  }
  return row;
}

BreakRow contributions_repeated(Table table) {
  BreakRow row{.what = "a reduce whose root folds one more contribution, sum, P = 2..33"};
  each_schedule(table, Collective::kReduce, 2, 33, [&row](const Request&, const Schedule& s) {
    Schedule broken = s;
    broken.stages.emplace_back().transfers.push_back(
        {.from = s.members - 1, .to = 0, .chunk = 0, .action = Action::kCombine});
    count(row, !verify(broken, kIntegerSum), describe(s));
  });
  return row;
}

// One transfer is wrong, in a collective other than barrier, reduce and allreduce, which have rows above.
using Mutate = std::function<void(std::vector<Transfer>& transfers, std::size_t at)>;
BreakRow transfers_wrong(Table table, const char* what, OpTraits op, const Mutate& mutate) {
  BreakRow row{.what = what};
  for (const Collective collective :
       {Collective::kBroadcast, Collective::kGather, Collective::kScatter, Collective::kAllgather,
        Collective::kReduceScatter, Collective::kAlltoall, Collective::kScan, Collective::kExscan}) {
    each_schedule(table, collective, 2, 9, [&](const Request&, const Schedule& s) {
      if (!verify(s, op)) return;  // the schedule does not keep rank order
      for (std::size_t a = 0; a < s.stages.size(); ++a) {
        for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
          Schedule broken = s;
          mutate(broken.stages[a].transfers, i);
          count(row, !verify(broken, op),
                describe(s) + ", stage " + std::to_string(a) + ", transfer " + std::to_string(i));
        }
      }
    });
  }
  return row;
}

BreakRow transfers_lost(Table table) {
  return transfers_wrong(table, "any other collective without one of its transfers, P = 2..9", kIntegerSum,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(at));
                         });
}

BreakRow transfers_twice(Table table) {
  return transfers_wrong(table, "the same, one transfer listed twice", kIntegerSum,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           const Transfer again = transfers[at];
                           transfers.insert(transfers.begin() + static_cast<std::ptrdiff_t>(at), again);
                         });
}

// One transfer goes to the next rank. A sum can stay right if another member passes on what it got. Rank
// order cannot.
BreakRow transfers_astray(Table table) {
  return transfers_wrong(table, "the same, one transfer to the next member, in rank order", kMatrixProduct,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           std::int32_t most = 0;
                           for (const Transfer& t : transfers) most = std::max({most, t.from, t.to});
                           transfers[at].to = transfers[at].to == most ? 0 : transfers[at].to + 1;
                         });
}

// The verdicts "refused" of sweep(). If no algorithm had any, this row would be empty, which the tests
// refuse.
BreakRow sums_of_repeated_contributions(Table table) {
  BreakRow row{.what = "an allreduce that repeats contributions or folds many trees, sum, P = 3..70"};
  for (const Algorithm& algorithm : table) {
    each_schedule_of(algorithm, Collective::kAllreduce, 3, 70,
                     [&](const Request& request, const Schedule& s) {
                       for (const OpTraits op : {kIntegerSum, kFloatSum}) {
                         if (!serves(algorithm, request, op))
                           count(row, !verify(s, op), describe(s) + ", " + describe(op));
                       }
                     });
  }
  return row;
}

BreakRow run_ahead(Table table) {
  BreakRow row{.what = "reduce, broadcast, gather, scatter back to back, no credits, 1, 2, 4 slots"};
  for (const Collective collective :
       {Collective::kReduce, Collective::kBroadcast, Collective::kGather, Collective::kScatter}) {
    each_schedule(table, collective, 2, 17, [&row](const Request&, const Schedule& s) {
      for (const int slots : {1, 2, 4}) count(row, !reuse_hazards(s, slots, true).empty(), describe(s));
    });
  }
  return row;
}

BreakRow words_run_ahead(Table table) {
  BreakRow row{.what = "adds of the next episode before this one is over (half a counter)"};
  for (const Algorithm& algorithm : table) {
    for (std::int32_t p = 3; p <= 17; ++p) {
      const Request request{.half = Half::kArrive, .members = p};
      if (!algorithm.applicable(request)) continue;
      const Schedule s = algorithm.build(request);
      if (!s.words.empty()) count(row, !reuse_hazards(s, 1, false).empty(), describe(s));
    }
  }
  return row;
}

}  // namespace

std::vector<std::int32_t> degrees_of(const Algorithm& algorithm) {
  std::vector<std::int32_t> degrees;
  if (!algorithm.has_degree) return {2};
  for (const std::int32_t k : {1, 2, 3, 4, 5, 8}) {
    if (algorithm.applicable({.degree = k})) degrees.push_back(k);
  }
  return degrees;
}

SweepRow sweep(const Algorithm& algorithm, std::int32_t degree, const std::vector<std::int32_t>& sizes) {
  const auto start = std::chrono::steady_clock::now();
  SweepRow row;
  row.algorithm = algorithm.has_degree ? spelled(algorithm.name, degree) : algorithm.name;
  for (const std::int32_t p : sizes) {
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      Request request{.collective = static_cast<Collective>(collective), .members = p, .degree = degree};
      const bool rooted = has_root(request.collective);
      std::int32_t last = -1;
      for (const std::int32_t root : {0, p / 2, p - 1}) {
        if (root == last || (root > 0 && !rooted)) continue;
        last = request.root = root;
        const bool pieces = algorithm.cuts || blocks_of(request.collective, 2) > 1;
        if (pieces && p > kMostPiecesSwept) continue;
        if (algorithm.applicable(request)) check_one(algorithm, request, row);
      }
    }
  }
  row.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return row;
}

std::vector<BreakRow> broken_schedules(std::span<const Algorithm> table) {
  return {signals_removed(table),     unneeded_signals_removed(table),
          repeated_signals_removed(), thresholds_off(table),
          contributions_lost(table),  contributions_repeated(table),
          transfers_lost(table),      transfers_twice(table),
          transfers_astray(table),    sums_of_repeated_contributions(table),
          run_ahead(table),           words_run_ahead(table)};
}

Schedule without(const Schedule& schedule, std::size_t stage, std::size_t transfer) {
  Schedule out = schedule;
  std::vector<Transfer>& transfers = out.stages[stage].transfers;
  const std::int32_t to = transfers[transfer].to;
  if (out.is_word(to)) --out.words[out.word_of(to)].threshold;
  transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(transfer));
  return out;
}

}  // namespace fermata
