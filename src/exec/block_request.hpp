// Operations on blocks that a member works at.
#ifndef FERMATA_EXEC_BLOCK_REQUEST_HPP
#define FERMATA_EXEC_BLOCK_REQUEST_HPP

#include <cstddef>
#include <cstdint>

#include "exec/blocks.hpp"
#include "exec/call.hpp"

namespace fermata::exec {

// An operation on blocks that a member has begun, or may. Its owner keeps it, and all that it points to, until it is over.
struct BlockRequest {
  BlockOperation operation;
  Call call;
  bool ordered = true;  // on the channel that all operations share, and so in the same order at all members; else on its own
  bool active = false;
  bool adapted = false;         // it goes on with the length that others gave
  Status status = Status::kOk;  // of the last use that is over
  std::uint64_t uses = 0;
  // Of an ordered one: which call it is, and the digest of those before it.
  std::uint64_t number = 0, before = 0;
  std::uint64_t episodes[2] = {};  // what a broadcast or reduce of up to 8 bytes, or of up to 56, has had on lines before it
  // Makes it anew, as of blocks of so many bytes, which is what those have said from whom its data come. False: it can't be.
  bool (*adapt)(BlockRequest* request, std::uint64_t bytes) = nullptr;
  void (*completed)(BlockRequest* request, void* context) = nullptr;  // may begin requests, this one too; may not wait
  void* context = nullptr;
  BlockRequest* next = nullptr;  // while active
};

// Requests in the order in which they get their turns.
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

// Bytes that a request moves at most in a turn while others wait for theirs.
inline constexpr std::size_t kFairShare = 65536;

}  // namespace fermata::exec
#endif
