#include "bench/smpi/local.hpp"

#include <algorithm>
#include <utility>

namespace fermata::smpi {

sim::Time now() { return static_cast<sim::Time>(simgrid::s4u::Engine::get_clock() * 1e12 + 0.5); }

void sleep_until(sim::Time time) {
  const sim::Time left = time - now();
  if (left > 0) simgrid::s4u::this_actor::sleep_for(static_cast<double>(left) * 1e-12);
}

void LocalMember::end_stage() {
  sleep_until(now() + std::exchange(owed_, 0));
  ahead_ = -1;
}

void LocalMember::store(std::uint32_t line, std::uint64_t episode, std::uint64_t value) {
  owed_ += own_work();
  end_stage();
  const sim::Time seen = host_.model.store(core_, line, now());
  Line& l = host_.lines[line];
  l = {value, episode, seen, false, std::exchange(l.sleeper, nullptr)};
  if (l.sleeper != nullptr) std::exchange(l.sleeper, nullptr)->release();
}

// As sim::Engine::load() and pause(): the processor looks ahead, so a further line of a stage counts as asked
// for when the one before it was, or had returned (MemoryCosts::overlap).
std::uint64_t LocalMember::await(std::uint32_t line, std::uint64_t episode) {
  sleep_until(now() + std::exchange(owed_, 0));
  Line& l = host_.lines[line];
  for (bool again = false;; again = true) {
    const sim::Time at = now();
    if (!l.is_known && l.seen <= at) {
      host_.model.changed(line, l.seen);
      l.is_known = true;
    }
    const sim::Time first = again || ahead_ < 0 ? at : std::min(at, ahead_);
    const sim::Time asked = std::min(at, std::max(first, host_.model.changed(line)));
    const sim::Time ready = host_.model.ready(core_, line);
    sleep_until(ready < 0 ? host_.model.read(core_, line, asked) : ready);
    if (!again) ahead_ = host_.machine.costs.overlap == 2 || first < asked ? first : at;
    if (l.episode == episode && l.seen <= now()) break;
    if (host_.model.ready(core_, line) < 0) continue;  // a store is on its way
    l.sleeper = bell_.get();
    bell_->acquire();
    sleep_until(l.seen);
  }
  owed_ = own_work();
  return l.value;
}

}  // namespace fermata::smpi
