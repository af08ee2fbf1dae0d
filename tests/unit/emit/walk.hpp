// What the steps of a proved program do to shared memory, as trace.c prints it: by the definition of each
// step (exec/program.hpp) and of the wait (sync/wait.hpp, sync/doorbell.hpp), not by the code generator.
#ifndef FERMATA_TESTS_WALK_HPP
#define FERMATA_TESTS_WALK_HPP

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/line.hpp"
#include "exec/program.hpp"

namespace fermata::test {

struct Call {
  std::uint32_t rank = 0;
  std::uint64_t episode = 1;
  char mode = 'e';          // as in trace.c
  std::uint32_t words = 0;  // 0 for a barrier
};

// One way of one member through one episode. `decisions`: whether each add completes its word; as many as are
// missing are appended, as false.
class Walk {
 public:
  Walk(const std::vector<std::byte>& blob, const Call& call, std::vector<bool>& decisions)
      : header_(*reinterpret_cast<const ProgramHeader*>(blob.data())),
        call_(call),
        decisions_(decisions),
        region_(static_cast<Collective>(header_.collective) == Collective::kBarrier ? "barrier"
                                                                                    : "allreduce"),
        carries_(region_ == "allreduce"),
        cells_(header_.region_bytes / 8) {
    const auto* programs = reinterpret_cast<const MemberProgram*>(blob.data() + header_.programs_offset);
    steps_ = reinterpret_cast<const Step*>(blob.data() + header_.steps_offset) + programs[call.rank].first;
    for (std::size_t i = 0; i < cells_.size(); ++i) cells_[i] = 900000000 + 8 * i;
    for (auto& words : registers_)
      for (std::size_t i = 0; i < kLinePayload / 8; ++i) words[i] = 7000 + i;
  }

  // The line that asks trace.c for this call. Valid after run().
  std::string command() const {
    std::string text = region_ + " " + std::to_string(call_.rank) + " " + std::to_string(call_.episode) +
                       " " + call_.mode + " " + std::to_string(call_.words) + " " +
                       std::to_string(answers_.size());
    for (const std::uint64_t answer : answers_) text += " " + std::to_string(answer);
    return text + "\n";
  }

  std::string run() {
    put(region_ + ", rank " + std::to_string(call_.rank) + ", episode " + std::to_string(call_.episode) +
        ", mode " + call_.mode);
    std::uint32_t at = 0;
    while (steps_[at].code != Code::kEnd) at = go(steps_[at], at);
    if (carries_) put("returns 0");
    std::string result = "ends with";
    for (std::uint32_t i = 0; i < call_.words; ++i) result += " " + std::to_string(registers_[0][i]);
    put(result);
    return out_;
  }

 private:
  static constexpr std::uint64_t kCome = std::uint64_t{1} << 40;

  std::uint32_t go(const Step& s, std::uint32_t at) {
    const std::uint64_t episode = call_.episode;
    const std::uint64_t slot = s.offset + (episode & s.mask) * s.stride;
    switch (s.code) {
      case Code::kSend:
        for (std::uint32_t i = 0; i < call_.words; ++i) write(slot + 8 + 8 * i, registers_[s.reg][i]);
        store(s, slot);
        break;
      case Code::kAwait:
        await(s, slot, episode);
        if (carries_ && s.fold != Fold::kNone) take(s, slot);
        break;
      case Code::kAdd:
        if (add(s)) return s.target;
        break;
      case Code::kPoll: await(s, s.offset, episode * s.threshold); break;
      case Code::kFlip: store(s, s.offset); break;
      case Code::kCreditAwait:
        if (episode > s.threshold) await(s, s.offset, episode - s.threshold);
        break;
      case Code::kCreditGive:
        if (episode % s.threshold == 0) store(s, s.offset);
        break;
      case Code::kJump: return s.target;
      default: ADD_FAILURE() << "a step that no emitted code has";
    }
    return at + 1;
  }

  // ---- Signals

  void write(std::uint64_t offset, std::uint64_t value) {
    if (cells_[offset / 8] != value) put("write " + place(offset) + ": " + std::to_string(value));
    cells_[offset / 8] = value;
  }

  void store(const Step& s, std::uint64_t offset) {
    put("store " + place(offset) + " " + std::to_string(call_.episode) + " release");
    polled_ = kNowhere;
    ring(s);
  }

