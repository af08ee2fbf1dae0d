#include "plan/emit/emit.hpp"

#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include "base/collective.hpp"
#include "base/line.hpp"
#include "exec/program.hpp"
#include "plan/emit/template.hpp"

namespace fermata {
namespace {

constexpr std::uint32_t kCell = 8;  // bytes of a cell of shared memory

std::string cells(std::uint32_t bytes) { return std::to_string(bytes / kCell); }

// The programs of one plan, as cases of a C switch over ranks.
class ProgramCode {
 public:
  explicit ProgramCode(const std::vector<std::byte>& blob)
      : header_(program_header(blob.data())),
        programs_(reinterpret_cast<const MemberProgram*>(blob.data() + header_.programs_offset)),
        steps_(reinterpret_cast<const Step*>(blob.data() + header_.steps_offset)),
        carries_(static_cast<Collective>(header_.collective) != Collective::kBarrier) {}

  // Returns the statement `switch (me->rank) {...}`. It uses these variables of the function around it:
  //   me          the member
  //   at, doors   the first cell of the region, and of the members' doors
  //   e           the number of the episode
  //   r, in       the registers, and room for one more (only if the collective carries data)
  //   words, bytes, fold   what one register holds, and the user's function (likewise)
  // The blob is a program for one host, for root 0, as compile_lines() makes it.
  std::string run() {
    out_ = "  switch (me->rank) {\n";
    for (rank_ = 0; rank_ < header_.members; ++rank_) member(programs_[rank_]);
    return out_ + "    default: break;\n  }\n";
  }

 private:
  void member(const MemberProgram& program) {
    const Step* const steps = steps_ + program.first;
    std::set<std::uint32_t> targets;
    for (std::uint32_t i = 0; i < program.count; ++i)
      if (steps[i].code == Code::kJump || branches(steps[i], i)) targets.insert(steps[i].target);
    out_ += "    case " + std::to_string(rank_) + ":\n";
    for (std::uint32_t i = 0; i < program.count; ++i) {
      if (targets.contains(i)) out_ += "    " + label(i) + ":\n";
      statement(steps[i], i);
    }
  }

  static bool branches(const Step& s, std::uint32_t index) {
    return s.code == Code::kAdd && s.target != index + 1;
  }

  void statement(const Step& s, std::uint32_t index) {
    switch (s.code) {
      case Code::kEnd: line("break"); break;
      case Code::kSend: send(s); break;
      case Code::kAwait: await(s); break;
      case Code::kAdd:
        line((branches(s, index) ? "if (" : "") + call("add", {place(s), times(s.threshold), door(s)}) +
             (branches(s, index) ? ") goto " + label(s.target) : ""));
        break;
      case Code::kPoll:
        line(call("await", {place(s), times(s.threshold), std::to_string(s.pauses), door(s)}));
        break;
      case Code::kFlip: line(call("post", {place(s), "e", door(s)})); break;
      case Code::kCreditAwait: {
        const std::string slots = std::to_string(s.threshold);
        line("if (e > " + slots + ") " +
             call("await", {place(s), "e - " + slots, std::to_string(s.pauses), door(s)}));
        break;
      }
      case Code::kCreditGive:
        line("if (e % " + std::to_string(s.threshold) + " == 0) " + call("post", {place(s), "e", door(s)}));
        break;
      case Code::kJump: line("goto " + label(s.target)); break;
      case Code::kSendAway:
      case Code::kCreditGiveAway: break;  // emit_code() refuses plans over hosts
    }
  }

  void send(const Step& s) {
    if (carries_) line(call("send", {slot(s), "e", door(s), reg(s), "words"}));
    else line(call("post", {slot(s), "e", door(s)}));
  }

  void await(const Step& s) {
    const std::string pauses = std::to_string(s.pauses);
    if (!carries_ || s.fold == Fold::kNone) return line(call("await", {slot(s), "e", pauses, door(s)}));
    const bool copies = s.fold == Fold::kCopy;
    line(call("take", {slot(s), "e", pauses, door(s), copies ? reg(s) : "in", "words"}));
    if (s.fold == Fold::kCombineRight) line("fold(" + reg(s) + ", in, bytes)");
    if (s.fold == Fold::kCombineLeft) {
      line("fold(in, " + reg(s) + ", bytes)");
      line("memcpy(" + reg(s) + ", in, sizeof " + reg(s) + ")");
    }
  }

  // ---- Parts of statements

  void line(const std::string& text) { out_ += "      " + text + ";\n"; }

  static std::string call(const std::string& function, std::initializer_list<std::string> arguments) {
    std::string text = "NAME_" + function + "_(me";
    for (const std::string& a : arguments) text += ", " + a;
    return text + ")";
  }

  std::string label(std::uint32_t index) const {
    return "r" + std::to_string(rank_) + "_" + std::to_string(index);
  }

  static std::string place(const Step& s) { return "at + " + cells(s.offset); }

  static std::string slot(const Step& s) {
    if (s.mask == 0) return place(s);
    return place(s) + " + (e & " + std::to_string(s.mask) + ") * " + cells(s.stride);
  }

  static std::string door(const Step& s) {
    if (s.rings == 0) return "NULL";
    return s.rings == 1 ? "doors + " + cells(s.door * static_cast<std::uint32_t>(kMaxLine))
                        : "at + " + cells(s.door);
  }

  static std::string reg(const Step& s) { return "r[" + std::to_string(s.reg) + "]"; }

  static std::string times(std::uint32_t threshold) {
    return threshold == 1 ? "e" : "e * " + std::to_string(threshold);
  }

