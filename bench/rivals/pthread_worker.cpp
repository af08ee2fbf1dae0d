// A program with pthread_barrier_t, for the preload.
#include "bench/rivals/rivals.hpp"
#include "bench/worker.hpp"

int main(int argc, char** argv) {
  return fermata::bench::worker_main(argc, argv, [](std::string_view name) {
    return name.starts_with("pthread_shared") ? fermata::bench::make_pthread_shared()
                                              : fermata::bench::make_pthread();
  });
}