  bool add(const Step& s) {
    const std::size_t index = answers_.size();
    if (index == decisions_.size()) decisions_.push_back(false);
    const std::uint64_t last = call_.episode * s.threshold;
    // What the add finds: `last` - 1 if it completes the word, else one less or one more than that.
    answers_.push_back(decisions_[index] ? last - 1 : index % 2 == 0 ? last - 2 : last);
    put("add " + place(s.offset) + " 1 acq_rel");
    polled_ = kNowhere;
    if (decisions_[index] && s.rings != 0) ring(s);
    return decisions_[index];
  }

  void ring(const Step& s) {
    if (call_.mode != 'p') return;
    put("fence seq_cst");
    const std::uint64_t armed = rings_++ % 2;
    put("load " + door(s, 0) + " relaxed " + std::to_string(armed));
    if (armed == 0) return;
    put("add " + door(s, 4) + " 1 release");
    put("wake " + door(s, 4) + " 2147483647");
  }

  // ---- Waits

  void await(const Step& s, std::uint64_t offset, std::uint64_t value) {
    if (call_.mode == 'e') return load(offset, "acquire", kCome);
    if (call_.mode == 'p') return park(s, offset);
    if (offset != polled_) polls_ = 0;
    polled_ = offset;
    for (std::uint32_t spun = 0;; spun += s.pauses) {
      const std::uint64_t seen = polls_++;
      load(offset, "acquire", seen);
      if (seen >= value) return;
      if (call_.mode == 'y' && spun >= 3) put("yield");
    }
  }

  void park(const Step& s, std::uint64_t offset) {
    load(offset, "acquire", 0);
    put("add " + door(s, 0) + " 1 relaxed");
    put("fence seq_cst");
    put("load " + door(s, 4) + " acquire 77");
    const bool sleeps = parks_++ % 2 == 0;
    load(offset, "relaxed", sleeps ? 0 : kCome);
    if (sleeps) put("sleep " + door(s, 4) + " 77, 0 s 20000000 ns");
    put("sub " + door(s, 0) + " 1 relaxed");
    load(offset, "acquire", kCome);
  }

  void load(std::uint64_t offset, const std::string& order, std::uint64_t value) {
    put("load " + place(offset) + " " + order + " " + std::to_string(value));
    if (!carries_) return;
    ++reads_;
    for (std::uint32_t i = 0; i < call_.words && offset / 8 + 1 + i < cells_.size(); ++i)
      cells_[offset / 8 + 1 + i] = 1000 * reads_ + i;
  }

  void take(const Step& s, std::uint64_t slot) {
    const std::uint64_t* theirs = &cells_[slot / 8 + 1];
    std::uint64_t* mine = registers_[s.reg];
    if (s.fold == Fold::kCopy) {
      for (std::uint32_t i = 0; i < call_.words; ++i) mine[i] = theirs[i];
      return;
    }
    const bool left = s.fold == Fold::kCombineLeft;
    std::string text = "fold";
    for (std::uint32_t i = 0; i < call_.words; ++i)
      text +=
          " " + std::to_string(left ? theirs[i] : mine[i]) + ":" + std::to_string(left ? mine[i] : theirs[i]);
    put(text);
    ++folds_;
    for (std::uint32_t i = 0; i < call_.words; ++i) mine[i] = 500000 + 100 * folds_ + i;
  }

  // ---- Text

  void put(const std::string& line) { out_ += line + "\n"; }
  std::string place(std::uint64_t offset) const { return region_ + " " + std::to_string(offset); }
  std::string door(const Step& s, std::uint64_t half) const {
    return s.rings == 1 ? "doors " + std::to_string(s.door * kMaxLine + half) : place(s.door + half);
  }

  static constexpr std::uint64_t kNowhere = UINT64_MAX;

  const ProgramHeader& header_;
  const Step* steps_ = nullptr;
  const Call call_;
  std::vector<bool>& decisions_;
  const std::string region_;
  const bool carries_;
  std::vector<std::uint64_t> cells_;  // the region's plain contents
  std::uint64_t registers_[kMaxRegisters][kLinePayload / 8];
  std::vector<std::uint64_t> answers_;
  std::uint64_t polled_ = kNowhere, polls_ = 0;
  std::uint64_t reads_ = 0, folds_ = 0, rings_ = 0, parks_ = 0;
  std::string out_;
};

}  // namespace fermata::test
#endif
