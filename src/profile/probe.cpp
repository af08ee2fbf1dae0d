#include "profile/probe.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "profile/statistics.hpp"

namespace fermata::probe {

namespace {

constexpr std::int32_t kMaxPoints = 40;
// There are many samples, and each is far shorter than a time slice. So a preemption spoils one sample, but
// not the median.
constexpr std::int32_t kMinRepeats = 5;
// If other processes use the CPUs, a command takes several time slices. After kPatience times its budget a
// probe accepts the repeats that it has.
constexpr double kPatience = 3;
constexpr std::int32_t kMaxRepeats = 301;
constexpr std::int32_t kAimedRepeats = 101;
constexpr double kLongestSample = 100'000;  // ns
constexpr std::int32_t kStop = -1;

struct Sampling {
  Control control;
  Command command;
  Flag done;  // completed commands, summed over all members except member 0
  std::int32_t repeats = 0;
  double samples[kMaxPoints][kMaxRepeats];
};

void abort(Control& control) {
  control.aborted.value.store(1, std::memory_order_relaxed);  // order: none needed; it only ends loops early
}

bool is_aborted(Control& control) {
  return control.aborted.value.load(std::memory_order_relaxed) != 0;  // order: none needed; seen soon enough
}

class Leader {
 public:
  Leader(Sampling& shared, std::int32_t others, const TimedRole& role)
      : s_(shared), others_(others), role_(role) {}

  // Returns ns per round; negative: aborted.
  double run(std::int32_t point, std::uint32_t rounds) {
    Command& c = s_.command;
    c.point = point;
    c.rounds = rounds;
    c.base = base_;
    c.point_base = point == kStop ? 0 : point_base_[point];
    signal(c.number.value, ++number_);
    if (point == kStop) return 0;
    const std::int64_t start = os::now_ns();
    const double ns = role_(0, c, s_.control);
    whole_ = static_cast<double>(os::now_ns() - start) / rounds;
    base_ += rounds;
    point_base_[point] += rounds;
    // The next command overwrites this one's fields, so all members must have completed this one.
    if (!await(s_.done.value, number_ * static_cast<std::uint64_t>(others_), s_.control) ||
        is_aborted(s_.control))
      return -1;
    return ns / rounds;
  }

  void lead(std::int32_t points, double seconds) {
    // Rounds of a command. kLate: the number after kPatience times the budget.
    constexpr std::uint32_t kFirst = 32, kLeast = 16, kLate = 2;
    std::uint32_t rounds[kMaxPoints];
    const std::int64_t begin = os::now_ns();
    const std::int64_t end = begin + static_cast<std::int64_t>(seconds * 1e9);
    const std::int64_t last = begin + static_cast<std::int64_t>(kPatience * seconds * 1e9);
    const double share = std::min(seconds * 1e9 / points / kAimedRepeats, kLongestSample);
    for (std::int32_t p = 0; p < points; ++p) {
      const bool late = os::now_ns() >= last;
      if (!late) run(p, kFirst);  // warms up pages and caches
      run(p, late ? kLate : kFirst);
      rounds[p] = static_cast<std::uint32_t>(
          std::clamp(share / std::max(whole_, 1.0), static_cast<double>(late ? kLate : kLeast), 50000.0));
    }
    for (std::int64_t now = begin; s_.repeats < kMaxRepeats; now = os::now_ns()) {
      if (s_.repeats > 0 && now >= (s_.repeats < kMinRepeats ? last : end)) break;
      for (std::int32_t p = 0; p < points; ++p) {
        const double ns = run(p, rounds[p]);
        if (ns < 0) return;
        s_.samples[p][s_.repeats] = ns;
      }
      ++s_.repeats;
    }
    run(kStop, 0);
  }

