// Operations on blocks behind the C ABI: from arguments to a request.
#ifndef FERMATA_API_BLOCKS_HPP
#define FERMATA_API_BLOCKS_HPP

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "api/handles.hpp"
#include "api/slots.hpp"
#include "plan/blocks.hpp"

namespace fermata::api {

// What follows from an operation's arguments.
struct Checked {
  Kind kind = Kind::kBroadcast;
  std::size_t element = 1;
  std::size_t largest = 0;  // elements of the largest block that this member knows of
  bool irregular = false;
  OpTraits traits;
};

}  // namespace fermata::api

struct fermata_request {
  fermata::exec::BlockRequest core;
  fermata_member* member = nullptr;
  fermata_operation given{};
  fermata::api::Checked checked;
  bool prepared = false;                            // persistent
  std::shared_ptr<const fermata::CompiledBlocks> program;
  fermata::exec::Channel own;                       // of a persistent one
  std::vector<fermata::exec::Channel::End> ends;    // of own
  fermata::api::HeldSlots slots;                    // where own lies
  std::vector<fermata::exec::BlockOperation::Work> work;
  std::vector<std::size_t> in_displacements, out_displacements;  // where only counts were given
  std::unique_ptr<std::byte[]> space;
  std::size_t space_bytes = 0;
  std::unique_ptr<std::byte[]> input;               // a copy of what an operation in place would overwrite too early
  std::size_t input_bytes = 0;
  fermata_callback callback = nullptr;
  void* callback_user = nullptr;
};

namespace fermata::api {

// What a member keeps for its operations on blocks.
struct Blocks {
  explicit Blocks(const exec::Team& team) : heap(team.base(), team.header().heap, team.header().heap_bytes) {}
  // Root, log2 of the block's bytes, irregular, associative, commutative, idempotent.
  using Key = std::tuple<Kind, std::int32_t, int, bool, bool, bool, bool>;
  std::map<Key, std::shared_ptr<const CompiledBlocks>> programs;
  std::unique_ptr<fermata_request> call;   // the blocking call's, kept for the memory that it has, or because it was interrupted
  bool repeats = false;                    // the very same call again needs no new preparation
  std::unique_ptr<std::byte[]> bounce;     // between processes, where long pieces may be read out of another one's memory
  SlotHeap heap;                           // rank 0's account of the team's heap, for all
};

int check(const fermata_member* member, const fermata_operation& operation, Checked* out);
// Checks the operation and finds its program.
int make(fermata_member* member, const fermata_operation& operation, fermata_request& request);
// From a made request to one that may begin: at each start, since inputs may be copied.
void fill(fermata_request& request);
inline int answer(const fermata_member* member, Status status) {
  return status == Status::kOk ? FERMATA_OK : member_status(member, status);
}
// A blocking call.
int execute(fermata_member* member, const fermata_operation& operation);
fermata_operation operation_of(int collective, const void* in, void* out, size_t count, int type, int op = 0, int root = 0);

}  // namespace fermata::api
#endif
