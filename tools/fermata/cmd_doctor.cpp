// fermata doctor: shows what this system permits, and what follows for Fermata.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "doctor_checks.hpp"
#include "os/environment.hpp"

namespace fermata::tool {

namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIndent = 28;

// Fills lines of at most kColumns; the first begins with `head`.
void print_wrapped(std::string head, const std::string& text) {
  head.resize(kIndent, ' ');
  std::string line = head;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto blank = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, blank - at);
    at = blank + 1;
    if (line.size() > kIndent && line.size() + 1 + word.size() > kColumns) {
      fmt::print("{}\n", line);
      line.assign(kIndent, ' ');
    }
    while (line.size() + word.size() > kColumns) {  // a path longer than a line
      const std::size_t room = kColumns - line.size();
      fmt::print("{}{}\n", line, word.substr(0, room));
      word.erase(0, room);
      line.assign(kIndent, ' ');
    }
    line += (line.size() > kIndent ? " " : "") + word;
  }
  fmt::print("{}\n", line);
}

struct Reader {
  std::uint8_t bit;
  const char* name;
};
constexpr Reader kReaders[] = {{os::kByLibraries, "all programs with Fermata"},
                               {os::kByPthread, "libfermata-pthread"},
                               {os::kByOpenmp, "libfermata-openmp"},
                               {os::kByMpi, "libfermata-mpi"},
                               {os::kByNet, "libfermata-net"},
                               {os::kByRun, "fermata run"}};

std::string readers_of(const os::VariableRow& row) {
  std::string names;
  for (const Reader& reader : kReaders)
    if ((row.readers & reader.bit) != 0) names += (names.empty() ? "" : ", ") + std::string(reader.name);
  return names;
}

// The environment's FERMATA_* variables, with their errors.
Check check_variables() {
  std::string set, wrong;
  for (std::size_t i = 0; i < static_cast<std::size_t>(os::Variable::kCount); ++i) {
    const auto variable = static_cast<os::Variable>(i);
    const char* const value = os::text_of(variable);
    if (value == nullptr) continue;
    const os::VariableRow& row = os::row_of(variable);
    set += (set.empty() ? "" : "; ") + std::string(row.name) + "=" + value + " (" + row.meaning +
           "; read by " + readers_of(row) + ")";
    char text[os::kComplaint];
    if (os::complaint((std::string(row.name) + "=" + value).c_str(), text))
      wrong += (wrong.empty() ? "" : "; ") + std::string(text);
  }
  if (set.empty())
    return {"variables", "no", "no known FERMATA_* variable is set", "all settings are at their defaults"};
  if (!wrong.empty()) return {"variables", "partly", set, wrong};
  return {"variables", "yes", set,
          "programs use these settings, except those that are setuid, setgid or have file capabilities"};
}

void run(bool json) {
  std::vector<Check> checks = check_scheduling();
  checks.push_back(check_variables());
  for (Check& check : check_kernel()) checks.push_back(std::move(check));
  if (json) {
    nlohmann::ordered_json out = {{"format", "fermata-doctor"}, {"version", 1}};
    for (const Check& c : checks)
      out["checks"].push_back(
          {{"name", c.name}, {"state", c.state}, {"detail", c.detail}, {"follows", c.follows}});
    fmt::print("{}\n", out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  for (const Check& c : checks) {
    print_wrapped(fmt::format("{:<19} {:<7}", c.name, c.state), c.detail);
    print_wrapped("", "-> " + c.follows);
  }
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("doctor", "Show what this system permits and what follows for Fermata");
  command->add_flag("--json", *json, "print JSON");
  command->callback([json] { run(*json); });
}

}  // namespace fermata::tool
