// The combining tree whose leaves belong to locality domains (CPUs that share a cache), entered at the leaf nearest to the current
// CPU, released by one line per domain. With one leaf it is the barrier with a separate phase, for a step before the release and
// for counts that change.
//
// Source: the combining tree of power8-barriers; release by one line per coherency domain after remote-store-barriers, section V.B.
// Steps: 1. take as many tickets of the leaf as one has arrivals; what it does not have is looked for in the next one. 2. Whoever
//        takes the last ticket of a leaf climbs: takes a ticket of its parent, and so on. 3. Whoever takes the root's last ticket has
//        filled the episode. 4. Release: make all nodes ready for the next episode, then bring on every domain's phase, then ring where
//        somebody parks. 5. Others wait for their domain's phase.
// Cost: one atomic add each and one per leaf and eighth leaf, on a line that stays in the domain; one line to each domain.
// Why right: a node is one word, the tickets left (signed, high half) and the episode (low half), so a ticket says of which episode it is.
//        A take from an empty node is without effect: it only makes the tickets left more negative, and the episode's completer
//        overwrites them. Nobody takes a ticket of the next episode before step 4 has made that leaf ready. Who has come early and takes
//        a leaf's last ticket waits for the phase before, so it finds the parents ready; a completer waits for that of every
//        domain, so episodes are released in order. An arriver that finds every leaf empty in one and the same episode is not
//        needed in it: it waits for that phase and looks again.
// Limits: leaves <= 64; at most 2^30 arrivals an episode, and as many again that come too early.
#ifndef FERMATA_ANONYMOUS_TREE_HPP
#define FERMATA_ANONYMOUS_TREE_HPP

#include "anonymous/counter.hpp"
#include "base/line.hpp"

namespace fermata::anonymous {

inline constexpr std::uint32_t kMaxLeaves = 64;
inline constexpr std::uint32_t kFanIn = 8;
inline constexpr std::uint32_t kInnerNodes = kMaxLeaves / kFanIn + 1;

template <class A>
struct alignas(kMaxLine) Node {
  typename A::template Atomic<std::uint64_t> word;
};

template <class A>
struct alignas(kMaxLine) Domain {
  Phase<A> phase;
  Node<A> leaf;
};

// What a tree is, apart from its nodes: written by who makes it and by completers, who follow each other.
template <class A>
struct Members {
  typename A::template Atomic<std::uint32_t> dropped;  // since the barrier was made
  typename A::Plain dropped_before;                    // as of the last release
  typename A::Plain count;                             // arrivals of an episode, as of the last release
};

struct Taken {
  std::uint32_t episode;
  std::uint32_t tickets;
  bool last;
};

template <class A>
inline Taken take(Node<A>& node, std::uint32_t wanted) {
  // order: acq_rel: gives what this thread wrote, and who takes the last ticket has what all wrote. Pairs with itself.
  const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(node.word, std::uint64_t{0} - (std::uint64_t{wanted} << 32));
  const auto left = static_cast<std::int32_t>(old >> 32);
  const std::uint32_t had = left > 0 ? static_cast<std::uint32_t>(left) : 0;
  return {static_cast<std::uint32_t>(old), had < wanted ? had : wanted, had > 0 && had <= wanted};
}

// Memory of a tree: Domain<A>& domain(i), Node<A>& inner(i), Members<A>& members(), std::uint32_t leaves().
// Os: as ring() and park() want it, and relax(), called in loops that wait for another thread's next few instructions.
template <class A, class Memory, class Os>
class Tree {
 public:
  Tree(Memory& memory, Os& os) : memory_(memory), os_(os) {}

  // A new tree for `count` arrivals where an old one may still be looked at.
  void open(std::uint32_t count, std::uint64_t number) {
    Members<A>& members = memory_.members();
    A::plain_store(members.count, count);
    A::plain_store(members.dropped_before, 0);
    A::store_relaxed(members.dropped, std::uint32_t{0});  // order: relaxed: handed over with the barrier
    for (std::uint32_t d = 0; d < memory_.leaves(); ++d) {
      // order: release: a slow waiter of the old barrier, who reads this, has what all wrote in its phase. Pairs with kWordPoll.
      A::template store_release<Site::kRecycle>(memory_.domain(d).phase.word, 2 * number);
    }
    make_ready(static_cast<std::uint32_t>(number), count);
  }

  // A number above that of every phase that this memory has had.
  std::uint64_t next_number() const {
    std::uint64_t most = 0;
    for (std::uint32_t d = 0; d < memory_.leaves(); ++d) {
      // order: relaxed: nobody brings it on any more, see finished()
      const std::uint64_t number = A::load_relaxed(memory_.domain(d).phase.word) >> 1;
      if (number > most) most = number;
    }
    return most + 1;
  }

