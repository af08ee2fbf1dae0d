#include "words.hpp"

namespace fuzz {

const char* const kKindNames[] = {
    "barrier",  "bcast",     "reduce",    "allreduce",      "gather",
    "gatherv",  "scatter",   "scatterv",  "allgather",      "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block",
    "scan",     "exscan"};
const char* const kWrongNames[] = {
    "nothing",      "negative-count", "bad-root",    "null-type",          "null-operator",
    "bad-operator", "null-comm",      "uncommitted", "misplaced-in-place", "same-buffer",
    "shorter",      "longer",         "overlap"};
const char* const kFormNames[] = {"blocking", "begun", "persistent"};

void describe(Call& c, const char* base) {
  c.words = std::string(kKindNames[c.kind]) + ", " + kFormNames[c.form] + (c.wide ? " with MPI_Count" : "") +
            (c.in.in_place || c.out.in_place ? ", in place" : "") + ", on " + c.room->words + " (rank " +
            std::to_string(c.rank) + " of " + std::to_string(c.size) + ")";
  if (c.rooted()) c.words += ", root " + std::to_string(c.root);
  if (c.reduces()) c.words += ", " + c.op.words;
  const auto add = [&c](const char* name, const Side& side) {
    if (side.blocks.empty()) return;
    c.words += std::string("; ") + name + ":";
    for (const Block& b : side.blocks)
      c.words += " " + std::to_string(b.count) + " at " + std::to_string(b.displacement) + ",";
    c.words += " of " + side.blocks[0].type->words + (side.absolute.empty() ? "" : " at absolute addresses");
  };
  add("sends", c.in);
  add("receives", c.out);
  if (c.kind != kBarrier) c.words += std::string("; base ") + base;
  if (c.frees_types) c.words += "; frees its types early";
  if (c.frees_operator) c.words += "; frees its operator early";
  if (c.wrong != kNothing) c.words += std::string("; WRONG: ") + kWrongNames[c.wrong];
}

bool Focus::set(const std::string& names) {
  std::vector<std::string> parts{""};
  for (const char letter : names)
    if (letter == ',') parts.emplace_back();
    else parts.back() += letter;
  parts.resize(3);
  const auto look_up = [](const std::string& name, const char* const* all, int count) {
    for (int i = 0; i < count; ++i)
      if (name == all[i]) return i;
    return name.empty() ? -1 : -2;
  };
  kind = look_up(parts[0], kKindNames, kKinds);
  form = look_up(parts[1], kFormNames, kForms);
  wrong = look_up(parts[2], kWrongNames, kWrongs);
  return kind > -2 && form > -2 && wrong > -2;
}

}  // namespace fuzz
