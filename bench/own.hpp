// Fermata's own subjects, through the public C ABI: the planner's choice and single algorithms of the table.
#ifndef FERMATA_BENCH_OWN_HPP
#define FERMATA_BENCH_OWN_HPP

#include <memory>
#include <string>
#include <vector>

#include "bench/subject.hpp"

namespace fermata::bench {

struct OwnSubject {
  std::string name = {};       // "planned", "fermata:kary(4)/packed"
  std::string algorithm = {};  // "" for the planner's choice
  std::string layout = {};
  std::string plan_file = {};  // this plan, instead of one that is made
  int stages = 0;              // of its schedule; 0: unknown before it is planned
};

// `algorithms`: names of the table, or "all": each one, with degrees 2, 4 and 8 (4 and 8 only up to the
// number of members) if it has a degree. Those that cannot do the collective are left out. `layouts`: names;
// empty: the planner's choice. "planned" is always first. It is the only subject of an operation on blocks,
// whose schedule Fermata chooses.
std::vector<OwnSubject> own_subjects(Collective collective, int members, int bytes,
                                     const std::vector<std::string>& algorithms,
                                     const std::vector<std::string>& layouts);

// Facts from the text of a plan, for names and bounds: {"dissemination", "packed", 1}. Empty or 0: not said.
struct PlanFacts {
  std::string algorithm, layout;
  int stages = 0;
};
PlanFacts facts_of(const std::string& plan_text);

std::unique_ptr<Subject> make_own(const OwnSubject& subject);

}  // namespace fermata::bench
#endif
