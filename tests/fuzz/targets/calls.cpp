// The C ABI, called in any order: the input says which of two or three members makes which call. One thread
// makes all calls, so a call that waits for another member times out. Later calls continue or give up the
// requests that it leaves outstanding. Members make different calls, pass invalid arguments, break their
// team, and leave it. In all cases:
// - every call returns in time with a status that it may return,
// - a call that fails does not write its out-pointer,
// - operations that succeed at all members have the right result,
// - in the end every request is over.
#include <algorithm>
#include <array>
#include <vector>

#include "calls.hpp"

namespace {

using namespace fermata::fuzz;

constexpr std::size_t kMostCalls = 400;

class Session {
 public:
  Session(Input& in) : in_(in) {}

  void run() {
    const unsigned shape = in_.byte();
    members_ = 2 + static_cast<int>(shape & 1);
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = members_;
    config.wait = static_cast<int>(shape >> 1 & 3);
    config.tagged = static_cast<int>(shape >> 3 & 1);
    std::vector<const fermata_plan*> mine;
    fermata_plan* words = nullptr;
    if ((shape & 16) != 0 && config.tagged == 0) words = plan_with_words();
    if (words != nullptr) mine.push_back(words);
    mine.insert(mine.end(), plans(members_).begin(), plans(members_).end());
    config.plans = mine.data();
    config.plan_count = mine.size();
    const int made = fermata_team_create(&config, &team_);
    fermata_plan_destroy(words);
    if (made != FERMATA_OK) fail("no team", fermata_error_detail());
    for (int r = 0; r < members_; ++r) join(r);
    for (std::size_t calls = 0; calls < kMostCalls && !in_.over(); ++calls) next();
    end();
  }

 private:
  fermata_plan* plan_with_words() const {
    fermata_plan_request r = FERMATA_PLAN_REQUEST_INIT;
    r.members = members_;
    r.algorithm = "counter";
    fermata_plan* plan = nullptr;
    return fermata_plan_make(&r, &plan) == FERMATA_OK ? plan : nullptr;
  }

  void join(int rank) {
    if (fermata_team_join(team_, rank, &all_[rank].handle) != FERMATA_OK)
      fail("no member", fermata_error_detail());
    set_timeout(all_[rank], 0);
  }

  static void set_timeout(Member& m, unsigned choice) {
    // The last value leaves enough time to check the other members.
    static constexpr double kSeconds[] = {2e-5, 1e-4, 1e-9, 0.06};
    fermata_member_set_timeout(m.handle, kSeconds[choice % 4]);
  }

  void next() {
    const unsigned code = in_.byte();
    Member& m = all_[(code >> 6) % static_cast<unsigned>(members_)];
    (code >> 6) == 3 ? together(code & 63) : step(m, code & 63);
  }

  // One operation by all members. If it succeeds at all of them, its result must be right.
  void together(unsigned choice) {
    const auto n = static_cast<std::uint32_t>(members_);
    std::array<fermata_request*, kMostMembers> requests{};
    std::array<std::array<std::uint64_t, 300>, kMostMembers> data{};
    const std::size_t count = choice * 5 % 301;
    bool all = true;
    for (std::uint32_t r = 0; r < n; ++r) {
      data[r].fill(r + 1);
      fermata_operation o = FERMATA_OPERATION_INIT;
      o.collective = FERMATA_ALLREDUCE;
      o.in = FERMATA_IN_PLACE;
      o.out = data[r].data();
      o.count = count;
      o.type = FERMATA_UINT64;
      all = all_[r].handle != nullptr && fermata_begin(all_[r].handle, &o, &requests[r]) == FERMATA_OK && all;
    }
    for (int turn = 0; turn < 200; ++turn)
      for (std::uint32_t r = 0; r < n; ++r)
        if (all_[r].handle != nullptr) check(fermata_progress(all_[r].handle, 0), "progress");
    std::uint64_t right = n * (n + 1) / 2;
    for (std::uint32_t r = 0; r < n; ++r) all = all && fermata_request_test(requests[r]) == FERMATA_OK;
    for (std::uint32_t r = 0; r < n && all; ++r)
      for (std::size_t i = 0; i < 300; ++i)
        if (data[r][i] != (i < count ? right : r + 1)) fail("a wrong sum", std::to_string(data[r][i]));
    // No call will finish a request that is still pending here: end it by aborting the team.
    for (fermata_request* r : requests)
      if (r != nullptr && fermata_request_test(r) == FERMATA_PENDING) fermata_team_abort(team_);
    for (fermata_request* r : requests)
      if (r != nullptr &&
          (fermata_request_test(r) == FERMATA_PENDING || fermata_request_free(r) != FERMATA_OK))
        fail("a request outlives its team", fermata_error_detail());
  }

