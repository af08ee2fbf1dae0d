#include "programs.hpp"

#include <cstring>

#include "algo/algorithm.hpp"
#include "plan/plan.hpp"
#include "schedule/layout.hpp"

namespace fermata::model {

Programs make_programs(const Wanted& wanted) {
  Programs out;
  const auto named = parse_algorithm(wanted.algorithm);
  if (!named) return out.error = named.error().message, out;
  const auto layout = parse_layout(wanted.layout);
  if (!layout) return out.error = layout.error().message, out;
  const Request request{.collective = wanted.collective, .members = wanted.members, .degree = named->degree};
  if (!named->algorithm->applicable(request)) return out.error = wanted.algorithm + " is not applicable", out;
  Plan plan;
  plan.key.collective = wanted.collective;
  plan.key.members = wanted.members;
  plan.key.payload = wanted.payload;
  plan.key.hosts = wanted.hosts;
  plan.schedule = named->algorithm->build(request);
  plan.layout = *layout;
  plan.credit_batch = wanted.credits;
  const auto blob = compile_lines(plan);
  if (!blob) return out.error = blob.error().message, out;
  ProgramHeader header;
  std::memcpy(&header, blob->data(), sizeof header);
  for (std::uint32_t m = 0; m < header.members; ++m) {
    MemberProgram entry;
    std::memcpy(&entry, blob->data() + header.programs_offset + m * sizeof entry, sizeof entry);
    std::vector<Step> steps(entry.count);
    std::memcpy(steps.data(), blob->data() + header.steps_offset + entry.first * sizeof(Step),
                entry.count * sizeof(Step));
    out.steps.push_back(steps);
  }
  return out;
}

}  // namespace fermata::model
