#include "team.hpp"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

namespace fermata::test {
namespace {

void run_member(fermata_team* team, const TeamCase& test, int rank, Seat::Board& board,
                const std::function<void(Seat&)>& body) {
  fermata_member* member = nullptr;
  const int joined = fermata_team_join(team, rank, &member);
  Seat seat(team, member, rank, test.members, board);
  if (seat.holds(joined, "join")) {
    fermata_member_set_timeout(member, 60 * FERMATA_TEST_SCALE);
    body(seat);
  }
  if (board.failures.load() != 0) fermata_team_abort(team);
  fermata_member_leave(member);
}

}  // namespace

const char* name_of_engine(int engine) {
  return engine == FERMATA_THREADS ? "threads" : engine == FERMATA_PROCESSES ? "processes" : "mixed";
}

std::string describe(const TeamCase& test) {
  const std::string hosts =
      test.hosts > 1 ? " hosts " + std::to_string(test.hosts) + (test.scattered ? " in turn" : "") : "";
  return "P " + std::to_string(test.members) + " " + name_of_engine(test.engine) + " wait " +
         std::to_string(test.wait) + hosts;
}

bool Seat::holds(const std::string& problem) {
  if (!problem.empty() && board_.failures.fetch_add(1) == 0)
    std::snprintf(board_.message, sizeof board_.message, "rank %d: %s", rank, problem.c_str());
  return board_.failures.load(std::memory_order_relaxed) == 0;
}

bool Seat::holds(int status, const std::string& what) {
  if (status == FERMATA_OK) return holds("");
  return holds(what + ": " + fermata_status_string(status) + ": " + fermata_error_detail());
}

std::string run_team(const TeamCase& test, const std::function<void(Seat&)>& body, long* ran) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = test.members;
  config.engine = team_engine(test.engine);
  config.wait = test.wait;
  fermata_team* team = nullptr;
  PretendedHosts hosts;
  if (test.hosts > 1) {
    const std::string wrong =
        hosts.make(config, hosts_of_ranks(test.members, test.hosts, test.scattered), test.hosts, test.links);
    if (!wrong.empty()) return wrong;
  } else if (fermata_team_create(&config, &team) != FERMATA_OK) {
    return std::string("create: ") + fermata_error_detail();
  }
  const auto team_of = [&](int rank) { return team != nullptr ? team : hosts.team_of(rank); };
  void* page = mmap(nullptr, sizeof(Seat::Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return "mmap failed";
  auto& board = *new (page) Seat::Board;
  // Processes use single copy by the kernel. Processes of several threads use ring buffers, the default
  // without a profile.
  const bool single_copy = test.engine == FERMATA_PROCESSES && getenv("FERMATA_CMA") == nullptr;
  if (single_copy) setenv("FERMATA_CMA", "1", 1);
  run_members(
      test.engine, test.members, [&](int rank) { run_member(team_of(rank), test, rank, board, body); },
      [&](int how) {
        if (board.failures.fetch_add(1) == 0)
          std::snprintf(board.message, sizeof board.message, "a member's process died: %d", how);
      });
  if (single_copy) unsetenv("FERMATA_CMA");
  std::string problem;
  if (board.failures.load() != 0) {
    std::size_t length = 8192;
    std::string report(length, '\0');
    fermata_team_report(team_of(0), report.data(), &length);
    problem = std::string(board.message) + "\n" + report.c_str();
  }
  *ran += board.ran.load();
  munmap(page, sizeof(Seat::Board));
  fermata_team_destroy(team);
  return problem;
}

}  // namespace fermata::test
