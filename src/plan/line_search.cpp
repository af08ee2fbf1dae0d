// make_plan: drafts, scores, proofs, timing, choice of a plan on lines.
#include "plan/line_search.hpp"
#include "plan/line_programs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "plan/choices.hpp"
#include "plan/signal_costs.hpp"
#include "profile/utc.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr std::int32_t kPeriodForAll = 64;               // up to so many members, all periods are predicted
constexpr std::size_t kPeriodsOtherwise = 12;            // periods that are predicted in larger teams
constexpr int kEstimated = 12, kEstimatedOfMany = 4;     // least number of finalists
constexpr std::size_t kListed = 40;                      // up to here a plan lists more than its finalists
constexpr std::size_t kSpacedBases = 4;                  // finalists also timed with longer poll intervals
constexpr std::int32_t kPollIntervals[] = {2, 3, 4, 6};  // longer poll intervals, in pauses
constexpr std::size_t kVariedBases = 3;                  // finalists also tried with other slots and layouts
constexpr std::size_t kRuns = 8;                         // parts of a schedule with layouts by prediction
constexpr std::size_t kTimedRuns = 4;                    // parts of a schedule with layouts by timing
constexpr double kWorthMixing = 0.95;                    // a smaller predicted gain is noise of the model

class Search {
 public:
  Search(const Topology& topology, const Profile& profile, PlanOptions options)
      : topology_(topology),
        profile_(profile),
        options_(std::move(options)),
        model_(signal_model(profile, topology, options_.key)),
        choices_(layouts_to_try(model_, topology, options_.key)),
        hosts_(hosts_of(topology, options_.key)) {
    model_.further = further_share(model_);
  }

  Result<Plan> run(const Measure& measure) {
    auto drafts = find_drafts(topology_, model_, options_, refused_);
    if (!drafts) return drafts.error();
    drafts_ = std::move(*drafts);
    if (auto error = find_entries()) return *error;
    score();
    choose_finalists();
    if (finalists_.empty()) return Error{Status::kVerify, "no candidate can be proved: " + last_refusal_};
    const bool timed = measure && options_.measure_best > 0;
    std::vector<std::size_t> last_round = finalists_;
    if (timed) {
      time_entries(options_.key, drafts_, finalists_, entries_, options_, measure);
      if (options_.layout.empty() && model_.members_per_cpu <= 1) {
        last_round = refined();
        time_entries(options_.key, drafts_, last_round, entries_, options_, measure);
      }
    }
    if (last_round.empty()) last_round = finalists_;
    const std::size_t best =
        pick(drafts_, entries_, last_round, model_.members_per_cpu > 1, options_.key.hosts);
    if (!entries_[best].refusal.empty()) return Error{Status::kUnsupported, entries_[best].refusal};
    return plan_of(best);
  }

 private:
  std::optional<Error> find_entries() {
    std::vector<Layouts> layouts;
    for (const LayoutChoice& choice : choices_) layouts.emplace_back(choice);
    if (!options_.layout.empty()) {
      auto given = parse_layouts(options_.layout);
      if (!given) return given.error();
      layouts = {given.value()};
    }
    for (std::size_t d = 0; d < drafts_.size(); ++d)
      for (const Layouts& layout : layouts) {
        const Schedule& s = drafts_[d].schedule;
        if (options_.layout.empty() && layout.uses(Layout::kPublished) &&
            !may_publish(s, {0, s.stages.size() - 1}))
          continue;
        Entry& e = entries_.emplace_back();
        e.draft = d;
        e.layout = layout;
        if (only_words(drafts_[d].schedule)) break;  // layouts do not affect words
      }
    return std::nullopt;
  }

  // Publishing needs a sender with several receivers, all on its own host.
  bool may_publish(const Schedule& s, StageRun run) const {
    return publishes(s, run) && !publishes_across(s, run, hosts_);
  }

  const CostModel& model_for(const Entry& e) {
    if (e.layout.uses(Layout::kPacked))
      model_.packed_sharers = packed_sharers(drafts_[e.draft].schedule, e.layout, options_.key.payload);
    return model_;
  }

