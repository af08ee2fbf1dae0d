#include "team/blocks.hpp"

#include "team/refresh.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/fold.hpp"
#include "os/os.hpp"
#include "plan/block_knowledge.hpp"
#include "plan/choose_blocks.hpp"

namespace fermata::team {
namespace {

using exec::BlockBuffer;
using exec::BlockCall;
using exec::Channel;
using exec::Member;

void fold_builtin(void* context, void* out, const void* left, const void* right, std::size_t count) {
  const auto& given = *static_cast<const fermata_operation*>(context);
  kernels::fold_block(static_cast<Op>(given.op), static_cast<Type>(given.type), out, left, right, count);
}
void fold_own(void* context, void* out, const void* left, const void* right, std::size_t count) {
  const auto& given = *static_cast<const fermata_operation*>(context);
  given.fold(out, left, right, count, given.user);
}

// Copies the caller's counts and displacements into the request. Without displacements, blocks lie one after
// the other.
void copy_sizes(fermata_request& r) {
  const std::uint32_t members = r.member->member->team().members();
  fermata_operation& o = r.given;
  if (!r.checked.counts_in) o.in_counts = o.in_displacements = nullptr;
  if (!r.checked.counts_out) o.out_counts = o.out_displacements = nullptr;
  r.sizes.clear();
  r.sizes.reserve(4 * std::size_t{members});
  for (const auto& [counts, displacements] :
       {std::pair{&o.in_counts, &o.in_displacements}, std::pair{&o.out_counts, &o.out_displacements}}) {
    if (*counts == nullptr) continue;
    const std::size_t at = r.sizes.size();
    r.sizes.insert(r.sizes.end(), *counts, *counts + members);
    if (*displacements != nullptr) r.sizes.insert(r.sizes.end(), *displacements, *displacements + members);
    for (std::uint32_t m = 0; *displacements == nullptr && m < members; ++m)
      r.sizes.push_back(m == 0 ? 0 : r.sizes.back() + r.sizes[at + m - 1]);
    *counts = r.sizes.data() + at;
    *displacements = *counts + members;
  }
}

bool same_sizes(const size_t* counts, const size_t* displacements, const size_t* own, std::uint32_t members) {
  if (own == nullptr) return true;
  if (counts == nullptr || displacements == nullptr) return false;
  return std::equal(counts, counts + members, own) &&
         std::equal(displacements, displacements + members, own + members);
}

// Does `o` equal, in every field, the operation for which the request was made?
bool is_same(const fermata_request& r, const fermata_operation& o) {
  const fermata_operation& g = r.given;
  const std::uint32_t members = r.member->member->team().members();
  return o.size == g.size && o.collective == g.collective && o.in == g.in && o.out == g.out &&
         o.count == g.count && o.type == g.type && o.op == g.op && o.root == g.root &&
         o.irregular == g.irregular && o.element == g.element && o.fold == g.fold && o.user == g.user &&
         o.ordered == g.ordered && same_sizes(o.in_counts, o.in_displacements, g.in_counts, members) &&
         same_sizes(o.out_counts, o.out_displacements, g.out_counts, members);
}

// Translates the operation's buffers to the program's. A buffer that is in place lies within the other one.
void place_buffers(fermata_request& r, const Checked& c, BlockCall& call) {
  const fermata_operation& o = r.given;
  const std::size_t rank = r.member->member->rank();
  const std::size_t mine = own_count(o, c, rank);
  static constinit std::byte nothing{};  // stands for a buffer whose blocks are all empty
  const auto place = [](const void* given) {
    return given != nullptr ? static_cast<std::byte*>(const_cast<void*>(given)) : &nothing;
  };
  call.input = {place(o.in), mine, o.in_counts, o.in_displacements};
  call.output = {place(o.out), mine, o.out_counts, o.out_displacements};
  const auto own = [&](const BlockBuffer& b) {
    return b.base + (b.displacements != nullptr ? b.displacements[rank] : rank * b.count) * c.element;
  };
  const CollectiveRules& rules = rules_of(c.collective);
  if (rules.has_one_buffer()) call.input = call.output;
  if (o.out == FERMATA_IN_PLACE && rules.in_place_is_output()) call.output.base = own(call.input);
  if (o.in != FERMATA_IN_PLACE) return;
  call.input.base = rules.collects() ? own(call.output) : call.output.base;
  if (rules.is_square()) call.input = call.output;
}

// In place, output blocks would be written before the input blocks at the same place are sent.
bool overwrites_input(Collective collective) {
  const CollectiveRules& rules = rules_of(collective);
  return rules.differs_by_receiver() && !rules.in_place_is_output();
}

void copy_input(fermata_request& r, const Checked& c, BlockCall& call, bool copies) {
  const std::uint32_t members = r.member->member->team().members();
  std::size_t elements = (rules_of(c.collective).differs_by_receiver() ? members : 1) * call.input.count;
  if (call.input.counts != nullptr) {
    elements = 0;
    for (std::uint32_t m = 0; m < members; ++m)  // an empty block's displacement has no meaning
      if (call.input.counts[m] != 0)
        elements = std::max(elements, call.input.displacements[m] + call.input.counts[m]);
  }
  std::byte* copy = reserve(r.input, r.input_bytes, elements * c.element);
  if (copies && elements != 0) std::memcpy(copy, call.input.base, elements * c.element);
  call.input.base = copy;
}

// Unpacks the costs again for each choice. For a thousand members they take 32 MB, too much for each member
// to store.
bool unpack_knowledge(const exec::Team& team, BlockKnowledge* out) {
  const exec::TeamLayout& layout = team.layout();
  if (layout.model_bytes == 0) return false;
  const std::byte* const model = team.base() + layout.model;
  // A copy: other processes may write to the segment.
  const std::vector<std::byte> packed(model, model + layout.model_bytes);
  if (!unpack(packed, static_cast<std::int32_t>(team.members()), out)) return false;
  for (std::uint32_t r = 0; team.hosts().are_several() && r < team.members(); ++r)
    out->model.hosts.push_back(static_cast<std::int32_t>(team.hosts().of(r)));
  return true;
}

}  // namespace

std::byte* reserve(std::unique_ptr<std::byte[]>& memory, std::size_t& have, std::size_t bytes) {
  if (have < bytes) {
    memory.reset(new std::byte[bytes]);
    have = bytes;
  }
  return memory.get();
}

Result<std::shared_ptr<const CompiledBlocks>> program_of(Blocks& blocks, const fermata_member* member,
                                                         const Checked& c, int root) {
  const exec::Team& team = member->member->team();
  const Blocks::Key key = key_of(c, root);
  if (const auto found = blocks.programs.find(key); found != blocks.programs.end()) return found->second;
  member->member->exclude_call();
  if (c.collective == Collective::kAlltoall &&
      team.members() > static_cast<std::uint32_t>(kMaxAlltoallMembers))
    return Error{Status::kUnsupported, "alltoall is for teams of at most 256 members"};
  const BlockCase wanted{.collective = c.collective,
                         .members = static_cast<std::int32_t>(team.members()),
                         .root = root,
                         .bytes = agreed_bytes(c),
                         .irregular = c.irregular,
                         .op = c.traits,
                         .pattern = c.pattern};
  BlockKnowledge known;
  const bool knows = unpack_knowledge(team, &known);
  const KnownChoice* measured = knows ? known.find(c.collective, wanted.bytes) : nullptr;
  const Schedule schedule =
      choose_blocks(wanted, knows ? &known.model : nullptr, measured != nullptr ? measured->name : 0);
  // Proved for this operator: an idempotent one may get a contribution twice.
  const auto proof = verify(schedule, c.traits);
  if (!proof) return proof.error();
  auto compiled = compile_blocks(schedule, static_cast<std::int32_t>(member->member->rank()), *proof);
  if (!compiled) return compiled.error();
  return blocks.programs[key] = std::make_shared<const CompiledBlocks>(std::move(*compiled));
}

namespace {

void over(exec::BlockRequest* core, void* context) {
  auto* r = static_cast<fermata_request*>(context);
  if (core->operation.has_left_messages()) [[unlikely]]
    leave_memory(*r);
  if (r->theirs != nullptr) [[unlikely]]
    end_with_theirs(*r);
  const Status status = core->status;
  Chain* const chain = r->chain;  // the callback may free a request that is no link
  if (r->callback != nullptr) r->callback(r, static_cast<int>(status), r->callback_user);
  if (chain != nullptr) go_on(*chain, status);
}

// Prepares single copy between processes. For some sizes this member sends the address of its data instead of
// the data. To fold data that it gets by address, it needs a buffer.
void allow_single_copy(Blocks& blocks, const exec::Team& team) {
  blocks.bounce.reset(new std::byte[exec::kBounce]);
  BlockKnowledge known;
  if (os::must_single_copy()) blocks.single_copy = Direct::from(kLog2SingleCopyFrom);
  else if (unpack_knowledge(team, &known)) blocks.single_copy = known.model.bytes.direct;
}

// How many bytes this member can send in a round trip, to the host for which they are most.
std::size_t sent_in_round_trip(const exec::Member& m) {
  const exec::Team& team = m.team();
  BlockKnowledge known;
  if (!unpack_knowledge(team, &known)) return 0;
  const CostModel& model = known.model;
  const auto me = static_cast<std::int32_t>(m.rank());
  double most = 0;
  for (std::int32_t r = 0; r < model.members; ++r) {
    if (!team.hosts().is_away(static_cast<std::uint32_t>(r)) || model.g_at(me, r) <= 0) continue;
    const double ns = model.o_at(me, r) + model.l_at(me, r) + model.o_at(r, me) + model.l_at(r, me);
    most = std::max(most, ns / model.g_at(me, r));
  }
  constexpr double kMost = std::size_t{1} << 30;
  return static_cast<std::size_t>(std::min(most, kMost));
}

}  // namespace

exec::Call call_of(const Checked& c, const fermata_operation& o) {
  exec::Call call;
  call.collective = c.collective;
  call.type = o.element != 0 ? exec::Call::kOwnType : static_cast<std::uint8_t>(o.type);
  if (folds(c.collective)) {
    call.op = o.fold != nullptr ? exec::Call::kOwnOp : static_cast<std::uint8_t>(o.op);
    // An order that only the team asks for is no part of the call, since calls on lines publish none.
    const bool asked = o.fold != nullptr || o.ordered == FERMATA_LEFT_TO_RIGHT;
    const exec::Call::Order given =
        c.traits.left_to_right ? exec::Call::kLeftToRight : exec::Call::kRankOrder;
    call.order = asked && !c.traits.commutative ? given : exec::Call::kAnyOrder;
  }
  if (has_root(c.collective)) call.root = static_cast<std::uint32_t>(o.root);
  call.irregular = c.irregular;
  call.bytes = c.irregular ? c.sizes : c.mean;
  return call;
}

void fill(fermata_request& r, bool copies) {
  const Checked& c = r.checked;
  Channel* channel = r.prepared ? &r.own : r.member->member->shared_channel();
  const CompiledBlocks& compiled = *r.program;
  BlockCall call;
  place_buffers(r, c, call);
  call.element = c.element;
  call.fold = r.given.fold != nullptr ? fold_own : fold_builtin;
  call.context = &r.given;
  call.direct_from = kDirectFrom;
  const exec::Team& team = r.member->member->team();
  call.team = &team;
  call.bounded = c.hidden && r.member->member->log().is_bounded();
  call.before_long = r.member->blocks->before_long;
  call.bytes = c.irregular ? 0 : c.mean;
  if (team.shared()) {
    call.home = r.member->member->home();
    call.bounce = r.member->blocks->bounce.get();
    const auto& single_copy = r.member->blocks->single_copy.of(folds(c.collective));
    std::copy(std::begin(single_copy), std::end(single_copy), call.single_copy);
  }
  r.work.resize(std::max<std::size_t>(1, compiled.transfers.size()));
  std::byte* space = reserve(r.space, r.space_bytes, compiled.program.space_blocks * c.largest * c.element);
  const bool in_place = r.given.in == FERMATA_IN_PLACE || r.given.in == r.given.out;
  r.filled = !(in_place && overwrites_input(c.collective));
  if (!r.filled) copy_input(r, c, call, copies);
  r.core.operation.prepare(compiled.program, call, channel, r.work.data(), space, c.largest);
  if (in_place && r.filled && folds(c.collective) && r.core.operation.needs_copy()) {
    r.filled = false;
    copy_input(r, c, call, copies);
    r.core.operation.prepare(compiled.program, call, channel, r.work.data(), space, c.largest);
  }
  r.core.completed = over;
  r.core.adapt = adapt;
  r.core.context = &r;
  r.core.ordered = !r.prepared;
}

std::size_t agreed_bytes(const Checked& c) {
  constexpr std::size_t kOfHidden = 4096;
  return c.hidden ? kOfHidden : std::bit_ceil(std::max<std::size_t>(1, c.mean));
}

Blocks::Key key_of(const Checked& c, std::int32_t root) {
  const OpTraits op = c.traits;
  return {c.collective,
          root,
          std::countr_zero(agreed_bytes(c)),
          c.irregular,
          op.associative,
          op.commutative,
          op.idempotent,
          op.left_to_right,
          c.pattern};
}

Blocks& blocks_of(fermata_member* member) {
  if (member->blocks == nullptr) {
    member->blocks = std::make_shared<Blocks>(member->member->team());
    if (member->member->team().shared() && os::may_single_copy())
      allow_single_copy(*member->blocks, member->member->team());
    if (member->member->team().port().has_long())
      member->blocks->before_long = sent_in_round_trip(*member->member);
    // Requests refer to this team's memory, so its members must not move to another team by a review. A
    // refresh checks by itself whether there are requests. Where lengths may differ, only some members may
    // have blocks, and a review checks for them.
    if (!refreshes(member) && !member->may_differ) member->member->log().set_review(exec::kNoReview);
  }
  return *member->blocks;
}

int check_request(const fermata_request* request) {
  if (request == nullptr) return null_handle();
  if (serial_of(request) == 0) return fail(Status::kArgument, "the request was freed");
  if (serial_of(request->member) != request->member_serial)
    return fail(Status::kArgument, "the request's member has left");
  if (request->member->member->forked()) return answer(request->member, Status::kForked);
  return FERMATA_OK;
}

namespace {

// The pattern of the call that starts now. If the operator does not associate, another schedule may give
// other bits.
Pattern pattern_now(fermata_member* member, const Checked& c) {
  const exec::Member& m = *member->member;
  const bool matters = passes_on(c.collective) && c.traits.associative && m.team().hosts().are_several();
  if (!matters) return Pattern::kUnknown;
  const exec::CallLog& log = m.log();
  const bool follows = log.last_is_own() && passes_on(exec::Call::unpack(log.own()).collective);
  return blocks_of(member).scans.next(m.calls(), follows);
}

int find_program(fermata_request& r, const Checked& c) {
  auto program = program_of(blocks_of(r.member), r.member, c, has_root(c.collective) ? r.given.root : 0);
  if (!program) return fail(program.error());
  r.program = std::move(*program);
  return FERMATA_OK;
}

}  // namespace

int make(fermata_member* member, const fermata_operation& operation, fermata_request& r, bool ordered) {
  Checked* const c = &r.checked;
  *c = {};
  const int bad = check(member, operation, c);
  if (bad != FERMATA_OK) return bad;
  Member& m = *member->member;
  if (m.shared_channel() == nullptr)
    return fail(Status::kUnsupported, "operations on blocks are for teams of at most 1024 members");
  if (c->element > m.shared_channel()->most())
    return fail(Status::kUnsupported, "in a team this large an element has at most %zu bytes",
                m.shared_channel()->most());
  r.member = member;
  r.member_serial = serial_of(member);
  r.given = operation;
  r.filled = false;
  if (c->irregular) copy_sizes(r);
  if (ordered) c->pattern = pattern_now(member, *c);
  if (const int found = find_program(r, *c); found != FERMATA_OK) return found;
  r.core.call = call_of(*c, operation);
  return FERMATA_OK;
}

int follow_pattern(fermata_request& r) {
  Checked now = r.checked;
  now.pattern = pattern_now(r.member, r.checked);
  if (now.pattern == r.checked.pattern) return FERMATA_OK;
  r.filled = false;
  if (const int found = find_program(r, now); found != FERMATA_OK) return found;
  r.checked.pattern = now.pattern;
  return FERMATA_OK;
}

int execute(fermata_member* member, const fermata_operation& operation) {
  Blocks& blocks = blocks_of(member);
  if (blocks.call == nullptr) blocks.call = std::make_unique<fermata_request>();
  fermata_request& request = *blocks.call;
  if (request.core.active)
    return fail(Status::kBusy, "a call of this member is still outstanding: end it by fermata_resume");
  if (!request.filled || !is_same(request, operation)) {
    blocks.last = {};
    const int made = make(member, operation, request, true);
    if (made != FERMATA_OK) return made;
    fill(request);
  } else {
    if (const int found = follow_pattern(request); found != FERMATA_OK) return found;
    fill_again(request);
  }
  return answer(member, member->member->execute(&request.core));
}

fermata_operation operation_of(const Plain& plain) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = plain.collective;
  o.in = plain.in;
  o.out = plain.out;
  o.count = plain.count;
  o.type = plain.type;
  o.op = plain.op;
  o.root = plain.root;
  return o;
}

int execute(fermata_member* member, const Plain& plain) {
  const int status = execute(member, operation_of(plain));
  // In place, the next call must copy its input again: the contents may have changed.
  if (status == FERMATA_OK && plain.in != FERMATA_IN_PLACE && plain.in != plain.out &&
      member->blocks->call->checked.pattern == Pattern::kUnknown)
    member->blocks->last = plain;
  return status;
}

}  // namespace fermata::team
