// Compiles a plan into one program per member (src/exec/program.hpp). An unproved plan is never compiled.
//
// Two things differ for a team over several hosts. A signal to another host is a step that sends a line
// instead of storing it. A rooted collective is compiled for each root. There the ranks of the root's host
// and those of rank 0's host exchange places.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "base/line.hpp"
#include "exec/program.hpp"
#include "exec/proof/proof.hpp"
#include "plan/choices.hpp"
#include "plan/layout.hpp"
#include "plan/line_programs.hpp"
#include "plan/plan.hpp"
#include "schedule/compose.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

// Bytes of memory for a proof. In the largest teams, programs have members^2 steps.
constexpr std::size_t kMostProof = std::size_t{2} << 30;

Error refused(const Plan& plan, Status status, const std::string& why) {
  return Error{status, "plan " + plan.schedule.algorithm + "/" + to_string(plan.layout) + ": " + why};
}

// Packs programs into one blob: one set of programs, or one set for each root, one after the other.
Result<std::vector<std::byte>> blob(const Plan& plan, const std::vector<Program>& programs,
                                    std::uint32_t bytes) {
  const Schedule& s = plan.schedule;
  ProgramHeader header;
  header.members = static_cast<std::uint32_t>(s.members);
  header.collective = static_cast<std::uint32_t>(s.collective);
  header.payload = static_cast<std::uint32_t>(plan.key.payload);
  header.registers = static_cast<std::uint32_t>(s.registers);
  header.line = static_cast<std::uint32_t>(plan.layout.longest_line());
  // One spare line, so that the longest slot that starts on the last line lies inside the region.
  header.region_bytes = static_cast<std::uint32_t>(round_up(bytes + kMaxLine, kMaxLine));
  header.regions = has_root(s.collective) ? header.members : 1;
  header.roots = static_cast<std::uint32_t>(programs.size()) / header.members;
  for (const Program& p : programs) header.steps += static_cast<std::uint32_t>(p.size());
  header.programs_offset = static_cast<std::uint32_t>(round_up(sizeof header, 32));
  header.steps_offset = static_cast<std::uint32_t>(
      round_up(header.programs_offset + programs.size() * sizeof(MemberProgram), 64));
  header.bytes = header.steps_offset + header.steps * static_cast<std::uint32_t>(sizeof(Step));
  s.algorithm.copy(header.algorithm, sizeof header.algorithm - 1);
  to_string(plan.layout).copy(header.layout, sizeof header.layout - 1);

  std::vector<std::byte> out(header.bytes);
  std::uint32_t first = 0;
  for (std::size_t m = 0; m < programs.size(); ++m) {
    const MemberProgram entry{first, static_cast<std::uint32_t>(programs[m].size())};
    std::memcpy(out.data() + header.programs_offset + m * sizeof entry, &entry, sizeof entry);
    std::memcpy(out.data() + header.steps_offset + first * sizeof(Step), programs[m].data(),
                programs[m].size() * sizeof(Step));
    first += entry.count;
  }
  std::memcpy(out.data(), &header, sizeof header);
  header.hash = program_hash(program_header(out.data()));
  std::memcpy(out.data(), &header, sizeof header);
  if (!program_is_sound(out.data(), out.size()))
    return refused(plan, Status::kVerify, "the compiler made an unsound program");
  return out;
}

// Returns the rank that takes each rank's place if `root` takes rank 0's place. The members of the root's
// host and of rank 0's host exchange places, so a composition along hosts remains one.
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

// Checks the plan before its schedule is verified.
Result<Verified> check(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (s.members < 1 || s.members > static_cast<std::int32_t>(kMaxMembers))
    return refused(plan, Status::kUnsupported, "members must be 1.." + std::to_string(kMaxMembers));
  if (s.registers > static_cast<std::int32_t>(kMaxRegisters))
    return refused(plan, Status::kUnsupported, "too many registers");
  if (!rides_on_a_line(s.collective))
    return refused(plan, Status::kUnsupported,
                   std::string(name_of(s.collective)) + " does not fit on a line");
  if (s.chunks > 1) return refused(plan, Status::kUnsupported, "more than one chunk does not fit on a line");
  if (s.collective != Collective::kBarrier && plan.key.payload == 0)
    return refused(plan, Status::kArgument, "no payload given");
  if (plan.key.payload > 0 && !s.words.empty())
    return refused(plan, Status::kUnsupported, "words carry no data");
  const std::vector<std::int32_t>& hosts = plan.key.hosts;
  if (!hosts.empty() && hosts.size() != static_cast<std::size_t>(s.members))
    return refused(plan, Status::kArgument, "hosts needs an entry for each rank");
  if (!hosts.empty() && words_join_hosts(s, hosts))
    return refused(plan, Status::kUnsupported, "a word cannot span hosts");
  if (s.root != 0) return refused(plan, Status::kArgument, "plans are made for root 0");
  return Verified{};
}

}  // namespace

Result<std::vector<std::byte>> assemble(const Plan& plan, const std::vector<Hazard>& hazards) {
  const Schedule& s = plan.schedule;
  const std::vector<std::int32_t>& hosts = plan.key.hosts;
  Credited credited;
  for (const Hazard& h : hazards)
    if (plan.credit_batch > 0) credited.insert({h.stage, h.transfer});
  const std::int32_t roots = has_root(s.collective) && !hosts.empty() ? s.members : 1;
  std::vector<Program> programs;
  std::uint32_t bytes = 0;
  for (std::int32_t root = 0; root < roots; ++root) {
    const Schedule of_root = root == 0 ? s : lift(s, places_for_root(hosts, root), s.members);
    const auto placed = place_edges(of_root, plan.layout, plan.key.payload, hosts);
    if (!placed) return placed.error();
    auto made = line_programs(plan, of_root, *placed, credited);
    if (!made) return made.error();
    bytes = std::max(bytes, made->bytes);
    for (Program& program : made->programs) programs.push_back(std::move(program));
  }
  return blob(plan, programs, bytes);
}

Result<std::vector<std::byte>> compile_lines(const Plan& plan) {
  if (const auto fit = check(plan); !fit) return fit.error();
  const Schedule& s = plan.schedule;
  if (const std::string flaw = prove(s); !flaw.empty()) return refused(plan, Status::kVerify, flaw);
  const std::vector<Hazard> hazards = reuse_hazards(s, plan.layout, plan.key.payload > 0);
  if (const std::string flaw = flaw_of_reuse(s, plan.layout, hazards, plan.credit_batch); !flaw.empty())
    return refused(plan, Status::kVerify, flaw);
  auto program = assemble(plan, hazards);
  if (!program) return program;
  const std::vector<std::uint32_t> hosts(plan.key.hosts.begin(), plan.key.hosts.end());
  const exec::ProofTerms terms{.hosts = hosts.empty() ? nullptr : hosts.data(), .most_bytes = kMostProof};
  const exec::Proof proof = exec::prove_program(program_header(program->data()), terms);
  if (proof) return program;
  char why[exec::kProofText];
  exec::describe(proof, why);
  return refused(plan, Status::kVerify, "the compiled program is not proved: " + std::string(why));
}

}  // namespace fermata
