// Arguments of the collectives and requests.
#include <utility>

#include "arguments.hpp"

namespace fermata::test {
namespace {

// The arguments that all collectives with data refuse. call(member, in, out, count, type).
template <class Call>
void refuses_data(World& w, Call&& call) {
  double* const x = w.x.data();
  double* const y = w.y.data();
  REFUSED(call(nullptr, x, y, 1, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], x, nullptr, 100, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], x, y, 100, -1));
  REFUSED(call(w.member[0], x, y, 100, FERMATA_INT16_INT + 1));
  REFUSED(call(w.member[0], x, y, SIZE_MAX, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], x, y, SIZE_MAX / 8, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], x, y, SIZE_MAX / 8 + 1, FERMATA_DOUBLE));  // would overflow to 8 bytes, or 0
}
template <class Call>
void refuses_input(World& w, Call&& call) {
  REFUSED(call(w.member[0], nullptr, w.y.data(), 100, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], w.x.data() + 1, w.x.data(), 100, FERMATA_DOUBLE));  // they overlap
  REFUSED(call(w.member[0], w.x.data(), w.x.data() + 99, 100, FERMATA_DOUBLE));
}
// On lines and on blocks: FERMATA_IN_PLACE for both sides, and for the side that cannot be in place.
template <class Call>
void refuses_to_write_in_place(World& w, Call&& call) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    REFUSED(call(w.member[0], FERMATA_IN_PLACE, FERMATA_IN_PLACE, n, FERMATA_DOUBLE));
    REFUSED(call(w.member[0], w.x.data(), FERMATA_IN_PLACE, n, FERMATA_DOUBLE));
    REFUSED(call(w.member[0], FERMATA_IN_PLACE, nullptr, n, FERMATA_DOUBLE));
  }
}
// The same when another member is the root.
template <class Call>
void refuses_places_of_the_root(World& w, Call&& call) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    REFUSED(call(w.member[0], FERMATA_IN_PLACE, nullptr, n, FERMATA_DOUBLE));
    REFUSED(call(w.member[0], FERMATA_IN_PLACE, FERMATA_IN_PLACE, n, FERMATA_DOUBLE));
  }
}
// call(member, op, type)
template <class Call>
void refuses_operators(World& w, Call&& call) {
  REFUSED(call(w.member[0], -1, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], FERMATA_MAXLOC + 1, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], FERMATA_XOR, FERMATA_DOUBLE));
  REFUSED(call(w.member[0], FERMATA_MINLOC, FERMATA_INT64));
  REFUSED(call(w.member[0], FERMATA_SUM, FERMATA_DOUBLE_INT));
}
template <class Call>
void refuses_roots(World& w, Call&& call) {
  REFUSED(call(w.member[0], -1));
  REFUSED(call(w.member[0], kMembers));
  REFUSED(call(w.member[0], 1 << 30));
}

void broadcast_and_reduce(Checks& all) {
  all["fermata_broadcast"] = [](World& w) {
    refuses_roots(w, [&](fermata_member* m, int root) { return fermata_broadcast(m, w.x.data(), 8, root); });
    refuses_roots(w,
                  [&](fermata_member* m, int root) { return fermata_broadcast(m, w.x.data(), 100, root); });
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{100}}) {
      REFUSED(fermata_broadcast(nullptr, w.x.data(), bytes, 0));
      REFUSED(fermata_broadcast(w.member[0], nullptr, bytes, 0));
      REFUSED(fermata_broadcast(w.member[0], nullptr, bytes, 1));
      REFUSED(fermata_broadcast(w.member[0], FERMATA_IN_PLACE, bytes, 0));
      REFUSED(fermata_broadcast(w.member[0], FERMATA_IN_PLACE, bytes, 1));
    }
    REFUSED(fermata_broadcast(w.member[0], w.x.data(), SIZE_MAX, 0));
  };
  all["fermata_reduce"] = [](World& w) {
    const auto call = [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_reduce(m, in, out, n, type, FERMATA_SUM, 0);
    };
    refuses_data(w, call);
    refuses_input(w, call);
    refuses_to_write_in_place(w, call);
    refuses_places_of_the_root(w, [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_reduce(m, in, out, n, type, FERMATA_SUM, 1);
    });
    REFUSED(fermata_reduce(w.member[0], w.x.data(), nullptr, 1, FERMATA_DOUBLE, FERMATA_SUM, 0));
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}}) {
      refuses_operators(w, [&](fermata_member* m, int op, int t) {
        return fermata_reduce(m, w.x.data(), w.y.data(), n, t, op, 0);
      });
      refuses_roots(w, [&](fermata_member* m, int root) {
        return fermata_reduce(m, w.x.data(), w.y.data(), n, FERMATA_DOUBLE, FERMATA_SUM, root);
      });
    }
  };
}

