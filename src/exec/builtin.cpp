// Steps:
//   1. List the signals stage by stage, in the order of src/algo's schedules.
//   2. Lay out their slots as src/plan/layout.cpp does.
//   3. Emit one program per member as src/plan/compile_lines.cpp does: in each stage all sends, then all
//      awaits, in list order.
#include "exec/builtin.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bit>
#include <initializer_list>

#include "base/line.hpp"

namespace fermata::exec {
namespace {

constexpr std::uint32_t kMostStages = 24;  // log2(4096) for dissemination, twice for binomial
constexpr std::uint32_t kMostRounds = 13;  // of dissemination
// With more members, members x members slots cost more than the detour through one member.
constexpr std::uint32_t kMostComplete = 8;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

struct Signal {
  std::uint32_t from;
  std::uint32_t to;
  std::uint32_t offset;
  std::uint32_t stride;
  Fold fold;
};

class Maker {
 public:
  explicit Maker(const BuiltinPlan& plan) : plan_(plan), members_(plan.members) {}
  ~Maker() {
    free(signals_);
    free(scratch_);
  }
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;

  ProgramHeader* run() {
    signals_ = static_cast<Signal*>(malloc((most_signals() + 1) * sizeof(Signal)));
    scratch_ = static_cast<std::uint32_t*>(malloc((std::size_t{members_} + 1) * 2 * sizeof(std::uint32_t)));
    if (signals_ == nullptr || scratch_ == nullptr) return nullptr;
    if (members_ > 1) list();
    for (std::uint32_t t = 0; t < stages_; ++t) plan_.packed ? place_packed(t) : place_private(t);
    if (has_word()) at_ += plan_.line;
    return at_ > kMostBytes ? nullptr : emit();
  }

 private:
  bool has_word() const { return plan_.algorithm == Builtin::kCounter && members_ > 1; }

  std::size_t most_signals() const {
    switch (plan_.algorithm) {
      case Builtin::kDissemination: return std::size_t{members_} * kMostRounds;
      case Builtin::kCounter: return 0;
      case Builtin::kComplete: return std::size_t{members_} * members_;
      case Builtin::kLinear:
      case Builtin::kBinomial: return std::size_t{members_} * 2;
      case Builtin::kButterfly: return 2;
    }
    return 0;
  }

  // ---- 1. The signals

  void signal(std::uint32_t from, std::uint32_t to, Fold fold) {
    signals_[count_++] = {from, to, 0, 0, fold};
  }
  void end_stage() { ends_[stages_++] = count_; }
  std::uint32_t begin_of(std::uint32_t stage) const { return stage == 0 ? 0 : ends_[stage - 1]; }

  void list() {
    switch (plan_.algorithm) {
      case Builtin::kDissemination:
        for (std::uint32_t distance = 1; distance < members_; distance *= 2) {
          for (std::uint32_t i = 0; i < members_; ++i) signal(i, (i + distance) % members_, Fold::kNone);
          end_stage();
        }
        break;
      case Builtin::kCounter: break;
      case Builtin::kComplete:
        for (std::uint32_t from = 0; from < members_; ++from) {
          for (std::uint32_t distance = from > 0 ? 0 : 1; distance < members_; ++distance)
            signal(from, (from + distance) % members_, from == 0 ? Fold::kCopy : Fold::kCombineRight);
        }
        end_stage();
        break;
      case Builtin::kLinear:
        for (std::uint32_t i = 1; i < members_; ++i) signal(i, 0, Fold::kCombineRight);
        end_stage();
        for (std::uint32_t i = 1; i < members_; ++i) signal(0, i, Fold::kCopy);
        end_stage();
        break;
      case Builtin::kBinomial:
        for (std::uint32_t bit = 1; bit < members_; bit *= 2) {
          for (std::uint32_t i = bit; i < members_; i += 2 * bit) signal(i, i - bit, Fold::kCombineRight);
          end_stage();
        }
        for (std::uint32_t bit = std::bit_ceil(members_) / 2; bit > 0; bit /= 2) {
          for (std::uint32_t i = bit; i < members_; i += 2 * bit) signal(i - bit, i, Fold::kCopy);
          end_stage();
        }
        break;
      case Builtin::kButterfly:
        signal(0, 1, Fold::kCombineLeft);
        signal(1, 0, Fold::kCombineRight);
        end_stage();
        break;
    }
  }

