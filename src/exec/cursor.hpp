// Cursor: where one member stands in its program during one episode. advance() takes all steps that it can
// take now, then returns. Every wait for the signals of a program uses it, blocking or not. But a call on the
// fast path (exec/rounds.cpp) first uses round(). The cursor makes no decisions and allocates nothing. The
// time of one step does not depend on the number of members. On one host its only system call wakes a member
// that has parked.
//
// A is the atomics policy (sync/atomics.hpp). M is the memory that a program's offsets refer to:
//   Counter = Atomic<u64>; Counter& header(offset), word(offset), credit(offset);
//   Plain& payload(offset, i): the words of a payload are adjacent
//   void ring(const Step&);
//   void carry(const Step&, offset, header, words, payload): writes a slot or a credit of the step's peer on
//     another host
//
// There is no ABA problem. Phases and credits are episode numbers and words count adds. They only grow, and
// 64 bits last 584 years at one add per nanosecond. A header is the low 33 bits of the episode and a tag. It
// wraps around, but is compared by difference, and the episode in a slot is near the awaited one: an edge has
// at most kMostSlots slots. A slot's index is taken from the low bits of the episode; the number of slots is
// a power of two.
#ifndef FERMATA_EXEC_CURSOR_HPP
#define FERMATA_EXEC_CURSOR_HPP

#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "base/word.hpp"
#include "exec/carried.hpp"
#include "exec/program.hpp"
#include "exec/take.hpp"
#include "sync/atomics.hpp"

namespace fermata {

template <class A>
inline void pause(std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) A::pause();
}

template <class A, class M>
class Cursor {
 public:
  // Begins an episode. If the program begins with kSend, its signal is sent here, before anything else. Time
  // in the gap from one episode's last read to the next first signal costs most, because meanwhile the cache
  // line moves to another core. (Two cores of Sapphire Rapids: a gap of 50 cycles costs nothing, one of 60
  // costs 20 ns; 100 cycles after the signal cost nothing.) word(i) is this member's contribution.
  template <Load L, class Word>
  [[gnu::always_inline]] void start(M& memory, const Step* program, std::uint64_t episode, std::uint64_t tag,
                                    std::uint32_t words, Word&& word) {
    step_ = program;
    const Header header = Header::of(episode, tag);
    if (program->code == Code::kSend) [[likely]] {
      send<L>(memory, *program, episode, header, words, word);
      ++step_;
    }
    program_ = program;
    episode_ = episode;
    header_ = header;
    status_ = Status::kOk;
  }

  // True: the episode is over for this member, or status() is an error. At each step that waits, it stops
  // after at most `spins` pauses; 0: after one read.
  template <Load L>
  [[gnu::always_inline]] bool advance(M& memory, const Carried& carried, std::uint64_t (*regs)[kPayloadWords],
                                      std::uint32_t spins) {
    // Local copies: stores to shared memory cannot alias them.
    const Step* const program = program_;
    const std::uint64_t episode = episode_;
    const Header header = header_;
    for (const Step* step = step_;;) {
      switch (step->code) {
        case Code::kSend: {
          send<L>(memory, *step, episode, header, carried.words,
                  [&](std::uint32_t i) { return regs[step->reg][i]; });
          ++step;
          break;
        }
        case Code::kAwait:
          switch (await<L>(memory, *step, episode, header, carried, regs, spins)) {
            case Awaited::kLate: return pend(step);
            case Awaited::kForeign: return fail(step, Status::kMismatch);
            case Awaited::kTaken: break;
          }
          ++step;
          break;
        case Code::kAdd: {
          // order: acq_rel: releases what this member knew; the member that completes the word acquires what
          // all knew. Pairs with itself and with kWordPoll.
          const std::uint64_t before =
              A::template add_acq_rel<Site::kWordAdd>(memory.word(step->offset), std::uint64_t{1});
          if (before + 1 == episode * step->threshold) {
            memory.ring(*step);
            step = program + step->target;
          } else {
            ++step;
          }
          break;
        }
        case Code::kPoll: {
          auto& word = memory.word(step->offset);
          // order: acquire: sees all that the members that added or flipped knew. Pairs with kWordAdd and
          // kWordFlip.
          for (std::uint32_t n = 0;
               A::template load_acquire<Site::kWordPoll>(word) < episode * step->threshold;) {
            if ((n += step->pauses) > spins) return pend(step);
            pause<A>(step->pauses);
          }
          ++step;
          break;
        }
        case Code::kFlip:
          // order: release: passes on what the completing member acquired. Pairs with kWordPoll.
          A::template store_release<Site::kWordFlip>(memory.word(step->offset), episode);
          memory.ring(*step);
          ++step;
          break;
        case Code::kCreditAwait: {
          auto& credit = memory.credit(step->offset);
          // order: acquire: the receiver has read the slot before this member overwrites it. Pairs with
          // kCreditGive.
          for (std::uint32_t n = 0;
               A::template load_acquire<Site::kCreditAwait>(credit) + step->threshold < episode;) {
            if ((n += step->pauses) > spins) return pend(step);
            pause<A>(step->pauses);
          }
          ++step;
          break;
        }
        case Code::kCreditGive:
          if ((episode & (step->threshold - 1)) == 0) {
            // order: release: after the reads of the slot. Pairs with kCreditAwait.
            A::template store_release<Site::kCreditGive>(memory.credit(step->offset), episode);
            memory.ring(*step);
          }
          ++step;
          break;
        case Code::kJump: step = program + step->target; break;
        case Code::kSendAway:
        case Code::kCreditGiveAway:
          leave_host(memory, *step, episode, header, L == Load::kNothing ? 0 : words_in<L>(carried.words),
                     regs);
          ++step;
          break;
        case Code::kEnd: step_ = step; return true;
      }
    }
  }

