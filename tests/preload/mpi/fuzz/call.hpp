// One call of a collective as a rank makes it: what is drawn for all ranks alike, and this rank's own
// buffers.
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
enum Form { kBlocking, kBegun, kPersistent };
// What is wrong with a call, at all ranks alike but where it says so.
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
  kShorter,  // a receiver has room for fewer than come
  kLonger,   // a receiver has room for more than come
  kOverlap,  // blocks of the output overlap; what is sent there is the same
  kWrongs
};

// A communicator of the batch. Null at ranks that are not in it.
struct Room {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
  std::string words;
};

struct Block {
  MPI_Aint offset = 0;   // bytes from `at`
  int displacement = 0;  // as the call has it
  int count = 0;         // elements of the type
  TypePointer type;
};
// A buffer with a guard on each side.
struct Side {
  bool given = false;  // else nothing of it is significant at this rank
  bool in_place = false;
  std::vector<Block> blocks;
  // as the call has them, with MPI_BOTTOM; empty: the blocks' types, with `at`
  std::vector<TypePointer> absolute;
  std::vector<char> memory;
  char* first = nullptr;  // of the memory that is looked at: on a line
  std::size_t bytes = 0;
  char* at = nullptr;
  MPI_Aint low = 0, high = 0;  // of what the blocks may touch, from `at`
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
  // As the call has them.
  int in_count = 0, out_count = 0;
  MPI_Datatype in_type = MPI_DATATYPE_NULL, out_type = MPI_DATATYPE_NULL;
  std::vector<int> in_counts, in_places, out_counts, out_places;
  std::vector<MPI_Datatype> in_types, out_types;
#if MPI_VERSION >= 4
  std::vector<MPI_Count> wide_in_counts, wide_out_counts;
  std::vector<MPI_Aint> wide_in_places, wide_out_places;
#endif
  // What is freed at once after the call, or after its end.
  bool frees_types = false, frees_operator = false;
  int due = 0;  // begun: the number of the call after which it is completed
  std::string words;
  int called = MPI_SUCCESS, completed = MPI_SUCCESS;  // classes
  long handled = 0;                                   // calls of the error handler
  std::uint64_t sent_before = 0;
  MPI_Comm after = MPI_COMM_NULL;  // of this call alone, to see what state the call leaves it in

  bool rooted() const { return kind == kBcast || kind == kReduce || (kind >= kGather && kind <= kScatterv); }
  bool reduces() const { return kind == kReduce || kind == kAllreduce || kind >= kReduceScatter; }
  void* in_address() {
    if (wrong == kSameBuffer && in.given && out.given) return out.at;
    return address_of(in);
  }
  void* out_address() { return address_of(out); }

 private:
  // What has no elements may have no address either, as an empty std::vector has none. Not in wrong calls:
  // who alone is right there waits.
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

// Names of what is not drawn (off).
class Off {
 public:
  explicit Off(const std::string& list) : list_("," + list + ",") {}
  bool operator()(const std::string& name) const { return list_.find("," + name + ",") != std::string::npos; }

 private:
  std::string list_;
};

// Instead of what is drawn; -1: anything.
struct Focus {
  int kind = -1, form = -1, wrong = -1;
  // KIND,FORM,WRONG, each a name or empty. False: no such name.
  bool set(const std::string& names);
};

// The call's arguments and buffers. `shared` draws alike at all ranks; `own` is this rank's.
void generate(Call& call, const Off& off, const Focus& focus, Random& shared, Random& own);
// Calls MPI; its error class.
int issue(Call& call);
// Digests of what was sent and received, and of the memory around it, as one line without its end.
std::string result_of(Call& call);

// buffers.cpp: `counts`: elements of the base in each block. `apart`: blocks lie anywhere; else one after the
// other.
struct Shape {
  const Base* base;
  TypePointer type;  // null: any that fits
  std::vector<int> elements;
  bool apart = false;
  bool each_its_type = false;  // alltoallw
  bool overlapping = false;
  int slack = 0;        // bytes more of guard
  int units = 0;        // elements of the base in the type; 0: any
  bool derived = true;  // may be
};
void lay_out(Side& side, const Shape& shape, Random& own);
void fill(Side& side, bool with_values, std::uint64_t value_seed, Random& own);
std::uint64_t digest_of(const Side& side, bool data, bool all_bytes);
// One that fits into counts of so many elements.
TypePointer draw_type(const Base& base, const std::vector<int>& elements, bool may_be_derived, int units,
                      Random& random);

}  // namespace fuzz
#endif
