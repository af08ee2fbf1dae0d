#include "sequence.hpp"

#include <algorithm>
#include <iterator>

#include "../../operation.hpp"
#include "fermata/collectives.hpp"

namespace fermata::test {
namespace {

constexpr std::size_t kMostRequests = 6;
constexpr std::size_t kCounts[] = {0, 1, 3, 7, 8, 40, 257, 2100};

void count_call(fermata_request*, int status, void* user) {
  if (status == FERMATA_OK) ++*static_cast<int*>(user);
}

}  // namespace

Sequence::Sequence(Seat& seat, std::uint64_t seed)
    : seat_(seat), seed_(seed), common_(seed), own_(seed * 64 + static_cast<std::uint64_t>(seat.rank) + 1) {}

Shape Sequence::random_shape() {
  Shape s;
  s.collective = static_cast<int>(draw(common_, 10)) + 1;
  s.element = kElements[draw(common_, std::size(kElements))];
  s.count = kCounts[draw(common_, std::size(kCounts))];
  s.root = static_cast<int>(draw(common_, static_cast<std::uint64_t>(seat_.members)));
  s.in_place = draw(common_, 4) == 0;
  s.irregular = draw(common_, 4) == 0 && rules_of(s.collective).has_several();
  s.seed = seed_ * 1000 + ++shapes_;
  return s;
}

bool Sequence::returns(int status, std::initializer_list<int> allowed, const char* call) {
  if (std::find(allowed.begin(), allowed.end(), status) != allowed.end()) return true;
  std::string expected;
  for (const int one : allowed) expected += std::string(expected.empty() ? "" : " or ") + std::to_string(one);
  return seat_.holds("sequence " + std::to_string(seed_) + ", " + at_ + ": " + call + " returned " +
                     std::to_string(status) + " (" + fermata_error_detail() + ") instead of " + expected);
}

// The result is checked once, when the model learns that the request is over.
bool Sequence::is_over(Request& request) {
  request.state = State::kIdle;
  if (!seat_.holds(request.instance->check())) return false;
  if (request.has_callback) ++request.expected;
  if (request.called_back != request.expected)
    return seat_.holds("sequence " + std::to_string(seed_) + ", " + at_ + ": a callback ran " +
                       std::to_string(request.called_back) + " times instead of " +
                       std::to_string(request.expected));
  return true;
}

bool Sequence::wait(Request& request) {
  if (!returns(fermata_request_wait(request.handle), {FERMATA_OK}, "fermata_request_wait")) return false;
  return request.state == State::kIdle || is_over(request);
}

void Sequence::drop(std::size_t which) {
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(which));
}

// ---- Waits that end before their call is over

int Sequence::interrupt(fermata_member*, void* user) {
  return draw(*static_cast<Random*>(user), 3) == 0 ? 1 : 0;
}

// Sometimes sets a hook that interrupts, or a time limit that is too short.
bool Sequence::grow_impatient() {
  const std::uint64_t how = draw(own_, 8);
  if (how == 0)
    return returns(fermata_member_set_idle_hook(seat_.member, interrupt, &own_), {FERMATA_OK},
                   "set_idle_hook");
  return how != 1 || returns(fermata_member_set_timeout(seat_.member, 1e-6), {FERMATA_OK}, "set_timeout");
}

bool Sequence::grow_patient() {
  return returns(fermata_member_set_idle_hook(seat_.member, nullptr, nullptr), {FERMATA_OK},
                 "set_idle_hook") &&
         returns(fermata_member_set_timeout(seat_.member, 10 * FERMATA_TEST_SCALE), {FERMATA_OK},
                 "set_timeout");
}

// After a timeout or an interruption, every other call is refused, and fermata_resume continues the call.
bool Sequence::goes_on(int status, const char* call) {
  for (int n = 0; status == FERMATA_ERR_TIMEOUT || status == FERMATA_ERR_INTERRUPTED; ++n) {
    if (n > 20 && !grow_patient()) return false;
    std::int64_t one = 1;
    if (!returns(fermata_test(seat_.member), {FERMATA_OK, FERMATA_PENDING}, "fermata_test") ||
        !returns(fermata_allreduce(seat_.member, FERMATA_IN_PLACE, &one, 1, FERMATA_INT64, FERMATA_SUM),
                 {FERMATA_ERR_BUSY}, "a second call"))
      return false;
    status = fermata_resume(seat_.member);
  }
  return returns(status, {FERMATA_OK}, call) && grow_patient();
}

