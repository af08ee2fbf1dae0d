#include "plan/codegen.hpp"

#include <cctype>
#include <cstring>
#include <set>

#include "exec/program.hpp"

namespace fermata {
namespace {

bool is_identifier(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

constexpr const char* kPreamble = R"(#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>

)";

constexpr const char* kPrimitives = R"(
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}
inline std::atomic_ref<std::uint64_t> at(unsigned char* region, std::size_t offset) {
  return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(region + offset));
}
inline void await(unsigned char* region, std::size_t offset, std::uint64_t value, unsigned pauses) {
  // order: acquire, as kSlotAwait: what the sender wrote before is seen after; pairs with post
  for (unsigned spins = 0; at(region, offset).load(std::memory_order_acquire) < value; ++spins) {
    if (spins < 2000) for (unsigned i = 0; i < pauses; ++i) pause();
    else std::this_thread::yield();
  }
}
inline void post(unsigned char* region, std::size_t offset, std::uint64_t value) {
  // order: release, as kSlotPublish; pairs with await
  at(region, offset).store(value, std::memory_order_release);
}
// True for whoever completes the word.
inline bool add(unsigned char* region, std::size_t offset, std::uint64_t last) {
  // order: acq_rel, as kWordAdd: what all others released by their adds is seen; pairs with itself and await
  return at(region, offset).fetch_add(1, std::memory_order_acq_rel) + 1 == last;
}
)";

class Emitter {
 public:
  Emitter(const Plan& plan, const std::vector<std::byte>& blob)
      : plan_(plan), blob_(blob), header_(*reinterpret_cast<const ProgramHeader*>(blob.data())) {}

  std::string run(const std::string& name) {
    out_ = "// " + std::string(name_of(plan_.key.kind)) + " of " + std::to_string(header_.members) +
           " members: " + plan_.schedule.algorithm + " in " + to_string(plan_.layout) +
           ". Generated from a plan of machine " + plan_.key.fingerprint + ".\n#pragma once\n" + kPreamble +
           "namespace " + name + " {\n";
    out_ += "inline constexpr unsigned kMembers = " + std::to_string(header_.members) + ";\n";
    out_ += "inline constexpr std::size_t kRegionBytes = " + std::to_string(header_.region_bytes) +
            ";  // zeroed, aligned to 128\n";
    out_ += kPrimitives;
    signature();
    out_ += "  switch (rank) {\n";
    for (std::uint32_t m = 0; m < header_.members; ++m) member(m);
    out_ += "    default: break;\n  }\n";
    if (carries()) out_ += "  value = r[0];\n";
    return out_ + "}\n}  // namespace " + name + "\n";
  }

 private:
  bool carries() const { return plan_.key.kind != Kind::kBarrier; }

  void signature() {
    out_ += "\n";
    if (carries()) out_ += "template <class T, class Fold>\n";
    out_ += std::string("inline void ") + name_of(plan_.key.kind) +
            "(unsigned char* region, unsigned rank, std::uint64_t episode";
    out_ += carries() ? ", T& value, [[maybe_unused]] Fold fold) {\n" : ") {\n";
    if (!carries()) return;
    out_ +=
        "  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= " + std::to_string(header_.payload) +
        ");\n";
    out_ += "  T r[" + std::to_string(header_.registers) +
            "];\n  for (T& x : r) x = value;\n  [[maybe_unused]] T in = value;\n";
  }

  template <class T>
  T read(std::size_t offset) const {
    T value;
    std::memcpy(&value, blob_.data() + offset, sizeof value);
    return value;
  }

  void member(std::uint32_t rank) {
    const auto program = read<MemberProgram>(header_.programs_offset + rank * sizeof(MemberProgram));
    std::set<std::uint32_t> targets;
    for (std::uint32_t i = 0; i < program.count; ++i) {
      const Step s = step(program, i);
      if (s.code == Code::kJump || (s.code == Code::kAdd && s.target != i + 1)) targets.insert(s.target);
    }
    out_ += "    case " + std::to_string(rank) + ":\n";
    for (std::uint32_t i = 0; i < program.count; ++i) {
      if (targets.contains(i)) out_ += "    " + label(rank, i) + ":\n";
      statement(step(program, i), rank, i);
    }
  }

