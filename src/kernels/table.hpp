// Makes one Fold per operator and type from a class with `template <Op, Type> static constexpr Fold of()`;
// null where is_defined() is false. Each such class gets a table of its own: the portable loops, and those of
// each instruction set (vector-inl.hpp).
#ifndef FERMATA_KERNELS_TABLE_HPP
#define FERMATA_KERNELS_TABLE_HPP

#include <array>
#include <utility>

#include "kernels/scalar.hpp"

namespace fermata::kernels {

template <class Make, Op O, Type T>
constexpr Fold entry() {
  if constexpr (is_defined(O, T)) {
    return Make::template of<O, T>();
  } else {
    return nullptr;
  }
}

template <class Make, std::size_t... I>
constexpr std::array<Fold, sizeof...(I)> make_table(std::index_sequence<I...>) {
  return {entry<Make, static_cast<Op>(I / kTypeCount), static_cast<Type>(I % kTypeCount)>()...};
}

template <class Make>
Fold look_up(Op op, Type type) {
  static constexpr auto kTable = make_table<Make>(std::make_index_sequence<kOpCount * kTypeCount>());
  return kTable[static_cast<std::size_t>(op) * kTypeCount + static_cast<std::size_t>(type)];
}

}  // namespace fermata::kernels
#endif
