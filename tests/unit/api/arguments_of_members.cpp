// Arguments of queries about a member, and of a member's calls without data.
#include <cmath>

#include "../../operation.hpp"
#include "arguments.hpp"

namespace fermata::test {

namespace {

void members(Checks& all) {
  all["fermata_member_leave"] = [](World&) { fermata_member_leave(nullptr); };
  all["fermata_member_rank"] = [](World&) { REFUSED(fermata_member_rank(nullptr)); };
  all["fermata_member_count"] = [](World&) { REFUSED(fermata_member_count(nullptr)); };
  all["fermata_member_set_timeout"] = [](World& w) {
    REFUSED(fermata_member_set_timeout(nullptr, 1));
    REFUSED(fermata_member_set_timeout(w.member[0], kNan));
  };
  all["fermata_member_set_bounded"] = [](World&) { REFUSED(fermata_member_set_bounded(nullptr, 1)); };
  all["fermata_member_set_idle_sleep"] = [](World& w) {
    REFUSED(fermata_member_set_idle_sleep(nullptr, 1));
    REFUSED(fermata_member_set_idle_sleep(w.member[0], std::nan("")));
  };
  all["fermata_member_set_idle_hook"] = [](World&) {
    REFUSED(fermata_member_set_idle_hook(nullptr, nullptr, nullptr));
  };
}

void barriers_and_arrivals(Checks& all) {
  all["fermata_resume"] = [](World& w) {
    REFUSED(fermata_resume(nullptr));
    REFUSED(fermata_resume(w.member[0]));
  };
  all["fermata_barrier"] = [](World&) { REFUSED(fermata_barrier(nullptr)); };
  all["fermata_barrier_tagged"] = [](World& w) {
    REFUSED(fermata_barrier_tagged(nullptr, 1));
    FAILS(fermata_barrier_tagged(w.member[0], 1), FERMATA_ERR_UNSUPPORTED);
  };
  all["fermata_arrive"] = [](World&) { REFUSED(fermata_arrive(nullptr)); };
  all["fermata_arrive_with"] = [](World& w) {
    std::int64_t in = 0;
    std::int64_t out = 0;
    fermata_operation o = operation(FERMATA_ALLREDUCE, &in, &out, 1, FERMATA_INT64);
    REFUSED(fermata_arrive_with(nullptr, &o));
    REFUSED(fermata_arrive_with(w.member[0], nullptr));
    o.in = nullptr;
    REFUSED(fermata_arrive_with(w.member[0], &o));
    o.in = &in;
    o.out = FERMATA_IN_PLACE;
    REFUSED(fermata_arrive_with(w.member[0], &o));
    o.out = &out;
    o.count = 8;
    FAILS(fermata_arrive_with(w.member[0], &o), FERMATA_ERR_UNSUPPORTED);
    o.count = 1;
    o.op = 77;
    FAILS(fermata_arrive_with(w.member[0], &o), FERMATA_ERR_UNSUPPORTED);
    o.op = FERMATA_SUM;
    o.collective = FERMATA_SCAN;
    FAILS(fermata_arrive_with(w.member[0], &o), FERMATA_ERR_UNSUPPORTED);
    o.collective = FERMATA_ALLREDUCE;
    o.ordered = 3;
    REFUSED(fermata_arrive_with(w.member[0], &o));
    o.ordered = FERMATA_LEFT_TO_RIGHT;
    o.type = FERMATA_DOUBLE;
    FAILS(fermata_arrive_with(w.member[0], &o), FERMATA_ERR_UNSUPPORTED);
    o.type = FERMATA_INT64;
    o.collective = FERMATA_REDUCE;
    o.root = 99;
    REFUSED(fermata_arrive_with(w.member[0], &o));
    o.size = 1;
    REFUSED(fermata_arrive_with(w.member[0], &o));
  };
  all["fermata_depart"] = [](World& w) {
    REFUSED(fermata_depart(nullptr));
    REFUSED(fermata_depart(w.member[0]));
  };
  all["fermata_test"] = [](World&) { REFUSED(fermata_test(nullptr)); };
  all["fermata_progress"] = [](World& w) {
    REFUSED(fermata_progress(nullptr, 1));
    FAILS(fermata_progress(w.member[1], kNan), FERMATA_OK);
    FAILS(fermata_progress(w.member[0], kNan), FERMATA_PENDING);
  };
}

}  // namespace

void add_members(Checks& all) {
  members(all);
  barriers_and_arrivals(all);
}

}  // namespace fermata::test
