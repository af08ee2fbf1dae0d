// std::barrier of libc++, in a worker of its own: clang compiles std_barrier.cpp with that library
// (bench/CMakeLists.txt).
#include "bench/rivals/rivals.hpp"
#include "bench/worker.hpp"

int main(int argc, char** argv) {
  const auto make = [](std::string_view name) {
    return name.empty() ? nullptr : fermata::bench::make_std_barrier();
  };
  return fermata::bench::worker_main(argc, argv, make);
}