void gather_and_scatter(Checks& all) {
  all["fermata_gather"] = [](World& w) {
    const auto call = [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_gather(m, in, out, n, type, 0);
    };
    refuses_data(w, call);
    refuses_input(w, call);
    refuses_to_write_in_place(w, call);
    const auto to_another = [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_gather(m, in, out, n, type, 1);
    };
    refuses_places_of_the_root(w, to_another);
    REFUSED(to_another(w.member[0], FERMATA_IN_PLACE, w.y.data(), 1, FERMATA_DOUBLE));
    refuses_roots(w, [&](fermata_member* m, int root) {
      return fermata_gather(m, w.x.data(), w.y.data(), 1, FERMATA_DOUBLE, root);
    });
  };
  all["fermata_scatter"] = [](World& w) {
    const auto call = [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_scatter(m, in, out, n, type, 0);
    };
    refuses_data(w, call);
    refuses_input(w, call);
    for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
      REFUSED(fermata_scatter(w.member[0], FERMATA_IN_PLACE, w.y.data(), n, FERMATA_DOUBLE, 0));
      REFUSED(fermata_scatter(w.member[0], FERMATA_IN_PLACE, FERMATA_IN_PLACE, n, FERMATA_DOUBLE, 0));
      REFUSED(fermata_scatter(w.member[0], nullptr, FERMATA_IN_PLACE, n, FERMATA_DOUBLE, 1));
    }
    refuses_roots(w, [&](fermata_member* m, int root) {
      return fermata_scatter(m, w.x.data(), w.y.data(), 1, FERMATA_DOUBLE, root);
    });
  };
}

void collectives_without_root(Checks& all) {
  all["fermata_allreduce"] = [](World& w) {
    const auto call = [](fermata_member* m, const void* in, void* out, size_t n, int type) {
      return fermata_allreduce(m, in, out, n, type, FERMATA_SUM);
    };
    refuses_data(w, call);
    refuses_input(w, call);
    refuses_to_write_in_place(w, call);
    REFUSED(fermata_allreduce(w.member[0], nullptr, w.y.data(), 1, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_allreduce(w.member[0], w.x.data(), nullptr, 1, FERMATA_DOUBLE, FERMATA_SUM));
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}})
      refuses_operators(w, [&](fermata_member* m, int op, int type) {
        return fermata_allreduce(m, w.x.data(), w.y.data(), n, type, op);
      });
  };
  all["fermata_allgather"] = [](World& w) {
    refuses_data(w, fermata_allgather);
    refuses_input(w, fermata_allgather);
    refuses_to_write_in_place(w, fermata_allgather);
  };
  all["fermata_alltoall"] = [](World& w) {
    refuses_data(w, fermata_alltoall);
    refuses_input(w, fermata_alltoall);
    refuses_to_write_in_place(w, fermata_alltoall);
  };
  using Folding = int (*)(fermata_member*, const void*, void*, size_t, int, int);
  const std::pair<const char*, Folding> folding[] = {{"fermata_reduce_scatter", fermata_reduce_scatter},
                                                     {"fermata_scan", fermata_scan},
                                                     {"fermata_exscan", fermata_exscan}};
  for (const auto& [name, f] : folding)
    all[name] = [f](World& w) {
      const auto call = [f](fermata_member* m, const void* in, void* out, size_t n, int type) {
        return f(m, in, out, n, type, FERMATA_SUM);
      };
      refuses_data(w, call);
      refuses_input(w, call);
      refuses_to_write_in_place(w, call);
      refuses_operators(
          w, [&](fermata_member* m, int op, int type) { return f(m, w.x.data(), w.y.data(), 1, type, op); });
    };
}

