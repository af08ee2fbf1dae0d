// Computes which vertex knows of which member's arrival, stage by stage: equation 3 of
// heterogeneous-mpi-barriers, as rows of bits.
#ifndef FERMATA_SCHEDULE_KNOWLEDGE_HPP
#define FERMATA_SCHEDULE_KNOWLEDGE_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

#include "schedule/structure.hpp"

namespace fermata {

// Does transfer i belong to the same message as the transfer before it? A message can have several chunks.
inline bool same_message(const Stage& stage, std::size_t i) {
  if (i == 0) return false;
  const Transfer &t = stage.transfers[i], &before = stage.transfers[i - 1];
  return t.from == before.from && t.to == before.to;
}

// Rows of T, one per vertex. A signal passes on its sender's row as it was when the stage began.
template <class T, T (*kMerge)(T, T)>
class Rows {
 public:
  Rows(const Schedule& s, std::size_t width)
      : s_(s), width_(width), rows_(width * s.vertices(), 0), saved_at_(s.vertices(), -1) {}

  std::size_t width() const { return width_; }
  T* row(std::int32_t v) { return rows_.data() + static_cast<std::size_t>(v) * width_; }
  const T* row(std::int32_t v) const { return rows_.data() + static_cast<std::size_t>(v) * width_; }
  const T* before(std::int32_t v) const {  // as it was when the stage began
    return saved_at_[v] >= 0 ? saved_.data() + static_cast<std::size_t>(saved_at_[v]) * width_ : row(v);
  }

  // Saves the rows that the stage will change: its receivers'. Call it before any question about the stage.
  void begin(const Stage& stage) {
    for (const std::int32_t v : touched_) saved_at_[v] = -1;
    touched_.clear();
    for (const Transfer& t : stage.transfers) {
      if (saved_at_[t.to] >= 0) continue;
      saved_at_[t.to] = static_cast<std::int32_t>(touched_.size());
      touched_.push_back(t.to);
    }
    saved_.resize(touched_.size() * width_);
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      std::copy_n(row(touched_[i]), width_, saved_.data() + i * width_);
    }
  }

  // An edge between words also carries what its actor knew. Returns whether a row changed.
  bool pass(const Stage& stage) {
    T changes{};
    for (std::size_t i = 0; i < stage.transfers.size(); ++i) {
      if (same_message(stage, i)) continue;
      const Transfer& t = stage.transfers[i];
      changes |= merge(t.to, t.from);
      if (s_.is_word(t.from) && s_.is_word(t.to)) changes |= merge(t.to, s_.word_vertex(actor_of(s_, t)));
    }
    return changes != T{};
  }

 private:
  // Returns bits that changed.
  T merge(std::int32_t to, std::int32_t from) {
    const T* const what = before(from);
    T* const into = row(to);
    T changes{};
    std::size_t i = 0;
    for (; i + kBlock <= width_; i += kBlock) changes |= merge<kBlock>(into + i, what + i);
    for (; i < width_; ++i) changes |= merge<1>(into + i, what + i);
    return changes;
  }
  // Compilers use vectors for a constant length without aliases.
  static constexpr std::size_t kBlock = 128 / sizeof(T);
  template <std::size_t kLength>
  static T merge(T* __restrict into, const T* __restrict what) {
    T changes{};
    for (std::size_t i = 0; i < kLength; ++i) {
      const T merged = kMerge(into[i], what[i]);
      changes |= merged ^ into[i];
      into[i] = merged;
    }
    return changes;
  }

  const Schedule& s_;
  const std::size_t width_;
  std::vector<T> rows_, saved_;
  std::vector<std::int32_t> saved_at_, touched_;
};

inline std::uint64_t united(std::uint64_t a, std::uint64_t b) { return a | b; }

// The matrix K over members and words. In row v the bit of each member of whose arrival vertex v knows is 1.
// It is the paper's K, transposed, so that a signal is one OR of two rows, in members / 64 operations.
class Knowledge {
 public:
  explicit Knowledge(const Schedule& schedule);

  // K_a = K_(a-1) + K_(a-1) S_a. A signal carries what its sender knew when the stage began. An edge between
  // words also carries what its actor knew. Precondition: check_structure passed.
  void advance(const Stage& stage) {
    rows_.begin(stage);
    rows_.pass(stage);
  }

  bool knows(std::int32_t vertex, std::int32_t member) const {
    return (rows_.row(vertex)[member / 64] >> (member % 64) & 1) != 0;
  }
  std::int64_t known(std::int32_t vertex) const;  // number of members that `vertex` knows of
  // The sum of known() over all members. It is members^2 if every member knows of every member.
  std::int64_t known_pairs() const;
  std::int32_t first_unknown(std::int32_t vertex) const;  // -1: it knows of all

 private:
  const std::int32_t members_;
  Rows<std::uint64_t, united> rows_;
};

}  // namespace fermata
#endif
