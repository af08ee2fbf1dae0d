#include "bench/teams.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.hpp"
#include "bench/report.hpp"
#include "bench/stats.hpp"
#include "bench/team_subject.hpp"

namespace fermata::bench {
namespace {

constexpr int kLeastRepeats = 3;
constexpr int kMostRepeats = 200;
constexpr double kMostWait = 30;  // seconds in one call

// Rank 0's samples, in memory shared with forked members.
struct Samples {
  int count;
  int status;  // the first status of any rank that is not FERMATA_OK
  double us[kMostRepeats];
};

double us_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

// One member's splits. Rank 0 decides when to stop.
int split_again_and_again(fermata_member* m, double seconds, Samples& samples) {
  const int rank = fermata_member_rank(m);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    int status = fermata_barrier(m);
    const auto begin = std::chrono::steady_clock::now();
    fermata_member* half = nullptr;
    if (status == FERMATA_OK) status = fermata_team_split(m, rank % 2, rank, &half);
    if (rank == 0 && status == FERMATA_OK) samples.us[samples.count++] = us_since(begin);
    if (status == FERMATA_OK) status = fermata_barrier(half);
    fermata_member_leave(half);
    std::int32_t more =
        samples.count < kLeastRepeats || (samples.count < kMostRepeats && us_since(start) < seconds * 1e6)
            ? 1
            : 0;
    if (status == FERMATA_OK) status = fermata_broadcast(m, &more, sizeof more, 0);
    if (status != FERMATA_OK || more == 0) return status;
  }
}

void run_member(fermata_team* team, int rank, double seconds, Samples& samples) {
  fermata_member* m = nullptr;
  int status = fermata_team_join(team, rank, &m);
  if (status == FERMATA_OK) {
    fermata_member_set_timeout(m, kMostWait);
    status = split_again_and_again(m, seconds, samples);
  }
  if (status != FERMATA_OK) {
    samples.status = status;
    fermata_team_abort(team);
  }
  fermata_member_leave(m);
}

int make_team(Engine engine, int members, fermata_team** team) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = members;
  config.engine = engine_of(engine);
  return fermata_team_create(&config, team);
}

// Creates a team, joins all ranks from this thread, and destroys the team.
int time_make(Engine engine, int members, double seconds, std::vector<double>& us) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<fermata_member*> all(static_cast<std::size_t>(members));
  while (us.size() < kLeastRepeats || (us.size() < kMostRepeats && us_since(start) < seconds * 1e6)) {
    const auto begin = std::chrono::steady_clock::now();
    fermata_team* team = nullptr;
    int status = make_team(engine, members, &team);
    for (int r = 0; r < members && status == FERMATA_OK; ++r)
      status = fermata_team_join(team, r, &all[static_cast<std::size_t>(r)]);
    us.push_back(us_since(begin));
    for (fermata_member*& m : all) fermata_member_leave(std::exchange(m, nullptr));
    fermata_team_destroy(team);
    if (status != FERMATA_OK) return status;
  }
  return FERMATA_OK;
}

int time_split(Engine engine, int members, double seconds, std::vector<double>& us) {
  fermata_team* team = nullptr;
  const int made = make_team(engine, members, &team);
  if (made != FERMATA_OK) return made;
  void* const page =
      mmap(nullptr, sizeof(Samples), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return FERMATA_ERR_MEMORY;
  auto& samples = *new (page) Samples{};
  std::vector<std::thread> threads;
  std::vector<pid_t> children;
  for (int r = 0; r < members; ++r) {
    if (engine == Engine::kThreads) {
      threads.emplace_back([&, r] { run_member(team, r, seconds, samples); });
      continue;
    }
    const pid_t child = fork();
    if (child == 0) {
      run_member(team, r, seconds, samples);
      _exit(0);
    }
    children.push_back(child);
  }
  for (std::thread& t : threads) t.join();
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  us.assign(samples.us, samples.us + samples.count);
  const int status = samples.status;
  munmap(page, sizeof samples);
  fermata_team_destroy(team);
  return status;
}

}  // namespace

Result<std::vector<TeamsRow>> run_teams(const std::vector<Engine>& engines, const std::vector<int>& members,
                                        double seconds, const Progress& progress) {
  std::vector<TeamsRow> rows;
  const auto cases = static_cast<double>(2 * engines.size() * members.size());
  for (const Engine engine : engines)
    for (const int n : members)
      for (const bool splits : {false, true}) {
        if (engine == Engine::kMixed)
          return Error{Status::kUnsupported, "teams can be timed with engines threads and processes only"};
        if (progress) progress(static_cast<double>(rows.size()) / cases, std::to_string(n) + " members");
        TeamsRow row{splits ? "split" : "make", engine, n, {}};
        const int status = (splits ? time_split : time_make)(engine, n, seconds / cases, row.us);
        if (status != FERMATA_OK) return Error{static_cast<Status>(status), fermata_error_detail()};
        rows.push_back(std::move(row));
      }
  return rows;
}

std::string teams_table(const std::vector<TeamsRow>& rows) {
  std::string text = format("%-6s %-10s %6s %10s %10s %10s\n", "team", "engine", "n", "us", "p10", "p90");
  for (const TeamsRow& row : rows) {
    const Summary s = summarize(row.us);
    text += format("%-6s %-10s %6d %10.0f %10.0f %10.0f\n", row.what.c_str(), name_of(row.engine),
                   row.members, s.median, s.p10, s.p90);
  }
  return text +
         "\nmake: create a team and join all ranks from one thread; split: into two halves, by all members, "
         "timed at rank 0.\n";
}

nlohmann::json teams_json(const std::vector<TeamsRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const TeamsRow& row : rows) {
    nlohmann::json json = samples_json(row.us, "us");
    json["what"] = row.what;
    json["engine"] = name_of(row.engine);
    json["n"] = row.members;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace fermata::bench
