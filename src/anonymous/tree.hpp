// The combining tree. Its leaves belong to locality domains (CPUs that share a cache). A thread enters at the
// leaf of its domain; if there are fewer leaves than domains, domains share leaves. One line per leaf
// releases the threads (struct Domain: a leaf and that line). With one leaf, the tree is a barrier with a
// separate phase, for a step before the release.
//
// Source: the combining tree of power8-barriers; release by one line per coherency domain after
//   remote-store-barriers, section V.B.
// Steps:
//   1. Take as many tickets of the leaf as the thread has arrivals. If the leaf has too few, take the rest
//      from the next leaf.
//   2. Whoever takes the last ticket of a leaf climbs: it takes a ticket of the parent, and so on.
//   3. Whoever takes the root's last ticket has filled the episode, and is its completer.
//   4. The completer releases: it makes all nodes ready for the next episode, then advances every domain's
//      phase. If a thread parks, it then rings the bell of domain 0, on which the threads of all domains
//      park.
//   5. All others wait for their domain's phase.
// Cost: mostly one atomic add for each call that arrives, on a line that stays in the domain. In each
//   episode, each leaf of several takes one more, and above eight leaves each group of eight leaves takes
//   another, on lines that the domains share. The release writes the count, the inner nodes' lines and two
//   lines of each domain: its leaf and its phase.
// Why right: A node is one word: the tickets left (signed, high half) and the episode (low half). So a ticket
//   says to which episode it belongs. A take from an empty node has no effect: it only makes the tickets left
//   more negative, and the episode's completer overwrites them. No thread takes a ticket of the next episode
//   before step 4 has made that leaf ready. A thread that comes early and takes a leaf's last ticket waits
//   for the previous phase in the leaf's domain, so it finds the parents ready. A completer waits for the
//   previous phase in the last domain, which a release advances last. So completers release episodes in
//   order. If an arriver finds every leaf empty in one episode, that episode does not need it. The arriver
//   waits for that phase and tries again.
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

// A tree's data apart from its nodes. Threads that drop add to `dropped`. The thread that makes the tree and
// the completers write the rest, one after the other.
template <class A>
struct Members {
  typename A::template Atomic<std::uint32_t> dropped;  // since the barrier was made
  typename A::Plain dropped_before;                    // `dropped` at the last release
  typename A::Plain count;                             // arrivals in an episode, as of the last release
};

struct Taken {
  std::uint32_t episode;
  std::uint32_t tickets;
  bool last;
};

template <class A>
inline Taken take(Node<A>& node, std::uint32_t wanted) {
  // order: acq_rel: publishes what this thread wrote; whoever takes the last ticket sees what all wrote.
  // Pairs with itself.
  const std::uint64_t old =
      A::template add_acq_rel<Site::kWordAdd>(node.word, std::uint64_t{0} - (std::uint64_t{wanted} << 32));
  const auto left = static_cast<std::int32_t>(old >> 32);
  const std::uint32_t had = left > 0 ? static_cast<std::uint32_t>(left) : 0;
  return {static_cast<std::uint32_t>(old), had < wanted ? had : wanted, had > 0 && had <= wanted};
}

// Memory is the memory of a tree: Domain<A>& domain(i), Node<A>& inner(i), Members<A>& members(),
// std::uint32_t leaves().
// Os has the functions that ring() and park() need. Its relax() is for loops that wait for another thread's
// next few instructions.
template <class A, class Memory, class Os>
class Tree {
 public:
  Tree(Memory& memory, Os& os) : memory_(memory), os_(os) {}

  // Makes a new tree for `count` arrivals while threads may still read the old tree in the same memory.
  void open(std::uint32_t count, std::uint64_t number) {
    Members<A>& members = memory_.members();
    A::plain_store(members.count, count);
    A::plain_store(members.dropped_before, 0);
    A::store_relaxed(members.dropped, std::uint32_t{0});  // order: relaxed: published with the barrier
    for (std::uint32_t d = 0; d < memory_.leaves(); ++d) {
      // order: release: a slow waiter of the old barrier that reads this sees what all wrote in its phase.
      // Pairs with kWordPoll.
      A::template store_release<Site::kRecycle>(memory_.domain(d).phase.word, 2 * number);
    }
    make_ready(static_cast<std::uint32_t>(number), count);
  }

  // Returns a number above the numbers of all phases that this memory has had.
  std::uint64_t next_number() const {
    std::uint64_t most = 0;
    for (std::uint32_t d = 0; d < memory_.leaves(); ++d) {
      // order: relaxed: no thread advances the phase any more, see finished()
      const std::uint64_t number = A::load_relaxed(memory_.domain(d).phase.word) >> 1;
      if (number > most) most = number;
    }
    return most + 1;
  }