 private:
  Sampling& s_;
  std::int32_t others_;
  const TimedRole& role_;
  double whole_ = 0;  // ns per round of the last command, with what the role leaves out
  std::uint64_t number_ = 0, base_ = 0;
  std::uint64_t point_base_[kMaxPoints] = {};
};

void follow(Sampling& s, int member, const TimedRole& role) {
  for (std::uint64_t number = 1;; ++number) {
    if (!await(s.command.number.value, number, s.control) || s.command.point == kStop) return;
    role(member, s.command, s.control);
    // order: release, as kCreditGive: this member has read the command; pairs with await
    s.done.value.fetch_add(1, std::memory_order_release);
  }
}

// Each member runs this: it pins itself, waits for the others, calls body and reports its end.
void member_main(const Setting& setting, Control& control, int member, const std::function<void(int)>& body) {
  if (os::pin_thread(setting.cpus[static_cast<std::size_t>(member)]) != Status::kOk) abort(control);
  control.arrived.value.fetch_add(1, std::memory_order_relaxed);  // order: none needed; a start line, no data
  // order: none needed; as above
  while (control.arrived.value.load(std::memory_order_relaxed) < setting.cpus.size()) {
    if (control.expired()) return;
    os::yield();  // members may share a CPU
  }
  if (!is_aborted(control)) body(member);
  // order: release, as kJoin: after its results; pairs with run_members
  control.finished.value.fetch_add(1, std::memory_order_release);
}

bool in_threads(std::size_t members, const std::function<void(int)>& work,
                const std::function<void()>& stop) {
  std::vector<std::thread> threads;
  try {
    for (std::size_t m = 0; m < members; ++m) threads.emplace_back(work, static_cast<int>(m));
  } catch (const std::system_error&) {
    stop();
  }
  for (std::thread& thread : threads) thread.join();
  return threads.size() == members;
}

bool in_processes(std::size_t members, const std::function<void(int)>& work,
                  const std::function<void()>& stop) {
  std::vector<pid_t> children;
  for (std::size_t m = 0; m < members; ++m) {
    const pid_t child = ::fork();
    if (child == 0) {
      work(static_cast<int>(m));
      ::_exit(0);
    }
    if (child < 0) {
      stop();
      break;
    }
    children.push_back(child);
  }
  for (const pid_t child : children)
    while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  return children.size() == members;
}

}  // namespace

bool Control::expired() {
  if (!is_aborted(*this) && os::now_ns() > deadline_ns) abort(*this);
  return is_aborted(*this);
}

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  base_ = p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

bool run_apart(bool processes, std::size_t members, const std::function<void(int)>& work,
               const std::function<void()>& stop) {
  return processes ? in_processes(members, work, stop) : in_threads(members, work, stop);
}

bool run_members(const Setting& setting, Control& control, const std::function<void(int)>& body) {
  // Another process may use a CPU for many milliseconds of each sample. A probe gives up 3 s after 20 times
  // its budget.
  control.deadline_ns = os::now_ns() + static_cast<std::int64_t>((setting.seconds * 20 + 3) * 1e9);
  run_apart(
      setting.processes, setting.cpus.size(),
      [&](int member) { member_main(setting, control, member, body); }, [&] { abort(control); });
  // order: acquire, as kJoinedRead; pairs with each member's finishing add
  return control.finished.value.load(std::memory_order_acquire) == setting.cpus.size() &&
         !is_aborted(control);
}

std::vector<double> sample(const Setting& setting, std::int32_t points, const Role& role) {
  return sample_timed(setting, points, [&](int member, const Command& command, Control& control) {
    const std::int64_t start = os::now_ns();
    role(member, command, control);
    return static_cast<double>(os::now_ns() - start);
  });
}

std::vector<double> sample_timed(const Setting& setting, std::int32_t points, const TimedRole& role) {
  SharedMemory memory(sizeof(Sampling));
  if (!memory || points > kMaxPoints) return {};
  Sampling& s = *memory.at<Sampling>(0);
  const auto others = static_cast<std::int32_t>(setting.cpus.size()) - 1;
  const bool whole = run_members(setting, s.control, [&](int member) {
    if (member == 0) Leader(s, others, role).lead(points, setting.seconds);
    else follow(s, member, role);
  });
  if (!whole || s.repeats == 0) return {};
  std::vector<double> out;
  for (std::int32_t p = 0; p < points; ++p)
    out.push_back(median(std::vector<double>(s.samples[p], s.samples[p] + s.repeats)));
  return out;
}

}  // namespace fermata::probe
