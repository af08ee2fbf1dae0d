// From a plan to one program per member (src/exec/program.hpp). An unproved plan is never compiled.
//
// A stage becomes the member's sends in list order, then its awaits in list order. A word's arrival is an add; where
// the word leads on to other words, the add branches: whoever completes it climbs (adds to the parent, or flips a phase)
// before it joins the main line again, where its own poll then finds the word as it left it.
//
// A signal to another host is sent by another step than one that is stored; that is all there is to a team over several hosts. There a
// rooted collective is compiled for each root, its ranks exchanged host by host: the root's host comes to the place of rank 0's.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/line.hpp"
#include "exec/program.hpp"
#include "plan/choices.hpp"
#include "plan/layout.hpp"
#include "plan/plan.hpp"
#include "schedule/compose.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

class Compiler {
 public:
  using Program = std::vector<Step>;
  using Credited = std::set<std::pair<std::int32_t, std::int32_t>>;  // (stage, transfer)

  Compiler(const Plan& plan, const Schedule& schedule, const Placed& placed, const Credited& credited)
      : plan_(plan), schedule_(schedule), placed_(placed), at_(placed.bytes), programs_(static_cast<std::size_t>(schedule_.members)) {
    for (const auto& edge : credited) {
      credits_[edge] = at_;
      at_ += static_cast<std::uint32_t>(plan.layout.longest_line());
    }
    polled_.assign(schedule_.words.size(), false);
    for (const Stage& stage : schedule_.stages)
      for (const Transfer& x : stage.transfers)
        if (schedule_.is_word(x.from)) polled_[static_cast<std::size_t>(schedule_.word_of(x.from))] = true;
  }

  std::uint32_t bytes() const { return at_; }  // of a region

  std::vector<Program> run() {
    for (std::size_t t = 0; t < schedule_.stages.size(); ++t) {
      for (const bool sending : {true, false})
        for (std::size_t i = 0; i < schedule_.stages[t].transfers.size(); ++i) transfer(t, i, sending);
    }
    for (auto& program : programs_) {
      program.push_back(blank(Code::kEnd, 0));
      skip_own_polls(program);
    }
    return std::move(programs_);
  }

 private:
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

  Program& of(std::int32_t member) { return programs_[static_cast<std::size_t>(member)]; }

  void transfer(std::size_t t, std::size_t i, bool sending) {
    const Transfer& x = schedule_.stages[t].transfers[i];
    const bool from_word = schedule_.is_word(x.from);
    const bool to_word = schedule_.is_word(x.to);
    if (from_word && to_word) return;  // done by whoever completes the source: climb()
    if (sending && to_word) signal(of(x.from), t, schedule_.word_of(x.to));
    if (sending && !from_word && !to_word) send(t, i);
    if (!sending && from_word) poll(of(x.to), t, schedule_.word_of(x.from));
    if (!sending && !from_word && !to_word) await(t, i);
  }

  // ---- Slots

