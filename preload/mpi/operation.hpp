// A collective's arguments made into one of Fermata's operations: elements without gaps where they lie, all others packed.
#ifndef FERMATA_PRELOAD_MPI_OPERATION_HPP
#define FERMATA_PRELOAD_MPI_OPERATION_HPP

#include <fermata/fermata.h>
#include <string.h>

#include <cstdint>
#include <new>

#include "communicator.hpp"
#include "reduction.hpp"
#include "types.hpp"

namespace fermata::preload {

// Counts or displacements as MPI has them, of either width: int, or MPI_Count and MPI_Aint, which need not be the same type.
struct Numbers {
  const int* narrow = nullptr;
  const void* wide = nullptr;
  bool given() const { return narrow != nullptr || wide != nullptr; }
  MPI_Count operator[](int i) const {
    if (narrow != nullptr) return narrow[i];
    std::int64_t number;
    memcpy(&number, static_cast<const char*>(wide) + sizeof number * static_cast<std::size_t>(i), sizeof number);
    return number;
  }
};

inline Numbers numbers(const int* given) { return {given, nullptr}; }
template <class Wide>
Numbers numbers(const Wide* given) {
  static_assert(sizeof(Wide) == sizeof(std::int64_t));
  return {nullptr, given};
}

// `count` elements, or blocks by `counts` and `displacements`.
struct Side {
  const void* at = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Numbers counts = {}, displacements = {};
};

// Broadcast: the data are in `out`. Reductions: type and count are those of `out`; out.counts: of a reduce_scatter whose blocks differ.
struct Arguments {
  int collective = 0;  // enum fermata_collective
  Side in = {}, out = {};
  MPI_Op op = MPI_OP_NULL;
  int root = 0;
  bool irregular = false;  // one of the v functions, or such a reduce_scatter
};

// An operation that is ready to run, with everything that it points to.
class Operation {
 public:
  Operation() = default;
  ~Operation() { release(); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // False: the library is to do it, which follows from nothing that may differ from rank to rank, but from mistakes.
  bool prepare(const State& state, const Arguments& arguments);
  void prepare_barrier();  // as a request; on lines it needs no operation
  // Before each use: packs what is not sent from where it lies. MPI's error; 0: none.
  int pack_inputs();
  const fermata_operation& get() const { return op_; }
  int execute(State& state) const;  // and wait
  // fermata_arrive_with() can do it: as all ranks know.
  bool rides() const;
  // Few bytes, as this rank sees it.
  bool is_short() const;
  // Nothing but what is compared by is_same(), and nothing is packed: what Fermata was told of it will do for another one that is the same.
  bool is_plain() const { return load_count_ == 0 && blocks_ == 0 && op_.fold == nullptr; }
  bool is_same(const Operation& other, int ranks) const;
  // What lasts longer than the call that it is begun in keeps the datatypes that the program may free; loads: they are packed again.
  void keep_types(bool loads);
  // Unpacks what came. MPI's error.
  int finish();

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
  bool prepare_reduction(const State& state, const Arguments& a);
  bool set_reduced_blocks(const Side& out, int blocks, MPI_Count* all);
  bool set_in(const Side& side, int blocks, bool copy);
  bool set_out(const Side& side, int blocks, int own);
  bool set_irregular_in(const Side& side, const Layout& layout, int blocks, bool copy);
  bool set_irregular_out(const Side& side, const Layout& layout, int blocks, int own);
  Blocks blocks_of(const Side& side, const Layout& layout, int blocks, bool together, std::size_t* bytes, MPI_Aint* lowest);
  void add(const Load& load) { loads_[load_count_++] = new (take(sizeof(Load))) Load(load); }
  void keep(MPI_Datatype& type);
  char* take(std::size_t bytes);
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
  Load* loads_[2];  // of one side each
  int load_count_ = 0;
  MPI_Datatype kept_[4];
  int kept_count_ = 0;
  int error_ = 0;
  unsigned char nothing_ = 0;
  void* taken_[6];
  int taken_count_ = 0;
  std::size_t sizes_[4 * kInline];
  int sizes_used_ = 0;
};

}  // namespace fermata::preload
#endif
