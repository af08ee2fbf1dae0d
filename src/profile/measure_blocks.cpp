// Times the two ways in which collectives on blocks move a block from one process to another
// (exec/blocks.hpp):
// - through a ring buffer in shared memory: two copies, which overlap since one CPU writes while the other
//   reads;
// - by a single copy: the kernel looks up the pages of the sender's block, then copies the block once.
// Which way is faster depends on the machine.
#include <cstring>

#include "os/os.hpp"
#include "profile/measure.hpp"
#include "sync/ring.hpp"
#include "sync/stream.hpp"

namespace fermata {

namespace {

using Pieces = Ring<RealAtomics>;

constexpr std::size_t kSizes[] = {16384, 65536, 262144, 1 << 20, 4 << 20};
constexpr auto kSizeCount = static_cast<std::int32_t>(std::size(kSizes));
constexpr std::size_t kMost = kSizes[kSizeCount - 1];
constexpr std::size_t kPiece = 16384;
static_assert(kPiece >= kPastCachesFrom);
constexpr std::uint64_t kSlots = 16;
constexpr std::uint64_t kPieces = kMost / kPiece;  // pieces of the longest block
constexpr std::uint32_t kLooks = 1U << 16;         // fruitless polls between two checks of the time

struct OneWay {
  struct alignas(kMaxLine) Header {
    std::atomic<std::uint64_t> number;
  };
  Header header[kSlots];
  probe::Flag credit;
  alignas(kMaxLine) std::byte slot[kSlots][kPiece];
};

struct Exchange {
  OneWay way[2];  // from member 0, from member 1
  probe::Flag ready[2], done[2];
  os::ProcessMemory owner[2];  // each member writes its own entry before it signals ready
  probe::Flag refused;
};

// One end's progress through one block. No two episodes use the same piece numbers.
class Stream {
 public:
  Stream(OneWay& way, std::byte* block, std::size_t bytes, std::uint64_t episode)
      : way_(way), block_(block), count_(bytes / kPiece), first_(episode * kPieces + 1), seen_(first_ - 1) {}

  bool over() const { return k_ == count_; }
  bool put() {
    // The first kSlots pieces need no credit: the members have met since the previous episode, so each member
    // has read all pieces of that episode.
    if (over() || (k_ >= kSlots && !Pieces::was_read(way_.credit.value, seen_, first_ + k_ - kSlots)))
      return false;
    copy_past_caches(way_.slot[k_ % kSlots], block_ + k_ * kPiece, kPiece);
    Pieces::publish(way_.header[k_ % kSlots].number, first_ + k_);
    ++k_;
    return true;
  }
  bool take() {
    if (over() || !Pieces::has_come(way_.header[k_ % kSlots].number, first_ + k_)) return false;
    std::memcpy(block_ + k_ * kPiece, way_.slot[k_ % kSlots], kPiece);
    Pieces::give_credit(way_.credit.value, first_ + k_, kSlots, k_ + 1 == count_);
    ++k_;
    return true;
  }

 private:
  OneWay& way_;
  std::byte* block_;
  const std::uint64_t count_, first_;
  std::uint64_t seen_, k_ = 0;
};

// Private to each member: between processes the same address refers to separate memory.
struct Blocks {
  std::vector<std::byte> given = std::vector<std::byte>(kMost, std::byte{1}),
                         got = std::vector<std::byte>(kMost, std::byte{2});
};

// Both members give a block at once, or they give in turn.
class Moving {
 public:
  Moving(Exchange& shared, Blocks (&blocks)[2]) : shared_(shared), blocks_(blocks) {}

  void operator()(int member, const probe::Command& command, probe::Control& control) const {
    const auto point = static_cast<std::size_t>(command.point);
    const std::size_t bytes = kSizes[point / 4];
    const bool single_copy = point % 4 >= 2, both = point % 2 != 0;
    for (std::uint64_t e = command.base + 1; e <= command.base + command.rounds; ++e) {
      const bool gives = both || static_cast<int>(e % 2) == member, gets = both || !gives;
      const bool went = single_copy ? by_kernel(member, bytes, e, gives, gets, control)
                                    : by_ring(member, bytes, e, gives, gets, control);
      if (!went) return;
    }
  }

 private:
  // The members meet after both blocks have arrived, as in a collective that synchronizes.
  bool by_ring(int member, std::size_t bytes, std::uint64_t e, bool gives, bool gets,
               probe::Control& control) const {
    Stream out(shared_.way[member], blocks_[member].given.data(), gives ? bytes : 0, e);
    Stream in(shared_.way[1 - member], blocks_[member].got.data(), gets ? bytes : 0, e);
    for (std::uint32_t vain = 0; !out.over() || !in.over();) {
      const bool wrote = out.put(), read = in.take();
      if (wrote || read) continue;
      RealAtomics::pause();
      if (++vain % kLooks == 0 && control.expired()) return false;
    }
    return meet(shared_.done, member, e, control);
  }

  bool by_kernel(int member, std::size_t bytes, std::uint64_t e, bool gives, bool gets,
                 probe::Control& control) const {
    if (gives) {
      shared_.owner[member] = os::own_memory();
      probe::signal(shared_.ready[member].value, e);
    }
    if (gets) {
      const int other = 1 - member;
      if (!probe::await(shared_.ready[other].value, e, control)) return false;
      if (!os::read_memory(shared_.owner[other], blocks_[other].given.data(), blocks_[member].got.data(),
                           bytes))
        // order: read after the members have ended
        shared_.refused.value.store(1, std::memory_order_relaxed);
    }
    return meet(shared_.done, member, e, control);
  }

  static bool meet(probe::Flag (&flags)[2], int member, std::uint64_t e, probe::Control& control) {
    probe::signal(flags[member].value, e);
    return probe::await(flags[1 - member].value, e, control);
  }

  Exchange& shared_;
  Blocks (&blocks_)[2];
};

}  // namespace

std::vector<BlockWay> measure_blocks(std::int32_t a, std::int32_t b, double seconds) {
  probe::SharedMemory memory(sizeof(Exchange));
  if (!memory) return {};
  Exchange& shared = *memory.at<Exchange>(0);
  Blocks blocks[2];
  const auto times = probe::sample({{a, b}, true, seconds}, 4 * kSizeCount, Moving(shared, blocks));
  if (times.empty()) return {};
  // order: relaxed: all members have ended
  const bool refused = !os::may_single_copy() || shared.refused.value.load(std::memory_order_relaxed) != 0;
  std::vector<BlockWay> out;
  for (std::size_t point = 0; point < times.size(); ++point) {
    const bool single_copy = point % 4 >= 2;
    if (single_copy && refused) continue;
    out.push_back({single_copy ? "lent" : "ring", point % 2 != 0,
                   static_cast<std::int64_t>(kSizes[point / 4]), times[point]});
  }
  return out;
}

}  // namespace fermata