// ---- Collective steps

bool Sequence::call() {
  const Shape shape = random_shape();
  at_ = "call " + describe(shape);
  const Instance instance(shape, seat_.rank, seat_.members);
  const bool as_data = draw(common_, 2) == 0;
  if (!grow_impatient()) return false;
  const int status = instance.call(seat_.member, as_data);
  if (split_ != Split::kNone) return returns(status, {FERMATA_ERR_BUSY}, "a call") && grow_patient();
  return goes_on(status, "a call") && seat_.holds(instance.check());
}

bool Sequence::barrier() {
  at_ = "barrier";
  if (split_ != Split::kNone)
    return returns(fermata_barrier(seat_.member), {FERMATA_ERR_BUSY}, "fermata_barrier");
  return grow_impatient() && goes_on(fermata_barrier(seat_.member), "fermata_barrier");
}

bool Sequence::begin() {
  const Shape shape = random_shape();
  at_ = "begin " + describe(shape);
  auto request = std::make_unique<Request>();
  request->instance = std::make_unique<Instance>(shape, seat_.rank, seat_.members);
  const int status = fermata_begin(seat_.member, &request->instance->operation(), &request->handle);
  if (split_ != Split::kNone)
    return returns(status, {FERMATA_ERR_BUSY}, "fermata_begin") &&
           seat_.holds(request->handle == nullptr ? "" : "a handle despite BUSY");
  if (!returns(status, {FERMATA_OK}, "fermata_begin")) return false;
  request->state = State::kBegun;
  requests_.push_back(std::move(request));
  return true;
}

bool Sequence::prepare() {
  const Shape shape = random_shape();
  at_ = "prepare " + describe(shape);
  auto request = std::make_unique<Request>();
  request->instance = std::make_unique<Instance>(shape, seat_.rank, seat_.members);
  request->prepared = true;
  request->seed = shape.seed;
  const int status = fermata_prepare(seat_.member, &request->instance->operation(), &request->handle);
  if (split_ != Split::kNone) return returns(status, {FERMATA_ERR_BUSY}, "fermata_prepare");
  if (!returns(status, {FERMATA_OK}, "fermata_prepare")) return false;
  if (draw(own_, 2) == 0) {
    request->has_callback = true;
    const int set = fermata_request_set_callback(request->handle, count_call, &request->called_back);
    if (!returns(set, {FERMATA_OK}, "fermata_request_set_callback")) return false;
  }
  requests_.push_back(std::move(request));
  return true;
}

// Starts a prepared operation. A member that has not waited for its last use waits first, or is refused.
bool Sequence::start() {
  const std::uint64_t which = draw(common_, kMostRequests);
  if (which >= requests_.size() || !requests_[which]->prepared) return true;
  Request& request = *requests_[which];
  at_ = "start of request " + std::to_string(which);
  if (request.state == State::kBegun && !wait(request)) return false;
  request.instance->fill(request.seed + 1000000 * ++request.starts);
  if (!returns(fermata_request_start(request.handle), {FERMATA_OK}, "fermata_request_start")) return false;
  request.state = State::kBegun;
  return true;
}

bool Sequence::free_one() {
  const std::uint64_t which = draw(common_, kMostRequests);
  if (which >= requests_.size()) return true;
  at_ = "free of request " + std::to_string(which);
  if (!wait(*requests_[which])) return false;
  if (!returns(fermata_request_free(requests_[which]->handle), {FERMATA_OK}, "fermata_request_free"))
    return false;
  drop(which);
  return true;
}

bool Sequence::arrive() {
  const bool with_data = draw(common_, 2) == 0;
  at_ = with_data ? "arrive_with" : "arrive";
  std::int64_t in = sum_in_, out = sum_out_;
  std::int64_t* const to = split_ == Split::kNone ? &sum_out_ : &out;
  if (split_ == Split::kNone) in = sum_in_ = seat_.rank + 1;
  const fermata_operation o =
      operation(FERMATA_ALLREDUCE, split_ == Split::kNone ? &sum_in_ : &in, to, 1, FERMATA_INT64);
  const int status = with_data ? fermata_arrive_with(seat_.member, &o) : fermata_arrive(seat_.member);
  if (!returns(status, {split_ == Split::kNone ? FERMATA_OK : FERMATA_ERR_BUSY}, at_.c_str())) return false;
  if (split_ == Split::kNone) split_ = with_data ? Split::kData : Split::kBarrier;
  return true;
}

