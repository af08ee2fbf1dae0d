// A collective's arguments made into one of Fermata's operations: elements without gaps where they lie, all
// others packed.
#ifndef FERMATA_PRELOAD_MPI_OPERATION_HPP
#define FERMATA_PRELOAD_MPI_OPERATION_HPP

#include <fermata/fermata.h>

#include <new>

#include "communicator.hpp"
#include "reduction.hpp"
#include "sides.hpp"
#include "uses.hpp"

namespace fermata::preload {

// Broadcast: the data are in `out`. Reductions: type and count are those of `out`; out.counts: of a
// reduce_scatter whose blocks differ.
struct Arguments {
  int collective = 0;  // enum fermata_collective
  Side in = {}, out = {};
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  bool irregular = false;  // one of the v functions, or such a reduce_scatter
  // Of an allgather: each block goes from its sender straight to each receiver. So lengths are a matter
  // between the two of them, and no part of what the ranks agree on.
  bool pairwise = false;
};

// An operation that is ready to run, with everything that it points to.
class Operation {
 public:
  Operation() = default;
  ~Operation() { release(); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // False: the library is to do it, which follows from nothing that may differ from rank to rank, but from
  // mistakes; or this rank has no memory for it. Nothing that is called later needs memory.
  bool prepare(const State& state, const Arguments& arguments);
  bool lacks_memory() const { return lacks_memory_; }
  void prepare_barrier();  // as a request; on lines it needs no operation
  // What all ranks must have alike: the length, or a hash of the lengths where blocks differ. 0: nothing.
  std::uint64_t length(int ranks) const;
  // Prepared as of the length that the others have, who send the data of a broadcast or reduce that this rank
  // receives. False: it can't be, or there is no memory.
  bool take_length(const Arguments& arguments, std::size_t theirs);
  // After pack_inputs(). A gather's root that sends itself more than it has room for gets what fits, and the
  // library refuses the rest in the call, and receives nothing. True: what others send goes to the
  // operation's memory, and nothing of the program's is used any more.
  bool refuse_own();
  // Before each use: packs what is not sent from where it lies. MPI's error; 0: none.
  int pack_inputs();
  const fermata_operation& get() const { return op_; }
  int execute(State& state) const;  // and wait
  // fermata_arrive_with() can do it: as all ranks know.
  bool rides() const;
  // Few bytes, as this rank sees it.
  bool is_short() const;
  // Nothing but what is compared by is_same(), and nothing is packed: what Fermata was told of it will do for
  // another one that is the same.
  bool is_plain() const {
    return load_count_ == 0 && blocks_ == 0 && op_.fold == nullptr && own_bytes_ == kAsSaid;
  }
  bool is_same(const Operation& other, int ranks) const;
  // What lasts longer than the call that it is begun in needs the operator and the datatypes that the program
  // may free; loads: they are packed again.
  void use_objects(bool loads);
  // Unpacks what came, as Fermata's status says: all, or as much as there was room for. MPI's error.
  int finish(int status = FERMATA_OK);

 private:
  struct Blocks {
    std::size_t* counts;
    std::size_t* displacements;
  };
  // Packed to `to`: from.count elements, or blocks [first, last) of `from` to where `places` says.
  struct Load {
    Side from;
    Layout layout;
    char* to;
    const std::size_t* places = nullptr;
    int first = 0, last = 0;
  };
  bool prepare_data(const State& state, const Arguments& a);
  bool prepare_broadcast(const State& state, const Arguments& a);
  bool prepare_gather(const State& state, const Arguments& a);
  bool prepare_scatter(const State& state, const Arguments& a);
  bool prepare_allgather(const State& state, const Arguments& a);
  bool prepare_allgather_pairwise(const State& state, const Arguments& a);
  bool prepare_alltoall(const State& state, const Arguments& a);
  bool prepare_reduction(const State& state, const Arguments& a);
  bool set_reduced_blocks(const Side& out, int blocks, MPI_Count* all);
  bool set_in(const Side& side, int blocks, bool copy);
  bool set_out(const Side& side, int blocks, int own);
  bool set_same_in(const Side& side, int blocks, bool copy);
  bool set_block_in(const Side& side, const Layout& layout, std::size_t bytes);
  bool expect_blocks(int blocks, std::size_t bytes);
  void unpack_block(const char* from, std::size_t bytes, char* to, MPI_Count count);
  bool set_irregular_in(const Side& side, const Layout& layout, int blocks, bool copy);
  bool set_irregular_out(const Side& side, const Layout& layout, int blocks, int own);
  bool set_fold_space(std::size_t most);
  bool take_longer(const Arguments& arguments, std::size_t count);
  std::size_t* take_sizes(int blocks);
  Blocks blocks_of(const Side& side, const Layout& layout, int blocks, bool together, std::size_t* bytes,
                   MPI_Aint* lowest, int own = kNone);
  bool add(const Load& load);
  void use(MPI_Op op, MPI_Datatype type) { begin_use(uses_[use_count_++], op, type); }
  void use_type(MPI_Datatype type);
  char* take(std::size_t bytes, bool zero = false);  // null: there is no memory
  void release();
  void check(int rc) {
    if (error_ == 0) error_ = rc;
  }

  static constexpr int kInline = 16;  // ranks whose counts need no memory
  fermata_operation op_ = FERMATA_OPERATION_INIT;
  Reduction reduction_;
  // What finish() unpacks, and from where.
  Side to_;
  Layout layout_ = {};
  char* packed_ = nullptr;
  int blocks_ = 0;
  static constexpr int kNone = -1, kAll = -2;  // of set_out(): no block is input as well, or all are
  // A rank whose arguments contradict each other receives what the others send into memory of the operation,
  // and as much of it as its own arguments have room for is unpacked.
  static constexpr std::size_t kAsSaid = SIZE_MAX;
  std::size_t each_ = kAsSaid;       // bytes of a block in packed_
  std::size_t own_bytes_ = kAsSaid;  // likewise of this rank's own block alone, where blocks differ
  bool truncated_ = false;           // this rank sends more to itself than it has room for
  Load* loads_[3];                   // of the input, and of the output
  int load_count_ = 0;
  Use uses_[6];  // of the operator, of the types of the loads and of what is unpacked and folded
  int use_count_ = 0;
  int rank_ = 0;
  int error_ = 0;
  unsigned char nothing_ = 0;
  void* taken_[8];
  int taken_count_ = 0;
  bool lacks_memory_ = false;
  std::size_t sizes_[4 * kInline];
  int sizes_used_ = 0;
};

}  // namespace fermata::preload
#endif