void irregular_rooted_collectives(Checks& all) {
  all["fermata_gatherv"] = [](World& w) {
    double* const x = w.x.data();
    double* const y = w.y.data();
    REFUSED(fermata_gatherv(nullptr, x, 1, y, w.counts, nullptr, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], nullptr, 1, y, w.counts, nullptr, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], x, 1, nullptr, w.counts, nullptr, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], x, 1, y, nullptr, nullptr, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], x, 1, y, w.huge, nullptr, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], x, 1, y, w.counts, w.huge, FERMATA_DOUBLE, 0));
    REFUSED(fermata_gatherv(w.member[0], x, 1, y, w.counts, nullptr, 99, 0));
    const size_t behind[] = {1, 2};
    REFUSED(fermata_gatherv(w.member[0], x, 1, x, w.counts, behind, FERMATA_DOUBLE, -1));
    // in place would be x + 1
    REFUSED(fermata_gatherv(w.member[0], x + 2, 1, x, w.counts, behind, FERMATA_DOUBLE, 0));
    // both blocks are at 1
    REFUSED(fermata_gatherv(w.member[0], x, 1, y, w.counts, w.counts, FERMATA_DOUBLE, 0));
    const size_t none[kMembers] = {};
    REFUSED(fermata_gatherv(w.member[0], x, 1, nullptr, none, nullptr, FERMATA_DOUBLE, 0));
  };
  all["fermata_scatterv"] = [](World& w) {
    double* const x = w.x.data();
    double* const y = w.y.data();
    REFUSED(fermata_scatterv(nullptr, x, w.counts, nullptr, y, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], nullptr, w.counts, nullptr, y, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], x, nullptr, nullptr, y, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], x, w.huge, nullptr, y, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], x, w.counts, w.huge, y, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], x, w.counts, nullptr, nullptr, 1, FERMATA_DOUBLE, 0));
    REFUSED(fermata_scatterv(w.member[0], x, w.counts, nullptr, y, 1, FERMATA_DOUBLE, kMembers));
    REFUSED(fermata_scatterv(w.member[0], x, w.counts, nullptr, x + 1, 1, FERMATA_DOUBLE, 0));
    const size_t none[kMembers] = {};
    REFUSED(fermata_scatterv(w.member[0], nullptr, none, nullptr, y, 1, FERMATA_DOUBLE, 0));
  };
}

void irregular_collectives_without_root(Checks& all) {
  all["fermata_allgatherv"] = [](World& w) {
    double* const x = w.x.data();
    double* const y = w.y.data();
    REFUSED(fermata_allgatherv(nullptr, x, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], nullptr, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], x, nullptr, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], x, y, nullptr, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], x, y, w.huge, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], x, y, w.counts, w.huge, FERMATA_DOUBLE));
    REFUSED(fermata_allgatherv(w.member[0], x + 1, x, w.counts, nullptr, FERMATA_DOUBLE));
    const size_t longer[] = {1, 2}, crossed[] = {2, 1};
    REFUSED(fermata_allgatherv(w.member[0], x, y, longer, crossed, FERMATA_DOUBLE));
  };
  all["fermata_reduce_scatterv"] = [](World& w) {
    double* const x = w.x.data();
    double* const y = w.y.data();
    REFUSED(fermata_reduce_scatterv(nullptr, x, w.counts, nullptr, y, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], nullptr, w.counts, nullptr, y, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, nullptr, nullptr, y, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.huge, nullptr, y, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.counts, w.huge, y, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.counts, nullptr, nullptr, FERMATA_DOUBLE, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.counts, nullptr, y, 99, FERMATA_SUM));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.counts, nullptr, y, FERMATA_DOUBLE, FERMATA_XOR));
    REFUSED(fermata_reduce_scatterv(w.member[0], x, w.counts, nullptr, x + 1, FERMATA_DOUBLE, FERMATA_SUM));
    const size_t others[kMembers] = {0, 2};
    REFUSED(fermata_reduce_scatterv(w.member[0], FERMATA_IN_PLACE, others, nullptr, nullptr, FERMATA_DOUBLE,
                                    FERMATA_SUM));
  };
  all["fermata_alltoallv"] = [](World& w) {
    double* const x = w.x.data();
    double* const y = w.y.data();
    REFUSED(fermata_alltoallv(nullptr, x, w.counts, nullptr, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], nullptr, w.counts, nullptr, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, nullptr, nullptr, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.counts, nullptr, nullptr, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.counts, nullptr, y, nullptr, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.huge, nullptr, y, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.counts, nullptr, y, w.huge, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.counts, nullptr, x + 1, w.counts, nullptr, FERMATA_DOUBLE));
    REFUSED(fermata_alltoallv(w.member[0], x, w.counts, nullptr, y, w.counts, w.counts, FERMATA_DOUBLE));
  };
}

