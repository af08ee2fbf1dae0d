// One file per subcommand: cmd_NAME.cpp defines add_NAME, which registers the subcommand with CLI11. Its
// callback throws CommandError (exit code 1, message on stderr) or returns. `run` can also end the process.
#ifndef FERMATA_TOOLS_COMMANDS_HPP
#define FERMATA_TOOLS_COMMANDS_HPP

#include <CLI/CLI.hpp>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace fermata::tool {

struct CommandError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The value of a result. Throws CommandError for an error.
template <class T>
T take(Result<T> result) {
  if (!result) throw CommandError(result.error().message);
  return std::move(result.value());
}

// Checks that a file can be written there, before work that may take hours. Throws CommandError.
void check_output(const std::string& path);
// Replaces a regular file as a whole or not at all; writes directly into any other kind (/dev/stdout). An
// empty path does nothing. Throws CommandError.
void write_output(const std::string& path, const std::string& text);

// Path of a library that belongs to this tool, in the build tree (in `folder`) or as installed. Empty: there
// is none.
std::string library_beside(const std::string& folder, const std::string& file);

// Registers one subcommand. main.cpp calls those in its table, in the order that `fermata --help` shows.
using AddCommand = void (*)(CLI::App& app);

void add_verify(CLI::App& app);
void add_topo(CLI::App& app);
void add_profile(CLI::App& app);
void add_doctor(CLI::App& app);
void add_plan(CLI::App& app);
void add_explain(CLI::App& app);
void add_bench(CLI::App& app);
void add_predict(CLI::App& app);
void add_simulate(CLI::App& app);
void add_run(CLI::App& app);  // only on systems with ELF (FERMATA_HAVE_ELF)

}  // namespace fermata::tool
#endif