  Step on_slot(Code code, std::size_t t, std::size_t i, std::uint32_t reg, std::uint32_t parker, std::uint32_t peer) const {
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

  void send(std::size_t t, std::size_t i) {
    const Transfer& x = schedule_.stages[t].transfers[i];
    Program& program = of(x.from);
    const Code code = away(x.from, x.to) ? Code::kSendAway : Code::kSend;
    const Step step = on_slot(code, t, i, x.src_reg, static_cast<std::uint32_t>(x.to), static_cast<std::uint32_t>(x.to));
    // A published line is written once for all its readers, when all of them have given credit.
    const auto same = [&](const Step& s) { return s.code == Code::kSend && s.offset == step.offset; };
    if (placed_.edges[t][i].published && std::any_of(program.begin(), program.end(), same)) return;
    const auto& edges = placed_.edges[t];
    for (std::size_t k = i; k < edges.size(); ++k) {
      if (edges[k].offset != step.offset || (k != i && !edges[k].published)) continue;
      const auto credit = credits_.find({static_cast<std::int32_t>(t), static_cast<std::int32_t>(k)});
      const std::int32_t reader = schedule_.stages[t].transfers[k].to;
      if (credit != credits_.end()) program.push_back(credit_step(Code::kCreditAwait, t, credit->second, x.from, reader));
    }
    program.push_back(step);
  }

  void await(std::size_t t, std::size_t i) {
    const Transfer& x = schedule_.stages[t].transfers[i];
    Program& program = of(x.to);
    Step step = on_slot(Code::kAwait, t, i, x.dst_reg, static_cast<std::uint32_t>(x.to), static_cast<std::uint32_t>(x.from));
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
    // A barrier that carries tags folds them wherever it signals: knowing a member is having its tag.
    if (schedule_.kind == Kind::kBarrier) return Fold::kCombineRight;
    if (x.action == Action::kCopy) return Fold::kCopy;
    if (x.action == Action::kSignal) return Fold::kNone;
    return x.side == Side::kLeft ? Fold::kCombineLeft : Fold::kCombineRight;
  }

  // The sender parks on its own door for credits, and the receiver rings it.
  Step credit_step(Code code, std::size_t t, std::uint32_t offset, std::int32_t sender, std::int32_t peer) const {
    Step s = blank(code, static_cast<std::uint32_t>(peer));
    s.offset = offset;
    s.threshold = static_cast<std::uint32_t>(code == Code::kCreditAwait ? plan_.layout.at(t).slots : plan_.credit_batch);
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
    if (schedule_.words[static_cast<std::size_t>(word)].threshold == 1) s.threshold = 1;
    s.pauses = pauses(t);
    program.push_back(s);
  }

  // Who completes a word need not poll it.
  static void skip_own_polls(Program& program) {
    for (std::size_t i = 0; i + 1 < program.size(); ++i) {
      const Step& next = program[i + 1];
      if (program[i].code == Code::kAdd && program[i].target == i + 1 && next.code == Code::kPoll && next.offset == program[i].offset)
        program[i].target = static_cast<std::uint32_t>(i + 2);
    }
  }

  void signal(Program& program, std::size_t t, std::int32_t word) {
    // A word with one in-edge has one writer per episode: a store will do.
    if (schedule_.words[static_cast<std::size_t>(word)].threshold == 1) {
      program.push_back(on_word(Code::kFlip, word));
      climb(program, t, word);
      return;
    }
    const std::size_t add = program.size();
    program.push_back(on_word(Code::kAdd, word));
    if (!leads_on(word)) {
      program[add].target = static_cast<std::uint32_t>(program.size());
      return;
    }
    const std::size_t skip = program.size();
    program.push_back(blank(Code::kJump, 0));
    program[add].target = static_cast<std::uint32_t>(program.size());
    climb(program, t, word);
    program[skip].target = static_cast<std::uint32_t>(program.size());
  }

  template <class Visit>
  void word_edges(Visit&& visit) const {
    for (const Stage& stage : schedule_.stages)
      for (const Transfer& x : stage.transfers)
        if (schedule_.is_word(x.from) && schedule_.is_word(x.to)) visit(schedule_.word_of(x.from), schedule_.word_of(x.to));
  }

  std::int32_t actor(std::int32_t from, std::int32_t to) const {
    const auto agent = [&](std::int32_t w) { return schedule_.words[static_cast<std::size_t>(w)].agent; };
    if (agent(to) >= 0) return agent(to);
    return agent(from) >= 0 ? agent(from) : from;
  }

  bool leads_on(std::int32_t word) const {
    bool leads = false;
    word_edges([&](std::int32_t from, std::int32_t to) { leads = leads || actor(from, to) == word; });
    return leads;
  }

  // What the completer of `word` does in its name, in stage order.
  void climb(Program& program, std::size_t t, std::int32_t word) {
    word_edges([&](std::int32_t from, std::int32_t to) {
      if (actor(from, to) != word) return;
      if (from != word) poll(program, t, from);
      signal(program, t, to);
    });
  }

  const Plan& plan_;
  const Schedule& schedule_;
  const Placed& placed_;
  std::uint32_t at_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> credits_;  // (stage, transfer) -> offset
  std::vector<bool> polled_;
  std::vector<Program> programs_;
};

// Sets of programs, one or one for each root, one behind the other.
Result<std::vector<std::byte>> blob(const Plan& plan, const std::vector<Compiler::Program>& programs, std::uint32_t bytes) {
  const Schedule& s = plan.schedule;
  ProgramHeader header;
  header.members = static_cast<std::uint32_t>(s.members);
  header.kind = static_cast<std::uint32_t>(s.kind);
  header.payload = static_cast<std::uint32_t>(plan.key.payload);
  header.registers = static_cast<std::uint32_t>(s.registers);
  header.line = static_cast<std::uint32_t>(plan.layout.longest_line());
  // A spare line at the end: the longest slot that starts on the last line still lies within.
  header.region_bytes = static_cast<std::uint32_t>(round_up(bytes + kMaxLine, kMaxLine));
  header.regions = has_root(s.kind) ? header.members : 1;
  header.roots = static_cast<std::uint32_t>(programs.size()) / header.members;
  for (const Compiler::Program& p : programs) header.steps += static_cast<std::uint32_t>(p.size());
  header.programs_offset = static_cast<std::uint32_t>(round_up(sizeof header, 32));
  header.steps_offset = static_cast<std::uint32_t>(round_up(header.programs_offset + programs.size() * sizeof(MemberProgram), 64));
  header.bytes = header.steps_offset + header.steps * static_cast<std::uint32_t>(sizeof(Step));
  s.algorithm.copy(header.algorithm, sizeof header.algorithm - 1);
  to_string(plan.layout).copy(header.layout, sizeof header.layout - 1);

  std::vector<std::byte> out(header.bytes);
  std::uint32_t first = 0;
  for (std::size_t m = 0; m < programs.size(); ++m) {
    const MemberProgram entry{first, static_cast<std::uint32_t>(programs[m].size())};
    std::memcpy(out.data() + header.programs_offset + m * sizeof entry, &entry, sizeof entry);
    std::memcpy(out.data() + header.steps_offset + first * sizeof(Step), programs[m].data(), programs[m].size() * sizeof(Step));
    first += entry.count;
  }
  std::memcpy(out.data(), &header, sizeof header);
  header.hash = program_hash(*reinterpret_cast<const ProgramHeader*>(out.data()));
  std::memcpy(out.data(), &header, sizeof header);
  if (!program_is_sound(out.data(), out.size())) return Error{Status::kVerify, "the compiler made an unsound program of " + s.algorithm};
  return out;
}

// Who takes each rank's place where `root` takes rank 0's: its host's members those of rank 0's host, and the other way round. So a
// composition along hosts stays one.
std::vector<std::int32_t> places_for_root(const std::vector<std::int32_t>& hosts, std::int32_t root) {
  std::vector<std::int32_t> places(hosts.size()), there = {root}, here;
  std::iota(places.begin(), places.end(), 0);
  const std::int32_t host = hosts[static_cast<std::size_t>(root)];
  if (host == hosts[0]) {
    std::swap(places[0], places[static_cast<std::size_t>(root)]);
    return places;
  }
  for (const std::int32_t r : places) {
    if (hosts[static_cast<std::size_t>(r)] == hosts[0]) here.push_back(r);
    if (hosts[static_cast<std::size_t>(r)] == host && r != root) there.push_back(r);
  }
  for (std::size_t k = 0; k < std::min(here.size(), there.size()); ++k)
    std::swap(places[static_cast<std::size_t>(here[k])], places[static_cast<std::size_t>(there[k])]);
  return places;
}

Error refused(const Plan& plan, Status status, const std::string& why) {
  return Error{status, "plan " + plan.schedule.algorithm + "/" + to_string(plan.layout) + ": " + why};
}

}  // namespace

