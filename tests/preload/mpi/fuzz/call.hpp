// One call of a collective at one rank: the values that all ranks draw alike, and this rank's own buffers.
#ifndef FERMATA_FUZZ_CALL_HPP
#define FERMATA_FUZZ_CALL_HPP

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "operators.hpp"
#include "random.hpp"
#include "types.hpp"

namespace fuzz {

enum Kind {
  kBarrier,
  kBcast,
  kReduce,
  kAllreduce,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kKinds
};
enum Form { kBlocking, kBegun, kPersistent, kForms };
// What is wrong with a call, at all ranks alike unless the line says otherwise.
enum Wrong {
  kNothing,
  kNegativeCount,
  kBadRoot,
  kNullType,
  kNullOperator,
  kBadOperator,
  kNullComm,
  kUncommitted,
  kMisplacedInPlace,
  kSameBuffer,
  kShorter,  // a receiver has room for fewer than it is sent
  kLonger,   // a receiver has room for more than it is sent
  kOverlap,  // blocks of the output overlap; their senders send the same data there
  kWrongs
};

// A communicator of the batch, null at ranks that are not in it.
struct Room {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
  std::string words;
};

struct Block {
  MPI_Aint offset = 0;   // bytes from `at`
  int displacement = 0;  // as the call passes it
  int count = 0;         // elements of the type
  TypePointer type;
};
// A buffer with a guard on each side.
struct Side {
  bool given = false;  // it has memory; otherwise its address is MPI_IN_PLACE or not significant here
  bool in_place = false;
  std::vector<Block> blocks;
  // types as the call passes them, with MPI_BOTTOM; empty: the blocks' types, with `at`
  std::vector<TypePointer> absolute;
  std::vector<char> memory;
  char* first = nullptr;  // start of the memory that is checked, at a line
  std::size_t bytes = 0;
  char* at = nullptr;
  MPI_Aint low = 0, high = 0;  // bounds of the memory that blocks touch, from `at`
};

struct Call {
  int number = 0;
  Kind kind = kBarrier;
  Form form = kBlocking;
  bool wide = false;  // MPI_Count
  Wrong wrong = kNothing;
  Room* room = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0, root = 0;
  Operator op;
  Side in, out;
  MPI_Request request = MPI_REQUEST_NULL;
  // As the call passes them.
  int in_count = 0, out_count = 0;
  MPI_Datatype in_type = MPI_DATATYPE_NULL, out_type = MPI_DATATYPE_NULL;
  std::vector<int> in_counts, in_places, out_counts, out_places;
  std::vector<MPI_Datatype> in_types, out_types;
#if MPI_VERSION >= 4
  std::vector<MPI_Count> wide_in_counts, wide_out_counts;
  std::vector<MPI_Aint> wide_in_places, wide_out_places;
#endif
  // Freed directly after the call, or else after its end.
  bool frees_types = false, frees_operator = false;
  int due = 0;  // begun and persistent calls: the number of the call after which this one is completed
  std::string words;
  int called = MPI_SUCCESS, completed = MPI_SUCCESS;  // error classes; completed -1: not completed
  long handled = 0;                                   // calls of the error handler
  std::uint64_t sent_before = 0;
  MPI_Comm after = MPI_COMM_NULL;  // a duplicate for this call alone, to check the state after the call

  bool rooted() const { return kind == kBcast || kind == kReduce || (kind >= kGather && kind <= kScatterv); }
  bool reduces() const { return kind == kReduce || kind == kAllreduce || kind >= kReduceScatter; }
  void* in_address() {
    if (wrong == kSameBuffer && in.given && out.given) return out.at;
    return address_of(in);
  }
  void* out_address() { return address_of(out); }

 private:
  // A block without elements may have no address either, as an empty std::vector has none. Wrong calls keep
  // their addresses: a rank that alone makes a right call would wait.
  void* address_of(const Side& side) const {
    const auto is_empty = [](const Block& block) { return block.count == 0; };
    if (number % 2 == 0 && wrong == kNothing && !side.in_place &&
        std::all_of(side.blocks.begin(), side.blocks.end(), is_empty))
      return nullptr;
    return side.in_place            ? MPI_IN_PLACE
           : !side.absolute.empty() ? MPI_BOTTOM
           : side.given             ? side.at
                                    : nullptr;
  }
};

// Names of what the fuzzer does not draw (file `off`).
class Off {
 public:
  explicit Off(const std::string& list) : list_("," + list + ",") {}
  bool operator()(const std::string& name) const { return list_.find("," + name + ",") != std::string::npos; }

 private:
  std::string list_;
};

// Values that replace drawn ones; -1: draw it.
struct Focus {
  int kind = -1, form = -1, wrong = -1;
  // KIND,FORM,WRONG, each a name or empty. Returns false if a name is unknown.
  bool set(const std::string& names);
};

// Draws the call's arguments and buffers. `shared` draws alike at all ranks; `own` is this rank's.
void generate(Call& call, const Off& off, const Focus& focus, Random& shared, Random& own);
// Calls MPI, starts a persistent request, and returns the error class.
int issue(Call& call);
// The outcome as one line without its end: error classes, calls of the error handler, a digest of the
// received data and the memory around them, and whether the sent data are unchanged.
std::string result_of(Call& call);

// For buffers.cpp. `elements`: elements of the base in each block. `apart`: blocks lie in any order with
// gaps, otherwise one after the other.
struct Shape {
  const Base* base;
  TypePointer type;  // null: any type that fits
  std::vector<int> elements;
  bool apart = false;
  bool each_its_type = false;  // alltoallw
  bool overlapping = false;
  int slack = 0;        // additional bytes of guard
  int units = 0;        // elements of the base in the type; 0: any number
  bool derived = true;  // the type may be a derived one
};
void lay_out(Side& side, const Shape& shape, Random& own);
void fill(Side& side, bool with_values, std::uint64_t value_seed, Random& own);
std::uint64_t digest_of(const Side& side, bool data, bool all_bytes);
// Draws a type whose number of elements divides all of `elements`.
TypePointer draw_type(const Base& base, const std::vector<int>& elements, bool may_be_derived, int units,
                      Random& random);

}  // namespace fuzz
#endif
