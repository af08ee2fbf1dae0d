// Steps of one member between the collective steps: no other member knows of them or sees an effect.
#include <algorithm>
#include <iterator>

#include "../../operation.hpp"
#include "sequence.hpp"

namespace fermata::test {

bool Sequence::local() {
  constexpr Step kSteps[] = {&Sequence::look,         &Sequence::look,        &Sequence::wait_for_any,
                             &Sequence::free_early,   &Sequence::refuse_call, &Sequence::refuse_operation,
                             &Sequence::refuse_handle};
  return (this->*kSteps[draw(own_, std::size(kSteps))])();
}

// Makes progress and tests one request. A request that needs other members may stay PENDING.
bool Sequence::look() {
  at_ += ", look";
  const double us = draw(own_, 4) == 0 ? 20 : 0;
  if (!returns(fermata_progress(seat_.member, us), {FERMATA_OK, FERMATA_PENDING}, "fermata_progress"))
    return false;
  const int state = split_ == Split::kNone ? FERMATA_OK : FERMATA_PENDING;
  if (!returns(fermata_test(seat_.member), {FERMATA_OK, state}, "fermata_test")) return false;
  if (requests_.empty()) return true;
  Request& request = *requests_[draw(own_, requests_.size())];
  const int status = fermata_request_test(request.handle);
  if (request.state == State::kIdle)
    return returns(status, {FERMATA_OK}, "fermata_request_test of one that is over");
  if (!returns(status, {FERMATA_OK, FERMATA_PENDING}, "fermata_request_test")) return false;
  return status == FERMATA_PENDING || is_over(request);
}

bool Sequence::wait_for_any() {
  at_ += ", wait_any";
  std::vector<fermata_request*> handles;
  for (const auto& request : requests_) handles.push_back(draw(own_, 4) == 0 ? nullptr : request->handle);
  std::size_t index = handles.size();
  const bool none =
      std::all_of(handles.begin(), handles.end(), [](const fermata_request* r) { return r == nullptr; });
  const bool waits = draw(own_, 2) == 0;
  const int status = waits ? fermata_request_wait_any(handles.data(), handles.size(), &index)
                           : fermata_request_test_any(handles.data(), handles.size(), &index);
  if (handles.empty()) return returns(status, {FERMATA_ERR_ARGUMENT}, "wait_any of nothing");
  if (none) return returns(status, {FERMATA_ERR_ARGUMENT}, "wait_any of NULL alone");
  if (!waits && status == FERMATA_PENDING)
    return seat_.holds(index == handles.size() ? "" : "test_any wrote its index");
  if (!returns(status, {FERMATA_OK}, waits ? "fermata_request_wait_any" : "fermata_request_test_any"))
    return false;
  if (index >= handles.size() || handles[index] == nullptr) return seat_.holds("wait_any's index");
  return requests_[index]->state == State::kIdle || is_over(*requests_[index]);
}

// Resets a request that may still be active, to the same buffers. If it is active: BUSY, with no effect. All
// members free a begun request in the same later step, so it is not freed here.
bool Sequence::free_early() {
  at_ += ", reset or restart of an active one";
  for (const auto& request : requests_) {
    if (request->state != State::kBegun) continue;
    const fermata_operation& o = request->instance->operation();
    const int status = fermata_request_reset(request->handle, o.in, o.out);
    return returns(status, {FERMATA_OK, FERMATA_ERR_BUSY}, "fermata_request_reset");
  }
  return true;
}

// Illegal arguments are refused before they have an effect, whatever is outstanding.
bool Sequence::refuse_operation() {
  at_ += ", an illegal operation";
  double in[8] = {}, out[8] = {};
  fermata_operation o = operation(FERMATA_REDUCE, in, out, 8, FERMATA_DOUBLE);
  switch (draw(own_, 9)) {
    case 0: o.root = seat_.members; break;
    case 1: o.root = -1; break;
    case 2: o.type = FERMATA_INT16_INT + 1; break;
    case 3: o.op = FERMATA_XOR; break;
    case 4: o.collective = FERMATA_EXSCAN + 1; break;
    case 5: o.count = SIZE_MAX / 4; break;
    case 6: o.size = 8; break;
    case 7: o.count = SIZE_MAX; break;
    default: o.ordered = FERMATA_LEFT_TO_RIGHT + 1; break;
  }
  fermata_request* request = nullptr;
  int status;
  switch (draw(own_, 3)) {
    case 0: status = fermata_execute(seat_.member, &o); break;
    case 1: status = fermata_begin(seat_.member, &o, &request); break;
    default: status = fermata_prepare(seat_.member, &o, &request); break;
  }
  return returns(status, {FERMATA_ERR_ARGUMENT}, "an illegal operation") &&
         seat_.holds(request == nullptr ? "" : "a handle despite an error");
}

bool Sequence::refuse_call() {
  at_ += ", an illegal call";
  double in[8] = {}, out[16] = {};
  fermata_member* const m = seat_.member;
  int status;
  switch (draw(own_, 8)) {
    case 0: status = fermata_allreduce(m, in, out, 8, -1, FERMATA_SUM); break;
    case 1: status = fermata_allreduce(m, in, nullptr, 8, FERMATA_DOUBLE, FERMATA_SUM); break;
    case 2: status = fermata_broadcast(m, in, 64, seat_.members); break;
    case 3: status = fermata_broadcast(m, nullptr, 8, 0); break;
    case 4: status = fermata_reduce(m, in, out, 1, FERMATA_DOUBLE, FERMATA_MINLOC, 0); break;
    case 5: status = fermata_allgather(m, in, FERMATA_IN_PLACE, 1, FERMATA_DOUBLE); break;
    case 6: status = fermata_scan(m, out, out + 1, 4, FERMATA_DOUBLE, FERMATA_SUM); break;
    default: status = fermata_barrier(nullptr); break;
  }
  return returns(status, {FERMATA_ERR_ARGUMENT}, "an illegal call");
}

bool Sequence::refuse_handle() {
  at_ += ", an illegal handle";
  std::size_t index = 0;
  fermata_request* made = nullptr;
  fermata_member* member = nullptr;
  int status = FERMATA_ERR_ARGUMENT;
  int expected = FERMATA_ERR_ARGUMENT;
  switch (draw(own_, 7)) {
    case 0: status = fermata_request_start(nullptr); break;
    case 1: status = fermata_request_wait_any(nullptr, 1, &index); break;
    case 2: status = fermata_chain(&made, 0, &made); break;
    case 3: status = fermata_chain(&made, 1, &made); break;
    case 4: status = fermata_team_join(seat_.team, seat_.members, &member); break;
    case 5:
      status = fermata_team_join(seat_.team, seat_.rank, &member);
      expected = FERMATA_ERR_BUSY;
      break;
    default:
      if (split_ != Split::kNone) return true;  // resume would continue the split-phase call
      status = fermata_resume(seat_.member);
      break;
  }
  return returns(status, {expected}, "a call with an illegal handle") &&
         seat_.holds(made == nullptr && member == nullptr ? "" : "a handle despite an error");
}

}  // namespace fermata::test