  // Over hosts the latency counts, because callers wait for each result. By its period alone, a tree of slow
  // messages would seem good: its episodes overlap well, but each result comes late.
  void predict(Entry& e) {
    const Schedule& s = drafts_[e.draft].schedule;
    if (options_.key.hosts.empty()) e.predicted_ns = period_cost(s, model_for(e), e.layout, 0, &e.latency_ns);
    else e.predicted_ns = e.latency_ns = latency_cost(s, model_for(e), e.layout);
  }

  // In large teams, only the entries with the least latencies get a period of their own. The others get the
  // least ratio of period to latency among these.
  void score() {
    const bool all = options_.key.members <= kPeriodForAll;
    for (Entry& e : entries_)
      if (all) predict(e);
      else e.latency_ns = latency_cost(drafts_[e.draft].schedule, model_for(e), e.layout);
    sort_entries(&Entry::latency_ns);
    double ratio = 1;
    for (std::size_t k = 0; !all && k < entries_.size(); ++k) {
      Entry& e = entries_[k];
      if (k < kPeriodsOtherwise) {
        predict(e);
        if (e.latency_ns > 0) ratio = std::min(ratio, e.predicted_ns / e.latency_ns);
      } else {
        e.predicted_ns = e.latency_ns * ratio;
      }
    }
    sort_entries(&Entry::predicted_ns);
  }

  void sort_entries(double Entry::* by) {
    std::stable_sort(entries_.begin(), entries_.end(),
                     [by](const Entry& a, const Entry& b) { return a.*by < b.*by; });
  }

  // Verifies each draft once, and checks the reuse of its slots once per list of slot counts.
  void prove(Entry& e) {
    const Schedule& s = drafts_[e.draft].schedule;
    auto [proof, unknown] = proofs_.try_emplace(e.draft);
    if (unknown)
      proof->second = s.registers > kMaxScheduleRegisters ? "too many registers" : fermata::prove(s);
    e.refusal = proof->second.empty() ? "" : "refused: " + proof->second;
    if (!e.refusal.empty()) return;
    std::vector<std::int32_t> slots;
    for (const LayoutChoice& choice : e.layout.listed()) slots.push_back(choice.slots);
    auto [hazards, unchecked] = hazards_.try_emplace({e.draft, slots});
    // What one slot allows, more slots allow, too.
    const auto one = hazards_.find({e.draft, {1}});
    const bool proved = one != hazards_.end() && one != hazards && one->second.empty();
    if (unchecked && !proved) hazards->second = reuse_hazards(s, e.layout, options_.key.payload > 0);
    if (hazards->second.empty()) return;
    // A collective that does not synchronize needs credits from the receivers. A collective that synchronizes
    // needs one more slot.
    if (s.collective == Collective::kReduce || s.collective == Collective::kBroadcast)
      e.credit_batch = std::max(1, e.layout.least_slots() / 2);
    if (const std::string flaw = flaw_of_reuse(s, e.layout, hazards->second, e.credit_batch); !flaw.empty())
      e.refusal = "refused: " + flaw;
  }

  // Returns the proved variants of a base, least predicted period first. Without credits the predictions are
  // equal, and the fewest slots come first. With credits, more slots give shorter periods.
  std::vector<Entry> proved_variants(const Entry& base) {
    std::vector<Entry> variants;
    const std::vector<Layouts> layouts =
        options_.layout.empty() && !only_words(drafts_[base.draft].schedule)
            ? slot_and_line_variants(base.layout, topology_, options_.key, model_.members_per_cpu > 1)
            : std::vector{base.layout};
    for (const Layouts& layout : layouts) {
      Entry e = base;
      e.layout = layout;
      prove(e);
      last_refusal_ = e.refusal.empty() ? last_refusal_ : e.refusal;
      e.predicted_ns = with_credits(base.predicted_ns, drafts_[e.draft].schedule, model_,
                                    layout.least_slots(), e.credit_batch);
      if (e.refusal.empty()) variants.push_back(std::move(e));
    }
    std::stable_sort(variants.begin(), variants.end(),
                     [](const Entry& a, const Entry& b) { return a.predicted_ns < b.predicted_ns; });
    return variants;
  }

