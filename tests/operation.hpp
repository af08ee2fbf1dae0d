// Operations of the C ABI from their main fields; tests set the others.
#ifndef FERMATA_TESTS_OPERATION_HPP
#define FERMATA_TESTS_OPERATION_HPP

#include "fermata/fermata.h"

namespace fermata::test {

inline fermata_operation operation(int collective, const void* in, void* out, size_t count, int type,
                                   int root = 0) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = collective;
  o.in = in;
  o.out = out;
  o.count = count;
  o.type = type;
  o.op = FERMATA_SUM;
  o.root = root;
  return o;
}

// An operation for tests that need any one to begin or prepare.
inline fermata_operation in_place_sum(double* data, size_t count) {
  return operation(FERMATA_ALLREDUCE, FERMATA_IN_PLACE, data, count, FERMATA_DOUBLE);
}

}  // namespace fermata::test
#endif
