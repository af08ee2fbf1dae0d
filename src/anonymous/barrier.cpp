// Making barriers, giving them back, and trees.
#include "anonymous/barrier.hpp"

#include <cerrno>

#include "anonymous/machine.hpp"

namespace fermata::anonymous {

void OsCalls::relax() {
  if (++times_ % 128 == 0) return os::yield();
  RealAtomics::pause();
}

struct Pools {
  static constexpr std::size_t kLarge =
      sizeof(Barrier) + (kMaxLeaves - 1) * sizeof(Domain<RealAtomics>) + kInnerNodes * sizeof(Node<RealAtomics>);
  static constexpr std::size_t kLink = __builtin_offsetof(Barrier, link_);
  static Pool small, large;
};
constinit Pool Pools::small(sizeof(Barrier), Pools::kLink);
constinit Pool Pools::large(Pools::kLarge, Pools::kLink);

Status Barrier::create(std::uint32_t count, const Shape& shape, Barrier** out) {
  const int saved = errno;  // what is asked of the system on the way may not exist
  const std::uint32_t leaves = shape.leaves != 0 ? shape.leaves : 1;
  const bool large = leaves > 1;
  std::byte* memory = (large ? Pools::large : Pools::small).take();
  errno = saved;
  if (memory == nullptr) return Status::kMemory;
  auto* b = reinterpret_cast<Barrier*>(memory);
  b->count_ = Divisor(count);
  b->large_ = large;
  b->completion_ = shape.completion;
  b->leaves_ = shape.completion || large ? leaves : 0;
  b->entry_ = shape.entry;
  ++b->generation_;
  // order: relaxed at all: handed over with the barrier
  b->pace_.park_until.store(0, std::memory_order_relaxed);
  b->pace_.length.store(0, std::memory_order_relaxed);  // order: see above
  b->choose_spins();
  if (b->leaves_ == 0) {
    b->counter().open();
  } else {
    OsCalls os;
    TheTree tree(*b, os);
    tree.open(count, tree.next_number());
  }
  errno = saved;
  *out = b;
  return Status::kOk;
}

void Barrier::destroy() {
  OsCalls os;
  if (leaves_ == 0) {
    counter().finished(os);
  } else {
    TheTree(*this, os).finished();
  }
  (large_ ? Pools::large : Pools::small).give_back(reinterpret_cast<std::byte*>(this));
}

std::uint32_t Barrier::entry() const { return entry_ != nullptr ? entry_() % leaves_ : 0; }

Arrival Barrier::arrive_tree(std::uint32_t arrivals, bool drops) {
  OsCalls os;
  TheTree tree(*this, os);
  if (drops) tree.drop();
  const std::uint32_t at = leaves_ > 1 ? entry() : 0;
  return tree.arrive(
      at, arrivals, [&](std::uint64_t token) { return completion_ ? void() : tree.release(token); },
      [&](std::uint64_t token) {
        if (!is_over(domain(at).phase, token)) wait_long(domain(at).phase, token);
      });
}

void Barrier::release(std::uint64_t token) {
  OsCalls os;
  TheTree(*this, os).release(token);
}

}  // namespace fermata::anonymous