  // Arrives in one episode, or in several if too few tickets are left. full(token) is called for each episode
  // that the arrivals fill; it must release the episode at once if arrivals are left. await(token) waits for
  // a phase.
  template <class Full, class Await>
  Arrival arrive(std::uint32_t entry, std::uint32_t arrivals, Full&& full, Await&& await) {
    Arrival result;
    std::uint32_t empty = 0;  // how many leaves in a row had too few tickets, in `episode`
    std::uint32_t episode = 0;
    for (std::uint32_t at = entry;;) {
      const Taken taken = take(memory_.domain(at).leaf, arrivals);  // step 1
      if (taken.tickets > 0) {
        result.token = token_of(entry, taken.episode);
        arrivals -= taken.tickets;
        if (taken.last && climb(at, taken.episode)) {  // steps 2 and 3
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
    // order: relaxed: the arrival that follows publishes it
    A::add_relaxed(memory_.members().dropped, std::uint32_t{1});
  }

  // Step 4. Called by the thread that filled the episode; `token` is the token of the episode's end.
  void release(std::uint64_t token) {
    const std::uint64_t number = token / 2;
    await_flip(last_phase(), token - 2);
    Members<A>& members = memory_.members();
    // order: relaxed: acquired with the arrivals
    const std::uint32_t dropped = A::load_relaxed(members.dropped);
    const std::uint64_t count =
        A::plain_load(members.count) + A::plain_load(members.dropped_before) - dropped;
    A::plain_store(members.count, count);
    A::plain_store(members.dropped_before, dropped);
    make_ready(static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(count));
    std::uint64_t parked = 0;  // kParked if a thread parks in any domain
    const std::uint32_t domains = memory_.leaves();
    for (std::uint32_t d = 0; d < domains; ++d) {
      // order: release: publishes the nodes, and what all wrote before they arrived. Pairs with kWordPoll and
      // kFlipAwait.
      const std::uint64_t old =
          A::template exchange_release<Site::kWordFlip>(memory_.domain(d).phase.word, 2 * number);
      parked |= old & kParked;
    }
    if (parked != 0) ring(memory_.domain(0).phase, false, os_);
  }

  // Waits until the last release has written all phases. A waiter of any domain but the last may give the
  // barrier back before that.
  void finished() {
    if (memory_.leaves() == 1) return;  // the release writes its only phase last
    // order: relaxed: a completer wrote it before the phase that the caller has waited for
    await_flip(last_phase(), A::load_relaxed(memory_.domain(0).phase.word) & ~kParked);
  }

 private:
  Phase<A>& last_phase() { return memory_.domain(memory_.leaves() - 1).phase; }

  // Returns the token of an episode's end, from the low half of the episode's number. The phase supplies the
  // high half. The phase may lag, or be ahead by one.
  std::uint64_t token_of(std::uint32_t domain, std::uint32_t episode) {
    // order: relaxed: only the high half is needed
    const std::uint64_t near = A::load_relaxed(memory_.domain(domain).phase.word) >> 1;
    const auto ahead = static_cast<std::int32_t>(episode - static_cast<std::uint32_t>(near));
    return 2 * (near + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead)) + 1);
  }

  // Waits for a phase that another thread is advancing.
  void await_flip(Phase<A>& phase, std::uint64_t token) {
    // order: acquire: sees the parents, the members and the other domains' phases as the last completer left
    // them. Pairs with kWordFlip.
    while (A::template load_acquire<Site::kFlipAwait>(phase.word) < token) os_.relax();
  }

  // Call this after taking a leaf's last ticket. Returns true if it took the root's last ticket.
  bool climb(std::uint32_t leaf, std::uint32_t episode) {
    await_flip(memory_.domain(leaf).phase, token_of(leaf, episode) - 2);
    const std::uint32_t leaves = memory_.leaves();
    if (leaves == 1) return true;
    if (!take(memory_.inner(leaf / kFanIn), 1).last) return false;
    return leaves <= kFanIn || take(memory_.inner(kInnerNodes - 1), 1).last;
  }

  void set(Node<A>& node, std::uint32_t episode, std::uint32_t tickets) {
    // order: relaxed: open()'s are published with the barrier. After a release, a thread that climbs has
    // waited for the phase, which is written after the node.
    A::store_relaxed(node.word, std::uint64_t{tickets} << 32 | episode);
  }

  void make_ready(std::uint32_t episode, std::uint32_t count) {
    const std::uint32_t leaves = memory_.leaves();
    const std::uint32_t used = count < leaves ? count : leaves;  // leaves that get a ticket
    const std::uint32_t groups = (used + kFanIn - 1) / kFanIn;
    if (leaves > kFanIn) set(memory_.inner(kInnerNodes - 1), episode, groups);
    for (std::uint32_t g = 0; leaves > 1 && g * kFanIn < leaves; ++g) {
      const std::uint32_t before = g * kFanIn < used ? used - g * kFanIn : 0;
      set(memory_.inner(g), episode, before < kFanIn ? before : kFanIn);
    }
    for (std::uint32_t d = 0; d < leaves; ++d)
      set(memory_.domain(d).leaf, episode, count / leaves + (d < count % leaves ? 1 : 0));
  }

  Memory& memory_;
  Os& os_;
};

}  // namespace fermata::anonymous
#endif
