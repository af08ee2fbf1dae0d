// The pool of barriers: chunks that double, and a list of what is free.
#include "anonymous/pool.hpp"

#include <bit>

#include "anonymous/free_list.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"

namespace fermata::anonymous {

std::byte* Pool::place(std::uint32_t entry) {
  const std::uint64_t n = std::uint64_t{entry} - 1 + kFirst;
  const auto chunk = static_cast<std::uint32_t>(std::bit_width(n) - std::bit_width(kFirst));
  if (chunk >= kChunks) return nullptr;
  const std::uint64_t entries = std::uint64_t{kFirst} << chunk;
  std::byte* base = moved_to<RealAtomics>(chunks_[chunk]);
  if (base == nullptr) {
    os::Segment segment;
    if (os::create_private(entries * bytes_, &segment) != Status::kOk) return nullptr;
    if (!move_once<RealAtomics>(chunks_[chunk], segment.base)) os::unmap(&segment);  // another thread was faster
    base = moved_to<RealAtomics>(chunks_[chunk]);
  }
  return base + (n - entries) * bytes_;
}

PoolLink& Pool::link(std::uint32_t entry) { return *reinterpret_cast<PoolLink*>(place(entry) + link_); }

std::byte* Pool::take() {
  const auto next = [this](std::uint32_t entry) -> std::atomic<std::uint32_t>& { return link(entry).next; };
  if (const std::uint32_t entry = pop_free<RealAtomics>(free_, next); entry != 0) return place(entry);
  // order: relaxed: a number of one's own; its chunk is handed over by kMove
  const std::uint32_t entry = RealAtomics::add_relaxed(made_, std::uint32_t{1}) + 1;
  std::byte* const memory = place(entry);
  if (memory == nullptr) {  // its number is lost, which is as it should be when there is no memory
    return nullptr;
  }
  link(entry).entry = entry;
  return memory;
}

void Pool::give_back(std::byte* memory) {
  const auto next = [this](std::uint32_t entry) -> std::atomic<std::uint32_t>& { return link(entry).next; };
  push_free<RealAtomics>(free_, reinterpret_cast<PoolLink*>(memory + link_)->entry, next);
}

}  // namespace fermata::anonymous