  // Gives each part of the schedule, one after the other, the layout with the least predicted time.
  Entry stage_by_stage(const Entry& base) {
    Entry best = base;
    const Schedule& s = drafts_[base.draft].schedule;
    if (!options_.layout.empty() || s.stages.size() < 2 || only_words(s)) return best;
    for (const StageRun run : runs_of_stages(s, kRuns))
      for (const LayoutChoice& choice : choices_) {
        if (choice.layout == Layout::kPublished && !may_publish(s, run)) continue;
        Entry e = best;
        e.layout = best.layout.with(run.first, run.last, s.stages.size(), choice);
        if (e.layout == best.layout) continue;
        predict(e);
        if (e.predicted_ns < best.predicted_ns) best = e;
      }
    return best;
  }

  // Takes the best entry per (family, layout), then variants of the first few. Proves these entries only.
  void choose_finalists() {
    const int estimated = options_.key.members <= kPeriodForAll ? kEstimated : kEstimatedOfMany;
    const auto wanted = static_cast<std::size_t>(std::max(options_.measure_best, estimated));
    const std::size_t bases = (2 * wanted + 2) / 3;  // the rest are variants
    std::set<std::pair<std::string, int>> seen;
    std::vector<Entry> first, further;
    for (const Entry& base : entries_) {
      if (first.size() >= bases) break;
      const auto group = std::pair(drafts_[base.draft].family, static_cast<int>(base.layout.at(0).layout));
      if (seen.contains(group)) continue;
      std::vector<Entry> variants = proved_variants(base);
      if (variants.empty()) {
        refused_.push_back(
            {drafts_[base.draft].schedule.algorithm, base.predicted_ns, 0, last_refusal_, base.layout});
        continue;
      }
      seen.insert(group);
      first.push_back(variants.front());
      if (seen.size() <= kVariedBases) further.insert(further.end(), variants.begin() + 1, variants.end());
      if (seen.size() > (options_.key.members <= kPeriodForAll ? kVariedBases : 1)) continue;
      const Entry mixed = stage_by_stage(base);
      if (mixed.predicted_ns > kWorthMixing * base.predicted_ns) continue;
      if (variants = proved_variants(mixed); !variants.empty()) first.push_back(variants.front());
    }
    for (Entry& e : first) add_finalist(std::move(e));
    for (Entry& e : further)
      if (finalists_.size() < wanted) add_finalist(std::move(e));
  }

  void add_finalist(Entry e) {
    finalists_.push_back(entries_.size());
    entries_.push_back(std::move(e));
  }

  // Returns the layouts of `e`, each with another layout, other slots or other lines in one part.
  std::vector<Layouts> with_another_part(const Entry& e) const {
    const Schedule& s = drafts_[e.draft].schedule;
    std::vector<Layouts> all;
    if (s.stages.size() < 2 || only_words(s)) return all;
    for (const StageRun run : runs_of_stages(s, kTimedRuns)) {
      const LayoutChoice& now = e.layout.at(run.first);
      std::vector<LayoutChoice> others;
      for (LayoutChoice choice : choices_) {
        if (choice.layout == now.layout || (choice.layout == Layout::kPublished && !may_publish(s, run)))
          continue;
        choice.slots = now.slots;
        choice.line = now.line;
        others.push_back(choice);
      }
      for (const std::int32_t slots : {now.slots / 2, now.slots * 2}) {
        LayoutChoice choice = now;
        choice.slots = slots;
        if (slots >= 1 && slots <= 4) others.push_back(choice);
      }
      LayoutChoice choice = now;
      choice.line = now.line == 64 ? 128 : 64;
      if (choice.line >= topology_.line_bytes) others.push_back(choice);
      for (const LayoutChoice& other : others)
        all.push_back(e.layout.with(run.first, run.last, s.stages.size(), other));
    }
    return all;
  }

  // Returns the fastest finalists, these with longer poll intervals, and the fastest one with another layout
  // in one part. A poll delays the next writer of the line. A profile of pairs does not predict this, so it
  // is timed, but not on a simulated machine, whose polls delay nobody. The function is not called where
  // members share CPUs: there, polls are a time slice apart.
  std::vector<std::size_t> refined() {
    std::vector<std::size_t> fastest;
    for (const std::size_t f : finalists_)
      if (entries_[f].refusal.empty() && entries_[f].behind <= 0) fastest.push_back(f);
    std::stable_sort(fastest.begin(), fastest.end(), [&](std::size_t a, std::size_t b) {
      return entries_[a].timed_ns < entries_[b].timed_ns;
    });
    fastest.resize(std::min(fastest.size(), kSpacedBases));
    std::vector<std::size_t> all = fastest;
    for (const std::size_t f : options_.simulated ? std::vector<std::size_t>{} : fastest)
      for (const std::int32_t pauses : kPollIntervals) {
        Entry e = entries_[f];
        e.layout = e.layout.changed([pauses](LayoutChoice& choice) { choice.pauses = pauses; });
        all.push_back(entries_.size());
        add_finalist(std::move(e));
      }
    if (fastest.empty()) return all;
    for (const Layouts& layout : with_another_part(entries_[fastest.front()])) {
      Entry e = entries_[fastest.front()];
      e.layout = layout;
      e.credit_batch = 0;
      e.timed_ns = 0;
      e.simulated = false;
      predict(e);
      prove(e);
      if (!e.refusal.empty()) continue;
      all.push_back(entries_.size());
      add_finalist(std::move(e));
    }
    return all;
  }

