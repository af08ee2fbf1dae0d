// Rank 0's part of a refresh: it judges whether other plans pay, by what all members tell it.
#ifndef FERMATA_TEAM_REFRESHER_HPP
#define FERMATA_TEAM_REFRESHER_HPP

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/os.hpp"
#include "plan/refresh.hpp"
#include "team/refresh.hpp"

namespace fermata::team {

// The values that all members send to rank 0. A reduce gives rank 0 the least of each:
// - subteam(): minus a number for a new team on the port. This process has not seen the number yet.
// - requests(): -1 if a request is outstanding, else 0
// - late(): the least delay of lines from one host to another, with the difference of their clocks
class Words {
 public:
  explicit Words(const exec::Team& team) : hosts_(team.hosts().count()) {
    all.assign(2 + std::size_t{hosts_} * (hosts_ - 1), exec::LinkDelays::kUnknown);
  }
  std::uint32_t hosts() const { return hosts_; }
  std::int64_t& subteam() { return all[0]; }
  std::int64_t& requests() { return all[1]; }
  std::int64_t& late(std::uint32_t from, std::uint32_t to) {
    return all[2 + from * (hosts_ - 1) + (to < from ? to : to - 1)];
  }

  std::vector<std::int64_t> all;

 private:
  std::uint32_t hosts_;
};

// Rank 0 sends it to all members.
struct Decision {
  std::uint64_t calls = 0;    // from this refresh to the next one
  std::uint64_t subteam = 0;  // number of the new team on the port
  std::uint64_t bytes = 0;    // of its programs; 0: no change
};

class Refresher {
 public:
  explicit Refresher(const fermata_member* member);

  // Makes the team's plans again, once, in order to predict their costs. decide() calls it.
  Status prepare(const fermata_member* member, std::uint32_t hosts);
  // began: when this refresh began, in ns. If Decision::bytes is not 0, programs() has the new programs.
  Decision decide(const fermata_member* member, Words& words, std::int64_t began);
  const std::vector<std::byte>& programs() const { return programs_; }
  // Call it when all members have their part of the new team, before `member` moves there. began: when the
  // change began, after decide().
  void changed(const fermata_member* member, std::int64_t began);
  std::string take_text() { return std::exchange(text_, {}); }

 private:
  void say(const std::string& what) {
    char time[32];
    std::snprintf(time, sizeof time, "%.1f s: ", static_cast<double>(os::now_ns() - began_ns_) * 1e-9);
    text_ += time + what + "\n";
  }
  void observe(Words& words);
  std::vector<double> count_uses(const fermata_member* member) const;
  Result<std::vector<std::byte>> compiled(const fermata_member* member,
                                          const std::vector<std::optional<Plan>>& plans) const;

  const RefreshStart start_;
  const std::int64_t began_ns_;
  std::optional<Refresh> refresh_;
  std::vector<std::optional<Plan>> next_;
  std::vector<std::byte> programs_;
  std::vector<double> uses_ = std::vector<double>(exec::kPlanSlots, 0.0);  // episodes before the present team
  double planning_ns_ = 0, change_ns_;  // how long the last planning took, and the last change (or estimated)
  std::uint64_t calls_ = 0;             // of the present team, at the last decision; 0: none yet in this team
  std::int64_t ended_ns_ = 0;           // time of the last decision or change of plans; 0: none yet
  std::string text_;
};

}  // namespace fermata::team
#endif
