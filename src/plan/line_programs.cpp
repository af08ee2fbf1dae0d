// A stage becomes the member's sends in list order, then its awaits in list order. A member signals a word by
// an add. If the word leads to other words, the add branches: the member that completes the word also does
// the steps of the word's completer. These steps are the climb.
//
// A program has one of two forms:
//   joined    The climb is right after the add. Then the program continues as for all other members.
//   branched  The rest of the program, after the add, is there a second time, with the climb's signals in
//             their own stages.
// The joined form is shorter, but sometimes it breaks the order of stages. Then the climb waits for a signal
// of stage s or later, and the member itself signals in stage s after the climb. Members could wait for each
// other, so such a program is branched.
#include "plan/line_programs.hpp"

#include <algorithm>
#include <map>

#include "schedule/structure.hpp"

namespace fermata {
namespace {

class Maker {
 public:
  Maker(const Plan& plan, const Schedule& schedule, const Placed& placed, const Credited& credited)
      : plan_(plan),
        schedule_(schedule),
        placed_(placed),
        at_(placed.bytes),
        items_(static_cast<std::size_t>(schedule_.members)),
        climbs_(schedule_.words.size()),
        polled_(schedule_.words.size(), false) {
    for (const auto& edge : credited) {
      credits_[edge] = at_;
      at_ += static_cast<std::uint32_t>(plan.layout.longest_line());
    }
    for (std::size_t t = 0; t < schedule_.stages.size(); ++t)
      for (const bool sending : {true, false})
        for (std::size_t i = 0; i < schedule_.stages[t].transfers.size(); ++i) list(t, i, sending);
  }

  Result<LinePrograms> run() {
    LinePrograms out;
    out.bytes = at_;
    for (std::int32_t m = 0; m < schedule_.members; ++m) {
      const std::vector<Item>& items = items_[static_cast<std::size_t>(m)];
      Program program;
      if (!joined(items, program) && !branched(items, program))
        return Error{Status::kUnsupported, "plan " + schedule_.algorithm + ": member " + std::to_string(m) +
                                               " would have more than " + std::to_string(kMostBranchedSteps) +
                                               " steps, so many are its ways through the words"};
      skip_own_polls(program);
      out.programs.push_back(std::move(program));
    }
    return out;
  }

 private:
  // One end of a transfer: a member's part of it in a stage.
  struct Item {
    std::size_t stage, transfer;
    bool sending;
  };
  // A step of the member that completes `actor`: it waits for `from`, if that is another word, then signals
  // `to`.
  struct Climb {
    std::size_t stage;
    std::int32_t actor, from, to;
  };

  void list(std::size_t t, std::size_t i, bool sending) {
    const Transfer& x = schedule_.stages[t].transfers[i];
    const bool from_word = schedule_.is_word(x.from), to_word = schedule_.is_word(x.to);
    if (from_word) polled_[static_cast<std::size_t>(schedule_.word_of(x.from))] = true;
    if (from_word && to_word) {
      const std::int32_t actor = actor_of(schedule_, x);
      if (sending)
        climbs_[static_cast<std::size_t>(actor)].push_back(
            {t, actor, schedule_.word_of(x.from), schedule_.word_of(x.to)});
    } else if (sending ? !from_word : !to_word) {
      items_[static_cast<std::size_t>(sending ? x.from : x.to)].push_back({t, i, sending});
    }
  }

  void put(Program& program, const Item& item) {
    const Transfer& x = schedule_.stages[item.stage].transfers[item.transfer];
    if (item.sending) return send(program, item.stage, item.transfer);
    if (schedule_.is_word(x.from)) return poll(program, item.stage, schedule_.word_of(x.from));
    await(program, item.stage, item.transfer);
  }

  // The word that the item adds to, or -1.
  std::int32_t word_of(const Item& item) const {
    const Transfer& x = schedule_.stages[item.stage].transfers[item.transfer];
    return item.sending && schedule_.is_word(x.to) ? schedule_.word_of(x.to) : -1;
  }

  // ---- Joined: each climb right after its add

  // Checks that all signals of a stage still come before the waits for them. A poll waits for signals of
  // earlier stages; an await also waits for signals of its own stage. Credits belong to earlier episodes, so
  // they need no check.
  class Order {
   public:
    void poll(std::size_t stage) { waited_for_ = std::max(waited_for_, 2 * stage); }
    void await(std::size_t stage) { waited_for_ = std::max(waited_for_, 2 * stage + 1); }
    void signal(std::size_t stage) { kept_ = kept_ && 2 * stage >= waited_for_; }
    bool is_kept() const { return kept_; }

   private:
    std::size_t waited_for_ = 0;
    bool kept_ = true;
  };

  // False if the order would differ from the schedule's; the program is then invalid.
  bool joined(const std::vector<Item>& items, Program& program) {
    Order order;
    for (const Item& item : items) {
      if (const std::int32_t word = word_of(item); word >= 0) {
        signal(program, item.stage, word, order);
        continue;
      }
      put(program, item);
      const Transfer& x = schedule_.stages[item.stage].transfers[item.transfer];
      if (item.sending) order.signal(item.stage);
      else schedule_.is_word(x.from) ? order.poll(item.stage) : order.await(item.stage);
    }
    program.push_back(blank(Code::kEnd, 0));
    return order.is_kept();
  }

