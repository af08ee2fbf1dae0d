// Checks the form of a schedule. Only a schedule that passes has a meaning that can be checked.
#ifndef FERMATA_SCHEDULE_STRUCTURE_HPP
#define FERMATA_SCHEDULE_STRUCTURE_HPP

#include <string>

#include "base/result.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {

// Returns the actor of a word -> word edge. The actor is always a word, and the result is its index in
// s.words. The member that completes the actor does the edge (schedule.hpp, "Who acts on an edge").
inline std::int32_t actor_of(const Schedule& s, const Transfer& t) {
  const std::int32_t to = s.word_of(t.to), from = s.word_of(t.from);
  if (s.words[to].agent >= 0) return s.words[to].agent;
  return s.words[from].agent >= 0 ? s.words[from].agent : from;
}

// "member 3" or "word 1".
std::string vertex_name(const Schedule& schedule, std::int32_t vertex);

// Error: kVerify with the reason, and with stage and transfer or with the word, if one is wrong. The time is
// linear in transfers + stages x vertices.
Result<Verified> check_structure(const Schedule& schedule);

}  // namespace fermata
#endif
