// Makes and destroys barriers, and arrives in trees.
#include "anonymous/barrier.hpp"

#include <cerrno>

#include "anonymous/machine.hpp"

namespace fermata::anonymous {

void OsCalls::relax() {
  if (++times_ % 128 == 0) return os::yield();
  RealAtomics::pause();
}

// One pool for each number of leaves.
struct Pools {
  static PoolLayout layout(std::uint32_t leaves) {
    std::size_t bytes = sizeof(Barrier);
    if (leaves > 1)
      bytes += (leaves - 1) * sizeof(Domain<RealAtomics>) +
               (leaves <= kFanIn ? 1 : kInnerNodes) * sizeof(Node<RealAtomics>);
    return {bytes, __builtin_offsetof(Barrier, link_)};
  }
  static Pool all[kMaxLeaves + 1];
};
constinit Pool Pools::all[kMaxLeaves + 1] = {};

// One word if there are few members or all are in one domain; else each leaf has at least kLeaf members. The
// numbers follow the fan-in of the papers. They are not measured, for lack of a machine with several domains.
std::uint32_t leaves_for(std::uint32_t count, std::uint32_t domains) {
  constexpr std::uint32_t kLeaf = 4;
  if (count <= kFanIn) return 1;
  const std::uint32_t wanted = domains < count / kLeaf ? domains : count / kLeaf;
  return wanted < kMaxLeaves ? wanted : kMaxLeaves;
}

Status Barrier::create(std::uint32_t count, const Shape& shape, Barrier** out) {
  const int saved = errno;  // system calls below may fail and set errno
  settle();
  std::uint32_t leaves =
      shape.leaves != 0 ? shape.leaves : leaves_for(count, count <= kFanIn ? 1 : domains());
  if (leaves == 1 && !shape.completion) leaves = 0;
  std::byte* memory = Pools::all[leaves].take(Pools::layout(leaves));
  if (memory == nullptr) return Status::kMemory;
  auto* b = reinterpret_cast<Barrier*>(memory);
  // Store only a new value: slow threads of the memory's last barrier may still read this.
  if (b->leaves_ != leaves) b->leaves_ = leaves;
  b->completion_ = shape.completion;
  // order: relaxed throughout: published with the barrier
  b->count_.store(count, std::memory_order_relaxed);
  b->spins_.store(choose_spins(count, usable_cpus()), std::memory_order_relaxed);  // order: see above
  b->generation_.fetch_add(1, std::memory_order_relaxed);                          // order: see above
  b->entry_.store(shape.entry, std::memory_order_relaxed);                         // order: see above
  b->set_name(b);
  forget(b->pace_);
  forget(b->signs_);
  exclude_until(b->pace_, 0);
  if (leaves == 0) {
    TheCounter::open(b->first_.phase, b->measure_, count, b->drops_, b->any_drops_);
  } else {
    OsCalls os(nullptr);
    TheTree tree(*b, os);
    tree.open(count, tree.next_number());
  }
  errno = saved;
  *out = b;
  return Status::kOk;
}

Standing Barrier::standing(std::uint64_t token) const {
  auto* self = const_cast<Barrier*>(this);  // for reads only
  // order: relaxed throughout: only for reports
  Standing result{name_.load(std::memory_order_relaxed), count_.load(std::memory_order_relaxed), 0};
  if (is_over(self->first_.phase, token)) return result;
  if (leaves_ == 0) {
    // order: see above
    const std::uint64_t left = token / 2 - RealAtomics::load_relaxed(first_.phase.word) / 2;
    result.missing = left < result.count ? static_cast<std::uint32_t>(left) : result.count;
    return result;
  }
  for (std::uint32_t d = 0; d < leaves_; ++d) {
    // order: see above
    const auto left = static_cast<std::int32_t>(RealAtomics::load_relaxed(self->domain(d).leaf.word) >> 32);
    if (left > 0) result.missing += static_cast<std::uint32_t>(left);
  }
  if (result.missing > result.count) result.missing = result.count;
  return result;
}

void Barrier::destroy() {
  OsCalls os(&signs_);
  if (leaves_ == 0) {
    counter().finished(os);
  } else {
    TheTree(*this, os).finished();
  }
  Pools::all[leaves_].give_back(Pools::layout(leaves_), reinterpret_cast<std::byte*>(this));
}

std::uint32_t Barrier::entry() const {
  // order: relaxed: a hint
  std::uint32_t (*const forced)() = entry_.load(std::memory_order_relaxed);
  const std::uint32_t domain = forced != nullptr ? forced() : current_domain();
  return domain < leaves_ ? domain : domain % leaves_;
}

Arrival Barrier::arrive_tree(std::uint32_t arrivals, bool drops) {
  OsCalls os(&signs_);
  TheTree tree(*this, os);
  if (drops) tree.drop();
  const std::uint32_t at = leaves_ > 1 ? entry() : 0;
  return tree.arrive(
      at, arrivals, [&](std::uint64_t token) { return completion_ ? void() : tree.release(token); },
      [&](std::uint64_t token) {
        if (!is_over(domain(at).phase, token)) wait_longer(domain(at).phase, token);
      });
}

Met Barrier::meet_any() {
  if (completion_) return Met::kUnsupported;
  const Arrival arrival = arrive(1);
  if (!arrival.last) wait(arrival.token);
  return arrival.last ? Met::kLast : Met::kOther;
}

Met Barrier::after_meeting(std::uint32_t number, bool parked) {
  counter().after(number, parked, OsCalls(&signs_));
  return Met::kLast;
}

void Barrier::release(std::uint64_t token) {
  OsCalls os(&signs_);
  TheTree(*this, os).release(token);
}

}  // namespace fermata::anonymous