  void signal(Program& program, std::size_t t, std::int32_t word, Order& order) {
    order.signal(t);
    const std::vector<Climb>& climbs = climbs_[static_cast<std::size_t>(word)];
    const std::size_t add = program.size();
    program.push_back(signal_step(word));
    if (program[add].code == Code::kFlip) return climb(program, climbs, order);
    if (climbs.empty()) {
      program[add].target = static_cast<std::uint32_t>(program.size());
      return;
    }
    const std::size_t skip = program.size();
    program.push_back(blank(Code::kJump, 0));
    program[add].target = static_cast<std::uint32_t>(program.size());
    climb(program, climbs, order);
    program[skip].target = static_cast<std::uint32_t>(program.size());
  }

  void climb(Program& program, const std::vector<Climb>& climbs, Order& order) {
    for (const Climb& c : climbs) {
      if (c.from != c.actor) {
        poll(program, c.stage, c.from);
        order.poll(c.stage);
      }
      signal(program, c.stage, c.to, order);
    }
  }

  // ---- Branched: a separate way for the member that completes a word

  struct Way {
    std::size_t add = 0;  // the add that branches to this way
    std::size_t item = 0;
    std::vector<Climb> climbs;  // still to do, by stage
  };

  // False if the program gets too long.
  bool branched(const std::vector<Item>& items, Program& program) {
    program.clear();
    std::vector<Way> ways(1);
    for (std::size_t k = 0; k < ways.size(); ++k) {
      Way way = std::move(ways[k]);
      if (k > 0) program[way.add].target = static_cast<std::uint32_t>(program.size());
      while (way.item < items.size() || !way.climbs.empty()) {
        if (program.size() > kMostBranchedSteps) return false;
        step_along(items, program, way, ways);
      }
      program.push_back(blank(Code::kEnd, 0));
    }
    return true;
  }

  // In each stage: first the member's own signals, then the signals of the words that it has completed, then
  // its waits.
  void step_along(const std::vector<Item>& items, Program& program, Way& way, std::vector<Way>& ways) {
    const Item* const item = way.item < items.size() ? &items[way.item] : nullptr;
    const std::size_t climb_stage = way.climbs.empty() ? schedule_.stages.size() : way.climbs.front().stage;
    if (item != nullptr && (item->stage < climb_stage || (item->stage == climb_stage && item->sending))) {
      ++way.item;
      const std::int32_t word = word_of(*item);
      return word >= 0 ? signal(program, word, way, ways) : put(program, *item);
    }
    const Climb climb = way.climbs.front();
    way.climbs.erase(way.climbs.begin());
    if (climb.from != climb.actor) poll(program, climb.stage, climb.from);
    signal(program, climb.to, way, ways);
  }

  void signal(Program& program, std::int32_t word, Way& way, std::vector<Way>& ways) {
    const std::vector<Climb>& climbs = climbs_[static_cast<std::size_t>(word)];
    const std::size_t at = program.size();
    program.push_back(signal_step(word));
    std::vector<Climb> all = way.climbs;
    const auto by_stage = [](const Climb& a, const Climb& b) { return a.stage < b.stage; };
    for (const Climb& climb : climbs)
      all.insert(std::upper_bound(all.begin(), all.end(), climb, by_stage), climb);
    if (program[at].code == Code::kFlip) {
      way.climbs = std::move(all);
      return;
    }
    program[at].target = static_cast<std::uint32_t>(program.size());
    if (!climbs.empty()) ways.push_back({at, way.item, std::move(all)});
  }

  // ---- Steps

  static Step blank(Code code, std::uint32_t peer) {
    Step s{};
    s.code = code;
    s.peer = peer;
    return s;
  }

  bool away(std::int32_t a, std::int32_t b) const {
    const std::vector<std::int32_t>& hosts = plan_.key.hosts;
    return !hosts.empty() && hosts[static_cast<std::size_t>(a)] != hosts[static_cast<std::size_t>(b)];
  }

  // ---- Slots

  Step on_slot(Code code, std::size_t t, std::size_t i, std::uint32_t reg, std::uint32_t parker,
               std::uint32_t peer) const {
    const EdgePlace& place = placed_.edges[t][i];
    Step s = blank(code, peer);
    s.reg = static_cast<std::uint8_t>(reg);
    s.offset = place.offset;
    s.stride = place.stride;
    s.mask = static_cast<std::uint32_t>(plan_.layout.at(t).slots) - 1;
    s.rings = place.published ? 2 : 1;
    s.door = place.published ? place.door : parker;
    return s;
  }