  // Like advance(), but stops at the first step that is no await. True: it stands there, or status() is an
  // error.
  template <Load L>
  bool collect(M& memory, const Carried& carried, std::uint64_t (*regs)[kPayloadWords], std::uint32_t spins) {
    const Step* step = step_;
    for (; step->code == Code::kAwait; ++step) {
      switch (await<L>(memory, *step, episode_, header_, carried, regs, spins)) {
        case Awaited::kLate: return pend(step);
        case Awaited::kForeign: return fail(step, Status::kMismatch);
        case Awaited::kTaken: break;
      }
    }
    step_ = step;
    return true;
  }

  // The first signal of an episode of a program that goes_in_rounds, prepared before its call. It shortens
  // the gap that start() describes by a dozen cycles. If the gap is then less than about 45 cycles, the next
  // signal reaches the cache line before the line leaves for the other core: one transfer carries the signals
  // of two episodes. Between two far cores of Sapphire Rapids an episode then takes 70 ns instead of 180.
  using Payload = typename Taking<A, M>::Payload;
  struct PreparedSignal {
    typename M::Counter* at = nullptr;
    Payload* payload = nullptr;
    Header header;
    bool is_known() const { return at != nullptr; }
    void forget() { at = nullptr; }
  };
  static PreparedSignal prepare_signal(M& memory, const Step* program, std::uint64_t episode,
                                       std::uint64_t tag) {
    const std::uint32_t slot = slot_of(*program, episode);
    return {&memory.header(slot), &memory.payload(slot, 0), Header::of(episode, tag)};
  }
  // Sends the first signal, with `value` if the call carries data.
  template <Load L>
  [[gnu::always_inline]] static void send_prepared(const PreparedSignal& signal, std::uint64_t value) {
    if constexpr (L != Load::kNothing) A::plain_store(*signal.payload, value);
    publish(*signal.at, signal.header);
  }
  // The same with the `bytes` bytes at `from`, several words.
  [[gnu::always_inline]] static void send_prepared(const PreparedSignal& signal, const void* from,
                                                   std::uint32_t bytes) {
    each_word_of(from, bytes, [&](std::uint32_t i, std::uint64_t word) __attribute__((always_inline)) {
      A::plain_store(signal.payload[i], word);
    });
    publish(*signal.at, signal.header);
  }
  // After send_prepared(): the episode has begun and waits at its first await. The caller still has to wake
  // the threads that park at the first signal's doorbell.
  [[gnu::always_inline]] void follow(M& memory, const Step* program, std::uint64_t episode, Header header) {
    program_ = program;
    step_ = program + 1;
    episode_ = episode;
    header_ = header;
    status_ = Status::kOk;
    look_ahead(memory);
  }
  // One round: an await, then the next signal if there is one. It needs no dispatch, and the word stays in a
  // CPU register. kMore: call ring_again(), then round() again. kLate: the signal has not come, or is of
  // another call: put `value` into register 0, then call advance().
  enum class Round : std::uint8_t { kOver, kMore, kLate };
  template <Load L, class Folds>
  [[gnu::always_inline]] Round round(M& memory, std::uint64_t& value, Folds fold, std::uint32_t spins) {
    delay(step_->delay);
    const std::uint64_t seen = watch(*awaited_, header_, step_->pauses, spins);
    // Reads header_ again, so that the wait keeps few CPU registers and its function needs no stack frame.
    const Header header = header_;
    if constexpr (L == Load::kNothing) {
      if (!header.has_come(seen) || header.is_foreign(seen)) [[unlikely]]
        return Round::kLate;
    } else {
      if (seen != header.bits) [[unlikely]]
        return Round::kLate;  // the signal has not come, or is of another call
      const std::uint64_t theirs = A::plain_load(*awaited_payload_);
      value = step_->fold == Fold::kCombineLeft ? fold(theirs, value) : fold(value, theirs);
    }
    if (step_[1].code == Code::kEnd) [[likely]]
      return Round::kOver;
    send<L>(memory, next_slot_, header, 1, [&](std::uint32_t) { return value; });
    return Round::kMore;
  }
  // The parts of a round of several words, which are in register 0, `mine`. await_words(), false: kLate.
  [[gnu::always_inline]] bool await_words(std::uint32_t spins) const {
    delay(step_->delay);
    return watch(*awaited_, header_, step_->pauses, spins) == header_.bits;
  }
  bool is_last_round() const { return step_[1].code == Code::kEnd; }
  [[gnu::always_inline]] Status fold_words(void* to, const std::uint64_t* mine, LineFold fold,
                                           std::uint32_t words) const {
    return Taking<A, M>::fold_line(to, mine, awaited_payload_, words, fold, step_->fold);
  }
  void send_words(M& memory, const std::uint64_t* mine, std::uint32_t words) const {
    send<Load::kWords>(memory, next_slot_, header_, words, [&](std::uint32_t i) { return mine[i]; });
  }
  void ring_again(M& memory) {
    step_ += 2;
    memory.ring(sent());
    look_ahead(memory);
  }