  // ---- 2. Their slots

  // Private: each slot on a line of its own, in the order of the receivers.
  void place_private(std::uint32_t stage) {
    std::uint32_t* next = scratch_;
    memset(next, 0, (members_ + 1) * sizeof *next);
    for (std::uint32_t i = begin_of(stage); i < ends_[stage]; ++i) ++next[signals_[i].to + 1];
    for (std::uint32_t m = 0; m < members_; ++m) next[m + 1] += next[m];
    for (std::uint32_t i = begin_of(stage); i < ends_[stage]; ++i) {
      signals_[i].offset =
          static_cast<std::uint32_t>(at_ + std::uint64_t{next[signals_[i].to]++} * plan_.slots * plan_.line);
      signals_[i].stride = plan_.line;
    }
    at_ += std::uint64_t{ends_[stage] - begin_of(stage)} * plan_.slots * plan_.line;
  }

  // Packed: the slots of one group lie side by side, all first slots together, then all second ones. The
  // group of a signal is the lower rank of its two ends.
  void place_packed(std::uint32_t stage) {
    std::uint32_t* sizes = scratch_;
    std::uint32_t* next = scratch_ + members_ + 1;
    memset(sizes, 0, members_ * sizeof *sizes);
    const auto group = [](const Signal& s) { return s.from < s.to ? s.from : s.to; };
    const std::uint32_t unit = std::bit_ceil(slot_bytes());
    for (std::uint32_t i = begin_of(stage); i < ends_[stage]; ++i) ++sizes[group(signals_[i])];
    for (std::uint32_t m = 0; m < members_; ++m) {
      next[m] = static_cast<std::uint32_t>(at_);
      at_ += round_up(std::uint64_t{sizes[m]} * unit * plan_.slots, plan_.line);
    }
    for (std::uint32_t i = begin_of(stage); i < ends_[stage]; ++i) {
      const std::uint32_t low = group(signals_[i]);
      signals_[i].offset = next[low];
      signals_[i].stride = sizes[low] * unit;
      next[low] += unit;
    }
  }

  std::uint32_t slot_bytes() const { return 8 + static_cast<std::uint32_t>(round_up(plan_.payload, 8)); }

  // ---- 3. The programs

  ProgramHeader* emit() {
    ProgramHeader header;
    header.members = members_;
    header.collective =
        static_cast<std::uint32_t>(plan_.is_barrier() ? Collective::kBarrier : Collective::kAllreduce);
    header.payload = plan_.payload;
    header.line = plan_.line;
    header.region_bytes = static_cast<std::uint32_t>(round_up(at_ + kMaxLine, kMaxLine));
    header.steps = 2 * count_ + members_ + (has_word() ? 2 * members_ : 0);
    header.programs_offset = static_cast<std::uint32_t>(round_up(sizeof header, 32));
    header.steps_offset =
        static_cast<std::uint32_t>(round_up(header.programs_offset + members_ * sizeof(MemberProgram), 64));
    header.bytes = header.steps_offset + header.steps * static_cast<std::uint32_t>(sizeof(Step));
    name(header);
    auto* blob = static_cast<std::byte*>(calloc(1, header.bytes));
    if (blob == nullptr) return nullptr;
    memcpy(blob, &header, sizeof header);
    auto* programs = reinterpret_cast<MemberProgram*>(blob + header.programs_offset);
    steps_ = reinterpret_cast<Step*>(blob + header.steps_offset);
    divide(programs);
    for (std::uint32_t t = 0; t < stages_; ++t) {
      for (std::uint32_t i = begin_of(t); i < ends_[t]; ++i) send(signals_[i]);
      for (std::uint32_t i = begin_of(t); i < ends_[t]; ++i) await(signals_[i]);
    }
    for (std::uint32_t m = 0; m < members_; ++m) {
      if (has_word()) count_on_word(m);
      step(m, Code::kEnd, 0);
    }
    auto* out = reinterpret_cast<ProgramHeader*>(blob);
    out->hash = program_hash(*out);
    return out;
  }

