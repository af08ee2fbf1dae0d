// A team over hosts that refreshes its profile, and calls whose results its ranks check.
#ifndef FERMATA_TESTS_PROCESS_REFRESH_HOUSE_HPP
#define FERMATA_TESTS_PROCESS_REFRESH_HOUSE_HPP

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../houses.hpp"
#include "fermata/fermata.h"
#include "fermata/hosts.h"

namespace fermata::test {

inline constexpr std::int64_t kMicro = 1000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
// Folds and refreshes take longer there, and beside other tests a link's time may be read 2 ms too long. The
// far link must remain the slowest part.
inline constexpr std::int64_t kNear = 1000 * kMicro;
inline constexpr auto kLimit = std::chrono::seconds(80);
#else
inline constexpr std::int64_t kNear = 200 * kMicro;
inline constexpr auto kLimit = std::chrono::seconds(35);
#endif
inline constexpr std::int64_t kFar = 10 * kNear;

using Clock = std::chrono::steady_clock;

class House : public Houses {
 public:
  House(std::vector<int> hosts_of_ranks, double refresh_seconds, std::uint32_t patience = 3000)
      : Houses(std::move(hosts_of_ranks),
               {.delay_ns = kNear, .jitter_ns = kNear / 10, .repeat_ns = 5 * kFar, .patience = patience}) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = static_cast<int>(hosts.size());
    config.refresh_seconds = refresh_seconds;
    // One host plans for all and has names for its hosts.
    const char* const names[] = {"a", "b", "c", "d"};
    std::vector<char> plans(1 << 20);
    size_t length = plans.size();
    EXPECT_EQ(fermata_hosts_plan(&config, hosts.data(), names, nullptr, plans.data(), &length), FERMATA_OK)
        << fermata_error_detail();
    unsetenv("FERMATA_REFRESH");
    open([&](int host, fermata_team** team) {
      return fermata_team_create_planned(&config, hosts.data(), host, plans.data(), length, team);
    });
  }
  std::vector<End> run(const std::function<int(fermata_member*, int)>& member) {
    return Houses::run(20, member);
  }
  void expect_right(const std::vector<End>& ends) {
    for (const End& end : ends)
      EXPECT_EQ(end.status, FERMATA_OK) << end.status << ": " << end.detail << "\n" << text();
  }

  std::uint64_t refreshes(int host = 0) const { return counts(host).first; }
  std::uint64_t changes(int host = 0) const { return counts(host).second; }
  std::string text() const {
    char text[20000] = "";
    size_t length = sizeof text;
    fermata_team_refreshes(teams[0], nullptr, nullptr, text, &length);
    return text;
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> counts(int host) const {
    std::uint64_t refreshes = 0, changes = 0;
    EXPECT_EQ(fermata_team_refreshes(teams[host], &refreshes, &changes, nullptr, nullptr), FERMATA_OK);
    return {refreshes, changes};
  }
};

// A barrier, a sum and a broadcast with another root each time. All ranks check the values; rank 0 decides
// when to stop.
inline int episode(fermata_member* m, int rank, int e, bool* over, bool rooted = true) {
  const int all = fermata_member_count(m);
  if (const int status = fermata_barrier(m); status != FERMATA_OK) return status;
  std::int64_t value[2] = {rank + e, rank == 0 && *over ? 1 : 0};
  if (const int status = fermata_allreduce(m, value, value, 2, FERMATA_INT64, FERMATA_SUM);
      status != FERMATA_OK)
    return status;
  if (value[0] != all * e + all * (all - 1) / 2) return FERMATA_ERR_VERIFY;
  *over = value[1] != 0;
  if (!rooted) return FERMATA_OK;
  const int root = e % all;
  std::int64_t said = rank == root ? e : -1;
  if (const int status = fermata_broadcast(m, &said, sizeof said, root); status != FERMATA_OK) return status;
  return said == e ? FERMATA_OK : FERMATA_ERR_VERIFY;
}

// Runs episodes until rank 0 finds `enough` true, or kLimit has passed. Counts them in *e.
inline int run_until(fermata_member* m, int rank, int* e, const std::function<bool()>& enough,
                     bool rooted = true) {
  const auto end = Clock::now() + kLimit;
  for (bool over = false; !over; ++*e) {
    over = rank == 0 && (enough() || Clock::now() > end);
    if (const int status = episode(m, rank, *e, &over, rooted); status != FERMATA_OK) return status;
  }
  return FERMATA_OK;
}

}  // namespace fermata::test
#endif
