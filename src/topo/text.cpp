// The text form of a topology: one fact per line, with a version. The reader gets back the same topology. It
// refuses all of a text that has an error, with the line and the reason.
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "topo/json.hpp"
#include "topo/topology.hpp"

namespace fermata {

namespace {

constexpr std::string_view kFirstLine = "fermata-topology 1";

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return text;
}

// False: the text is not a number from least to most.
template <class T>
bool read(std::string_view text, T least, T most, T& value) {
  const std::optional<T> number = parse_number(text, least, most);
  if (number) value = *number;
  return number.has_value();
}

// Returns the error, or an empty string.
std::string read_cpu(std::string_view line, Cpu& cpu) {
  for (const CpuId& field : kCpuIds) {
    if (take_word(line) != field.name) return "'" + std::string(field.name) + "' is expected";
    if (!read(take_word(line), 0, kMaxId, cpu.*field.member))
      return "'" + std::string(field.name) + "' must be a whole number from 0 to 65536";
  }
  return line.empty() ? std::string() : "there is more text after the host";
}

class TextReader {
 public:
  // Returns the error, or an empty string.
  std::string read_line(std::string_view line) {
    if (ended_) return "there is more text after 'end'";
    if (line.compare(0, 4, "cpu ") == 0) return read_cpu(line, t.cpus.emplace_back());
    std::string_view value = line;
    const std::string_view key = take_word(value);
    constexpr std::string_view kKeys[] = {"source", "model", "kernel",  "virtual", "line", "total",
                                          "quota",  "shape", "network", "links",   "end"};
    for (std::size_t i = 0; i < std::size(kKeys); ++i) {
      if (key != kKeys[i]) continue;
      if ((seen_ & (1U << i)) != 0) return "'" + std::string(key) + "' comes twice";
      seen_ |= 1U << i;
      return set(key, value);
    }
    return "unknown key '" + std::string(key.substr(0, 40)) + "'";
  }
  bool complete() const { return ended_; }

  Topology t;

 private:
  std::string set(std::string_view key, std::string_view value) {
    if (key == "source") t.source = value;
    if (key == "model") t.model = value;
    if (key == "kernel") t.kernel = value;
    if (key == "shape") t.shape = value;
    if (key == "end") ended_ = true;
    if (key == "network") return read_form(value, t.network);
    if (key == "links")
      return t.network ? read_costs(value, t.network) : "'network' is expected before 'links'";
    if (key == "virtual") {
      if (value != "yes" && value != "no") return "yes or no is expected";
      t.virtual_machine = value == "yes";
    }
    if (key == "line" && !read(value, 16, 4096, t.line_bytes)) return "a line has 16 to 4096 bytes";
    if (key == "total" && !read(value, 1, kMaxId, t.cpus_total)) return "1 to 65536 CPUs are expected";
    if (key == "quota" && !read(value, 0.0, 1e9, t.quota_cpus))
      return "a quota from 0 (none) to 1e9 CPUs is expected";
    return {};
  }

  unsigned seen_ = 0;
  bool ended_ = false;
};

}  // namespace

std::string to_text(const Topology& t) {
  std::string out(kFirstLine);
  out += "\nsource " + one_line(t.source) + "\nmodel " + one_line(t.model) + "\nkernel " + one_line(t.kernel);
  out += std::string("\nvirtual ") + (t.virtual_machine ? "yes" : "no") + "\nline " +
         std::to_string(t.line_bytes);
  out += "\ntotal " + std::to_string(t.cpus_total) + "\nquota " + number_text(t.quota_cpus);
  out += "\nshape " + one_line(t.shape) + "\n";
  if (t.network) out += "network " + form_text(t.network) + "\nlinks " + costs_text(t.network) + "\n";
  for (const Cpu& c : t.cpus) {
    for (std::size_t i = 0; i < std::size(kCpuIds); ++i)
      out += (i == 0 ? "" : " ") + std::string(kCpuIds[i].name) + " " + std::to_string(c.*kCpuIds[i].member);
    out += "\n";
  }
  return out + "end\n";
}

Result<Topology> topology_from_text(std::string_view text) {
  const auto refuse = [](int line, const std::string& why) {
    return Error{Status::kParse, "line " + std::to_string(line) + ": " + why};
  };
  TextReader reader;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const auto newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (number == 1) {
      if (line != kFirstLine) return refuse(1, "'" + std::string(kFirstLine) + "' is expected");
      continue;
    }
    const std::string complaint = reader.read_line(line);
    if (!complaint.empty()) return refuse(number, complaint);
  }
  if (!reader.complete()) return refuse(number + 1, "the file stops before 'end'");
  if (reader.t.cpus_total < 1) return refuse(number, "'total' is missing");
  const std::string flaw = topology_flaw(reader.t);
  if (!flaw.empty()) return refuse(number, flaw);
  return std::move(reader.t);
}

Result<Topology> topology_from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{Status::kNotFound, path + ": " + std::strerror(errno)};
  std::ostringstream content;
  content << file.rdbuf();
  const std::string text = content.str();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '<') return topology_from_xml(path);
  auto result = Result<Topology>(Error{});
  if (first != std::string::npos && text[first] == '{') {
    const auto json = read_json(text);
    const JsonNode* const part = json ? json->get("topology") : nullptr;  // of a machine file
    result = json ? topology_from_node(part != nullptr ? *part : *json) : Result<Topology>(json.error());
  } else {
    result = topology_from_text(text);
  }
  if (!result) return Error{result.error().status, path + ": " + result.error().message};
  return result;
}

}  // namespace fermata
