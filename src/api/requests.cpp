// The collectives on blocks, and requests, of the C ABI.
#include <algorithm>
#include <utility>

#include "api/calls.hpp"
#include "exec/progress_thread.hpp"
#include "os/os.hpp"

using namespace fermata;
using namespace fermata::api;
using namespace fermata::team;
using exec::Member;

namespace {

constexpr const char* kIsLink = "this request is a link of a chain: start or free the chain instead";

inline int plain_call(fermata_member* member, const Plain& plain) {
  return member == nullptr ? null_handle() : call(member, plain);
}

// How many elements each block has, and where it begins.
struct BlockCounts {
  const size_t* counts = nullptr;
  const size_t* displacements = nullptr;
};

int irregular_call(fermata_member* member, const Plain& plain, const BlockCounts& in,
                   const BlockCounts& out) {
  fermata_operation o = operation_of(plain);
  o.irregular = 1;
  o.in_counts = in.counts;
  o.in_displacements = in.displacements;
  o.out_counts = out.counts;
  o.out_displacements = out.displacements;
  return fermata_execute(member, &o);
}

// Counts that only the root passes.
BlockCounts at_root(const fermata_member* member, int root, const BlockCounts& sizes) {
  return member != nullptr && fermata_member_rank(member) == root ? sizes : BlockCounts{};
}

// Waits for the request. Its member's time limit counts from that time. A callback may free the request.
int wait_since(std::int64_t since_ns, fermata_request* request) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  exec::Waiter& waiter = request->member->member->waiter();
  const std::int64_t before_ns = std::exchange(waiter.since_ns, since_ns);
  const int status = fermata_request_wait(request);
  waiter.since_ns = before_ns;
  return status;
}

}  // namespace

extern "C" {

int fermata_execute(fermata_member* member, const fermata_operation* operation) {
  if (member == nullptr || operation == nullptr) return null_handle();
  const int status = guarded([&] { return execute(member, *operation); });
  return status == FERMATA_OK ? status : settle_lengths(member, *operation, true, status);
}

int fermata_scan(fermata_member* member, const void* in, void* out, size_t count, int type, int op) {
  return plain_call(member, {FERMATA_SCAN, type, op, 0, in, out, count});
}

int fermata_exscan(fermata_member* member, const void* in, void* out, size_t count, int type, int op) {
  return plain_call(member, {FERMATA_EXSCAN, type, op, 0, in, out, count});
}

int fermata_gatherv(fermata_member* member, const void* in, size_t count, void* out, const size_t* counts,
                    const size_t* displacements, int type, int root) {
  return irregular_call(member, {FERMATA_GATHER, type, 0, root, in, out, count}, {},
                        at_root(member, root, {counts, displacements}));
}

int fermata_scatterv(fermata_member* member, const void* in, const size_t* counts,
                     const size_t* displacements, void* out, size_t count, int type, int root) {
  return irregular_call(member, {FERMATA_SCATTER, type, 0, root, in, out, count},
                        at_root(member, root, {counts, displacements}), {});
}

int fermata_allgatherv(fermata_member* member, const void* in, void* out, const size_t* counts,
                       const size_t* displacements, int type) {
  return irregular_call(member, {FERMATA_ALLGATHER, type, 0, 0, in, out, 0}, {}, {counts, displacements});
}

int fermata_alltoallv(fermata_member* member, const void* in, const size_t* in_counts,
                      const size_t* in_displacements, void* out, const size_t* out_counts,
                      const size_t* out_displacements, int type) {
  return irregular_call(member, {FERMATA_ALLTOALL, type, 0, 0, in, out, 0}, {in_counts, in_displacements},
                        {out_counts, out_displacements});
}

int fermata_begin(fermata_member* member, const fermata_operation* operation, fermata_request** out) {
  if (member == nullptr || operation == nullptr || out == nullptr) return null_handle();
  return guarded([&] {
    auto request = std::make_unique<fermata_request>();
    const int made = make(member, *operation, *request, true);
    if (made != FERMATA_OK) return made;
    fill(*request);
    const Status begun = member->member->begin(&request->core);
    if (begun != Status::kOk) return answer(member, begun);
    *out = request.release();
    return static_cast<int>(FERMATA_OK);
  });
}

int fermata_prepare(fermata_member* member, const fermata_operation* operation, fermata_request** out) {
  if (member == nullptr || operation == nullptr || out == nullptr) return null_handle();
  return guarded([&] {
    std::unique_ptr<fermata_request> request;
    const int made = guarded([&] {
      request = std::make_unique<fermata_request>();
      const int possible = make(member, *operation, *request, false);
      return possible == FERMATA_OK ? reserve_all(*request) : possible;
    });
    if (made == FERMATA_ERR_MEMORY) request.reset();
    else if (made != FERMATA_OK) return made;
    member->member->log().set_review(exec::kNoReview);  // its ring buffers stay in this team's memory
    const int taken = take_slots(member, *operation, request.get());
    if (taken == FERMATA_OK) *out = request.release();
    return taken;
  });
}

int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out) {
  if (links == nullptr || out == nullptr) return null_handle();
  if (count == 0) return fail(Status::kArgument, "a chain has at least one link");
  for (size_t i = 0; i < count; ++i) {
    if (const int bad = check_request(links[i]); bad != FERMATA_OK) return bad;
    if (!links[i]->prepared || links[i]->links != nullptr)
      return fail(Status::kArgument, "link %zu was not made by fermata_prepare", i);
    if (links[i]->chain != nullptr || std::find(links, links + i, links[i]) != links + i)
      return fail(Status::kArgument, "link %zu is already a link of a chain", i);
    if (links[i]->core.active) return fail(Status::kBusy, "link %zu is still active", i);
  }
  return guarded([&] {
    *out = make_chain(links, count).release();
    return static_cast<int>(FERMATA_OK);
  });
}