void operations(Checks& all) {
  const auto refused = [](World& w, auto&& call) {
    const auto with = [&](auto&& spoil, int status = FERMATA_ERR_ARGUMENT) {
      fermata_operation o = w.good(w.x.data());
      spoil(o);
      FAILS(call(&o), status);
    };
    REFUSED(call(nullptr));
    with([](fermata_operation& o) { o.size = 0; });
    with([](fermata_operation& o) { o.collective = 0; });
    with([](fermata_operation& o) { o.collective = FERMATA_EXSCAN + 1; });
    with([](fermata_operation& o) { o.out = nullptr; });
    with([](fermata_operation& o) { o.in = nullptr; });
    with([](fermata_operation& o) { o.in = static_cast<double*>(o.out) + 1; });
    with([](fermata_operation& o) { o.count = SIZE_MAX / 8 + 2; });
    with([](fermata_operation& o) { o.type = 99; });
    with([](fermata_operation& o) { o.op = 99; });
    with([](fermata_operation& o) { o.collective = FERMATA_REDUCE, o.root = 2; });
    with([](fermata_operation& o) { o.element = 24; });
    with([](fermata_operation& o) { o.element = 4097; }, FERMATA_ERR_UNSUPPORTED);
    with([](fermata_operation& o) { o.irregular = 1; }, FERMATA_ERR_UNSUPPORTED);
    with([&](fermata_operation& o) { o.out_counts = w.counts; });
    with([&](fermata_operation& o) { o.in_displacements = w.counts; });
    with([](fermata_operation& o) { o.out = FERMATA_IN_PLACE; });
    with([](fermata_operation& o) { o.collective = FERMATA_GATHER, o.root = 1, o.in = FERMATA_IN_PLACE; });
    with(
        [](fermata_operation& o) { o.collective = FERMATA_BROADCAST, o.root = 1, o.out = FERMATA_IN_PLACE; });
  };
  all["fermata_execute"] = [refused](World& w) {
    refused(w, [&](const fermata_operation* o) { return fermata_execute(w.member[0], o); });
    const fermata_operation o = w.good(w.x.data());
    REFUSED(fermata_execute(nullptr, &o));
  };
  all["fermata_begin"] = [refused](World& w) {
    fermata_request* out = nullptr;
    refused(w, [&](const fermata_operation* o) { return fermata_begin(w.member[0], o, &out); });
    const fermata_operation o = w.good(w.x.data());
    REFUSED(fermata_begin(nullptr, &o, &out));
    REFUSED(fermata_begin(w.member[0], &o, nullptr));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_prepare"] = [refused](World& w) {
    fermata_request* out = nullptr;
    refused(w, [&](const fermata_operation* o) { return fermata_prepare(w.member[0], o, &out); });
    const fermata_operation o = w.good(w.x.data());
    REFUSED(fermata_prepare(nullptr, &o, &out));
    REFUSED(fermata_prepare(w.member[0], &o, nullptr));
    EXPECT_EQ(out, nullptr);
  };
}