Result<std::vector<std::byte>> compile(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (s.members < 1 || s.members > static_cast<std::int32_t>(kMaxMembers))
    return refused(plan, Status::kUnsupported, "members must be 1..4096");
  if (s.registers > static_cast<std::int32_t>(kMaxRegisters)) return refused(plan, Status::kUnsupported, "too many registers");
  if (!rides_on_a_line(s.kind)) return refused(plan, Status::kUnsupported, std::string(name_of(s.kind)) + " does not ride on a line");
  if (s.chunks > 1) return refused(plan, Status::kUnsupported, "more than one chunk does not ride on a line");
  if (s.kind != Kind::kBarrier && plan.key.payload == 0) return refused(plan, Status::kArgument, "no payload given");
  if (plan.key.payload > 0 && !s.words.empty()) return refused(plan, Status::kUnsupported, "words carry no data");
  const std::vector<std::int32_t>& hosts = plan.key.hosts;
  if (!hosts.empty() && hosts.size() != static_cast<std::size_t>(s.members))
    return refused(plan, Status::kArgument, "not a host for each rank");
  if (!hosts.empty() && words_join_hosts(s, hosts)) return refused(plan, Status::kUnsupported, "a word can't join hosts");
  if (s.root != 0) return refused(plan, Status::kArgument, "plans are made for root 0");

  const auto proof = verify(s, OpTraits{.associative = false, .commutative = true, .idempotent = false});
  if (!proof) return refused(plan, Status::kVerify, proof.error().message);

  const bool carries = plan.key.payload > 0;
  Compiler::Credited credited;
  for (const Hazard& h : reuse_hazards(s, plan.layout, carries)) credited.insert({h.stage, h.transfer});
  const bool power = std::has_single_bit(static_cast<unsigned>(plan.credit_batch));
  if (!credited.empty() && (plan.credit_batch > plan.layout.least_slots() || !power))
    return refused(plan, Status::kVerify, "a slot may be overwritten before it is read; it needs credits or more slots");

  const std::int32_t roots = has_root(s.kind) && !hosts.empty() ? s.members : 1;
  std::vector<Compiler::Program> programs;
  std::uint32_t bytes = 0;
  for (std::int32_t root = 0; root < roots; ++root) {
    const Schedule of_root = root == 0 ? s : lift(s, places_for_root(hosts, root), s.members);
    const auto placed = place_edges(of_root, plan.layout, plan.key.payload, hosts);
    if (!placed) return placed.error();
    Compiler compiler(plan, of_root, *placed, credited);
    bytes = std::max(bytes, compiler.bytes());
    for (Compiler::Program& program : compiler.run()) programs.push_back(std::move(program));
  }
  return blob(plan, programs, bytes);
}

}  // namespace fermata
