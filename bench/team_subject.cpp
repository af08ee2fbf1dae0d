#include "bench/team_subject.hpp"

namespace fermata::bench {

TeamSubject::~TeamSubject() {
  for (fermata_member* member : members_) fermata_member_leave(member);
  fermata_team_destroy(team_);
}

std::string TeamSubject::make_team(const Case& c, const fermata_plan* plan) {
  members_.resize(static_cast<std::size_t>(c.members));
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = c.members;
  config.engine = engine_of(c.engine);
  config.cpus = c.cpus.empty() ? nullptr : c.cpus.data();
  config.plans = &plan;
  config.plan_count = plan != nullptr ? 1 : 0;
  const int status = fermata_team_create(&config, &team_);
  return status == FERMATA_OK ? "" : failure("team", status);
}

std::string TeamSubject::enter(int rank) {
  const int status = fermata_team_join(team_, rank, &members_[static_cast<std::size_t>(rank)]);
  return status == FERMATA_OK ? "" : failure("join", status);
}

std::string TeamSubject::failure(const char* what, int status) {
  const std::string detail = fermata_error_detail();
  return std::string(what) + ": " + fermata_status_string(status) + (detail.empty() ? "" : ": " + detail);
}

}  // namespace fermata::bench
