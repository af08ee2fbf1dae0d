// Mock-ups: what a program could call instead of a collective and get the same result, from the library's
// other calls. A collective that is slower than one of its mock-ups is not what it could be.
#ifndef FERMATA_BENCH_MOCKUPS_HPP
#define FERMATA_BENCH_MOCKUPS_HPP

#include <memory>
#include <span>

#include "bench/subject.hpp"
#include "fermata/fermata.h"

namespace fermata::bench {

struct MockCall {
  fermata_member* member;
  int rank, members;
  std::size_t count;  // doubles of a block
  double* scratch;    // of this member, as large as a result of this kind at its largest
};

struct Mockup {
  Kind kind;
  const char* name;  // "reduce + broadcast"
  // it cuts a block into one part for each member: count must be a multiple of their number
  bool divides;
  int (*call)(const MockCall& c, const double* in, double* out);  // a status; barriers have no buffers
};

std::span<const Mockup> mockups();
std::unique_ptr<Subject> make_mockup(const Mockup& mockup);

}  // namespace fermata::bench
#endif