bool Sequence::depart() {
  at_ = "depart";
  if (split_ == Split::kNone)
    return returns(fermata_depart(seat_.member), {FERMATA_ERR_ARGUMENT}, "fermata_depart");
  for (std::uint64_t n = draw(own_, 3); n > 0; --n)
    if (!returns(fermata_test(seat_.member), {FERMATA_OK, FERMATA_PENDING}, "fermata_test")) return false;
  if (!grow_impatient() || !goes_on(fermata_depart(seat_.member), "fermata_depart")) return false;
  const std::int64_t sum = std::int64_t{seat_.members} * (seat_.members + 1) / 2;
  const bool right = split_ != Split::kData || sum_out_ == sum;
  split_ = Split::kNone;
  return seat_.holds(right ? "" : "sequence " + std::to_string(seed_) + ": a wrong sum after fermata_depart");
}

bool Sequence::split() {
  at_ = "split";
  const auto colours = static_cast<int>(draw(common_, 3)) + 1;
  const bool backwards = draw(common_, 2) == 0;
  const int colour = seat_.rank % colours == 2 ? -1 : seat_.rank % colours;
  fermata_member* sub = nullptr;
  const int status = fermata_team_split(seat_.member, colour, backwards ? -seat_.rank : seat_.rank, &sub);
  if (split_ != Split::kNone) return returns(status, {FERMATA_ERR_BUSY}, "fermata_team_split");
  if (!returns(status, {FERMATA_OK}, "fermata_team_split")) return false;
  const Shape shape = random_shape();
  if (colour < 0) return seat_.holds(sub == nullptr ? "" : "a member of no team");
  const int rank = fermata_member_rank(sub), members = fermata_member_count(sub);
  const int before = seat_.rank / colours;
  const int expected = backwards ? members - 1 - before : before;
  Shape within = shape;
  within.root = shape.root % members;
  const Instance instance(within, rank, members);
  const bool good =
      seat_.holds(rank == expected ? ""
                                   : "sequence " + std::to_string(seed_) + ": rank " + std::to_string(rank) +
                                         " of a split") &&
      returns(fermata_member_set_timeout(sub, 10 * FERMATA_TEST_SCALE), {FERMATA_OK}, "set_timeout") &&
      returns(instance.call(sub, true), {FERMATA_OK}, "a call of a split team") &&
      seat_.holds(instance.check());
  fermata_member_leave(sub);
  return good;
}

// ---- Ends

bool Sequence::drain() {
  if (split_ != Split::kNone && !depart()) return false;
  at_ = "drain";
  while (!requests_.empty()) {
    Request& last = *requests_.back();
    if (!wait(last) || !returns(fermata_request_free(last.handle), {FERMATA_OK}, "fermata_request_free"))
      return false;
    requests_.pop_back();
  }
  return true;
}

bool Sequence::end_well() {
  at_ = "end";
  return drain() && returns(fermata_barrier(seat_.member), {FERMATA_OK}, "fermata_barrier") &&
         returns(fermata_progress(seat_.member, 0), {FERMATA_OK}, "fermata_progress");
}

// After `status`, every call reports it, all requests are over, and each may be freed.
bool Sequence::is_broken_by(int status) {
  const Shape shape = random_shape();
  const Instance instance(shape, seat_.rank, seat_.members);
  fermata_request* request = nullptr;
  const bool good =
      returns(fermata_barrier(seat_.member), {status}, "fermata_barrier") &&
      returns(fermata_arrive(seat_.member), {status}, "fermata_arrive") &&
      returns(fermata_begin(seat_.member, &instance.operation(), &request), {status}, "fermata_begin") &&
      returns(instance.call(seat_.member, true), {status}, "a call");
  return give_back(status) && good;
}

