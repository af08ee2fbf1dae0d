// pthread_barrier_t, private among threads and PTHREAD_PROCESS_SHARED among processes.
#include <gnu/libc-version.h>
#include <pthread.h>

#include "bench/rivals/rivals.hpp"

namespace fermata::bench {
namespace {

class Pthread final : public Subject {
 public:
  explicit Pthread(int sharing) : sharing_(sharing) {}
  std::string prepare(const Case& c, Arena& arena) override {
    barrier_ = static_cast<pthread_barrier_t*>(arena.allocate(sizeof(pthread_barrier_t)));
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, sharing_);
    return pthread_barrier_init(barrier_, &attributes, static_cast<unsigned>(c.members)) == 0 ? ""
                                                                                              : "init failed";
  }
  void work(int rank, Turn& turn) override {
    turn.run(rank, [&] { pthread_barrier_wait(barrier_); });
  }
  std::string version() const override { return std::string("glibc ") + gnu_get_libc_version(); }

 private:
  const int sharing_;
  pthread_barrier_t* barrier_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> make_pthread() { return std::make_unique<Pthread>(PTHREAD_PROCESS_PRIVATE); }
std::unique_ptr<Subject> make_pthread_shared() { return std::make_unique<Pthread>(PTHREAD_PROCESS_SHARED); }

}  // namespace fermata::bench