  fermata_operation operation(Member& m) {
    fermata_operation o = FERMATA_OPERATION_INIT;
    const unsigned flags = in_.byte();
    o.collective = static_cast<int>(in_.below(12));  // 0 and 11 are not valid
    o.count = count(in_.byte());
    o.type = static_cast<int>(in_.below(18));
    o.op = static_cast<int>(in_.below(12));
    o.root = static_cast<int>(in_.below(4)) - (flags & 1 ? 1 : 0);
    std::uint8_t* const middle = m.arena.data() + kArena / 2;
    o.in = (flags & 2) != 0                       ? FERMATA_IN_PLACE
           : (flags & 4) != 0 && (flags & 8) != 0 ? nullptr
                                                  : static_cast<const void*>(m.arena.data());
    o.out = (flags & 16) != 0 && (flags & 8) != 0 ? m.arena.data() + 8 * in_.byte() : middle;
    if ((flags & 32) != 0) {
      o.element = in_.byte() % 65;
      o.fold = [](void* out, const void* left, const void*, std::size_t, void* user) {
        *static_cast<std::uint8_t*>(user) = *static_cast<const std::uint8_t*>(left);
        *static_cast<std::uint8_t*>(out) = 1;
      };
      o.user = &m.arena.back();
      o.ordered = static_cast<int>(flags >> 7);
    }
    if ((flags & 26) == 18) o.out = FERMATA_IN_PLACE;
    if ((flags & 25) == 9) o.out = nullptr;
    if ((flags & 64) != 0) {
      for (std::size_t& c : m.counts) c = in_.byte();
      o.irregular = 1;
      if ((flags & 1) == 0) o.in_counts = m.counts.data();
      o.out_counts = m.counts.data();
    }
    return o;
  }

  static std::size_t count(unsigned choice) {
    static constexpr std::size_t kNonsense[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1};
    return choice >= 252 ? kNonsense[choice - 252] : choice;
  }

  Request& request(Member& m) { return m.requests[in_.below(kMostRequests)]; }

  static void called_back(fermata_request* handle, int status, void* user) {
    auto& request = *static_cast<Request*>(user);
    if (status == FERMATA_PENDING) fail("a callback for a request that is not over", "");
    if (fermata_request_wait(handle) != status)
      fail("a callback's status is not the request's", std::to_string(status));
    if (request.restarts-- > 0) check(fermata_request_start(handle), "start in a callback");
  }

  static int hook(fermata_member*, void* user) {
    return --static_cast<Member*>(user)->interrupts >= 0 ? 1 : 0;
  }

  void step(Member& m, unsigned choice) {
    if (m.handle == nullptr) return;
    if (choice < 24) return with_requests(m, choice);
    switch (choice) {
      case 24:
      case 25: return check(fermata_barrier(m.handle), "barrier");
      case 26: return check(fermata_barrier_tagged(m.handle, in_.below(3)), "barrier_tagged");
      case 27:
      case 28: return check(fermata_arrive(m.handle), "arrive");
      case 29: return check(fermata_depart(m.handle), "depart");
      case 30: return check(fermata_test(m.handle), "test");
      case 31:
      case 32: return check(fermata_resume(m.handle), "resume");
      case 33:
      case 34:
      case 35:
      case 36:
      case 37: return on_line(m, choice - 33);
      case 38: return set_timeout(m, in_.byte());
      case 39:
        m.interrupts = static_cast<int>(in_.below(4));
        return check(fermata_member_set_idle_hook(m.handle, m.interrupts > 0 ? hook : nullptr, &m),
                     "set_idle_hook");
      case 40:
      case 41:
      case 42: return check(fermata_progress(m.handle, in_.below(20)), "progress");
      case 43: return report();
      case 44: return in_.below(8) == 0 ? fermata_team_abort(team_) : void();
      case 45: return in_.below(8) == 0 ? leave(m) : void();
      case 46: {
        fermata_member* out = nullptr;
        const int status = fermata_team_join(team_, static_cast<int>(in_.below(5)) - 1, &out);
        if (status == FERMATA_OK || out != nullptr) fail("a rank was joined twice", "");
        return;
      }
      case 47: return chain(m);
      case 48:
      case 49:
      case 50:
      case 51:
      case 52: return on_blocks(m, in_.byte());
      case 53: {
        const fermata_operation o = operation(m);
        return check(fermata_arrive_with(m.handle, &o), "arrive_with");
      }
      case 54: return split(m);
      default: {
        const fermata_operation o = operation(m);
        return check(fermata_execute(m.handle, &o), "execute");
      }
    }
  }

