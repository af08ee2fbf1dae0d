// Steps:
//   1. Every signal has a place of its own, and every wait has a signal (locations.hpp).
//   2. One episode is executed on expressions. Every wait must end, and the registers must end with the
//      result of the collective. A member's steps do not depend on timing, so one execution stands for all.
//   3. An edge with S slots writes a slot again after S episodes. By then its contents must have been read.
//      Either the writer waits for a credit that says so, or it knows by other signals. To prove that it
//      knows, each member stores how far every other member was in episode 0, and signals carry a copy.
//      Episodes are executed until every writer knows, at most S + 1 of them.
//
// Step 2 can ignore credits: they are from earlier episodes (locations.hpp checks that an edge has at least
// as many slots as a batch of credits covers).
#include "base/collective.hpp"
#include "exec/proof/expressions.hpp"
#include "exec/proof/locations.hpp"

namespace fermata::exec::proof {
namespace {

bool sends(Code code) { return code == Code::kSend || code == Code::kSendAway; }

class DataProof {
 public:
  DataProof(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch)
      : set_(set),
        members_(set.header.members),
        registers_(set.header.registers),
        collective_(static_cast<Collective>(set.header.collective)),
        scratch_(scratch),
        locations_(set.header, terms, scratch),
        expressions_(members_, scratch) {}

  Proof run() {
    if (prepare() && place_signals() && match_waits() && fold_all() && check_results()) check_reuse();
    return proof_;
  }

 private:
  using Node = Expressions::Node;

  bool fail(const char* flaw, std::uint32_t member, std::uint32_t step) {
    proof_ = {flaw, 0, member, step};
    return false;
  }
  bool no_memory() { return fail(kMemory, 0, 0); }

  const Step& step(std::uint32_t member, std::uint32_t i) const { return set_.steps(member)[i]; }
  std::uint32_t& place_of(std::uint32_t member, std::uint32_t i) { return place_[first_[member] + i]; }
  bool at_end(std::uint32_t member, std::uint32_t i) const { return step(member, i).code == Code::kEnd; }

  bool prepare() {
    std::size_t most_places = 0;
    first_ = scratch_.array<std::size_t>(members_ + 1);
    if (first_ == nullptr) return no_memory();
    for (std::uint32_t m = 0; m < members_; ++m) {
      first_[m + 1] = first_[m] + set_.count(m);
      longest_ = set_.count(m) > longest_ ? set_.count(m) : longest_;
      for (std::uint32_t i = 0; i < set_.count(m); ++i)
        if (sends(step(m, i).code) || gives(step(m, i).code)) most_places += step(m, i).rings == 2 ? 2 : 1;
    }
    place_ = scratch_.array<std::uint32_t>(first_[members_]);
    now_ = scratch_.array<std::uint32_t>(members_);
    return (!scratch_.failed() && locations_.prepare(most_places) && expressions_.prepare()) || no_memory();
  }

  // ---- 1.

  bool place_signals() {
    for (std::uint32_t m = 0; m < members_; ++m) {
      for (std::uint32_t i = 0; !at_end(m, i); ++i) {
        const Step& s = step(m, i);
        if (s.code == Code::kAdd || s.code == Code::kFlip || s.code == Code::kPoll || s.code == Code::kJump)
          return fail("a program with data has words", m, i);
        if (!sends(s.code) && !gives(s.code)) continue;
        if (const char* flaw = locations_.signal(s, m, i, &place_of(m, i))) return fail(flaw, m, i);
      }
    }
    return true;
  }

  bool match_waits() {
    for (std::uint32_t m = 0; m < members_; ++m)
      for (std::uint32_t i = 0; !at_end(m, i); ++i) {
        const Step& s = step(m, i);
        if (s.code != Code::kAwait && s.code != Code::kCreditAwait) continue;
        if (const char* flaw = locations_.wait(s, m, &place_of(m, i))) return fail(flaw, m, i);
        ++locations_[place_of(m, i)].waits;
      }
    return true;
  }

  // ---- An episode: each member goes as far as it can, in turn, until nobody moves

  // send(m, i, place) and await(m, i, place) return false if they find a flaw.
  template <class Send, class Await>
  bool episode(std::uint32_t number, Send&& send, Await&& await) {
    for (std::uint32_t m = 0; m < members_; ++m) now_[m] = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t m = 0; m < members_; ++m) {
        std::uint32_t i = now_[m];
        for (; !at_end(m, i); ++i) {
          const Code code = step(m, i).code;
          if (sends(code)) {
            sent_[place_of(m, i)] = number + 1;
            if (!send(m, i, place_of(m, i))) return false;
          } else if (code == Code::kAwait) {
            if (sent_[place_of(m, i)] != number + 1) break;
            if (!await(m, i, place_of(m, i))) return false;
          }
        }
        moved = moved || i != now_[m];
        now_[m] = i;
      }
    }
    for (std::uint32_t m = 0; m < members_; ++m)
      if (!at_end(m, now_[m]))
        return fail("it waits for a signal that is sent only after this wait ends", m, now_[m]);
    return true;
  }

