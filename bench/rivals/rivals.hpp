// The rivals that run in the tool itself, for bench/table.cpp. (Others run in a worker program of their own.)
// The ck_ functions exist only if Concurrency Kit was found when configuring.
#ifndef FERMATA_BENCH_RIVALS_RIVALS_HPP
#define FERMATA_BENCH_RIVALS_RIVALS_HPP

#include "bench/subject.hpp"

namespace fermata::bench {

std::unique_ptr<Subject> make_pthread();
std::unique_ptr<Subject> make_pthread_shared();
std::unique_ptr<Subject> make_std_barrier();
std::unique_ptr<Subject> make_counter_yield();
std::unique_ptr<Subject> make_counter_futex();
std::unique_ptr<Subject> make_fermata_barrier();
std::unique_ptr<Subject> make_reduce_naive();
std::unique_ptr<Subject> make_ck_centralized();
std::unique_ptr<Subject> make_ck_dissemination();
std::unique_ptr<Subject> make_ck_tournament();
std::unique_ptr<Subject> make_ck_mcs();
std::unique_ptr<Subject> make_ck_combining();

}  // namespace fermata::bench
#endif
