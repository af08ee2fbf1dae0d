// Divides by a number that is known in advance, without a divide instruction. On some processors a 64-bit
// divide takes 26 to 90 cycles, which would be a large part of a short barrier. Only the constructor divides.
// Source: T. Granlund, P. L. Montgomery, "Division by invariant integers using multiplication", PLDI 1994,
// figure 4.1.
#ifndef FERMATA_ANONYMOUS_DIVIDE_HPP
#define FERMATA_ANONYMOUS_DIVIDE_HPP

#include <bit>
#include <cstdint>

namespace fermata::anonymous {

class Divisor {
 public:
  Divisor() = default;
  // d >= 1.
  explicit Divisor(std::uint64_t d) : value_(d) {
    const unsigned log = d > 1 ? static_cast<unsigned>(std::bit_width(d - 1)) : 0;  // rounded up
    __extension__ using Wide = unsigned __int128;
    const Wide power = Wide{1} << log;
    factor_ = static_cast<std::uint64_t>(((power - d) << 64) / d + 1);
    first_shift_ = log > 1 ? 1 : static_cast<std::uint8_t>(log);
    second_shift_ = static_cast<std::uint8_t>(log > 0 ? log - 1 : 0);
  }

  std::uint64_t value() const { return value_; }
  std::uint64_t quotient(std::uint64_t n) const {
    __extension__ using Wide = unsigned __int128;
    const auto high = static_cast<std::uint64_t>(Wide{factor_} * n >> 64);
    return (high + ((n - high) >> first_shift_)) >> second_shift_;
  }

 private:
  std::uint64_t value_ = 1;
  std::uint64_t factor_ = 1;
  std::uint8_t first_shift_ = 0;
  std::uint8_t second_shift_ = 0;
};

}  // namespace fermata::anonymous
#endif