  // ---- 2.

  Node& reg(std::uint32_t member, std::uint32_t i) {
    return registers_now_[std::size_t{member} * registers_ + i];
  }

  bool fold_all() {
    registers_now_ = scratch_.array<Node>(std::size_t{members_} * registers_);
    content_ = scratch_.array<Node>(locations_.count());
    sent_ = scratch_.array<std::uint32_t>(locations_.count());
    if (scratch_.failed()) return no_memory();
    for (std::uint32_t m = 0; m < members_; ++m)
      if (collective_ != Collective::kBroadcast || m == set_.root) reg(m, 0) = expressions_.contribution(m);
    const auto send = [&](std::uint32_t m, std::uint32_t i, std::uint32_t location) {
      content_[location] = reg(m, step(m, i).reg);
      return true;
    };
    return episode(0, send, [&](std::uint32_t m, std::uint32_t i, std::uint32_t location) {
      return take(m, i, content_[location]);
    });
  }

  bool take(std::uint32_t m, std::uint32_t i, Node theirs) {
    const Step& s = step(m, i);
    if (s.fold == Fold::kNone) return true;
    Node& mine = reg(m, s.reg);
    if (theirs == Expressions::kNothing) return fail("it takes a value that its sender does not have", m, i);
    if (s.fold == Fold::kCopy) {
      mine = theirs;
      return true;
    }
    if (mine == Expressions::kNothing) return fail("it folds into a register that holds nothing", m, i);
    mine = s.fold == Fold::kCombineLeft ? expressions_.fold(theirs, mine) : expressions_.fold(mine, theirs);
    return mine != Expressions::kNothing || no_memory();
  }

  bool check_results() {
    for (std::uint32_t m = 0; m < members_; ++m) {
      const Node result = reg(m, 0);
      const std::uint32_t last = now_[m];
      if (collective_ == Collective::kReduce && m != set_.root) continue;
      if (collective_ == Collective::kBroadcast) {
        if (result != expressions_.contribution(set_.root))
          return fail("its result is not the root's value", m, last);
        continue;
      }
      if (m > 0 && collective_ != Collective::kReduce && result == reg(m - 1, 0)) continue;
      if (!expressions_.has_all(result))
        return fail("it ends without the contribution of every member", m, last);
      if (collective_ == Collective::kBarrier) continue;  // tags, which may arrive more than once
      if (!expressions_.has_none_twice(result))
        return fail("it ends with a contribution more than once", m, last);
      if (collective_ != Collective::kReduce && !expressions_.same(result, reg(0, 0)))
        return fail("it folds in another order than member 0", m, last);
    }
    return true;
  }

  // ---- 3.

  struct Reading {  // a read that the writer does not know yet
    std::uint32_t reader, step, location, next;
  };

  bool check_reuse() {
    std::size_t count = 0;
    for (std::uint32_t m = 0; m < members_; ++m)
      for (std::uint32_t i = 0; !at_end(m, i); ++i) count += is_uncovered(m, i);
    if (count == 0) return true;
    if (longest_ >= UINT16_MAX) return fail("it has too many steps to be proved", 0, 0);
    auto* const readings = scratch_.array<Reading>(count);
    of_place_ = scratch_.array<std::uint32_t>(locations_.count());
    if (scratch_.failed()) return no_memory();
    for (std::uint32_t p = 0; p < locations_.count(); ++p) of_place_[p] = kNone;
    std::uint32_t next = 0;
    for (std::uint32_t m = 0; m < members_; ++m)
      for (std::uint32_t i = 0; !at_end(m, i); ++i) {
        if (!is_uncovered(m, i)) continue;
        const std::uint32_t location = place_of(m, i);
        readings[next] = {m, i, location, of_place_[location]};
        of_place_[location] = next++;
      }
    readings_ = readings;
    return go_through_episodes(count);
  }

  // True if the writer overwrites this slot without waiting for the credit of this read. The reader gives the
  // credit right after the await.
  bool is_uncovered(std::uint32_t m, std::uint32_t i) {
    if (step(m, i).code != Code::kAwait) return false;
    const Location& slot = locations_[place_of(m, i)];
    if (slot.writer == m) return false;  // ordered by its own steps
    for (std::uint32_t k = i + 1; gives(step(m, k).code); ++k) {
      const std::uint32_t credit = place_of(m, k);
      for (std::uint32_t w = slot.step; w > 0; --w) {
        const Step& before = step(slot.writer, w - 1);
        if (before.code != Code::kCreditAwait) break;
        if (place_of(slot.writer, w - 1) == credit && before.threshold <= slot.mask + 1) return false;
      }
    }
    return true;
  }

