// For the target `calls`: its input, its members and their requests, plans, and the check of a status.
#ifndef FERMATA_TESTS_FUZZ_TARGETS_CALLS_HPP
#define FERMATA_TESTS_FUZZ_TARGETS_CALLS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../target.hpp"
#include "fermata/fermata.h"

namespace fermata::fuzz {

inline constexpr int kMostMembers = 3;
inline constexpr std::size_t kMostRequests = 6;  // per member
inline constexpr std::size_t kArena = 1 << 17;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool over() const { return at_ >= size_; }
  unsigned byte() { return over() ? 0 : data_[at_++]; }
  unsigned below(unsigned n) { return byte() % n; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

struct Plans {
  Plans() = default;
  Plans(const Plans&) = delete;
  ~Plans() {
    for (fermata_plan* plan : owned) fermata_plan_destroy(plan);
  }
  std::vector<fermata_plan*> owned;
};

// Each plan is made once: the fuzzer tests the execution of plans, not the planner.
inline const std::vector<fermata_plan*>& plans(int members) {
  static std::array<Plans, kMostMembers + 1> made;
  std::vector<fermata_plan*>& mine = made[static_cast<std::size_t>(members)].owned;
  for (int collective = FERMATA_BARRIER; collective <= FERMATA_ALLREDUCE && mine.size() < 8; ++collective)
    for (const std::size_t payload :
         {collective == FERMATA_BARRIER ? std::size_t{0} : std::size_t{56}, std::size_t{8}}) {
      fermata_plan_request r = FERMATA_PLAN_REQUEST_INIT;
      r.members = members;
      r.collective = collective;
      r.payload = payload;
      fermata_plan* plan = nullptr;
      if (fermata_plan_make(&r, &plan) != FERMATA_OK) fail("no plan", fermata_error_detail());
      mine.push_back(plan);
    }
  return mine;
}

struct Request {
  fermata_request* handle = nullptr;
  int restarts = 0;  // that its callback has still to make
};

struct Member {
  fermata_member* handle = nullptr;
  std::array<Request, kMostRequests> requests;
  std::array<std::size_t, 8> counts{};
  int interrupts = 0;  // that the idle hook has still to request
  std::vector<std::uint8_t> arena = std::vector<std::uint8_t>(kArena);
};

// Fails if `status` is undocumented, is an error that needs a file or another process, or has no detail.
inline void check(int status, const char* what) {
  switch (status) {
    case FERMATA_OK:
    case FERMATA_PENDING:
    case FERMATA_ERR_ARGUMENT:
    case FERMATA_ERR_MEMORY:
    case FERMATA_ERR_TIMEOUT:
    case FERMATA_ERR_MEMBER_LOST:
    case FERMATA_ERR_MISMATCH:
    case FERMATA_ERR_BROKEN:
    case FERMATA_ERR_UNSUPPORTED:
    case FERMATA_ERR_BUSY:
    case FERMATA_ERR_INTERRUPTED: break;
    default: fail(what, "status " + std::to_string(status));
  }
  if (status < 0 && fermata_error_detail()[0] == '\0')
    fail(what, "no detail for status " + std::to_string(status));
}

}  // namespace fermata::fuzz
#endif
