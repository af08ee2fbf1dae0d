// The programs that scenarios run: made by the algorithm table and the plan compiler, as in production. This
// header includes nothing of the checker: its replacements of operator new must stay out of the planner.
#ifndef FERMATA_TESTS_MODEL_PROGRAMS_HPP
#define FERMATA_TESTS_MODEL_PROGRAMS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "exec/program.hpp"

namespace fermata::model {

struct Wanted {
  Collective collective = Collective::kBarrier;
  std::string algorithm;  // as spelled in the table
  std::string layout;     // as spelled in plans
  std::int32_t members = 2;
  std::int32_t payload = 0;  // bytes
  // receivers give slots back in batches of so many; 0: the plan needs no credits
  std::int32_t credits = 0;
  std::vector<std::int32_t> hosts = {};  // of each member; empty: all on one host
};

struct Programs {
  std::vector<std::vector<Step>> steps;  // per member
  std::string error;                     // why there are no programs
};

Programs make_programs(const Wanted& wanted);

}  // namespace fermata::model
#endif