  // Sets where each member's steps begin.
  void divide(MemberProgram* programs) {
    for (std::uint32_t m = 0; m < members_; ++m) programs[m].count = has_word() ? 3 : 1;
    for (std::uint32_t i = 0; i < count_; ++i) {
      ++programs[signals_[i].from].count;
      ++programs[signals_[i].to].count;
    }
    std::uint32_t first = 0;
    for (std::uint32_t m = 0; m < members_; ++m) {
      programs[m].first = scratch_[m] = first;
      first += programs[m].count;
    }
  }

  Step& step(std::uint32_t member, Code code, std::uint32_t peer) {
    Step& s = steps_[scratch_[member]++];
    s.code = code;
    s.peer = peer;
    return s;
  }

  void on_slot(Step& s, const Signal& x) const {
    s.offset = x.offset;
    s.stride = x.stride;
    s.mask = plan_.slots - 1;
    s.rings = 1;
    s.door = x.to;
  }

  void send(const Signal& x) { on_slot(step(x.from, Code::kSend, x.to), x); }

  void await(const Signal& x) {
    Step& s = step(x.to, Code::kAwait, x.from);
    on_slot(s, x);
    s.fold = x.fold;
    s.pauses = plan_.pauses;
  }

  // The member that completes the word does not poll it.
  void count_on_word(std::uint32_t member) {
    for (const Code code : {Code::kAdd, Code::kPoll}) {
      Step& s = step(member, code, members_);
      s.threshold = members_;
      s.rings = 2;
      s.door = 8;
      code == Code::kAdd ? s.target = 2 : s.pauses = plan_.pauses;
    }
  }

  void name(ProgramHeader& header) const {
    // by name: this library has no table; tests/unit/ranked/builtin_test.cpp compares names and programs.
    static constexpr const char* kNames[] = {"dissemination", "counter", "complete",
                                             // by name: see above
                                             "linear", "binomial", "butterfly"};
    snprintf(header.algorithm, sizeof header.algorithm, "%s", kNames[static_cast<int>(plan_.algorithm)]);
    char* at = header.layout;
    const char* const end = at + sizeof header.layout;
    at += snprintf(at, static_cast<std::size_t>(end - at), "%s", plan_.packed ? "packed" : "private");
    if (plan_.slots != 1) at += snprintf(at, static_cast<std::size_t>(end - at), "+%uslots", plan_.slots);
    if (plan_.line != 64) at += snprintf(at, static_cast<std::size_t>(end - at), "+line%u", plan_.line);
    if (plan_.pauses != 1) snprintf(at, static_cast<std::size_t>(end - at), "+%upauses", plan_.pauses);
  }

  const BuiltinPlan& plan_;
  const std::uint32_t members_;
  Signal* signals_ = nullptr;
  std::uint32_t* scratch_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t stages_ = 0;
  std::uint32_t ends_[kMostStages] = {};
  std::uint64_t at_ = 0;
  Step* steps_ = nullptr;
};

}  // namespace

BuiltinPlan builtin_barrier(std::uint32_t members, std::uint32_t cpus) {
  if (members > cpus) return {.algorithm = Builtin::kCounter, .members = members, .packed = false};
  return {.members = members, .slots = 4, .line = 128, .pauses = 4};
}

BuiltinPlan builtin_allreduce(std::uint32_t members, std::uint32_t payload) {
  const Builtin few = members == 2 ? Builtin::kButterfly : Builtin::kComplete;
  return {.algorithm = members <= kMostComplete ? few : Builtin::kLinear,
          .members = members,
          .payload = payload,
          .packed = payload == 8,
          .slots = 2,
          .line = 128,
          .pauses = 4};
}

BuiltinPlan builtin_forkjoin(std::uint32_t members, bool tree) {
  return {.algorithm = tree ? Builtin::kBinomial : Builtin::kLinear,
          .members = members,
          .payload = kLinePayload,
          .packed = false,
          .slots = 2,
          .line = 128,
          .pauses = 1};
}

ProgramHeader* make_builtin(const BuiltinPlan& plan) { return Maker(plan).run(); }

}  // namespace fermata::exec