  // How many steps of episode 0 the others had done, as far as a member has heard. Signals carry a copy; all
  // signals between two waits share one copy.
  struct Copy {
    std::uint32_t users = 0;
    Copy* next_free = nullptr;
    std::uint16_t* heard = nullptr;
  };
  std::uint16_t* heard(std::uint32_t member) { return heard_ + std::size_t{member} * members_; }

  Copy* copy_of(std::uint32_t m) {
    Copy*& current = current_[m];
    if (current != nullptr) return current;
    Copy* copy = free_;
    if (copy != nullptr) {
      free_ = copy->next_free;
    } else {
      copy = scratch_.array<Copy>(1);
      if (copy == nullptr || (copy->heard = scratch_.array<std::uint16_t>(members_)) == nullptr)
        return nullptr;
    }
    memcpy(copy->heard, heard(m), members_ * sizeof *copy->heard);
    copy->users = 1;
    return current = copy;
  }
  void drop(Copy*& copy) {
    if (copy != nullptr && --copy->users == 0) {
      copy->next_free = free_;
      free_ = copy;
    }
    copy = nullptr;
  }

  bool go_through_episodes(std::size_t open) {
    heard_ = scratch_.array<std::uint16_t>(std::size_t{members_} * members_);
    current_ = scratch_.array<Copy*>(members_);
    copies_ = scratch_.array<Copy*>(locations_.count());
    yet_to_read_ = scratch_.array<std::uint32_t>(locations_.count());
    if (scratch_.failed()) return no_memory();
    memset(sent_, 0, locations_.count() * sizeof *sent_);
    for (std::uint32_t e = 0; open > 0; ++e) {
      const auto send = [&](std::uint32_t m, std::uint32_t i, std::uint32_t location) {
        if (e == 0) heard(m)[m] = static_cast<std::uint16_t>(i);
        if (e > 0) open -= settle(m, location);
        yet_to_read_[location] = locations_[location].waits;
        if (yet_to_read_[location] == 0) return true;
        Copy* const copy = copy_of(m);
        if (copy == nullptr) return no_memory();
        ++copy->users;
        copies_[location] = copy;
        return true;
      };
      const auto await = [&](std::uint32_t m, std::uint32_t i, std::uint32_t location) {
        if (locations_[location].writer != m) merge(m, copies_[location]->heard);
        if (e == 0) heard(m)[m] = static_cast<std::uint16_t>(i + 1);
        drop(current_[m]);
        if (--yet_to_read_[location] == 0) drop(copies_[location]);
        return true;
      };
      if (!episode(e, send, await)) return false;
      if (e == 0)
        for (std::uint32_t m = 0; m < members_; ++m) heard(m)[m] = UINT16_MAX, drop(current_[m]);
      if (!none_is_late(e)) return false;
    }
    return true;
  }

  void merge(std::uint32_t m, const std::uint16_t* theirs) {
    std::uint16_t* const mine = heard(m);
    for (std::uint32_t r = 0; r < members_; ++r) mine[r] = theirs[r] > mine[r] ? theirs[r] : mine[r];
  }

  // Removes the reads of a slot that its writer knows. Returns their number.
  std::size_t settle(std::uint32_t writer, std::uint32_t location) {
    std::size_t settled = 0;
    for (std::uint32_t* at = &of_place_[location]; *at != kNone;) {
      Reading& r = readings_[*at];
      if (heard(writer)[r.reader] > r.step) {
        *at = r.next;
        ++settled;
      } else {
        at = &r.next;
      }
    }
    return settled;
  }

  bool none_is_late(std::uint32_t e) {
    for (std::uint32_t p = 0; p < locations_.count(); ++p)
      if (of_place_[p] != kNone && locations_[p].mask + 1 <= e)
        return fail("it writes to a slot that may not have been read yet", locations_[p].writer,
                    locations_[p].step);
    return true;
  }

  const ProgramSet& set_;
  const std::uint32_t members_, registers_;
  const Collective collective_;
  Scratch& scratch_;
  Locations locations_;
  Expressions expressions_;
  Proof proof_;
  std::size_t* first_ = nullptr;  // of each member, in place_
  std::uint32_t longest_ = 0;
  std::uint32_t* place_ = nullptr;  // the place of each step
  std::uint32_t* now_ = nullptr;    // the step that each member is at
  std::uint32_t* sent_ = nullptr;   // for each place: 1 + the episode last sent
  Node* registers_now_ = nullptr;
  Node* content_ = nullptr;  // of each slot
  Reading* readings_ = nullptr;
  std::uint32_t* of_place_ = nullptr;  // the first open read of each place
  std::uint16_t* heard_ = nullptr;     // by each member, of each other member
  // the copy of a member's row of heard_, if the member has sent since the row changed
  Copy** current_ = nullptr;
  Copy** copies_ = nullptr;  // the copy that the last signal to each place carried
  std::uint32_t* yet_to_read_ = nullptr;
  Copy* free_ = nullptr;
};

}  // namespace

Proof prove_data(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch) {
  return DataProof(set, terms, scratch).run();
}

}  // namespace fermata::exec::proof
