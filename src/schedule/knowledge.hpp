// Computes which vertex knows of which member's arrival, stage by stage: equation 3 of
// heterogeneous-mpi-barriers, as rows of bits.
#ifndef FERMATA_SCHEDULE_KNOWLEDGE_HPP
#define FERMATA_SCHEDULE_KNOWLEDGE_HPP

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace fermata {

// The matrix K over members and words. In row v the bit of each member of whose arrival vertex v knows is 1.
// It is the paper's K, transposed, so that a signal is one OR of two rows, in members / 64 operations.
class Knowledge {
 public:
  explicit Knowledge(const Schedule& schedule);

  // K_a = K_(a-1) + K_(a-1) S_a. A signal carries what its sender knew when the stage began. An edge between
  // words also carries what its actor knew. Precondition: check_structure passed.
  void advance(const Stage& stage);

  bool knows(std::int32_t vertex, std::int32_t member) const {
    return (row(vertex)[member / 64] >> (member % 64) & 1) != 0;
  }
  std::int64_t known(std::int32_t vertex) const;  // number of members that `vertex` knows of
  // The sum of known() over all members. It is members^2 if every member knows of every member.
  std::int64_t known_pairs() const;
  std::int32_t first_unknown(std::int32_t vertex) const;  // -1: it knows of all

 private:
  const std::uint64_t* row(std::int32_t v) const {
    return rows_.data() + static_cast<std::size_t>(v) * width_;
  }
  std::uint64_t* row(std::int32_t v) { return rows_.data() + static_cast<std::size_t>(v) * width_; }

  // The row of v as it was when the stage began. Every receiver of the stage has a snapshot of its row.
  const std::uint64_t* before(std::int32_t v) const {
    return saved_at_[v] >= 0 ? saved_.data() + static_cast<std::size_t>(saved_at_[v]) * width_ : row(v);
  }

  const Schedule& schedule_;
  std::size_t width_;  // 64-bit words in a row
  std::vector<std::uint64_t> rows_, saved_;
  std::vector<std::int32_t> saved_at_;  // index in saved_, or -1
};

}  // namespace fermata
#endif