  Plan plan_of(std::size_t best) const {
    const Entry& e = entries_[best];
    const Draft& draft = drafts_[e.draft];
    Plan plan;
    plan.key = options_.key;
    plan.origin = origin_of(e, profile_.origin == "measured");
    plan.levels = draft.levels;
    plan.schedule = draft.schedule;
    plan.layout = e.layout;
    plan.credit_batch = e.credit_batch;
    plan.predicted_latency_ns = e.latency_ns;
    plan.predicted_period_ns = e.predicted_ns;
    plan.measured_period_ns = e.measured_ns();
    plan.simulated_period_ns = e.simulated_ns();
    plan.bound_ns = static_cast<double>(draft.schedule.stages.size()) * profile_.one_way_ns;
    plan.candidates = runners_up(best);
    plan.date = utc_now();
    return plan;
  }

  std::vector<Candidate> runners_up(std::size_t best) const;

  const Topology& topology_;
  const Profile& profile_;
  PlanOptions options_;
  CostModel model_;
  const std::vector<LayoutChoice> choices_;
  const std::vector<std::int32_t> hosts_;
  std::vector<Draft> drafts_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> finalists_;
  std::vector<Candidate> refused_;
  std::string last_refusal_;
  std::map<std::size_t, std::string> proofs_;  // by draft; empty: verified
  // By draft and slots.
  std::map<std::pair<std::size_t, std::vector<std::int32_t>>, std::vector<Hazard>> hazards_;
};

std::vector<Candidate> Search::runners_up(std::size_t best) const {
  const Entry& chosen = entries_[best];
  std::vector<Candidate> list;
  std::set<std::pair<std::string, std::string>> listed;
  const auto add = [&](std::size_t k) {
    const Entry& e = entries_[k];
    const std::string& name = drafts_[e.draft].schedule.algorithm;
    if (!listed.insert({name, to_string(e.layout)}).second) return;
    list.push_back({name, e.predicted_ns, e.measured_ns(), verdict(e, chosen), e.layout, e.simulated_ns()});
  };
  add(best);
  std::vector<std::size_t> rest = finalists_;
  std::stable_sort(rest.begin(), rest.end(), [&](std::size_t a, std::size_t b) {
    if ((entries_[a].behind > 0) != (entries_[b].behind > 0)) return entries_[a].behind <= 0;
    return entries_[a].timed_ns < entries_[b].timed_ns;
  });
  for (const std::size_t k : rest) add(k);
  std::set<std::string> families;
  for (std::size_t k = 0; k < entries_.size() && list.size() < kListed; ++k)
    if (families.insert(drafts_[entries_[k].draft].schedule.algorithm).second) add(k);
  list.insert(list.end(), refused_.begin(), refused_.end());
  return list;
}

}  // namespace

Result<Plan> make_plan(const Topology& topology, const Profile& profile, const PlanOptions& options,
                       const Measure& measure) {
  auto key = normalised(options.key, topology);
  if (!key) return key.error();
  PlanOptions checked = options;
  checked.key = std::move(key.value());
  // Matrices would take gigabytes.
  if (checked.key.members > static_cast<std::int32_t>(kMaxTeamMembers) &&
      grouped_costs(profile, topology, checked.key).empty())
    return Error{Status::kUnsupported, "more than " + std::to_string(kMaxTeamMembers) +
                                           " members need costs by level: a machine file with 'levels', or "
                                           "a topology alone"};
  return Search(topology, profile, std::move(checked)).run(measure);
}

}  // namespace fermata
