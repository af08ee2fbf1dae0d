// The intermediate representation: who signals whom, in which stage, carrying what. Pure data; nothing here
// runs.
//
// A vertex is a member (0 .. members-1) or a word (members .. members+words-1). A word is a shared counter
// that members signal with an atomic add; it is complete when all its in-edges of this episode have come, and
// whoever completes it goes on in its name. A stage means: send what you held when the stage began, then
// await everything that this stage brings you. Stages without words are the boolean matrices of
// heterogeneous-mpi-barriers section V, sparse.
#ifndef FERMATA_SCHEDULE_SCHEDULE_HPP
#define FERMATA_SCHEDULE_SCHEDULE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/kind.hpp"

namespace fermata {

enum class Action : std::uint8_t { kSignal = 0, kCombine = 1, kCopy = 2 };
enum class Side : std::uint8_t { kLeft = 0, kRight = 1 };  // where the incoming value goes: in op mine, or mine op in

// The transfers of a stage from one member to another are one message if they are listed side by side, which
// algorithms see to, chunks ascending.
// from == to is allowed for data only: a copy of the value that the member held when the stage began, for
// folds that want a member's own contribution at its place in the list (allreduce by `complete`). It is a
// slot like any other, to oneself.
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

// Words, exactly. Per episode a word takes `threshold` in-edges, all in stages before its first out-edge;
// then it is complete and knows what all its in-edges knew. Who acts on an edge:
//   member -> word    that member adds one. If its add completes the word, it goes on in the word's name.
//   word -> word      the completer of the actor: the target's agent, else the source's agent, else the
//                     source itself. It waits for the source to be complete, then adds one to the target. The
//                     actor is complete before.
//   word -> member    that member polls the word until this episode's completion. It need not have added to
//                     it.
// A counter is its own agent (-1). A phase names as agent the counter whose completer flips it, and has
// in-edges from words only: a combining tree's climber waits for the parent's phase, then releases the node
// that it completed. Words carry no data.
struct Word {
  std::int32_t threshold = 1;  // in-edges per episode
  std::int32_t agent = -1;     // index of a word (a counter), or -1: this word
  bool operator==(const Word&) const = default;
};

struct Stage {
  std::vector<Transfer> transfers;
  bool operator==(const Stage&) const = default;
};

// What files may ask for; keeps every table of a proof within memory.
inline constexpr std::int32_t kMaxScheduleMembers = 16384;
inline constexpr std::int32_t kMaxScheduleRegisters = 8;
inline constexpr std::int32_t kMaxScheduleChunks = 65536;

struct Schedule {
  std::string algorithm;  // as the algorithm table and the tool spell it, e.g. "kary(4)"; composites: "a/b"
  Kind kind = Kind::kBarrier;
  std::int32_t members = 1;
  std::int32_t root = 0;       // broadcast, reduce, gather and scatter
  std::int32_t chunks = 0;     // 0 for a barrier; of each kind: contents.hpp
  std::int32_t registers = 1;  // per member and chunk; register 0 holds the contribution and, at the end, the result
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

}  // namespace fermata
#endif
