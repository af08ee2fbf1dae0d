// Mock-ups: other calls of Fermata by which a program could get a collective's result. A collective that is
// slower than one of its mock-ups can be improved.
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
  std::size_t count;  // doubles in a block
  double* scratch;    // this member's: members x count doubles
};

struct Mockup {
  Collective collective;
  const char* name;  // "reduce + broadcast"
  // whether it cuts a block into one part for each member: MockCall::count must then be a multiple of
  // MockCall::members
  bool divides;
  int (*call)(const MockCall& c, const double* in, double* out);  // a status; barriers have no buffers
};

std::span<const Mockup> mockups();
std::unique_ptr<Subject> make_mockup(const Mockup& mockup);

}  // namespace fermata::bench
#endif
