#include "plan/emit/program_code.hpp"

#include <cstdint>
#include <set>

#include "base/collective.hpp"
#include "base/line.hpp"
#include "exec/program.hpp"

namespace fermata::emit {
namespace {

constexpr std::uint32_t kCell = 8;  // bytes of a cell of shared memory

std::string cells(std::uint32_t bytes) { return std::to_string(bytes / kCell); }

class ProgramCode {
 public:
  ProgramCode(const std::vector<std::byte>& blob, const std::string& name)
      : name_(name),
        header_(program_header(blob.data())),
        programs_(reinterpret_cast<const MemberProgram*>(blob.data() + header_.programs_offset)),
        steps_(reinterpret_cast<const Step*>(blob.data() + header_.steps_offset)),
        carries_(static_cast<Collective>(header_.collective) != Collective::kBarrier) {}

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

  std::string call(const std::string& function, std::initializer_list<std::string> arguments) const {
    std::string text = name_ + "_" + function + "_(me";
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

  const std::string& name_;
  const ProgramHeader& header_;
  const MemberProgram* programs_;
  const Step* steps_;
  const bool carries_;
  std::uint32_t rank_ = 0;
  std::string out_;
};

}  // namespace

std::string switch_over_ranks(const std::vector<std::byte>& blob, const std::string& name) {
  return ProgramCode(blob, name).run();
}

}  // namespace fermata::emit
