// Who knows of whose arrival, stage by stage: equation 3 of heterogeneous-mpi-barriers as rows of bits.
#ifndef FERMATA_SCHEDULE_KNOWLEDGE_HPP
#define FERMATA_SCHEDULE_KNOWLEDGE_HPP

#include <cstdint>
#include <vector>

#include "schedule/schedule.hpp"

namespace fermata {

// K over members and words: row v has a bit for each member whose arrival vertex v knows of. The paper's K,
// transposed, so that a signal is one OR of rows: members / 64 operations each.
class Knowledge {
 public:
  explicit Knowledge(const Schedule& schedule);

  // K_a = K_(a-1) + K_(a-1) S_a. A signal carries what its sender knew when the stage began; an edge between
  // words also carries what its actor knew. Precondition: check_structure passed.
  void advance(const Stage& stage);

  bool knows(std::int32_t vertex, std::int32_t member) const { return (row(vertex)[member / 64] >> (member % 64) & 1) != 0; }
  std::int64_t known(std::int32_t vertex) const;          // members that `vertex` knows of
  std::int64_t known_pairs() const;                       // over all members; members^2 when everybody knows of everybody
  std::int32_t first_unknown(std::int32_t vertex) const;  // -1 if none

 private:
  const std::uint64_t* row(std::int32_t v) const { return rows_.data() + static_cast<std::size_t>(v) * width_; }
  std::uint64_t* row(std::int32_t v) { return rows_.data() + static_cast<std::size_t>(v) * width_; }

  // A row as the stage found it: snapshots are taken of those that both send and receive in the stage.
  const std::uint64_t* before(std::int32_t v) const {
    return saved_at_[v] >= 0 ? saved_.data() + static_cast<std::size_t>(saved_at_[v]) * width_ : row(v);
  }

  const Schedule& schedule_;
  std::size_t width_;  // words of 64 bits in a row
  std::vector<std::uint64_t> rows_, saved_;
  std::vector<std::int32_t> saved_at_;  // index in saved_, or -1
};

}  // namespace fermata
#endif
