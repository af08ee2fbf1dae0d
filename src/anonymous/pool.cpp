// The pool of barriers: chunks of memory, each twice as large as the last, and a list of free entries.
#include "anonymous/pool.hpp"

#include <bit>

#include "anonymous/free_list.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"

namespace fermata::anonymous {

std::byte* Pool::place(const PoolLayout& layout, std::uint32_t entry) {
  const std::uint64_t n = std::uint64_t{entry} - 1 + kFirst;
  const auto chunk = static_cast<std::uint32_t>(std::bit_width(n) - std::bit_width(kFirst));
  if (chunk >= kChunks) return nullptr;
  const std::uint64_t entries = std::uint64_t{kFirst} << chunk;
  std::byte* base = moved_to<RealAtomics>(chunks_[chunk]);
  if (base == nullptr) {
    os::Segment segment;
    if (os::create_private(entries * layout.bytes, &segment) != Status::kOk) return nullptr;
    // If another thread was faster, its chunk stays.
    if (!move_once<RealAtomics>(chunks_[chunk], segment.base)) os::unmap(&segment);
    base = moved_to<RealAtomics>(chunks_[chunk]);
  }
  return base + (n - entries) * layout.bytes;
}

PoolLink& Pool::link(const PoolLayout& layout, std::uint32_t entry) {
  return *reinterpret_cast<PoolLink*>(place(layout, entry) + layout.link);
}

std::byte* Pool::take(const PoolLayout& layout) {
  const auto next = [&](std::uint32_t entry) -> std::atomic<std::uint32_t>& {
    return link(layout, entry).next;
  };
  if (const std::uint32_t entry = pop_free<RealAtomics>(free_, next); entry != 0) return place(layout, entry);
  // order: relaxed: each thread gets a number of its own; kMove publishes the chunk
  const std::uint32_t entry = RealAtomics::add_relaxed(made_, std::uint32_t{1}) + 1;
  std::byte* const memory = place(layout, entry);
  if (memory == nullptr) return nullptr;  // the number stays unused
  link(layout, entry).entry = entry;
  return memory;
}

void Pool::give_back(const PoolLayout& layout, std::byte* memory) {
  const auto next = [&](std::uint32_t entry) -> std::atomic<std::uint32_t>& {
    return link(layout, entry).next;
  };
  push_free<RealAtomics>(free_, reinterpret_cast<PoolLink*>(memory + layout.link)->entry, next);
}

}  // namespace fermata::anonymous
