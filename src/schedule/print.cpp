#include "schedule/print.hpp"

namespace fermata {
namespace {

std::string spelled(const Schedule& s, std::int32_t vertex) {
  return s.is_word(vertex) ? "w" + std::to_string(s.word_of(vertex)) : std::to_string(vertex);
}

void append(std::string& out, const Schedule& s, const Transfer& t) {
  out += "  " + spelled(s, t.from) + " -> " + spelled(s, t.to);
  if (t.action != Action::kSignal) {
    if (t.action == Action::kCopy) out += " copy";
    if (t.action == Action::kCombine) out += t.side == Side::kLeft ? " combine left" : " combine right";
    if (t.chunk != 0) out += " chunk " + std::to_string(t.chunk);
    if (t.src_reg != 0 || t.dst_reg != 0) {
      out += " regs " + std::to_string(t.src_reg) + " " + std::to_string(t.dst_reg);
    }
  }
  out += '\n';
}

class Fnv {
 public:
  // Adds the bytes of the value in little-endian order on every machine.
  template <class T>
  void add(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      hash_ = (hash_ ^ (static_cast<std::uint64_t>(value) >> (8 * i) & 0xff)) * 0x100000001b3u;
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace

std::string to_text(const Schedule& s) {
  std::string out = "fermata-schedule 2\nalgorithm " + s.algorithm + "\ncollective " + name_of(s.collective) +
                    "\nmembers " + std::to_string(s.members) + "\nroot " + std::to_string(s.root) +
                    "\nchunks " + std::to_string(s.chunks) + "\nregisters " + std::to_string(s.registers) +
                    "\n";
  for (std::size_t w = 0; w < s.words.size(); ++w) {
    out += "word " + std::to_string(w) + " threshold " + std::to_string(s.words[w].threshold);
    if (s.words[w].agent >= 0) out += " agent " + std::to_string(s.words[w].agent);
    out += '\n';
  }
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    out += "stage " + std::to_string(a) + "\n";
    for (const Transfer& t : s.stages[a].transfers) append(out, s, t);
  }
  return out + "end\n";
}

std::string to_matrices(const Schedule& s) {
  constexpr std::int32_t kMost = 40;
  if (s.vertices() > kMost) {
    return "(matrices are shown up to " + std::to_string(kMost) + " members and words; here are " +
           std::to_string(s.vertices()) + ")\n";
  }
  std::string out;
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    std::vector<std::string> rows(s.vertices(), std::string(s.vertices(), '.'));
    for (const Transfer& t : s.stages[a].transfers) rows[t.from][t.to] = '1';
    out += "S" + std::to_string(a) +
           (s.words.empty() ? "\n" : " (columns: members, then words; empty rows left out)\n");
    for (std::int32_t v = 0; v < s.vertices(); ++v) {
      // Words leave most rows empty. Without words the square matrix is printed whole, as in
      // heterogeneous-mpi-barriers.
      if (!s.words.empty() && rows[v].find('1') == std::string::npos) continue;
      std::string name = spelled(s, v);
      name.insert(0, name.size() < 4 ? 4 - name.size() : 0, ' ');
      out += name + " |";
      for (const char c : rows[v]) out += std::string(" ") + c;
      out += " |\n";
    }
  }
  return out;
}

std::uint64_t hash_of(const Schedule& s) {
  Fnv hash;
  hash.add(static_cast<std::uint8_t>(s.collective));
  for (const std::int32_t field : {s.members, s.root, s.chunks, s.registers}) hash.add(field);
  hash.add(static_cast<std::uint32_t>(s.words.size()));
  for (const Word& w : s.words) {
    hash.add(w.threshold);
    hash.add(w.agent);
  }
  hash.add(static_cast<std::uint32_t>(s.stages.size()));
  for (const Stage& stage : s.stages) {
    hash.add(static_cast<std::uint64_t>(stage.transfers.size()));
    for (const Transfer& t : stage.transfers) {
      hash.add(t.from);
      hash.add(t.to);
      hash.add(t.chunk);
      hash.add(t.src_reg);
      hash.add(t.dst_reg);
      hash.add(static_cast<std::uint8_t>(t.action));
      hash.add(static_cast<std::uint8_t>(t.side));
    }
  }
  return hash.value();
}

}  // namespace fermata
