// std::barrier of the standard library that the tool is built with.
#include <barrier>

#include "bench/rivals/rivals.hpp"

namespace fermata::bench {
namespace {

class StdBarrier final : public Subject {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    barrier_ = arena.make<std::barrier<>>(c.members);
    return {};
  }
  void work(int rank, Turn& turn) override {
    turn.run(rank, [&] { barrier_->arrive_and_wait(); });
  }
  std::string version() const override {
#if defined(_GLIBCXX_RELEASE)
    return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE) + " (" + std::to_string(__GLIBCXX__) + ")";
#elif defined(_LIBCPP_VERSION)
    return "libc++ " + std::to_string(_LIBCPP_VERSION);
#else
    return {};
#endif
  }

 private:
  std::barrier<>* barrier_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> make_std_barrier() { return std::make_unique<StdBarrier>(); }

}  // namespace fermata::bench