  // Each collective by its own function, which may use signal lines.
  void on_blocks(Member& m, unsigned choice) {
    const unsigned flags = in_.byte();
    const std::size_t n = count(in_.byte());
    const int type = static_cast<int>(in_.below(18)), op = static_cast<int>(in_.below(12)),
              root = static_cast<int>(in_.below(5)) - 1;
    std::uint8_t* const middle = m.arena.data() + kArena / 2;
    const void* const in = (flags & 3) == 3     ? FERMATA_IN_PLACE
                           : (flags & 12) == 12 ? nullptr
                                                : static_cast<const void*>(m.arena.data());
    void* const out = (flags & 48) == 48 ? FERMATA_IN_PLACE : (flags & 192) == 192 ? nullptr : middle;
    for (std::size_t& c : m.counts) c = (flags + n) % 60;
    const std::size_t* const c = m.counts.data();
    switch (choice % 12) {
      case 0: return check(fermata_gather(m.handle, in, out, n, type, root), "gather");
      case 1: return check(fermata_scatter(m.handle, in, out, n, type, root), "scatter");
      case 2: return check(fermata_allgather(m.handle, in, out, n, type), "allgather");
      case 3: return check(fermata_reduce_scatter(m.handle, in, out, n, type, op), "reduce_scatter");
      case 4: return check(fermata_alltoall(m.handle, in, out, n, type), "alltoall");
      case 5: return check(fermata_scan(m.handle, in, out, n, type, op), "scan");
      case 6: return check(fermata_exscan(m.handle, in, out, n, type, op), "exscan");
      case 7: return check(fermata_gatherv(m.handle, in, c[0], out, c, nullptr, type, root), "gatherv");
      case 8: return check(fermata_scatterv(m.handle, in, c, nullptr, out, c[0], type, root), "scatterv");
      case 9: return check(fermata_allgatherv(m.handle, in, out, c, nullptr, type), "allgatherv");
      case 10:
        return check(fermata_reduce_scatterv(m.handle, in, c, nullptr, out, type, op), "reduce_scatterv");
      default: return check(fermata_alltoallv(m.handle, in, c, nullptr, out, c, nullptr, type), "alltoallv");
    }
  }

  // A chain of one or two requests, which the chain then owns.
  void chain(Member& m) {
    Request& first = request(m);
    Request& second = request(m);
    const std::size_t count = 1 + in_.below(2);
    fermata_request* const links[] = {first.handle, second.handle};
    fermata_request* made = nullptr;
    const int status = fermata_chain(links, count, &made);
    check(status, "chain");
    if ((status == FERMATA_OK) != (made != nullptr))
      fail("a chain that does not go with its status", std::to_string(status));
    if (status != FERMATA_OK) return;
    if (count == 2) second.handle = nullptr;
    first.handle = made;
  }

  void split(Member& m) {
    fermata_member* part = nullptr;
    const int colour = static_cast<int>(in_.below(3)) - 1;
    const int status = fermata_team_split(m.handle, colour, static_cast<int>(in_.below(3)), &part);
    check(status, "split");
    if (status != FERMATA_OK && part != nullptr)
      fail("a part of a team that was not split", std::to_string(status));
    fermata_member_leave(part);
  }