  // Arrives in one episode or, where the tickets left do not suffice, in several: full(episode) is called in whatever it fills and must
  // release it if more than that is wanted; await(token) waits for a phase.
  template <class Full, class Await>
  Arrival arrive(std::uint32_t entry, std::uint32_t arrivals, Full&& full, Await&& await) {
    Arrival result;
    std::uint32_t empty = 0;  // leaves found without a ticket, one after the other, in episode
    std::uint32_t episode = 0;
    for (std::uint32_t at = entry;;) {
      const Taken taken = take(memory_.domain(at).leaf, arrivals);  // 1.
      if (taken.tickets > 0) {
        result.token = token_of(entry, taken.episode);
        arrivals -= taken.tickets;
        if (taken.last && climb(at, taken.episode)) {  // 2., 3.
          result.last = true;
          full(result.token);
        }
        if (arrivals == 0) return result;
      }
      const bool same = empty == 0 || taken.episode == episode;
      if (!same) os_.relax();  // a completer is at work
      empty = same ? empty + 1 : 1;
      episode = taken.episode;
      at = at + 1 < memory_.leaves() ? at + 1 : 0;
      if (empty < memory_.leaves()) continue;
      await(token_of(entry, episode));
      empty = 0;
      at = entry;
    }
  }

  void drop() {
    A::add_relaxed(memory_.members().dropped, std::uint32_t{1});  // order: relaxed: the arrival that follows hands it over
  }

  // 4. By whoever filled the episode whose end has this token.
  void release(std::uint64_t token) {
    const std::uint64_t number = token / 2;
    await_flip(last_phase(), token - 2);
    Members<A>& members = memory_.members();
    const std::uint32_t dropped = A::load_relaxed(members.dropped);  // order: relaxed: acquired with the arrivals
    const std::uint64_t count = A::plain_load(members.count) + A::plain_load(members.dropped_before) - dropped;
    A::plain_store(members.count, count);
    A::plain_store(members.dropped_before, dropped);
    make_ready(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(count));
    std::uint64_t parked = 0;
    const std::uint32_t domains = memory_.leaves();
    for (std::uint32_t d = 0; d < domains; ++d) {
      // order: release: what all wrote before they arrived, and the nodes. Pairs with kWordPoll and kFlipAwait.
      const std::uint64_t old = A::template exchange_release<Site::kWordFlip>(memory_.domain(d).phase.word, 2 * number);
      parked |= (old & kParked) << d;
    }
    for (std::uint32_t d = 0; parked != 0; ++d, parked >>= 1)
      if ((parked & 1) != 0) ring(memory_.domain(d).phase, false, os_);
  }

  // Waits until the last release has written all phases: a waiter of the first domain may give the barrier back before.
  void finished() {
    if (memory_.leaves() == 1) return;  // its one phase is the last that it writes
    // order: relaxed: it came before that of the phase that the caller has waited for
    await_flip(last_phase(), A::load_relaxed(memory_.domain(0).phase.word) & ~kParked);
  }

 private:
  Phase<A>& last_phase() { return memory_.domain(memory_.leaves() - 1).phase; }

  // Of the end of an episode, from the low half of its number. The phase is near enough: it may lag, or be ahead by one.
  std::uint64_t token_of(std::uint32_t domain, std::uint32_t episode) {
    // order: relaxed: only the high half is wanted
    const std::uint64_t near = A::load_relaxed(memory_.domain(domain).phase.word) >> 1;
    const auto ahead = static_cast<std::int32_t>(episode - static_cast<std::uint32_t>(near));
    return 2 * (near + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead)) + 1);
  }

  // Until a phase that somebody else is bringing on is over.
  void await_flip(Phase<A>& phase, std::uint64_t token) {
    // order: acquire: the parents, the members and the flips of other domains as the last completer left them. Pairs with kWordFlip.
    while (A::template load_acquire<Site::kFlipAwait>(phase.word) < token) os_.relax();
  }

  // After a leaf's last ticket. True if this took the root's last one.
  bool climb(std::uint32_t leaf, std::uint32_t episode) {
    await_flip(memory_.domain(leaf).phase, token_of(leaf, episode) - 2);
    const std::uint32_t leaves = memory_.leaves();
    if (leaves == 1) return true;
    if (!take(memory_.inner(leaf / kFanIn), 1).last) return false;
    return leaves <= kFanIn || take(memory_.inner(kInnerNodes - 1), 1).last;
  }

  void set(Node<A>& node, std::uint32_t episode, std::uint32_t tickets) {
    // order: relaxed: whoever climbs has waited for the flip that comes after it.
    A::store_relaxed(node.word, std::uint64_t{tickets} << 32 | episode);
  }

  void make_ready(std::uint32_t episode, std::uint32_t count) {
    const std::uint32_t leaves = memory_.leaves();
    const std::uint32_t used = count < leaves ? count : leaves;  // leaves with a ticket
    const std::uint32_t groups = (used + kFanIn - 1) / kFanIn;
    if (leaves > kFanIn) set(memory_.inner(kInnerNodes - 1), episode, groups);
    for (std::uint32_t g = 0; leaves > 1 && g * kFanIn < leaves; ++g) {
      const std::uint32_t before = g * kFanIn < used ? used - g * kFanIn : 0;
      set(memory_.inner(g), episode, before < kFanIn ? before : kFanIn);
    }
    for (std::uint32_t d = 0; d < leaves; ++d) set(memory_.domain(d).leaf, episode, count / leaves + (d < count % leaves ? 1 : 0));
  }

  Memory& memory_;
  Os& os_;
};

}  // namespace fermata::anonymous
#endif
