// Compiled programs for teams: of the cached plan, else of a search. The result of a search is stored.
#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "os/os.hpp"
#include "team/machine.hpp"

namespace fermata::team {
namespace {

struct Made {
  PlanKey key;
  std::string algorithm;                   // the requested one; empty: any
  std::shared_ptr<const Profile> profile;  // null: this machine's, which does not change
  std::vector<std::byte> program;

  bool is_for(const PlanKey& wanted, const std::string& asked, const Profile* by) const {
    if (key != wanted || algorithm != asked) return false;
    return by == profile.get() || (by != nullptr && profile != nullptr && *by == *profile);
  }
  // The bytes that this entry takes. next: the entry stored after it. Entries of one team share a profile,
  // which counts once.
  std::size_t bytes(const Made* next) const {
    constexpr std::size_t kRest = 16'384;  // so that there are at most a thousand entries
    std::size_t sum = kRest + program.size() + (key.cpus.size() + key.hosts.size()) * sizeof(std::int32_t);
    if (profile != nullptr && (next == nullptr || next->profile != profile))
      for (const Matrix* m : {&profile->o, &profile->l, &profile->g, &profile->g_direct})
        sum += m->v.size() * sizeof(double);
    return sum;
  }
};

// The latest results of this process's searches. A program that makes hundreds of equal teams searches once.
// The list is never changed, only replaced, so no thread allocates, frees or compares under the lock. It is
// never destroyed, since threads may outlive main().
using MadeOnes = std::vector<std::shared_ptr<const Made>>;
union Unfreed {
  std::shared_ptr<const MadeOnes> now;
  constexpr Unfreed() : now() {}
  ~Unfreed() {}
};
constinit Unfreed all_made;

std::shared_ptr<const MadeOnes> made_so_far() {
  const os::ProcessLock lock;
  return all_made.now;
}

const Made* find(const MadeOnes* ones, const PlanKey& key, const std::string& algorithm,
                 const Profile* profile) {
  if (ones == nullptr) return nullptr;
  const auto found = std::find_if(ones->begin(), ones->end(),
                                  [&](const auto& made) { return made->is_for(key, algorithm, profile); });
  return found != ones->end() ? found->get() : nullptr;
}

// Stores a result. Throws std::bad_alloc. If another thread stores one at the same time, this result may be
// lost. The next request then searches again.
void keep(Made made) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  if (made.bytes(nullptr) > kMostBytes) return;
  const std::shared_ptr<const MadeOnes> before = made_so_far();
  if (find(before.get(), made.key, made.algorithm, made.profile.get()) != nullptr) return;
  auto after = std::make_shared<MadeOnes>();
  if (before != nullptr) *after = *before;
  after->push_back(std::make_shared<const Made>(std::move(made)));
  std::size_t bytes = 0;
  const Made* next = nullptr;
  const auto first = std::find_if(after->rbegin(), after->rend(), [&](const auto& one) {
    bytes += one->bytes(next);
    next = one.get();
    return bytes > kMostBytes;
  });
  after->erase(after->begin(), first.base());
  std::shared_ptr<const MadeOnes> in = std::move(after);
  const os::ProcessLock lock;
  if (all_made.now == before) all_made.now.swap(in);  // the old list is freed after the lock
}

}  // namespace

Result<std::vector<std::byte>> program_for(const PlanKey& key, const Topology& topology,
                                           const std::shared_ptr<const Profile>& profile,
                                           const std::string& algorithm) {
  if (algorithm.empty()) {
    if (const auto saved = load_plan(key)) return compile_lines(*saved);
  }
  const std::shared_ptr<const MadeOnes> ones = made_so_far();
  if (const Made* const made = find(ones.get(), key, algorithm, profile.get())) return made->program;
  PlanOptions options;
  options.key = key;
  options.algorithm = algorithm;
  const auto plan =
      make_plan(topology, profile != nullptr ? *profile : this_profile(key.engine), options, nullptr);
  if (!plan) return plan.error();
  auto program = compile_lines(*plan);
  if (!program) return program;
  try {
    keep({key, algorithm, profile, *program});
  } catch (const std::bad_alloc&) {
    // The next request searches again.
  }
  return program;
}

}  // namespace fermata::team
