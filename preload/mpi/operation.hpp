// Makes a collective's arguments into one of Fermata's operations. Elements without gaps are mostly used in
// place. Others are mostly packed, and so are buffers that overlap and blocks of unexpected length.
#ifndef FERMATA_PRELOAD_MPI_OPERATION_HPP
#define FERMATA_PRELOAD_MPI_OPERATION_HPP

#include <fermata/fermata.h>

#include <fermata/collectives.hpp>
#include <new>

#include "communicator.hpp"
#include "reduction.hpp"
#include "sides.hpp"
#include "uses.hpp"

namespace fermata::preload {

// Broadcast: the data are in `out`. Reductions: type and count are those of `out`; out.counts is for a
// reduce_scatter with blocks of different sizes.
struct Arguments {
  int collective = 0;  // enum fermata_collective
  Side in = {}, out = {};
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  // Blocks may differ: a v function, a reduce_scatter with blocks of different sizes, or as calls.hpp says.
  bool irregular = false;
  // For an allgather: each block goes directly from its sender to each receiver. So only the sender and the
  // receiver of a block need to agree on its length.
  bool pairwise = false;
};

// An operation that is ready to run, with the memory and the objects that it needs besides the program's
// buffers.
class Operation {
 public:
  Operation() = default;
  ~Operation() { release(); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // False: MPI is to do it, or this rank has no memory for it (lacks_memory()). All ranks get the same
  // answer, except for memory and mistakes.
  bool prepare(const State& state, const Arguments& arguments);
  bool lacks_memory() const { return lacks_memory_; }
  void prepare_barrier();  // as a request; a barrier by fermata_arrive() needs no operation
  // What must be the same at all ranks: the length, or a hash of the lengths if blocks differ. Always 0 for a
  // gatherv, scatterv or alltoallv: some ranks do not know all lengths.
  std::uint64_t length(int ranks) const;
  // For a persistent broadcast or reduce, at a rank that receives: prepares for `theirs`, the senders'
  // length, which may differ from this rank's. False: there is no memory, or a reduce's `theirs` is no whole
  // number of elements.
  bool take_length(const Arguments& arguments, std::size_t theirs);
  // After pack_inputs(). True: a gatherv's root sends itself more than it has room for. Then its buffer gets
  // what fits of its own block and nothing from others, and the call reports the error. The operation's
  // memory receives what others send. The program's buffers, also the input, are not used any more.
  bool refuse_own();
  // Before each use: packs what cannot be sent in place. MPI's error; 0: none.
  int pack_inputs();
  const fermata_operation& get() const { return op_; }
  int execute(State& state) const;  // and waits; returns Fermata's status
  // fermata_arrive_with() can do it. All ranks that give the same length give the same answer.
  bool rides() const;
  // op_.count elements take at most 4 KiB. Always true for an alltoallv, whose count is 0.
  bool is_short() const;
  // is_same() compares everything that it consists of, and nothing is packed. So the request that Fermata
  // made of it serves another operation that is the same.
  bool is_plain() const {
    return load_count_ == 0 && blocks_ == 0 && op_.fold == nullptr && own_bytes_ == kAsSaid;
  }
  bool is_same(const Operation& other, int ranks) const;
  // For an operation that outlives the call that begins it, or that runs while other threads may free its
  // objects. It keeps the operator and the datatypes, which the program may free; with `loads` also the types
  // of inputs that are packed later.
  void use_objects(bool loads);
  // Unpacks what came, as Fermata's status says: all, or what there was room for. Returns MPI's error.
  int finish(int status = FERMATA_OK);

 private:
  struct Blocks {
    std::size_t* counts;
    std::size_t* displacements;
  };
  // Data to pack to `to`: from.count elements, or blocks [first, last) of `from`, each to its place in
  // `places`.
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
  static constexpr int kNone = -1, kAll = -2;  // for set_out(): no block is input as well, or all are
  // If a rank's arguments contradict each other, the operation's memory receives what the others send. As
  // much of it is unpacked as the rank's own arguments have room for.
  static constexpr std::size_t kAsSaid = SIZE_MAX;
  std::size_t each_ = kAsSaid;       // bytes of a block in packed_
  std::size_t own_bytes_ = kAsSaid;  // the same for this rank's own block alone, if blocks differ
  bool truncated_ = false;           // this rank sends more to itself than it has room for
  Load* loads_[3];                   // parts of the input, and of the output
  int load_count_ = 0;
  Use uses_[6];  // of the operator, and of the types of the loads, of the output and of the fold
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
