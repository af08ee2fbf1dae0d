// Random MPI collectives, legal and illegal, with other MPI calls around them: fuzz OPTION...
//
//   --seed S          the seed of all random numbers (1)
//   --first A         the first call; a multiple of the batch's length (0)
//   --calls N         number of calls (1000)
//   --only K          only the K-th of them, with the communicators of its batch, and the batch's end
//   --off NAME,...    names that are not drawn (the file `off` has names and reasons)
//   --focus KIND,FORM,WRONG  values that replace drawn ones; empty ones are drawn
//   --out PREFIX      writes a line per call to PREFIX.RANK, and the last call's number to PREFIX.RANK.at
//   --say             writes each call in words to standard error
//
// Every call depends only on the seed and its number, except for the communicators, which batches of kBatch
// calls make and free.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "completion.hpp"
#include "rooms.hpp"

namespace fuzz {
namespace {

constexpr int kBatch = 200;

struct Options {
  std::uint64_t seed = 1;
  int first = 0, calls = 1000, only = -1;
  std::string off, out;
  Focus focus;
  bool say = false;
};
enum Purpose : std::uint64_t { kOfBatch = 1, kOfCall, kOfRank, kOfRooms };

class Run {
 public:
  explicit Run(const Options& options);
  void batch(int first, int end);
  ~Run();

 private:
  void call(int number);
  void change_rooms(int number);
  void begin(Call& c, Random& own);
  void end(Call& c);
  void complete_due(int number, bool all, const Room* room);
  void mark(int number, int phase);
  void check_rooms(int first);
  bool skips(int number) const { return options_.only >= 0 && number != options_.only; }

