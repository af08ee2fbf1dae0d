// Operations on blocks behind the C ABI: from arguments to a request.
#ifndef FERMATA_API_BLOCKS_HPP
#define FERMATA_API_BLOCKS_HPP

#include <cstdlib>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "api/handles.hpp"
#include "api/slots.hpp"
#include "plan/blocks.hpp"

namespace fermata::api {

struct Chain;
struct Theirs;

// What follows from an operation's arguments.
struct Checked {
  Kind kind = Kind::kBroadcast;
  std::size_t element = 1;
  std::size_t largest = 0;  // elements of the largest block that this member knows of
  std::size_t mean = 0;     // bytes of a block, where all members know the sizes
  std::uint64_t sizes = 0;  // where they differ, and all members know them: a hash
  bool irregular = false;
  bool hidden = false;                         // blocks differ in size, and not all members know how large each is
  bool counts_in = false, counts_out = false;  // this member's side has blocks of different sizes
  OpTraits traits;
};

}  // namespace fermata::api

struct fermata_request : fermata::kept::Kept<fermata_request> {
  fermata::exec::BlockRequest core;
  fermata_member* member = nullptr;
  std::uint64_t member_serial = 0;  // another one, once the member has left
  fermata_operation given{};
  fermata::api::Checked checked;
  bool prepared = false;  // persistent
  bool filled = false;    // and may begin again as it is: nothing is copied at each start
  std::shared_ptr<const fermata::CompiledBlocks> program;
  fermata::exec::Channel own;                     // of a persistent one
  std::vector<fermata::exec::Channel::End> ends;  // of own
  fermata::api::HeldSlots slots;                  // where own lies
  std::vector<fermata::exec::BlockOperation::Work> work;
  std::vector<std::size_t> sizes;  // what given's counts and displacements point to
  std::unique_ptr<std::byte[]> space;
  std::size_t space_bytes = 0;
  std::unique_ptr<std::byte[]> input;  // a copy of what an operation in place would overwrite too early
  std::size_t input_bytes = 0;
  std::unique_ptr<fermata::api::Theirs> theirs;  // while it is done with the length that others gave
  fermata_callback callback = nullptr;
  void* callback_user = nullptr;
  fermata::api::Chain* chain = nullptr;        // that it is a link of
  std::unique_ptr<fermata::api::Chain> links;  // of a chain, which has no operation of its own
};

namespace fermata::api {

// A call with nothing special about it.
struct Plain {
  int collective = -1;
  int type = 0, op = 0, root = 0;
  const void* in = nullptr;
  void* out = nullptr;
  std::size_t count = 0;
  bool operator==(const Plain&) const = default;
};

struct Chain {
  fermata_request* whole = nullptr;
  std::vector<std::unique_ptr<fermata_request>> links;
  std::size_t next = 0;   // link to start
  bool stepping = false;  // go_on() is under way further up the stack: a link was over as soon as it was started
  bool over = false;      // that link, as
  Status status = Status::kOk;
};

// A split call on lines that is done by way of blocks.
struct Moved {
  alignas(16) std::byte in[FERMATA_MAX_PAYLOAD] = {};
  std::unique_ptr<fermata_request> request = std::make_unique<fermata_request>();
};

// Where the length is another member's word alone: what nothing is written to takes no memory. Throws std::bad_alloc.
struct FreeBytes {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using ZeroedBytes = std::unique_ptr<std::byte[], FreeBytes>;
ZeroedBytes zeroed_bytes(std::size_t bytes);

// An operation that is done with the length that others gave: what is instead of the request's own.
struct Theirs {
  std::size_t bytes = 0;  // of a block
  std::shared_ptr<const CompiledBlocks> program;
  ZeroedBytes in, out;
};

// What a member keeps for its operations on blocks.
struct Blocks {
  explicit Blocks(const exec::Team& team) : heap(team.base(), team.layout().heap, team.layout().heap_bytes) {}
  // Root, log2 of the block's bytes, irregular, associative, commutative, idempotent, left to right.
  using Key = std::tuple<Kind, std::int32_t, int, bool, bool, bool, bool, bool>;
  std::map<Key, std::shared_ptr<const CompiledBlocks>> programs;
  std::unique_ptr<fermata_request> call;  // the blocking call's, kept for the memory that it has, or because it was interrupted
  Plain last;                             // call is prepared for it
  std::unique_ptr<std::byte[]> bounce;    // between processes, where long pieces may be read out of another one's memory
  Direct lent;                            // and which
  SlotHeap heap;                          // rank 0's account of the team's heap, for all
  PartsOverHosts parts;                   // likewise, over several hosts
};

// Bytes of a block as all members know them: they must choose alike.
std::size_t agreed_bytes(const Checked& checked);
Blocks::Key key_of(const Checked& checked, std::int32_t root);
// What this thread's member keeps, made at its first operation.
Blocks& blocks_of(fermata_member* member);

// A link of a chain is over: the next one is started, or the chain is over.
void go_on(Chain& chain, Status status);
// From a chain's first link.
int start_chain(fermata_request& request);
int reset_chain(fermata_request& request, const void* in, void* out);
int check(const fermata_member* member, const fermata_operation& operation, Checked* out);
// Elements of this member's own block: where all members know all counts, those say it.
std::size_t own_count(const fermata_operation& operation, const Checked& checked, std::size_t rank);
// Checks the operation and finds its program.
int make(fermata_member* member, const fermata_operation& operation, fermata_request& request);
// What members compare of it; of arguments that have been checked.
exec::Call call_of(const Checked& checked, const fermata_operation& operation);
// From a made request to one that may begin: at each start, since inputs may be copied. `copies`: not yet, but they will have memory.
void fill(fermata_request& request, bool copies = true);
inline void fill_again(fermata_request& request) {
  if (!request.filled) fill(request);
}
inline int answer(const fermata_member* member, Status status) {
  return status == Status::kOk ? FERMATA_OK : member_status(member, status);
}
// Not FERMATA_OK: it is none, or was freed, or belongs to a member that has left.
int check_request(const fermata_request* request);
// A blocking call.
int execute(fermata_member* member, const fermata_operation& operation);
int execute(fermata_member* member, const Plain& plain);
fermata_operation operation_of(const Plain& plain);
Result<std::shared_ptr<const CompiledBlocks>> program_of(Blocks& blocks, const fermata_member* member, const Checked& checked, int root);
// At least so many bytes of memory.
std::byte* reserve(std::unique_ptr<std::byte[]>& memory, std::size_t& have, std::size_t bytes);
// As exec::BlockRequest has it; and the end of what was done so.
bool adapt(exec::BlockRequest* core, std::uint64_t bytes);
void end_with_theirs(fermata_request& request);
// A split call on lines that was retracted is made again, and waited for by fermata_test() and fermata_depart().
int move_split(fermata_member* member);
int test_moved(fermata_member* member);
int depart_moved(fermata_member* member);
// A call that has returned kRetracted, once more. executes: it was fermata_execute, which the others call, too.
int call_with_their_length(fermata_member* member, const fermata_operation& operation, bool executes);
// The last call again, with the same arguments, needs no preparation. (Compared before anything of it is stored: a wide load of
// what was just stored in parts would wait.)
inline int call(fermata_member* member, const Plain& plain) {
  return guarded([&] {
    if (member->blocks != nullptr && member->blocks->last == plain)
      return answer(member, member->member->execute(&member->blocks->call->core));
    return execute(member, plain);
  });
}

}  // namespace fermata::api
#endif
