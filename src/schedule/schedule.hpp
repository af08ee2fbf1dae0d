// The intermediate representation: the signals between members, and to and from words, in each stage, and the
// data that they carry. It is plain data; nothing here runs.
//
// A vertex is a member (0 .. members-1) or a word (members .. members+words-1). A word is a shared counter,
// which members signal with an atomic add, or with a store if it has one in-edge. It is complete when all its
// in-edges of this episode have arrived.
// The member whose add completes a word is the word's completer. From then on it acts for the word.
//
// In a stage, a member sends the values that it held when the stage began. Then it awaits all signals that
// the stage has for it. A stage without words is a boolean matrix of heterogeneous-mpi-barriers, section V,
// stored sparsely.
#ifndef FERMATA_SCHEDULE_SCHEDULE_HPP
#define FERMATA_SCHEDULE_SCHEDULE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/collective.hpp"

namespace fermata {

enum class Action : std::uint8_t { kSignal = 0, kCombine = 1, kCopy = 2 };
enum class Side : std::uint8_t { kLeft = 0, kRight = 1 };  // kLeft: incoming op own; kRight: own op incoming

// The transfers of a stage from one member to another are one message if they are next to each other in the
// list. The algorithms of the table list them in this way, with ascending chunks.
//
// from == to is allowed for data only: a member copies or folds a value that it held when the stage began.
// So some folds take a member's own contribution at its place in the list (allreduce by `complete`). In a
// plan on lines, such a transfer uses a slot like any other.
struct Transfer {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t chunk = -1;  // -1: no data
  std::uint8_t src_reg = 0;
  std::uint8_t dst_reg = 0;
  Action action = Action::kSignal;
  Side side = Side::kRight;
  bool operator==(const Transfer&) const = default;
};

// The exact rules of a word: per episode it takes `threshold` in-edges, all in stages before its first
// out-edge. Then it is complete and knows what all its in-edges knew. Who acts on an edge:
//   member -> word    The member adds one. If its add completes the word, the member then acts for the word.
//   word -> word      The completer of the actor acts. The actor is the target's agent, else the source's
//                     agent, else the source itself. The actor is complete before this stage. Its completer
//                     waits until the source is complete, then adds one to the target.
//   word -> member    The member polls the word until the word is complete in this episode. The member need
//                     not have added to the word.
// A counter is its own agent (-1). A phase names as its agent the counter whose completer flips the phase. A
// phase has in-edges from words only. In a combining tree, the completer of a node waits for the parent's
// phase, then flips the node's phase. Words carry no data.
struct Word {
  std::int32_t threshold = 1;  // in-edges per episode
  std::int32_t agent = -1;     // index of a word (a counter), or -1: this word
  bool operator==(const Word&) const = default;
};

struct Stage {
  std::vector<Transfer> transfers;
  bool operator==(const Stage&) const = default;
};

// Upper limits, also for schedules from files, so that the tables of a proof stay small.
inline constexpr std::int32_t kMaxScheduleMembers = 16384;
inline constexpr std::int32_t kMaxScheduleRegisters = 8;
inline constexpr std::int32_t kMaxScheduleChunks = 65536;

struct Schedule {
  std::string algorithm;  // as the algorithm table and the tool spell it, e.g. "kary(4)"; composites: "a/b"
  Collective collective = Collective::kBarrier;
  std::int32_t members = 1;
  std::int32_t root = 0;    // of broadcast, reduce, gather and scatter
  std::int32_t chunks = 0;  // 0 for a barrier; contents.hpp has the rules
  // Per member and chunk. Register 0 holds the contribution and, at the end, the result.
  std::int32_t registers = 1;
  std::vector<Word> words;
  std::vector<Stage> stages;

  bool is_word(std::int32_t vertex) const { return vertex >= members; }
  std::int32_t vertices() const { return members + static_cast<std::int32_t>(words.size()); }
  std::int32_t word_of(std::int32_t vertex) const { return vertex - members; }
  std::int32_t word_vertex(std::int32_t word) const { return members + word; }
  std::size_t transfer_count() const {
    std::size_t n = 0;
    for (const Stage& s : stages) n += s.transfers.size();
    return n;
  }
  bool operator==(const Schedule&) const = default;
};

// True if both have the same words and transfers, whatever their algorithms are called.
inline bool same_signals(const Schedule& a, const Schedule& b) {
  return a.stages == b.stages && a.words == b.words;
}

}  // namespace fermata
#endif
