// Collectives on blocks behind the C ABI: from arguments to a request.
#ifndef FERMATA_TEAM_BLOCKS_HPP
#define FERMATA_TEAM_BLOCKS_HPP

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "plan/choose_blocks.hpp"
#include "plan/compile_blocks.hpp"
#include "team/handles.hpp"
#include "team/slots.hpp"

namespace fermata::team {

struct Chain;
struct Theirs;

// check() fills it from the arguments of a collective.
struct Checked {
  Collective collective = Collective::kBroadcast;
  std::size_t element = 1;
  std::size_t largest = 0;  // elements of the largest block that this member knows of
  std::size_t mean = 0;  // bytes of a block, on average if sizes differ; valid if all members know the sizes
  std::uint64_t sizes = 0;  // a hash of the blocks' sizes, where they differ and all members know them
  bool irregular = false;   // blocks may differ in size
  // Blocks may differ in size, and not all members know how large each is.
  bool hidden = false;
  bool counts_in = false, counts_out = false;  // this member gives counts for its input, its output
  OpTraits traits;
  Pattern pattern = Pattern::kUnknown;
};

}  // namespace fermata::team

struct fermata_request : fermata::checked::CheckedHandle<fermata_request> {
  fermata::exec::BlockRequest core;
  fermata_member* member = nullptr;
  std::uint64_t member_serial = 0;  // differs from the member's serial once the member has left
  fermata_operation given{};
  fermata::team::Checked checked;
  bool prepared = false;  // the request is persistent
  bool filled = false;    // it may start again without fill(), since no input is copied
  std::shared_ptr<const fermata::CompiledBlocks> program;
  fermata::exec::Channel own;                     // ring buffers of a persistent request
  std::vector<fermata::exec::Channel::End> ends;  // ends of `own`
  fermata::team::HeldSlots slots;                 // the memory of `own`
  std::vector<fermata::exec::BlockOperation::Work> work;
  std::vector<std::size_t> sizes;  // the request's copy of given's counts and displacements
  std::unique_ptr<std::byte[]> space;
  std::size_t space_bytes = 0;
  // A copy of the input, where the collective would overwrite it too early in place.
  std::unique_ptr<std::byte[]> input;
  std::size_t input_bytes = 0;
  std::unique_ptr<fermata::team::Theirs> theirs;  // set while the length is the one that other members gave
  fermata_callback callback = nullptr;
  void* callback_user = nullptr;
  fermata::team::Chain* chain = nullptr;        // the chain of which it is a link
  std::unique_ptr<fermata::team::Chain> links;  // the links of a chain, which has no collective of its own
};

namespace fermata::team {

// The arguments of a regular call with a built-in type and operator.
struct Plain {
  int collective = -1;
  int type = 0, op = 0, root = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  bool operator==(const Plain&) const = default;
};

// Several persistent collectives that run one after the other, as one request.
struct Chain {
  fermata_request* whole = nullptr;
  std::vector<std::unique_ptr<fermata_request>> links;
  std::size_t next = 0;   // index of the link to start
  bool stepping = false;  // go_on() or start_chain() is active further up the stack, and starts a link
  bool over = false;      // the started link is over, with `status`
  Status status = Status::kOk;
};

// A split-phase call that began on lines and continues as a collective on blocks.
struct Moved {
  alignas(16) std::byte in[FERMATA_MAX_PAYLOAD] = {};
  std::unique_ptr<fermata_request> request = std::make_unique<fermata_request>();
};

// Zeroed memory for a length that only another member has given. A page of a large length takes memory only
// after the first write to it. zeroed_bytes() throws std::bad_alloc.
struct FreeBytes {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using ZeroedBytes = std::unique_ptr<std::byte[], FreeBytes>;
ZeroedBytes zeroed_bytes(std::size_t bytes);

// Members may give different lengths (exec/lengths.hpp). Then this stands in for the request's own program
// and buffers, until the request is over.
struct Theirs {
  std::size_t bytes = 0;  // of a block
  std::shared_ptr<const CompiledBlocks> program;
  ZeroedBytes in, out;
};

// Looks for rows of scans: the number of the last one, and how many there have been without another
// collective between them. All members make the same calls in the same order, so all find the same.
class ScanRow {
 public:
  static constexpr std::uint64_t kLeast = 8;  // calls before a row counts as one
  // A scan is the call after `calls` others; follows_scan: the last of them was one, too. A call that could
  // not start, and is made again, counts once.
  Pattern next(std::uint64_t calls, bool follows_scan) {
    if (calls + 1 != last_) length_ = calls == last_ && follows_scan ? length_ + 1 : 0;
    last_ = calls + 1;
    return length_ < kLeast ? Pattern::kAlone : Pattern::kInRow;
  }

