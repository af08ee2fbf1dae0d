// fermata::barrier without a completion function, for comparison with std::barrier.
#include <optional>

#include "bench/rivals/rivals.hpp"
#include "fermata/barrier.hpp"

namespace fermata::bench {
namespace {

class FermataBarrier final : public Subject {
 public:
  std::string prepare(const Case& c, Arena&) override {
    if (c.engine != Engine::kThreads) return "threads only";
    barrier_.emplace(c.members);
    return {};
  }
  void work(int rank, Turn& turn) override {
    turn.run(rank, [&] { barrier_->arrive_and_wait(); });
  }
  std::string version() const override { return std::string("fermata ") + fermata_version(); }

 private:
  std::optional<fermata::barrier<>> barrier_;
};

}  // namespace

std::unique_ptr<Subject> make_fermata_barrier() { return std::make_unique<FermataBarrier>(); }

}  // namespace fermata::bench
