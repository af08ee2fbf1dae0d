// Waits until a condition holds that another thread or process makes true, for about ten seconds at most.
#ifndef FERMATA_TESTS_SOON_HPP
#define FERMATA_TESTS_SOON_HPP

#include <chrono>
#include <thread>

namespace fermata::test {

// Returns false if it does not hold in that time.
template <class Condition>
bool is_soon(Condition condition) {
  for (int n = 0; n < 10'000 && !condition(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

}  // namespace fermata::test
#endif