  const ProgramHeader& header_;
  const MemberProgram* programs_;
  const Step* steps_;
  const bool carries_;
  std::uint32_t rank_ = 0;
  std::string out_;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string upper(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Puts the team's name in the place of NAME and UPPER, where an identifier is one of them, or begins with it
// and an underscore.
std::string named(std::string_view text, const std::string& name) {
  std::string out;
  const std::string large = upper(name);
  const auto replaces = [&](std::size_t at, std::string_view word) {
    const std::size_t end = at + word.size();
    return text.substr(at, word.size()) == word &&
           (end == text.size() || text[end] == '_' || !is_word(text[end]));
  };
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && replaces(at, "NAME")) {
      out += name;
      at += 4;
    } else if (begins && replaces(at, "UPPER")) {
      out += large;
      at += 5;
    } else {
      out += text[at++];
    }
  }
  return out;
}

std::string title(const Plan& barrier, const Plan& allreduce) {
  const auto line = [](const Plan& plan) {
    return plan.schedule.algorithm + " in " + to_string(plan.layout) + "\n";
  };
  return "// Barrier and allreduce of a team of " + std::to_string(barrier.key.members) +
         " members, without a library. Generated by `fermata plan --emit`.\n//   barrier    " +
         line(barrier) + "//   allreduce  " + line(allreduce) + "//   machine    " + barrier.key.fingerprint +
         "\n" + emit::kUsage + "#ifndef UPPER_H\n#define UPPER_H\n";
}

std::string constants(const ProgramHeader& barrier, const ProgramHeader& allreduce) {
  return "\n#define UPPER_MEMBERS " + std::to_string(barrier.members) + "\n#define UPPER_BYTES " +
         std::to_string(allreduce.payload) + "\n#define UPPER_BARRIER_CELLS_ " +
         std::to_string(barrier.region_bytes / 8) + "\n#define UPPER_ALLREDUCE_CELLS_ " +
         std::to_string(allreduce.region_bytes / 8) + "\n";
}

// Declares those variables that a program's cases use: compilers warn about others.
std::string variables(const std::string& cases, const std::string& region, const std::string& words) {
  std::string out;
  const auto declare = [&](const std::string& use, const std::string& declaration) {
    if (cases.find(use) != std::string::npos) out += "  " + declaration + ";\n";
  };
  declare("at + ", "union NAME_cell* const at = me->team->" + region);
  declare("doors + ", "union NAME_cell* const doors = me->team->doors");
  declare(", words)", "const size_t words = (bytes + 7) / 8");
  declare("in, ", "uint64_t in[" + words + "] = {0}");
  return out;
}

std::string barrier_function(const std::vector<std::byte>& blob) {
  const std::string cases = ProgramCode(blob).run();
  return "// No member returns before all have called it.\n"
         "static inline void NAME_barrier(struct NAME_member* me) {\n" +
         variables(cases, "barrier", "") + "  const uint64_t e = ++me->barrier;\n" +
         (program_header(blob.data()).members == 1 ? "  (void)e;\n" : "") + cases + "}\n";
}

std::string allreduce_function(const std::vector<std::byte>& blob) {
  const ProgramHeader& header = program_header(blob.data());
  const std::string cases = ProgramCode(blob).run();
  const std::string words = std::to_string((header.payload + 7) / 8);
  std::string out = R"(
// Computes left = left op right on `bytes` bytes. The same bits must result if the operands are exchanged.
typedef void (*NAME_fold)(void* left, const void* right, size_t bytes);

// Folds `bytes` bytes of each member; the result replaces `values` at all members. Returns 0; returns -1, and
// has done nothing, if these are more than UPPER_BYTES bytes.
static inline int NAME_allreduce(struct NAME_member* me, void* values, size_t bytes, NAME_fold fold) {
)";
  out += variables(cases, "allreduce", words) + "  uint64_t r[" + std::to_string(header.registers) + "][" +
         words + "] = {{0}}, e;\n" +
         "  if (bytes > UPPER_BYTES) return -1;\n  e = ++me->allreduce;\n  memcpy(r[0], values, bytes);\n";
  for (std::uint32_t k = 1; k < header.registers; ++k)
    out += "  memcpy(r[" + std::to_string(k) + "], r[0], sizeof r[0]);\n";
  if (header.members == 1) out += "  (void)e, (void)fold;\n";
  return out + cases + "  memcpy(values, r[0], bytes);\n  return 0;\n}\n";
}

std::optional<Error> flaw_of(const Plan& barrier, const Plan& allreduce, const std::string& name) {
  if (!is_identifier(name)) return Error{Status::kArgument, "names in C cannot begin with '" + name + "'"};
  const bool are_these =
      barrier.key.collective == Collective::kBarrier && allreduce.key.collective == Collective::kAllreduce;
  if (!are_these || barrier.key.payload != 0 || barrier.key.members != allreduce.key.members)
    return Error{Status::kArgument, "a header holds an untagged barrier and an allreduce of the same team"};
  if (!barrier.key.hosts.empty() || !allreduce.key.hosts.empty())
    return Error{Status::kUnsupported, "the signals of a header are stores, which reach no other host"};
  return std::nullopt;
}

}  // namespace

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (const char c : name)
    if (!is_word(c)) return false;
  return true;
}

Result<std::string> emit_code(const Plan& barrier, const Plan& allreduce, const std::string& name) {
  if (const auto flaw = flaw_of(barrier, allreduce, name)) return *flaw;
  const auto first = compile_lines(barrier), second = compile_lines(allreduce);
  if (!first) return first.error();
  if (!second) return second.error();
  const std::string text = title(barrier, allreduce) + emit::kAtomics +
                           constants(program_header(first->data()), program_header(second->data())) +
                           emit::kTeam + emit::kWaits + barrier_function(*first) +
                           allreduce_function(*second) + emit::kFolds + "#endif\n";
  return named(text, name);
}

}  // namespace fermata