  Options options_;
  Off off_;
  int rank_ = 0, size_ = 0, longest_ = 0;
  MPI_Comm ground_ = MPI_COMM_NULL;
  std::FILE* out_ = nullptr;
  volatile int* at_ = nullptr;
  std::vector<Room> rooms_;
  std::vector<std::unique_ptr<Call>> outstanding_;
  std::vector<std::pair<int, std::string>> lines_;
};

Run::Run(const Options& options) : options_(options), off_(options.off) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (options.out.empty()) return;
  const std::string path = options.out + "." + std::to_string(rank_);
  out_ = std::fopen(path.c_str(), "w");
  const int fd = open((path + ".at").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (out_ == nullptr || fd < 0 || ftruncate(fd, 2 * sizeof(int)) != 0) {
    std::perror(path.c_str());
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  void* const map = mmap(nullptr, 2 * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  at_ = map == MAP_FAILED ? nullptr : static_cast<volatile int*>(map);
  close(fd);
}

Run::~Run() {
  if (out_ != nullptr) std::fclose(out_);
}

// Records the position for the check after a crash or a hang. phase: 0 before the call, 1 after it, 2 in its
// completion, 3 between calls.
void Run::mark(int number, int phase) {
  if (at_ == nullptr) return;
  at_[0] = number;
  at_[1] = phase;
}

void Run::end(Call& c) {
  std::string line = result_of(c);
  if (c.after != MPI_COMM_NULL) {
    int one = 1, sum = 0;
    const int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c.after);
    line += ", after it " + std::to_string(error == MPI_SUCCESS ? sum : -1);
    MPI_Comm_free(&c.after);
  }
  if (c.op.own && c.op.handle != MPI_OP_NULL) MPI_Op_free(&c.op.handle);
  lines_.emplace_back(c.number, line);
}

void Run::complete_due(int number, bool all, const Room* room) {
  std::vector<Call*> due;
  for (const auto& c : outstanding_)
    if (all || c->due <= number || (room != nullptr && c->room == room)) due.push_back(c.get());
  if (due.empty()) return;
  mark(due[0]->number, 2);
  Random own{options_.seed, kOfRank, static_cast<std::uint64_t>(number), static_cast<std::uint64_t>(rank_),
             77};
  complete(due, off_, own);
  for (Call* const c : due) end(*c);
  outstanding_.erase(
      std::remove_if(outstanding_.begin(), outstanding_.end(),
                     [&](const auto& c) { return std::find(due.begin(), due.end(), c.get()) != due.end(); }),
      outstanding_.end());
}

void Run::begin(Call& c, Random& own) {
  if (own.chance(1)) usleep(static_cast<useconds_t>(own.below(300)));
  // A call with a wrong length runs on a communicator of its own, so that the state after it can be checked.
  // All ranks end the call at the same point.
  if (c.wrong == kShorter || c.wrong == kLonger) {
    MPI_Comm_dup(c.room->comm, &c.after);
    MPI_Comm_set_errhandler(c.after, MPI_ERRORS_RETURN);
    c.comm = c.after;
    c.due = c.number;
  }
  mark(c.number, 0);
  const long before = handled();
  c.called = issue(c);
  c.handled = handled() - before;
  mark(c.number, 1);
  if (c.frees_types)
    for (Side* const side : {&c.in, &c.out}) {
      for (Block& b : side->blocks) b.type->free();
      for (const TypePointer& type : side->absolute) type->free();
    }
  if (c.frees_operator && c.op.own) MPI_Op_free(&c.op.handle);
}

// A few of the calls replace a communicator by another one, also while calls are outstanding where that is
// allowed.
void Run::change_rooms(int number) {
  Random shared{options_.seed, kOfRooms, static_cast<std::uint64_t>(number)};
  if (!shared.chance(3)) return;
  Room& room = rooms_[static_cast<std::size_t>(shared.below(static_cast<int>(rooms_.size())))];
  const bool early = shared.chance(50) && !off_("early-communicator");
  mark(number, 3);
  if (!early) complete_due(number, false, &room);
  free_room(room);
  const Room made = make_room(ground_, rooms_, off_, shared);
  room = made;
}

void Run::call(int number) {
  change_rooms(number);
  const auto n = static_cast<std::uint64_t>(number);
  Random shared{options_.seed, kOfCall, n}, own{options_.seed, kOfRank, n, static_cast<std::uint64_t>(rank_)};
  Room& room = rooms_[static_cast<std::size_t>(shared.below(static_cast<int>(rooms_.size())))];
  const int wait = shared.below(longest_ + 1);
  if (room.comm == MPI_COMM_NULL || skips(number)) return;
  auto c = std::make_unique<Call>();
  c->number = number;
  c->room = &room;
  c->due = number + wait;
  generate(*c, off_, options_.focus, shared, own);
  if (options_.say) std::fprintf(stderr, "call %d of rank %d: %s\n", number, rank_, c->words.c_str());
  begin(*c, own);
  if (c->form == kBlocking || c->called != MPI_SUCCESS) end(*c);
  else outstanding_.push_back(std::move(c));
  complete_due(number, false, nullptr);
}

// Checks that all communicators still work.
void Run::check_rooms(int first) {
  int number = 0;
  for (Room& room : rooms_) {
    if (room.comm == MPI_COMM_NULL) continue;
    const int mine = room.rank + 1;
    int sum = 0;
    const int error = MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, room.comm);
    lines_.emplace_back(first + kBatch + number++, "end of batch " + std::to_string(first) + ", " +
                                                       room.words + ": " +
                                                       std::to_string(error == MPI_SUCCESS ? sum : -1));
  }
}

void Run::batch(int first, int end) {
  Random shared{options_.seed, kOfBatch, static_cast<std::uint64_t>(first)};
  longest_ = shared.one_of({0, 8, 60, 200});
  const int rooms = shared.chance(4) && !off_("many-communicators") ? 80 : 2 + shared.below(5);
  mark(first, 3);
  MPI_Comm_dup(MPI_COMM_WORLD, &ground_);
  rooms_.clear();
  rooms_.reserve(static_cast<std::size_t>(rooms));
  for (int r = 0; r < rooms; ++r) rooms_.push_back(make_room(ground_, rooms_, off_, shared));
  for (int number = first; number < end; ++number) call(number);
  complete_due(end, true, nullptr);
  mark(end - 1, 3);
  check_rooms(first);
  for (Room& room : rooms_) free_room(room);
  MPI_Comm_free(&ground_);
  std::stable_sort(lines_.begin(), lines_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (out_ != nullptr) {
    for (const auto& line : lines_) std::fprintf(out_, "%s\n", line.second.c_str());
    const Noticed n = noticed();
    std::fprintf(out_,
                 "batch %d: operators saw %ld types of others and %ld other threads; %ld types were copied; "
                 "%ld errors handled\n",
                 first, n.unknown_types, n.other_threads, copies_of_types(), handled());
    std::fflush(out_);
  }
  lines_.clear();
  forget_types();
}

Options options_of(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const char* const value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--say") o.say = true;
    else if (name == "--seed") o.seed = std::strtoull(value, nullptr, 10), ++i;
    else if (name == "--first") o.first = std::atoi(value), ++i;
    else if (name == "--calls") o.calls = std::atoi(value), ++i;
    else if (name == "--only") o.only = std::atoi(value), ++i;
    else if (name == "--off") o.off = value, ++i;
    else if (name == "--out") o.out = value, ++i;
    else if (name == "--focus" && o.focus.set(value)) ++i;
    else {
      std::fprintf(stderr, "fuzz: unknown option %s\n", name.c_str());
      std::exit(2);
    }
  }
  if (o.only >= 0) {
    o.first = o.only / kBatch * kBatch;
    o.calls = kBatch;
  }
  return o;
}

}  // namespace
}  // namespace fuzz

int main(int argc, char** argv) {
  const fuzz::Options options = fuzz::options_of(argc, argv);
  MPI_Init(&argc, &argv);
  fuzz::watch_operators();
  {
    fuzz::Run run(options);
    const int end = options.first + options.calls;
    for (int first = options.first; first < end; first += fuzz::kBatch)
      run.batch(first, std::min(first + fuzz::kBatch, end));
  }
  MPI_Finalize();
  return 0;
}