int fermata_request_start(fermata_request* request) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  if (request->chain != nullptr) return fail(Status::kArgument, kIsLink);
  if (request->core.active) return fail(Status::kBusy, "the request is still active");
  if (request->links != nullptr) return start_chain(*request);
  return guarded([&] {
    if (!request->prepared)
      if (const int found = follow_pattern(*request); found != FERMATA_OK) return found;
    fill_again(*request);
    const fermata_member* const member = request->member;  // a callback may free the request
    return answer(member, member->member->begin(&request->core));
  });
}

int fermata_request_test(fermata_request* request) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  const fermata_member* const member = request->member;  // a callback may free the request
  const Status status = member->member->test_for(&request->core);
  return status == Status::kPending ? FERMATA_PENDING : answer(member, status);
}

int fermata_request_wait(fermata_request* request) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  exec::BlockRequest* const core = &request->core;
  if (request->links == nullptr) return answer(request->member, request->member->member->wait_for(core));
  // The links of a chain may belong to other members.
  const Status waited = request->member->member->wait_for_any(&core, 1, true);
  return answer(request->member, core->active ? waited : core->status);
}

int fermata_request_wait_all(fermata_request* const* requests, size_t count) {
  if (requests == nullptr && count != 0) return null_handle();
  const std::int64_t since_ns = os::now_ns();
  int first = FERMATA_OK;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == nullptr) continue;
    const int status = wait_since(since_ns, requests[i]);
    if (first == FERMATA_OK) first = status;
    if (status == FERMATA_ERR_TIMEOUT || status == FERMATA_ERR_INTERRUPTED) return status;
  }
  return first;
}

int fermata_request_wait_any(fermata_request* const* requests, size_t count, size_t* index) {
  if (requests == nullptr || index == nullptr) return null_handle();
  return guarded([&] {
    std::vector<exec::BlockRequest*> cores;
    std::vector<size_t> at;
    fermata_member* first = nullptr;
    bool several = false;
    for (size_t i = 0; i < count; ++i) {
      if (requests[i] == nullptr) continue;
      if (const int bad = check_request(requests[i]); bad != FERMATA_OK) return bad;
      if (first == nullptr) first = requests[i]->member;
      several = several || requests[i]->member != first || requests[i]->links != nullptr;
      cores.push_back(&requests[i]->core);
      at.push_back(i);
    }
    if (first == nullptr) return fail(Status::kArgument, "all requests in the list are NULL");
    // The thread waits in one member. Meanwhile, requests of other members advance only if these members
    // belong to this thread.
    for (size_t i = 0; several && i < at.size(); ++i) requests[at[i]]->member->member->adopt();
    const Status waited = first->member->wait_for_any(cores.data(), cores.size(), several);
    for (size_t i = 0; i < cores.size(); ++i) {
      if (cores[i]->active) continue;
      *index = at[i];
      return answer(requests[at[i]]->member, cores[i]->status);
    }
    return answer(first, waited);
  });
}

int fermata_request_test_any(fermata_request* const* requests, size_t count, size_t* index) {
  if (requests == nullptr || index == nullptr) return null_handle();
  bool any = false;
  const fermata_member* tested = nullptr;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i] == nullptr) continue;
    if (const int bad = check_request(requests[i]); bad != FERMATA_OK) return bad;
    any = true;
    exec::BlockRequest& core = requests[i]->core;
    // A test advances all requests of its member, so it is done once per member.
    const bool again = tested == requests[i]->member && core.active;
    tested = requests[i]->member;
    if (again || tested->member->test_for(&core) == Status::kPending) continue;
    *index = i;
    return answer(tested, core.status);
  }
  return any ? FERMATA_PENDING : fail(Status::kArgument, "all requests in the list are NULL");
}

int fermata_request_reset(fermata_request* request, const void* in, void* out) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  if (request->core.active) return fail(Status::kBusy, "the request is still active");
  if (request->links != nullptr) return guarded([&] { return reset_chain(*request, in, out); });
  fermata_operation changed = request->given;
  changed.in = in;
  changed.out = out;
  Checked checked;
  const int bad = check(request->member, changed, &checked);
  if (bad != FERMATA_OK) return bad;
  request->given = changed;
  request->filled = false;
  return FERMATA_OK;
}

int fermata_request_set_callback(fermata_request* request, fermata_callback callback, void* user) {
  if (const int bad = check_request(request); bad != FERMATA_OK) return bad;
  request->callback = callback;
  request->callback_user = user;
  return FERMATA_OK;
}

int fermata_request_free(fermata_request* request) {
  if (request == nullptr) return FERMATA_OK;
  if (serial_of(request) == 0) return fail(Status::kArgument, "the request was freed");
  if (request->core.active) return fail(Status::kBusy, "the request is still active");
  if (request->chain != nullptr) return fail(Status::kArgument, kIsLink);
  delete request;
  return FERMATA_OK;
}

int fermata_progress_thread(int on) {
  const Status status = exec::ProgressThread::set(on);
  return status == Status::kOk ? FERMATA_OK : fail(status, "the progress thread could not be created");
}

int fermata_progress(fermata_member* member, double max_us) {
  if (member == nullptr) return null_handle();
  Member& m = *member->member;
  if (m.forked()) return answer(member, Status::kForked);
  if (m.team().port().is_connected()) m.team().attend_port();
  if (m.is_idle()) {
    m.progress_others();
    return FERMATA_OK;
  }
  const Status status =
      m.progress_for(max_us > 0 ? static_cast<std::int64_t>(std::min(max_us, 1e12) * 1e3) : 0);
  return status == Status::kPending ? FERMATA_PENDING : answer(member, status);
}

}  // extern "C"