 private:
  std::uint64_t last_ = ~std::uint64_t{0}, length_ = 0;
};

// A member's data for its collectives on blocks.
struct Blocks {
  explicit Blocks(const exec::Team& team) : heap(team.base(), team.layout().heap, team.layout().heap_bytes) {}
  // Collective, root, log2 of the block's bytes, irregular, then the operator: associative, commutative,
  // idempotent, left to right; the pattern.
  using Key = std::tuple<Collective, std::int32_t, int, bool, bool, bool, bool, bool, Pattern>;
  std::map<Key, std::shared_ptr<const CompiledBlocks>> programs;
  // The request of blocking calls: all calls use the same memory. It also holds a call whose wait has ended
  // early.
  std::unique_ptr<fermata_request> call;
  Plain last;  // the arguments for which `call` can start again without preparation, if any
  std::unique_ptr<std::byte[]> bounce;  // between processes: folds copy another process's data into it
  // Between hosts: what goes before a long message (exec::BlockCall).
  std::size_t before_long = SIZE_MAX;
  Direct single_copy;    // between processes: the sizes of transfers that use single copy
  SlotHeap heap;         // only rank 0's is used: which parts of the team's heap all members' requests have
  PartsOverHosts parts;  // instead of it in a team over several hosts
  ScanRow scans;
};

// The size of a block by which a schedule is chosen. All members know it, so all choose the same schedule.
std::size_t agreed_bytes(const Checked& checked);
Blocks::Key key_of(const Checked& checked, std::int32_t root);
// The member's Blocks. They are made at its first collective on blocks.
Blocks& blocks_of(fermata_member* member);

// Call it when a link of a chain is over. It starts the next link, or ends the chain.
void go_on(Chain& chain, Status status);
// Starts the chain's first link.
int start_chain(fermata_request& request);
// The links, prepared requests, as one request, which owns them from now on.
std::unique_ptr<fermata_request> make_chain(fermata_request* const* links, std::size_t count);
// Sets the input of the first link and the output of the last one.
int reset_chain(fermata_request& request, const void* in, void* out);
int check(const fermata_member* member, const fermata_operation& operation, Checked* out);
// Returns the number of elements of this member's own block: from the counts where all members know all
// counts, else from `count`.
std::size_t own_count(const fermata_operation& operation, const Checked& checked, std::size_t rank);
// Checks the operation and finds its program. ordered: it starts now, so the pattern of calls matters.
int make(fermata_member* member, const fermata_operation& operation, fermata_request& request, bool ordered);
// A request from make() starts again, ordered: another pattern may need another program, and then
// fill_again().
int follow_pattern(fermata_request& request);
// Returns the fields of a call that the members compare. Precondition: check() has passed, or only lacked
// memory.
exec::Call call_of(const Checked& checked, const fermata_operation& operation);
// Prepares a request from make() to start. If the request needs a copy of its input (`filled` is false after
// it), each start needs fill() again. `copies` false: all is prepared, but the copy's memory is only
// reserved.
void fill(fermata_request& request, bool copies = true);
inline void fill_again(fermata_request& request) {
  if (!request.filled) fill(request);
}
// Returns an error if the request is null or was freed, if its member has left, or in a forked child.
int check_request(const fermata_request* request);
// Makes a blocking call.
int execute(fermata_member* member, const fermata_operation& operation);
int execute(fermata_member* member, const Plain& plain);
fermata_operation operation_of(const Plain& plain);
Result<std::shared_ptr<const CompiledBlocks>> program_of(Blocks& blocks, const fermata_member* member,
                                                         const Checked& checked, int root);
// Returns at least `bytes` bytes of memory, with any contents.
std::byte* reserve(std::unique_ptr<std::byte[]>& memory, std::size_t& have, std::size_t bytes);
// The callback BlockRequest::adapt: makes the request again, with the length that other members gave. When
// the request is over, end_with_theirs() copies the result to the caller's buffer.
bool adapt(exec::BlockRequest* core, std::uint64_t bytes);
void end_with_theirs(fermata_request& request);
// A port may still use the request's memory, after a long message that was given up: it is never freed.
void leave_memory(fermata_request& request);
// For a split-phase call on lines that was retracted. move_split() makes it again on blocks. Then
// test_moved() and depart_moved() do the work of fermata_test() and fermata_depart().
int move_split(fermata_member* member);
int test_moved(fermata_member* member);
int depart_moved(fermata_member* member);
// A call with the arguments of the last one needs no preparation. The comparison comes before any store of
// `plain`: a wide load would wait for narrow stores to the same bytes.
inline int call(fermata_member* member, const Plain& plain) {
  return guarded([&] {
    if (member->blocks != nullptr && member->blocks->last == plain)
      return answer(member, member->member->execute(&member->blocks->call->core));
    return execute(member, plain);
  });
}

}  // namespace fermata::team
#endif
