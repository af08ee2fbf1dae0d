// A stand-in for libFuzzer. It replays a folder of seeds, then mutates them until the time is over.
//
//   fuzz_<format> CORPUS SECONDS      seeds good* must be accepted, bad* refused; then mutations
//   fuzz_<format> FILE                one input, e.g. one that a failure left in a file
//
// Steps: 1 read the seeds, 2 replay them, 3 mutate them. Every run makes the same sequence of mutations; a
// longer run gets further. After a crash, an abort or 10 s in one input, that input is in the file
// crash-<pid> of the current folder.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "target.hpp"

namespace {

constexpr unsigned kHangSeconds = 10;
constexpr int kMaxMutations = 200000;
constexpr std::size_t kMaxInput = 1 << 16;

struct Seed {
  std::string name, bytes;
};

// The signal handler writes this input out. Plain variables: this thread writes them before the call that may
// raise the signal.
const char* current_data = nullptr;
std::size_t current_size = 0;
char crash_name[32];

void on_signal(int number) {
  const int file = open(crash_name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (file >= 0 && write(file, current_data, current_size) >= 0) {
    const char note[] = "fuzz: the input is in ";
    (void)!write(STDERR_FILENO, note, sizeof note - 1);
    (void)!write(STDERR_FILENO, crash_name, std::strlen(crash_name));
    (void)!write(STDERR_FILENO, "\n", 1);
  }
  signal(number, SIG_DFL);
  raise(number);
}

int run(const std::string& input) {
  current_data = input.data();
  current_size = input.size();
  alarm(kHangSeconds);
  const int result =
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  alarm(0);
  return result;
}

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Mutator {
 public:
  explicit Mutator(const std::vector<Seed>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string input = seeds_[below(seeds_.size())].bytes;
    const std::size_t edits = 1 + below(4);
    for (std::size_t i = 0; i < edits; ++i) edit(input);
    if (input.size() > kMaxInput) input.resize(kMaxInput);
    return input;
  }

 private:
  // xorshift64*: the same numbers everywhere, which std::uniform_int_distribution does not promise.
  std::size_t below(std::size_t bound) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return bound == 0 ? 0 : (state_ * 0x2545f4914f6cdd1dull >> 33) % bound;
  }

  void edit(std::string& s) {
    static const char* const kTokens[] = {
        "0",     "-1",  "1",    "2147483647", "-2147483648", "4294967296", "18446744073709551616",
        "1e308", "nan", "-inf", "null",       "[]",          "{}",         "\"\"",
        "\n",    ",",   ":",    "\t",         "[[[[[[[[",    "\\u0000",    "\xff\xfe"};
    const std::size_t at = below(s.size() + 1), length = below(std::min<std::size_t>(s.size() - at, 40) + 1);
    switch (below(8)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < s.size()) s[at] = static_cast<char>(below(256));
        break;
      case 2: s.erase(at, length); break;
      case 3: s.insert(below(s.size() + 1), s.substr(at, length)); break;
      case 4: s.resize(at); break;
      case 5: s.insert(at, kTokens[below(std::size(kTokens))]); break;
      case 6: replace_number(s, at); break;
      default: {
        const std::string& other = seeds_[below(seeds_.size())].bytes;
        s = s.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  // Sizes and indices are numbers: put an extreme one in the place of the next number.
  void replace_number(std::string& s, std::size_t from) {
    static const char* const kNumbers[] = {"0",
                                           "-1",
                                           "1",
                                           "2",
                                           "3",
                                           "63",
                                           "64",
                                           "65",
                                           "4096",
                                           "4097",
                                           "1000000000",
                                           "2147483648",
                                           "-9223372036854775809",
                                           "0.5",
                                           "1e400"};
    const std::size_t first = s.find_first_of("0123456789", from);
    if (first == std::string::npos) return;
    const std::size_t last = std::min(s.find_first_not_of("0123456789", first), s.size());
    s.replace(first, last - first, kNumbers[below(std::size(kNumbers))]);
  }

  const std::vector<Seed>& seeds_;
  std::uint64_t state_ = 0x9e3779b97f4a7c15ull;
};

// Catches an input that asks for unbounded memory. Sanitizers reserve terabytes of address space, so under
// them only libFuzzer's own limit applies.
void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const rlimit limit{1ull << 31, 1ull << 31};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

std::vector<Seed> read_seeds(const std::filesystem::path& folder) {
  std::vector<Seed> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) seeds.push_back({entry.path().filename().string(), slurp(entry.path())});
  }
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

// Returns how many seeds were not accepted or refused as their names say.
int replay(const std::vector<Seed>& seeds) {
  int wrong = 0;
  for (const Seed& seed : seeds) {
    const int result = run(seed.bytes);
    const bool good = seed.name.starts_with("good"), bad = seed.name.starts_with("bad");
    if ((good && result != 0) || (bad && result == 0)) {
      std::fprintf(stderr, "fuzz: seed %s was %s\n", seed.name.c_str(), result == 0 ? "accepted" : "refused");
      ++wrong;
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::snprintf(crash_name, sizeof crash_name, "crash-%d", static_cast<int>(getpid()));
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) signal(number, on_signal);
  limit_memory();
  if (!std::filesystem::is_directory(argv[1])) {
    std::printf("%s\n", run(slurp(argv[1])) == 0 ? "accepted" : "refused");
    return 0;
  }
  const std::vector<Seed> seeds = read_seeds(argv[1]);
  if (seeds.empty()) return std::fprintf(stderr, "fuzz: no seeds in %s\n", argv[1]), 1;
  if (replay(seeds) != 0) return 1;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 5.0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  Mutator mutator(seeds);
  int tried = 0, accepted = 0;
  while (tried < kMaxMutations && std::chrono::steady_clock::now() < end) {
    accepted += run(mutator.next()) == 0;
    ++tried;
  }
  std::printf("%zu seeds, %d mutations, %d of them accepted\n", seeds.size(), tried, accepted);
  return 0;
}
