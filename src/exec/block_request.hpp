// Requests: the block operations of a member.
#ifndef FERMATA_EXEC_BLOCK_REQUEST_HPP
#define FERMATA_EXEC_BLOCK_REQUEST_HPP

#include <cstddef>
#include <cstdint>

#include "exec/blocks.hpp"
#include "exec/call.hpp"

namespace fermata::exec {

// A block operation that a member has begun or may begin. Its owner keeps it, and all memory to which it
// points, until it ends.
struct BlockRequest {
  BlockOperation operation;
  Call call;
  // on the shared channel, in the same order at all members; else on a channel of its own
  bool ordered = true;
  bool active = false;
  bool adapted = false;         // it continues with the others' length
  Status status = Status::kOk;  // of the last use that has ended
  std::uint64_t uses = 0;
  // For an ordered request: the number of its call, and the digest of the calls before it.
  std::uint64_t number = 0, before = 0;
  // how many line calls of its collective and root came before it: with up to 8 bytes, with up to 56
  std::uint64_t episodes[2] = {};
  // Rebuilds the request for blocks of `bytes` bytes, the length that the senders of its data use. False: not
  // possible.
  bool (*adapt)(BlockRequest* request, std::uint64_t bytes) = nullptr;
  // may begin requests, also this one; must not wait
  void (*completed)(BlockRequest* request, void* context) = nullptr;
  void* context = nullptr;
  BlockRequest* next = nullptr;  // while active
};

// Requests in the order in which they are advanced.
struct RequestQueue {
  BlockRequest* first = nullptr;
  BlockRequest* last = nullptr;
  std::uint32_t count = 0;
  void push(BlockRequest* request) {
    request->next = nullptr;
    (first == nullptr ? first : last->next) = request;
    last = request;
    ++count;
  }
  BlockRequest* pop() {
    BlockRequest* const request = first;
    first = request->next;
    --count;
    return request;
  }
};

// Bytes that a request may move at a time while others wait.
inline constexpr std::size_t kFairShare = 65536;

}  // namespace fermata::exec
#endif
