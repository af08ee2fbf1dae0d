#ifndef FERMATA_PLAN_BLOCK_SPACE_HPP
#define FERMATA_PLAN_BLOCK_SPACE_HPP

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace fermata {

// Allocates blocks of space piece by piece. Different pieces of one block share a block of space, each at its
// own offset.
class Space {
 public:
  explicit Space(std::uint32_t pieces) : pieces_(pieces) {}

  // Takes a place for the piece, and returns the index of its block of space. A piece gets another place at
  // each call, until give_back().
  std::uint32_t take(std::int32_t block, std::uint32_t piece) {
    std::vector<std::uint32_t>& mine = of_block_[block];
    const auto room =
        std::find_if(mine.begin(), mine.end(), [&](std::uint32_t i) { return !blocks_[i].taken[piece]; });
    std::uint32_t index = 0;
    if (room != mine.end()) {
      index = *room;
    } else if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
      mine.push_back(index);
    } else {
      index = size();
      blocks_.push_back({std::vector<bool>(pieces_, false), 0});
      mine.push_back(index);
    }
    blocks_[index].taken[piece] = true;
    ++blocks_[index].count;
    return index;
  }

  void give_back(std::int32_t block, std::uint32_t piece, std::uint32_t index) {
    blocks_[index].taken[piece] = false;
    if (--blocks_[index].count > 0) return;
    std::erase(of_block_[block], index);
    free_.push_back(index);
  }

  // How many blocks of space the caller needs: the most that were ever taken at once.
  std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }

 private:
  struct Block {
    std::vector<bool> taken;  // by piece
    std::uint32_t count = 0;
  };
  const std::uint32_t pieces_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_;
  std::map<std::int32_t, std::vector<std::uint32_t>> of_block_;
};

}  // namespace fermata
#endif
