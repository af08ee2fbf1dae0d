// The command-line tool: one subcommand per file, registered in this table.
#include <fmt/core.h>

#include <exception>

#include "commands.hpp"

namespace {
constexpr fermata::tool::AddCommand kCommands[] = {
    fermata::tool::add_doctor,
    fermata::tool::add_topo,
    fermata::tool::add_profile,
    fermata::tool::add_verify,
    fermata::tool::add_plan,
    fermata::tool::add_explain,
    fermata::tool::add_predict,
    fermata::tool::add_bench,
#ifdef FERMATA_HAVE_ELF
    fermata::tool::add_run,
#endif
};
}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"fermata: measure what a signal costs here, plan the cheapest barrier, prove it, run it"};
  app.require_subcommand(1);
  app.fallthrough();
  for (const auto add : kCommands) add(app);
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
