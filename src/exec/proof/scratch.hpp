// Memory for a proof. The proof takes it piece by piece up to a limit, and frees it all at once. A small
// proof makes no system call.
#ifndef FERMATA_EXEC_PROOF_SCRATCH_HPP
#define FERMATA_EXEC_PROOF_SCRATCH_HPP

#include <stdlib.h>
#include <string.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/line.hpp"

namespace fermata::exec::proof {

inline constexpr const char* kMemory = "the proof needs more memory than there is";

class Scratch {
 public:
  explicit Scratch(std::size_t most) : left_(most) {}
  ~Scratch() {
    while (blocks_ != nullptr) {
      Block* const block = blocks_;
      blocks_ = block->next;
      free(block);
    }
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Returns n zeroed elements. Null: there is no memory or the limit is reached, or that was so in an earlier
  // call.
  template <class T>
  T* array(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);
    if (n > SIZE_MAX / sizeof(T) / 2) return fail<T>();
    const std::size_t bytes = round_up(n * sizeof(T), 16);
    if (failed_ || bytes > left_) return fail<T>();
    if (bytes > static_cast<std::size_t>(end_ - at_) && !take_block(bytes)) return fail<T>();
    left_ -= bytes;
    void* const out = at_;
    at_ += bytes;
    memset(out, 0, n * sizeof(T));
    return static_cast<T*>(out);
  }
  bool failed() const { return failed_; }

 private:
  struct alignas(16) Block {
    Block* next;
  };
  static constexpr std::size_t kBlock = 1 << 16;

  template <class T>
  T* fail() {
    failed_ = true;
    return nullptr;
  }
  bool take_block(std::size_t bytes) {
    const std::size_t size = sizeof(Block) + (bytes > kBlock ? bytes : kBlock);
    auto* const block = static_cast<Block*>(malloc(size));
    if (block == nullptr) return false;
    block->next = blocks_;
    blocks_ = block;
    at_ = reinterpret_cast<unsigned char*>(block + 1);
    end_ = reinterpret_cast<unsigned char*>(block) + size;
    return true;
  }

  alignas(16) unsigned char first_[2048];
  unsigned char* at_ = first_;
  unsigned char* end_ = first_ + sizeof first_;
  Block* blocks_ = nullptr;
  std::size_t left_;
  bool failed_ = false;
};

}  // namespace fermata::exec::proof
#endif