  void on_line(Member& m, unsigned choice) {
    const std::size_t n = in_.byte();
    const int type = static_cast<int>(in_.below(18)), op = static_cast<int>(in_.below(12)),
              root = static_cast<int>(in_.below(5)) - 1;
    std::uint8_t* const out = m.arena.data() + kArena / 2;
    switch (choice) {
      case 0:
      case 1: return check(fermata_allreduce(m.handle, m.arena.data(), out, n % 12, type, op), "allreduce");
      case 2:
        return check(fermata_allreduce(m.handle, m.arena.data(), out, 1, FERMATA_INT64, FERMATA_SUM),
                     "allreduce of a word");
      case 3: return check(fermata_reduce(m.handle, m.arena.data(), out, n % 12, type, op, root), "reduce");
      default: return check(fermata_broadcast(m.handle, out, n % 80, root), "broadcast");
    }
  }

  void with_requests(Member& m, unsigned choice) {
    Request& r = request(m);
    if (choice < 10) {
      if (r.handle != nullptr) return;
      const fermata_operation o = operation(m);
      const bool prepares = choice < 4;
      const int status =
          prepares ? fermata_prepare(m.handle, &o, &r.handle) : fermata_begin(m.handle, &o, &r.handle);
      check(status, prepares ? "prepare" : "begin");
      if ((status == FERMATA_OK) != (r.handle != nullptr))
        fail("an out-pointer that does not go with its status", std::to_string(status));
      return;
    }
    switch (choice) {
      case 10:
      case 11:
      case 12: return check(fermata_request_start(r.handle), "start");
      case 13:
      case 14: return check(fermata_request_test(r.handle), "request_test");
      case 15: return check(fermata_request_wait(r.handle), "request_wait");
      case 16: return wait_for_several(m, true);
      case 17: return wait_for_several(m, false);
      case 18:
        return check(
            fermata_request_reset(r.handle, FERMATA_IN_PLACE, m.arena.data() + kArena / 2 + 8 * in_.byte()),
            "reset");
      case 19:
        r.restarts = static_cast<int>(in_.below(4));
        return check(fermata_request_set_callback(r.handle, called_back, &r), "set_callback");
      default: return free_if_over(r);
    }
  }

  static void free_if_over(Request& r) {
    const int status = fermata_request_free(r.handle);
    check(status, "request_free");
    if (status == FERMATA_OK) r = {};
  }

  static void wait_for_several(Member& m, bool any) {
    std::array<fermata_request*, kMostRequests> handles{};
    std::transform(m.requests.begin(), m.requests.end(), handles.begin(),
                   [](const Request& r) { return r.handle; });
    std::size_t index = 99;
    check(fermata_request_test_any(handles.data(), handles.size(), &index), "test_any");
    if (index != 99 && (index >= handles.size() || handles[index] == nullptr))
      fail("test_any's index", std::to_string(index));
    index = 99;
    const int status = any ? fermata_request_wait_any(handles.data(), handles.size(), &index)
                           : fermata_request_wait_all(handles.data(), handles.size());
    check(status, any ? "wait_any" : "wait_all");
    if (index != 99 && (index >= handles.size() || handles[index] == nullptr))
      fail("wait_any's index", std::to_string(index));
  }

  void report() const {
    char text[100];
    std::size_t length = sizeof text;
    if (fermata_team_report(team_, text, &length) != FERMATA_OK || length < 2)
      fail("no report", fermata_error_detail());
  }

  // A member may leave only without active requests.
  static void leave(Member& m) {
    if (m.handle == nullptr) return;
    for (Request& r : m.requests) r.restarts = 0;
    fermata_member_leave(m.handle);
    m.handle = nullptr;
    for (Request& r : m.requests) {
      if (r.handle != nullptr && fermata_request_free(r.handle) != FERMATA_OK)
        fail("a request outlives its member", fermata_error_detail());
      r = {};
    }
  }

  void end() {
    fermata_team_abort(team_);
    for (Member& m : all_) {
      if (m.handle == nullptr) continue;
      fermata_member_set_idle_hook(m.handle, nullptr, nullptr);
      for (Request& r : m.requests) {
        r.restarts = 0;
        if (r.handle != nullptr && fermata_request_test(r.handle) == FERMATA_PENDING)
          fail("a request outlives its team", "");
      }
    }
    for (Member& m : all_) leave(m);
    fermata_team_destroy(team_);
  }

  Input& in_;
  int members_ = 2;
  fermata_team* team_ = nullptr;
  std::array<Member, kMostMembers> all_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input in(data, size);
  Session(in).run();
  return 0;
}
