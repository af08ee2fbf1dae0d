#include "team/machine.hpp"

#include <array>

#include "os/os.hpp"
#include "profile/store.hpp"

namespace fermata::team {
namespace {

// Makes a value once and stores it for the life of the process. If several threads ask at once, each makes
// the value, and the first one is stored. No thread waits for another. So a child that is forked meanwhile
// never waits for a thread that exists only in the parent.
template <class T, class Make>
const T& stored_or_made(const T*& stored, Make&& make) {
  {
    const os::ProcessLock lock;
    if (stored != nullptr) return *stored;
  }
  auto mine = std::make_unique<const T>(make());
  const os::ProcessLock lock;
  if (stored == nullptr) stored = mine.release();
  return *stored;
}

}  // namespace

Result<const Topology*> this_machine() {
  static constinit const Result<Topology>* stored = nullptr;
  const Result<Topology>& found = stored_or_made(stored, [] { return discover_topology(); });
  if (!found) return found.error();
  return &*found;
}

Profile best_known_profile(const Topology& topology, Engine engine) {
  const std::string key = fingerprint(topology);
  auto stored = load_profile(key, name_of(engine));
  if (!stored) stored = load_profile(key, name_of(Engine::kThreads));
  return stored ? *stored : estimate_profile(topology);
}

const Profile& this_profile(Engine engine) {
  static constinit std::array<const Profile*, 2> stored{};  // by Engine
  return stored_or_made(stored[static_cast<std::size_t>(engine)], [engine] {
    const auto machine = this_machine();
    return best_known_profile(machine ? **machine : Topology{}, engine);
  });
}

}  // namespace fermata::team