void waits_for_requests(Checks& all) {
  all["fermata_request_test"] = [](World&) { REFUSED(fermata_request_test(nullptr)); };
  all["fermata_request_wait"] = [](World&) { REFUSED(fermata_request_wait(nullptr)); };
  all["fermata_request_wait_all"] = [](World&) {
    REFUSED(fermata_request_wait_all(nullptr, 1));
    FAILS(fermata_request_wait_all(nullptr, 0), FERMATA_OK);
  };
  all["fermata_request_wait_any"] = [](World& w) {
    std::size_t index = 7;
    fermata_request* one[] = {w.idle};
    fermata_request* none[] = {nullptr};
    REFUSED(fermata_request_wait_any(nullptr, 1, &index));
    REFUSED(fermata_request_wait_any(one, 1, nullptr));
    REFUSED(fermata_request_wait_any(one, 0, &index));
    REFUSED(fermata_request_wait_any(none, 1, &index));
    EXPECT_EQ(index, 7u);
  };
  all["fermata_request_test_any"] = [](World& w) {
    size_t index = 77;
    fermata_request* one[] = {w.idle};
    fermata_request* none[] = {nullptr};
    REFUSED(fermata_request_test_any(nullptr, 1, &index));
    REFUSED(fermata_request_test_any(one, 1, nullptr));
    REFUSED(fermata_request_test_any(one, 0, &index));
    REFUSED(fermata_request_test_any(none, 1, &index));
    EXPECT_EQ(index, 77u);
  };
}

void requests(Checks& all) {
  all["fermata_request_start"] = [](World& w) {
    REFUSED(fermata_request_start(nullptr));
    EXPECT_EQ(fermata_request_start(w.running), FERMATA_ERR_BUSY);
  };
  all["fermata_chain"] = [](World& w) {
    fermata_request* out = nullptr;
    fermata_request* none[] = {nullptr};
    fermata_request* begun[] = {w.idle};
    REFUSED(fermata_chain(nullptr, 1, &out));
    REFUSED(fermata_chain(begun, 1, nullptr));
    REFUSED(fermata_chain(begun, 0, &out));
    REFUSED(fermata_chain(none, 1, &out));
    REFUSED(fermata_chain(begun, 1, &out));
    EXPECT_EQ(out, nullptr);
  };
  all["fermata_progress_thread"] = [](World&) {
    FAILS(fermata_progress_thread(0), FERMATA_OK);  // every number is valid
    FAILS(fermata_progress_thread(-1), FERMATA_OK);
  };
  all["fermata_request_reset"] = [](World& w) {
    REFUSED(fermata_request_reset(nullptr, w.x.data(), w.y.data()));
    REFUSED(fermata_request_reset(w.idle, nullptr, w.y.data()));
    REFUSED(fermata_request_reset(w.idle, w.x.data(), w.x.data() + 1));
    REFUSED(fermata_request_reset(w.idle, w.x.data(), FERMATA_IN_PLACE));
    FAILS(fermata_request_reset(w.running, w.x.data(), w.y.data()), FERMATA_ERR_BUSY);
  };
  all["fermata_request_set_callback"] = [](World&) {
    REFUSED(fermata_request_set_callback(nullptr, nullptr, nullptr));
  };
  all["fermata_request_free"] = [](World& w) {
    FAILS(fermata_request_free(nullptr), FERMATA_OK);
    FAILS(fermata_request_free(w.running), FERMATA_ERR_BUSY);
  };
}

}  // namespace

void add_collectives(Checks& all) {
  broadcast_and_reduce(all);
  gather_and_scatter(all);
  collectives_without_root(all);
  irregular_rooted_collectives(all);
  irregular_collectives_without_root(all);
}

void add_requests(Checks& all) {
  operations(all);
  waits_for_requests(all);
  requests(all);
}

}  // namespace fermata::test