  // The signal before the await of the present round.
  const Step& sent() const { return step_[-1]; }
  // The step at which this cursor waits, for parking and reports.
  const Step& at() const { return *step_; }
  bool is_at_start() const { return step_ == program_; }  // nothing was sent or taken yet
  std::uint64_t episode() const { return episode_; }
  Status status() const { return status_; }

  // True if the step at which this cursor waits could go on now.
  bool ready(M& memory) const {
    const Step& s = *step_;
    switch (s.code) {
      // order: relaxed at each: park()'s fence and its acquire of the bell come before, and advance() reads
      // again after it.
      case Code::kAwait: return header_.has_come(A::load_relaxed(memory.header(slot_of(s, episode_))));
      case Code::kPoll:
        // order: relaxed: as above.
        return A::load_relaxed(memory.word(s.offset)) >= episode_ * s.threshold;
      case Code::kCreditAwait:
        // order: relaxed: as above.
        return A::load_relaxed(memory.credit(s.offset)) + s.threshold >= episode_;
      default: return true;
    }
  }

  // The word that the step awaits; null: none.
  const typename M::Counter* awaited_word(M& memory) const {
    const Step& s = *step_;
    if (s.code == Code::kAwait) return &memory.header(slot_of(s, episode_));
    if (s.code == Code::kPoll) return &memory.word(s.offset);
    return s.code == Code::kCreditAwait ? &memory.credit(s.offset) : nullptr;
  }

  // The present contents of the header that a step awaits in this episode, even if it is still of an earlier
  // one; 0 if the step awaits no slot.
  static std::uint64_t come_at(M& memory, const Step& step, std::uint64_t episode) {
    // order: relaxed: only compared; advance() reads the header again before it takes the payload.
    return step.code == Code::kAwait ? A::load_relaxed(memory.header(slot_of(step, episode))) : 0;
  }

