// Fermata's own subjects, through the public C ABI: the planner's choice and single algorithms of the table.
#ifndef FERMATA_BENCH_OWN_HPP
#define FERMATA_BENCH_OWN_HPP

#include <memory>
#include <string>
#include <vector>

#include "bench/subject.hpp"

namespace fermata::bench {

struct OwnSubject {
  std::string name;       // "planned", "fermata:kary(4)/packed"
  std::string algorithm;  // "" for the planner's choice
  std::string layout;
  int stages = 0;  // of its schedule; 0: not known before it is planned
};

// `algorithms`: spellings of the table, or "all": every applicable one, those with a degree at 2, 4 and 8 as
// far as that makes a difference. `layouts`: spellings, or empty for the planner's choice. "planned" is
// always first; alone where the payload does not ride on a line: an operation on blocks, whose schedule the
// library chooses.
std::vector<OwnSubject> own_subjects(Kind collective, int members, int bytes,
                                     const std::vector<std::string>& algorithms,
                                     const std::vector<std::string>& layouts);

// What the text of a plan says it is, for names and bounds: {"dissemination", "packed", 1}; empty where it
// does not say.
struct PlanFacts {
  std::string algorithm, layout;
  int stages = 0;
};
PlanFacts facts_of(const std::string& plan_text);

std::unique_ptr<Subject> make_own(const OwnSubject& subject);

}  // namespace fermata::bench
#endif
