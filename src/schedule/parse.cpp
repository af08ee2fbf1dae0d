// Reads the text of to_text. An error refuses the whole text and names the line. Memory grows only with the
// length of the text, never with a number in it. Each member, word, chunk and register that the schedule
// names exists; verify must still prove it.
#include <array>
#include <limits>
#include <optional>

#include "base/text.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

constexpr std::size_t kLongestName = 65'536;  // a composition of all of 1,024 members names each cluster

// A line, cut at blanks. No valid line has more than kMost fields, so a longer one is refused.
struct Fields {
  static constexpr std::size_t kMost = 12;
  std::array<std::string_view, kMost> at;
  std::size_t count = 0;

  explicit Fields(std::string_view line) {
    while (true) {
      const std::size_t begin = line.find_first_not_of(' ');
      if (begin == std::string_view::npos) return;
      line = line.substr(begin);
      const std::size_t end = line.find(' ');
      if (count == kMost) {
        count = kMost + 1;
        return;
      }
      at[count++] = line.substr(0, end);
      if (end == std::string_view::npos) return;
      line = line.substr(end);
    }
  }
  bool is(std::size_t i, std::string_view word) const { return i < count && at[i] == word; }
};

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Schedule> parse() {
    if (next() != "fermata-schedule 2") return refuse("the first line must be 'fermata-schedule 2'");
    if (std::string why = header(); !why.empty()) return refuse(why);
    while (true) {
      if (rest_.empty()) return refuse("'end' is missing");
      const std::string_view line = next();
      if (line == "end") break;
      if (std::string why = body(Fields(line)); !why.empty()) return refuse(why);
    }
    if (!rest_.empty()) return refuse("text after 'end'");
    for (std::size_t w = 0; w < s_.words.size(); ++w) {
      if (s_.words[w].agent >= static_cast<std::int32_t>(s_.words.size()))
        return refuse("a word's agent does not exist");
    }
    return std::move(s_);
  }

 private:
  std::string_view next() {
    ++line_;
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    return line;
  }

  Error refuse(const std::string& why) const {
    return Error{Status::kParse, "schedule, line " + std::to_string(line_) + ": " + why};
  }

  std::string header() {
    const std::string_view name = next();
    constexpr std::string_view kName = "algorithm ";
    if (!name.starts_with(kName) || name.size() > kName.size() + kLongestName)
      return "expected 'algorithm NAME'";
    for (const char c : name) {
      if (c < ' ' || c > '~') return "the algorithm's name is not printable";
    }
    s_.algorithm = name.substr(kName.size());
    const Fields collective(next());
    const std::optional<Collective> known = collective.count == 2 && collective.is(0, "collective")
                                                ? collective_from(collective.at[1])
                                                : std::nullopt;
    if (!known) {
      std::string names;
      for (int i = 0; i < kCollectiveCount; ++i)
        names += (i > 0 ? "|" : "") + std::string(name_of(static_cast<Collective>(i)));
      return "expected 'collective " + names + "'";
    }
    s_.collective = *known;
    struct Count {
      const char* name;
      std::int32_t least, most;
      std::int32_t* into;
    };
    const Count counts[] = {{"members", 1, kMaxScheduleMembers, &s_.members},
                            {"root", 0, kMaxScheduleMembers - 1, &s_.root},
                            {"chunks", 0, kMaxScheduleChunks, &s_.chunks},
                            {"registers", 1, kMaxScheduleRegisters, &s_.registers}};
    for (const Count& count : counts) {
      const Fields line(next());
      const auto value = line.count == 2 && line.is(0, count.name)
                             ? parse_number(line.at[1], count.least, count.most)
                             : std::nullopt;
      if (!value) {
        return std::string("expected '") + count.name + " N', N from " + std::to_string(count.least) +
               " to " + std::to_string(count.most);
      }
      *count.into = *value;
    }
    return s_.root < s_.members ? "" : "root is not a member";
  }

  std::string body(const Fields& line) {
    if (line.is(0, "word")) return word(line);
    if (line.is(0, "stage")) {
      const auto index = line.count == 2
                             ? parse_number(line.at[1], 0, std::numeric_limits<std::int32_t>::max())
                             : std::nullopt;
      if (!index || static_cast<std::size_t>(*index) != s_.stages.size()) {
        return "expected 'stage " + std::to_string(s_.stages.size()) + "'";
      }
      s_.stages.emplace_back();
      return {};
    }
    return transfer(line);
  }

  std::string word(const Fields& line) {
    const std::string expected =
        "expected 'word " + std::to_string(s_.words.size()) + " threshold N [agent W]'";
    if (!s_.stages.empty()) return "words come before stages";
    if ((line.count != 4 && line.count != 6) || !line.is(2, "threshold")) return expected;
    constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
    const auto index = parse_number(line.at[1], 0, kMost), threshold = parse_number(line.at[3], 1, kMost);
    if (!index || static_cast<std::size_t>(*index) != s_.words.size() || !threshold) return expected;
    Word w;
    w.threshold = *threshold;
    if (line.count == 6) {
      const auto agent = parse_number(line.at[5], 0, kMost);
      if (!line.is(4, "agent") || !agent) return expected;
      w.agent = *agent;
    }
    if (s_.words.size() >= static_cast<std::size_t>(4 * kMaxScheduleMembers)) return "too many words";
    s_.words.push_back(w);
    return {};
  }

  std::optional<std::int32_t> vertex(std::string_view text) const {
    if (!text.starts_with('w')) return parse_number(text, 0, s_.members - 1);
    const auto w = parse_number(text.substr(1), 0, static_cast<std::int32_t>(s_.words.size()) - 1);
    return w ? std::optional(s_.word_vertex(*w)) : std::nullopt;
  }

  std::string transfer(const Fields& line) {
    if (s_.stages.empty()) return "expected 'stage 0'";
    if (line.count < 3 || line.count > Fields::kMost || !line.is(1, "->"))
      return "expected 'FROM -> TO [...]'";
    const auto from = vertex(line.at[0]), to = vertex(line.at[2]);
    if (!from || !to) return "no such member or word";
    Transfer t;
    t.from = *from;
    t.to = *to;
    if (line.count > 3) {
      std::size_t i = 4;
      t.chunk = 0;
      t.action = line.is(3, "copy") ? Action::kCopy : Action::kCombine;
      if (t.action == Action::kCombine) {
        if (!line.is(3, "combine") || !(line.is(4, "left") || line.is(4, "right")))
          return "expected 'copy' or 'combine left|right'";
        t.side = line.is(4, "left") ? Side::kLeft : Side::kRight;
        i = 5;
      }
      if (s_.chunks == 0) return "data in a schedule without chunks";
      if (line.is(i, "chunk")) {
        const auto chunk = i + 1 < line.count ? parse_number(line.at[i + 1], 0, s_.chunks - 1) : std::nullopt;
        if (!chunk) return "no such chunk";
        t.chunk = *chunk;
        i += 2;
      }
      if (line.is(i, "regs")) {
        if (i + 2 >= line.count) return "expected 'regs SOURCE DESTINATION'";
        const auto src = parse_number(line.at[i + 1], 0, s_.registers - 1),
                   dst = parse_number(line.at[i + 2], 0, s_.registers - 1);
        if (!src || !dst) return "no such register";
        t.src_reg = static_cast<std::uint8_t>(*src);
        t.dst_reg = static_cast<std::uint8_t>(*dst);
        i += 3;
      }
      if (i != line.count) return "cannot read '" + std::string(line.at[i]) + "'";
    }
    s_.stages.back().transfers.push_back(t);
    return {};
  }

  std::string_view rest_;
  std::size_t line_ = 0;
  Schedule s_;
};

}  // namespace

Result<Schedule> parse_schedule(std::string_view text) { return Parser(text).parse(); }

}  // namespace fermata