 private:
  // Called at an await that follows a signal.
  void look_ahead(M& memory) {
    const std::uint32_t slot = slot_of(*step_, episode_);
    awaited_ = &memory.header(slot);
    awaited_payload_ = &memory.payload(slot, 0);
    if (step_[1].code != Code::kEnd) next_slot_ = slot_of(step_[1], episode_);
  }
  static std::uint32_t slot_of(const Step& s, std::uint64_t episode) {
    return s.offset + (static_cast<std::uint32_t>(episode) & s.mask) * s.stride;
  }
  // The header as last read: `wanted` may not have come within `spins` pauses.
  [[gnu::always_inline]] static std::uint64_t watch(const typename M::Counter& header, Header wanted,
                                                    std::uint32_t pauses, std::uint32_t spins) {
    std::uint64_t seen;
    // order: acquire: the payload is read after it. Pairs with kSlotPublish.
    for (std::uint32_t n = 0; !wanted.has_come(seen = A::template load_acquire<Site::kSlotAwait>(header));) {
      if ((n += pauses) > spins) break;
      pause<A>(pauses);
    }
    return seen;
  }
  // True if a header that has come shows another call. Without data, a later episode does not show one: its
  // sender has checked the tags of this episode. With data it does: the payload belongs to the later call.
  template <Load L>
  static bool meets_another_call(Header wanted, std::uint64_t seen) {
    return L == Load::kNothing ? wanted.is_foreign(seen) : seen != wanted.bits;
  }
  // One kAwait. kLate: the signal has not come; kForeign: it is of another call.
  enum class Awaited : std::uint8_t { kTaken, kLate, kForeign };
  template <Load L>
  [[gnu::always_inline]] static Awaited await(M& memory, const Step& s, std::uint64_t episode, Header header,
                                              const Carried& carried, std::uint64_t (*regs)[kPayloadWords],
                                              std::uint32_t spins) {
    const std::uint32_t slot = slot_of(s, episode);
    const std::uint64_t seen = watch(memory.header(slot), header, s.pauses, spins);
    if (!header.has_come(seen)) return Awaited::kLate;
    if (meets_another_call<L>(header, seen)) [[unlikely]]
      return Awaited::kForeign;
    if constexpr (L != Load::kNothing) Taking<A, M>::template take<L>(memory, carried, s, slot, regs);
    return Awaited::kTaken;
  }
  bool pend(const Step* step) {
    step_ = step;
    return false;
  }
  bool fail(const Step* step, Status status) {
    step_ = step;
    status_ = status;
    return true;
  }

  template <Load L, class Word>
  [[gnu::always_inline]] static void send(M& memory, const Step& s, std::uint64_t episode, Header header,
                                          std::uint32_t carried, Word&& word) {
    send<L>(memory, slot_of(s, episode), header, carried, word);
    memory.ring(s);
  }
  template <Load L, class Word>
  [[gnu::always_inline]] static void send(M& memory, std::uint32_t slot, Header header, std::uint32_t carried,
                                          Word&& word) {
    if constexpr (L != Load::kNothing)
      each_word(words_in<L>(carried), [&](std::uint32_t i) __attribute__((always_inline)) {
        A::plain_store(memory.payload(slot, i), word(i));
      });
    publish(memory.header(slot), header);
  }
  [[gnu::always_inline]] static void publish(typename M::Counter& at, Header header) {
    // order: release: a reader of this header sees the payload and all that this member knew. Pairs with
    // kSlotAwait.
    A::template store_release<Site::kSlotPublish>(at, header.bits);
  }

  // A separate function, so that calls within one host do not pay for it.
  [[gnu::noinline, gnu::cold]] static void leave_host(M& memory, const Step& s, std::uint64_t episode,
                                                      Header header, std::uint32_t carried,
                                                      std::uint64_t (*regs)[kPayloadWords]) {
    if (s.code == Code::kSendAway)
      return memory.carry(s, slot_of(s, episode), header.bits, carried, regs[s.reg]);
    if ((episode & (s.threshold - 1)) == 0) memory.carry(s, s.offset, episode, 0, regs[0]);
  }

  const Step* program_ = nullptr;
  const Step* step_ = nullptr;
  // The slot that a round awaits, computed while the signal is in transit,
  const typename M::Counter* awaited_ = nullptr;
  const Payload* awaited_payload_ = nullptr;
  std::uint32_t next_slot_ = 0;  // and the slot that it writes next
  std::uint64_t episode_ = 0;
  Header header_;
  Status status_ = Status::kOk;
};

}  // namespace fermata
#endif
