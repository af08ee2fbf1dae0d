// One member's part of one collective on blocks: buffers with this rank's contribution, and the serial
// reference for their contents afterwards. Contributions are such that each order of folds that the element
// allows gives the same bits. Most are small integers.
#ifndef FERMATA_TESTS_PROPERTY_BLOCKS_INSTANCE_HPP
#define FERMATA_TESTS_PROPERTY_BLOCKS_INSTANCE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {

// kAffine: opaque, with an operator that does not commute. kRounded: doubles whose sum depends on the order,
// folded left to right. kTyped: the shape's own type and operator.
enum class Element { kDouble, kInt32, kInt8, kHalf, kFloatInt, kAffine, kRounded, kTyped };
inline constexpr Element kElements[] = {Element::kDouble, Element::kInt32,    Element::kInt8,
                                        Element::kHalf,   Element::kFloatInt, Element::kAffine,
                                        Element::kRounded};
std::size_t size_of(Element element);

struct Shape {
  int collective = FERMATA_ALLREDUCE;
  Element element = Element::kDouble;
  std::size_t count = 1;
  int root = 0;
  bool in_place = false;
  bool irregular = false;
  std::uint64_t seed = 0;                       // for the contributions and for the irregular counts
  int type = FERMATA_DOUBLE, op = FERMATA_SUM;  // of kTyped
};
std::size_t size_of(const Shape& shape);

std::string describe(const Shape& shape);

class Instance {
 public:
  Instance(const Shape& shape, int rank, int members);
  // Refills all buffers, with the contributions of `seed` (irregular: of the first seed). Must not be called
  // while an operation uses them.
  void fill(std::uint64_t seed);
  const fermata_operation& operation() const { return operation_; }
  // Makes the blocking call: by the collective's own function, or by fermata_execute (as_data, or if the
  // function has no such operator).
  int call(fermata_member* member, bool as_data) const;
  // Returns what is wrong after the operation, or an empty string. In both buffers it compares
  // every byte whose value is then defined.
  std::string check() const;

 private:
  struct Side {
    std::vector<std::size_t> counts, displacements;  // in elements; one entry per block
    std::vector<unsigned char> bytes;
    std::size_t elements = 0;
  };
  bool is_root() const { return rank_ == shape_.root; }
  bool has_input() const;
  bool has_output() const;
  bool in_place_here() const;
  std::size_t count_of(int from, int to) const;
  void lay_out(Side& side, bool several, bool receives);
  void write_input(std::vector<unsigned char>& into, const Side& side) const;
  std::vector<unsigned char> expected_output() const;
  int own_function(fermata_member* member) const;

  Shape shape_;
  int rank_;
  int members_;
  Side in_, out_;
  fermata_operation operation_;
};

}  // namespace fermata::test
#endif
