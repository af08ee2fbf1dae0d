// The programs that scenarios run: made by the algorithm table and the compiler of plans, as in production.
// Nothing of the checker here: its replacements of operator new stay out of the planner.
#ifndef FERMATA_TESTS_MODEL_PROGRAMS_HPP
#define FERMATA_TESTS_MODEL_PROGRAMS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/kind.hpp"
#include "exec/program.hpp"

namespace fermata::model {

struct Wanted {
  Kind kind = Kind::kBarrier;
  std::string algorithm;  // as the table spells it
  std::string layout;     // as plans spell it
  std::int32_t members = 2;
  std::int32_t payload = 0;  // bytes
  // batch in which receivers give slots back; 0: as the plan needs none
  std::int32_t credits = 0;
  std::vector<std::int32_t> hosts = {};  // of each member; empty: one
};

struct Programs {
  std::vector<std::vector<Step>> steps;  // per member
  std::string error;                     // why there are none
};

Programs make_programs(const Wanted& wanted);

}  // namespace fermata::model
#endif