// Operations that were over before the team broke have ended well.
bool Sequence::give_back(int status) {
  bool good = true;
  for (const auto& one : requests_)
    good = returns(fermata_request_wait(one->handle), {FERMATA_OK, status}, "fermata_request_wait") &&
           returns(fermata_request_free(one->handle), {FERMATA_OK}, "fermata_request_free") && good;
  requests_.clear();
  return good;
}

// When one member breaks the team, nobody is in an earlier step; others may still be leaving this barrier.
bool Sequence::meet_before(int status, bool breaks) {
  const int met = fermata_barrier(seat_.member);
  return breaks ? returns(met, {FERMATA_OK}, "fermata_barrier")
                : returns(met, {FERMATA_OK, status}, "fermata_barrier");
}

// A call that needs no waiting does not notice an abort, so the aborting member takes no further part.
bool Sequence::end_by_abort() {
  at_ = "end by an abort";
  if (split_ != Split::kNone && !depart()) return false;
  const bool aborts =
      static_cast<int>(draw(common_, static_cast<std::uint64_t>(seat_.members))) == seat_.rank;
  if (!meet_before(FERMATA_ERR_BROKEN, aborts)) return false;
  if (!aborts) return is_broken_by(FERMATA_ERR_BROKEN);
  fermata_team_abort(seat_.team);
  return give_back(FERMATA_ERR_BROKEN);
}

bool Sequence::end_by_leaving() {
  at_ = "end by leaving";
  if (!drain()) return false;
  const bool leaves =
      static_cast<int>(draw(common_, static_cast<std::uint64_t>(seat_.members))) == seat_.rank;
  if (!meet_before(FERMATA_ERR_MEMBER_LOST, leaves)) return false;
  return leaves || is_broken_by(FERMATA_ERR_MEMBER_LOST);  // the leaving member's body ends
}

// One member makes a different call: every other one learns of it at the latest in its next call that
// synchronizes.
bool Sequence::end_by_mismatch() {
  at_ = "end by a mismatch";
  if (!drain()) return false;
  std::int64_t one = 1;
  double other[2] = {};
  const bool differs =
      static_cast<int>(draw(common_, static_cast<std::uint64_t>(seat_.members))) == seat_.rank;
  if (!meet_before(FERMATA_ERR_MISMATCH, differs)) return false;
  const int first =
      differs ? fermata_allreduce(seat_.member, FERMATA_IN_PLACE, other, 2, FERMATA_DOUBLE, FERMATA_MAX)
              : fermata_allreduce(seat_.member, FERMATA_IN_PLACE, &one, 1, FERMATA_INT64, FERMATA_SUM);
  if (!returns(first, {FERMATA_OK, FERMATA_ERR_MISMATCH}, "fermata_allreduce")) return false;
  return returns(fermata_barrier(seat_.member), {FERMATA_ERR_MISMATCH}, "fermata_barrier") &&
         is_broken_by(FERMATA_ERR_MISMATCH);
}

bool Sequence::run(int steps) {
  constexpr Step kSteps[] = {&Sequence::call,     &Sequence::call,   &Sequence::call,   &Sequence::barrier,
                             &Sequence::begin,    &Sequence::begin,  &Sequence::begin,  &Sequence::prepare,
                             &Sequence::start,    &Sequence::start,  &Sequence::start,  &Sequence::start,
                             &Sequence::free_one, &Sequence::arrive, &Sequence::depart, &Sequence::depart,
                             &Sequence::split};
  for (int n = 0; n < steps; ++n) {
    const Step step = kSteps[draw(common_, std::size(kSteps))];
    const bool adds = step == &Sequence::begin || step == &Sequence::prepare;
    if (adds && requests_.size() >= kMostRequests) continue;
    if (!(this->*step)()) return false;
    for (std::uint64_t own = draw(own_, 3); own > 0; --own)
      if (!local()) return false;
    seat_.count_one();
  }
  constexpr Step kEnds[] = {&Sequence::end_well, &Sequence::end_by_abort, &Sequence::end_by_leaving,
                            &Sequence::end_by_mismatch};
  const Step end = kEnds[draw(common_, std::size(kEnds))];
  return (this->*(seat_.members == 1 ? &Sequence::end_well : end))();
}

}  // namespace fermata::test