  void send(Program& program, std::size_t t, std::size_t i) const {
    const Transfer& x = schedule_.stages[t].transfers[i];
    const Code code = away(x.from, x.to) ? Code::kSendAway : Code::kSend;
    const Step step =
        on_slot(code, t, i, x.src_reg, static_cast<std::uint32_t>(x.to), static_cast<std::uint32_t>(x.to));
    // The sender writes a published line once for all its readers, after all of them have given credit.
    const auto& edges = placed_.edges[t];
    for (std::size_t k = 0; edges[i].published && k < i; ++k)
      if (edges[k].published && edges[k].offset == step.offset) return;
    for (std::size_t k = i; k < edges.size(); ++k) {
      if (edges[k].offset != step.offset || (k != i && !edges[k].published)) continue;
      const auto credit = credits_.find({static_cast<std::int32_t>(t), static_cast<std::int32_t>(k)});
      const std::int32_t reader = schedule_.stages[t].transfers[k].to;
      if (credit != credits_.end())
        program.push_back(credit_step(Code::kCreditAwait, t, credit->second, x.from, reader));
    }
    program.push_back(step);
  }

  void await(Program& program, std::size_t t, std::size_t i) const {
    const Transfer& x = schedule_.stages[t].transfers[i];
    Step step = on_slot(Code::kAwait, t, i, x.dst_reg, static_cast<std::uint32_t>(x.to),
                        static_cast<std::uint32_t>(x.from));
    step.fold = fold_of(x);
    step.pauses = pauses(t);
    program.push_back(step);
    const auto credit = credits_.find({static_cast<std::int32_t>(t), static_cast<std::int32_t>(i)});
    if (credit == credits_.end()) return;
    const Code gives = away(x.from, x.to) ? Code::kCreditGiveAway : Code::kCreditGive;
    program.push_back(credit_step(gives, t, credit->second, x.from, x.from));
  }

  std::uint32_t pauses(std::size_t t) const { return static_cast<std::uint32_t>(plan_.layout.at(t).pauses); }

  Fold fold_of(const Transfer& x) const {
    if (plan_.key.payload == 0) return Fold::kNone;
    // A barrier with tags folds them at every signal: a member that knows of another one must have its tag.
    if (schedule_.collective == Collective::kBarrier) return Fold::kCombineRight;
    if (x.action == Action::kCopy) return Fold::kCopy;
    if (x.action == Action::kSignal) return Fold::kNone;
    return x.side == Side::kLeft ? Fold::kCombineLeft : Fold::kCombineRight;
  }

  // The sender parks on its own doorbell for credits; the receiver rings that doorbell.
  Step credit_step(Code code, std::size_t t, std::uint32_t offset, std::int32_t sender,
                   std::int32_t peer) const {
    Step s = blank(code, static_cast<std::uint32_t>(peer));
    s.offset = offset;
    s.threshold = static_cast<std::uint32_t>(code == Code::kCreditAwait ? plan_.layout.at(t).slots
                                                                        : plan_.credit_batch);
    if (code == Code::kCreditAwait) s.pauses = pauses(t);
    s.rings = 1;
    s.door = static_cast<std::uint32_t>(sender);
    return s;
  }

  // ---- Words

  Step on_word(Code code, std::int32_t word) const {
    Step s = blank(code, static_cast<std::uint32_t>(schedule_.word_vertex(word)));
    s.offset = placed_.words[static_cast<std::size_t>(word)];
    s.threshold = static_cast<std::uint32_t>(schedule_.words[static_cast<std::size_t>(word)].threshold);
    s.rings = polled_[static_cast<std::size_t>(word)] ? 2 : 0;
    s.door = s.rings == 2 ? s.offset + 8 : 0;
    return s;
  }

  void poll(Program& program, std::size_t t, std::int32_t word) const {
    Step s = on_word(Code::kPoll, word);
    s.pauses = pauses(t);
    program.push_back(s);
  }

  // The member that completes a word need not poll it.
  static void skip_own_polls(Program& program) {
    for (std::size_t i = 0; i + 1 < program.size(); ++i) {
      const Step& next = program[i + 1];
      if (program[i].code == Code::kAdd && program[i].target == i + 1 && next.code == Code::kPoll &&
          next.offset == program[i].offset)
        program[i].target = static_cast<std::uint32_t>(i + 2);
    }
  }

  // A word with one in-edge has one writer per episode, so a store is enough.
  Step signal_step(std::int32_t word) const {
    return on_word(schedule_.words[static_cast<std::size_t>(word)].threshold == 1 ? Code::kFlip : Code::kAdd,
                   word);
  }

  const Plan& plan_;
  const Schedule& schedule_;
  const Placed& placed_;
  std::uint32_t at_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> credits_;  // (stage, transfer) -> offset
  std::vector<std::vector<Item>> items_;                                    // by member, in order
  std::vector<std::vector<Climb>> climbs_;                                  // by word, in order
  std::vector<bool> polled_;
};

}  // namespace

Result<LinePrograms> line_programs(const Plan& plan, const Schedule& schedule, const Placed& placed,
                                   const Credited& credited) {
  return Maker(plan, schedule, placed, credited).run();
}

}  // namespace fermata
