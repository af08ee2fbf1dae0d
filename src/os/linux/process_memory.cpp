// Single copy between processes, by process_vm_readv. Yama, seccomp, another user or another pid namespace
// may forbid it. Only a call shows whether the kernel permits it.
#include <sys/uio.h>

#include "os/environment.hpp"
#include "os/os.hpp"

namespace fermata::os {
namespace {

std::atomic<std::uint64_t> proof{0};

// The upper half is random, since process ids repeat in other pid namespaces. The lower half differs between
// a process and its forked children.
std::uint64_t make_proof() {
  return ((random_number() | std::uint64_t{1} << 32) & ~std::uint64_t{0xffffffff}) | fork_generation();
}

}  // namespace

bool may_single_copy() { return choice_of(Variable::kCma) != 0; }
bool must_single_copy() { return choice_of(Variable::kCma) == 1; }

ProcessMemory own_memory() {
  // order: relaxed: only the word's value matters; a process that reads it through the kernel has received
  // own_memory()'s result before.
  std::uint64_t word = proof.load(std::memory_order_relaxed);
  if (word == 0 || static_cast<std::uint32_t>(word) != fork_generation()) {
    const std::uint64_t fresh = make_proof();
    // order: relaxed: as above; a thread that loses the race uses the winner's word.
    if (proof.compare_exchange_strong(word, fresh, std::memory_order_relaxed)) word = fresh;
  }
  return {word, &proof, process_id()};
}

bool read_memory(const ProcessMemory& from, const void* theirs, void* mine, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    std::uint64_t word = 0;
    const iovec here[2] = {{&word, sizeof word}, {static_cast<char*>(mine) + done, bytes - done}};
    const iovec there[2] = {{const_cast<void*>(from.proof), sizeof word},
                            {const_cast<char*>(static_cast<const char*>(theirs)) + done, bytes - done}};
    const ssize_t n = process_vm_readv(static_cast<pid_t>(from.process), here, 2, there, 2, 0);
    if (n <= static_cast<ssize_t>(sizeof word) || word != from.word) return false;
    done += static_cast<std::size_t>(n) - sizeof word;
  }
  return true;
}

}  // namespace fermata::os