  Step step(const MemberProgram& program, std::uint32_t i) const {
    return read<Step>(header_.steps_offset + (program.first + i) * sizeof(Step));
  }

  static std::string label(std::uint32_t rank, std::uint32_t i) {
    return "r" + std::to_string(rank) + "_" + std::to_string(i);
  }

  static std::string slot(const Step& s) {
    const std::string base = std::to_string(s.offset);
    if (s.mask == 0) return base;
    return base + " + (episode & " + std::to_string(s.mask) + ") * " + std::to_string(s.stride);
  }

  static std::string times(std::uint32_t threshold) {
    return threshold == 1 ? "episode" : "episode * " + std::to_string(threshold);
  }

  static std::string await(const std::string& offset, const std::string& value, const Step& s) {
    return "await(region, " + offset + ", " + value + ", " + std::to_string(s.pauses) + ");\n";
  }

  void statement(const Step& s, std::uint32_t rank, std::uint32_t index) {
    const std::string reg = "r[" + std::to_string(s.reg) + "]", word = std::to_string(s.offset);
    const std::string pad = "      ";
    switch (s.code) {
      case Code::kEnd: out_ += pad + "break;\n"; break;
      case Code::kSend:
        if (carries()) out_ += pad + "std::memcpy(region + " + slot(s) + " + 8, &" + reg + ", sizeof(T));\n";
        out_ += pad + "post(region, " + slot(s) + ", episode);\n";
        break;
      case Code::kAwait:
        out_ += pad + await(slot(s), "episode", s);
        if (carries()) fold(s, pad, reg);
        break;
      case Code::kAdd: {
        const std::string call = "add(region, " + word + ", " + times(s.threshold) + ")";
        out_ +=
            pad + (s.target == index + 1 ? call : "if (" + call + ") goto " + label(rank, s.target)) + ";\n";
        break;
      }
      case Code::kPoll: out_ += pad + await(word, times(s.threshold), s); break;
      case Code::kFlip: out_ += pad + "post(region, " + word + ", episode);\n"; break;
      case Code::kCreditAwait:
        out_ += pad + "if (episode > " + std::to_string(s.threshold) + ") " +
                await(word, "episode - " + std::to_string(s.threshold), s);
        break;
      case Code::kCreditGive:
        out_ += pad + "if (episode % " + std::to_string(s.threshold) + " == 0) post(region, " + word +
                ", episode);\n";
        break;
      case Code::kJump: out_ += pad + "goto " + label(rank, s.target) + ";\n"; break;
      case Code::kSendAway:
      case Code::kCreditGiveAway: break;  // refused by emit_code
    }
  }

  void fold(const Step& s, const std::string& pad, const std::string& reg) {
    if (s.fold == Fold::kNone) return;
    out_ += pad + "std::memcpy(&" + (s.fold == Fold::kCopy ? reg : "in") + ", region + " + slot(s) +
            " + 8, sizeof(T));\n";
    if (s.fold == Fold::kCombineLeft) out_ += pad + reg + " = fold(in, " + reg + ");\n";
    if (s.fold == Fold::kCombineRight) out_ += pad + reg + " = fold(" + reg + ", in);\n";
  }

  const Plan& plan_;
  const std::vector<std::byte>& blob_;
  const ProgramHeader& header_;
  std::string out_;
};

}  // namespace

Result<std::string> emit_code(const Plan& plan, const std::string& name) {
  if (!is_identifier(name)) return Error{Status::kArgument, "'" + name + "' is no name for a namespace"};
  if (!plan.key.hosts.empty())
    return Error{Status::kUnsupported, "hard-coded signals are stores, which reach no other host"};
  const auto blob = compile(plan);
  if (!blob) return blob.error();
  return Emitter(plan, *blob).run(name);
}

}  // namespace fermata
