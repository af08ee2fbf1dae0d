// One member's random sequence of legal and illegal calls of the C ABI. A model of the interface checks each:
// the statuses that the header allows now, and what a finished operation must have written.
// There are two random generators. All members draw the collective steps from the same seed, so they make the
// same calls in the same order. Each member draws its own actions from its own seed: tests, waits, resets,
// short time limits, interruptions, illegal arguments.
#ifndef FERMATA_TESTS_PROPERTY_BLOCKS_SEQUENCE_HPP
#define FERMATA_TESTS_PROPERTY_BLOCKS_SEQUENCE_HPP

#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "instance.hpp"
#include "team.hpp"

namespace fermata::test {

class Sequence {
 public:
  Sequence(Seat& seat, std::uint64_t seed);
  // Tells the seat what was wrong here, and in which step. Returns false if something was wrong, here or at
  // another member.
  bool run(int steps);

 private:
  using Random = std::mt19937_64;
  enum class Split { kNone, kBarrier, kData };
  // Idle: never started, or over as the model knows. Begun: active, or over but the model does not know yet.
  enum class State { kIdle, kBegun };
  struct Request {
    std::unique_ptr<Instance> instance;
    fermata_request* handle = nullptr;
    State state = State::kIdle;
    bool prepared = false;
    std::uint64_t starts = 0;  // of a prepared request; with `seed`: the seed of its buffers
    std::uint64_t seed = 0;
    int called_back = 0;
    int expected = 0;  // calls of its callback once it is over
    bool has_callback = false;
  };
  using Step = bool (Sequence::*)();

  static std::uint64_t draw(Random& from, std::uint64_t below) { return from() % below; }
  Shape random_shape();
  bool returns(int status, std::initializer_list<int> allowed, const char* call);
  bool is_over(Request& request);
  bool wait(Request& request);
  void drop(std::size_t which);
  static int interrupt(fermata_member* member, void* user);
  bool grow_impatient();
  bool grow_patient();
  bool goes_on(int status, const char* call);
  // Collective steps: the same at all members.
  bool call();
  bool barrier();
  bool begin();
  bool prepare();
  bool start();
  bool free_one();
  bool arrive();
  bool depart();
  bool split();
  // Steps of this member alone.
  bool local();
  bool look();
  bool wait_for_any();
  bool free_early();
  bool refuse_operation();
  bool refuse_call();
  bool refuse_handle();
  // Last steps.
  bool drain();
  bool end_well();
  bool end_by_abort();
  bool end_by_leaving();
  bool end_by_mismatch();
  bool is_broken_by(int status);
  bool give_back(int status);
  bool meet_before(int status, bool breaks);

  Seat& seat_;
  std::uint64_t seed_;
  Random common_, own_;
  std::vector<std::unique_ptr<Request>> requests_;
  std::uint64_t shapes_ = 0;
  Split split_ = Split::kNone;
  std::int64_t sum_in_ = 0, sum_out_ = 0;
  std::string at_;
};

}  // namespace fermata::test
#endif
