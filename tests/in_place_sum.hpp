// The operation that tests begin and prepare when it doesn't matter which.
#ifndef FERMATA_TESTS_IN_PLACE_SUM_HPP
#define FERMATA_TESTS_IN_PLACE_SUM_HPP

#include "fermata/fermata.h"

namespace fermata::test {

inline fermata_operation in_place_sum(double* data, size_t count) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = FERMATA_DO_ALLREDUCE;
  o.in = FERMATA_IN_PLACE;
  o.out = data;
  o.count = count;
  o.type = FERMATA_DOUBLE;
  o.op = FERMATA_SUM;
  return o;
}

}  // namespace fermata::test
#endif
