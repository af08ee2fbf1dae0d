// The command-line tool: one subcommand per file, registered in this table.
#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <string>

#include "commands.hpp"
#include "fermata/fermata.h"
#include "os/environment.hpp"

namespace {
constexpr fermata::tool::AddCommand kCommands[] = {
    fermata::tool::add_doctor,  fermata::tool::add_topo,     fermata::tool::add_profile,
    fermata::tool::add_verify,  fermata::tool::add_plan,     fermata::tool::add_explain,
    fermata::tool::add_predict, fermata::tool::add_simulate, fermata::tool::add_bench,
#ifdef FERMATA_HAVE_ELF
    fermata::tool::add_run,
#endif
};

// The first word that is neither an option nor a command. CLI11 would say only that a command is required.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;
    const auto is_named = [&](const CLI::App* command) { return command->check_name(argv[i]); };
    const auto commands = app.get_subcommands({});
    return std::none_of(commands.begin(), commands.end(), is_named) ? argv[i] : "";
  }
  return "";
}

std::string names_of_commands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands({}))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

// Checks the variables before the command runs, since a misspelt one would silently change nothing. --quiet
// skips the check, for callers that read standard error.
void name_wrong_variables_before(CLI::App* command) {
  command->parse_complete_callback([command] {
    const CLI::Option* const quiet = command->get_option_no_throw("--quiet");
    if (quiet != nullptr && quiet->count() > 0) return;
    fermata::os::check_environment([](const char* wrong) { fmt::print(stderr, "fermata: {}\n", wrong); });
  });
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"fermata: measure what a signal costs here, plan the cheapest barrier, prove it, run it"};
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", fermata_version());
  for (const auto add : kCommands) add(app);
  for (CLI::App* const command : app.get_subcommands({})) name_wrong_variables_before(command);
  if (argc == 1) {
    fmt::print(stderr, "fermata: no command was given; the commands are {} (--help says more)\n",
               names_of_commands(app));
    return 1;
  }
  if (const std::string word = unknown_command(app, argc, argv); !word.empty()) {
    fmt::print(stderr, "fermata: '{}' is not a command; the commands are {}\n", word, names_of_commands(app));
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    fmt::print(stderr, "fermata: {}\n", e.what());
    return 1;
  }
  return 0;
}
