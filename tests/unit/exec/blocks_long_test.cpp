// Long messages between two hosts, driven by hand: each host has one rank. The wire moves a long message when
// the test says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "exec/blocks.hpp"
#include "sum.hpp"

namespace fermata::exec {
namespace {

constexpr auto kNobodyIsTold = [](std::uint32_t) {};
constexpr std::size_t kLongCount = 100'000;  // 800 KB: less than a ring

// A port for each of two hosts. Lines land at once.
class Links {
 public:
  struct Side {
    std::byte* at = nullptr;
    std::uint64_t bytes = 0, number = 0;
    bool receives = false, over = false;
  };
  struct End {
    Links* links = nullptr;
    End* other = nullptr;
    net::Window window;
    std::map<std::uint64_t, Side> longs;
    std::uint64_t sent = 0, last_id = 0;
  };

  Links() {
    for (int i = 0; i < 2; ++i) ends_[i].links = this, ends_[i].other = &ends_[1 - i];
  }
  net::Port port(int host) {
    return {sizeof(net::Port), &ends_[host], open,    write,   progress, is_gone, flush, close,
            send_long,         receive_long, is_over, end_long};
  }
  // Moves the long messages that both sides have begun. Returns how many.
  int move() {
    int moved = 0;
    for (End& end : ends_)
      for (auto& [id, mine] : end.longs)
        for (auto& [other_id, sent] : end.other->longs) {
          if (!mine.receives || mine.over || sent.receives || sent.number != mine.number) continue;
          EXPECT_EQ(sent.bytes, mine.bytes);
          std::memcpy(mine.at, sent.at, std::min(sent.bytes, mine.bytes));
          mine.over = sent.over = true;
          ++moved;
        }
    return moved;
  }
  // Memory of the receiver that the operation has left to the port.
  void free_left() {
    for (auto& [id, side] : ends_[1].longs) free(side.at);
  }
  std::size_t open_messages() const { return ends_[0].longs.size() + ends_[1].longs.size(); }
  bool has_memory = true;
  bool gone = false;   // the processes
  bool keeps = false;  // messages that are not over cannot be given up

 private:
  static End& of(void* self) { return *static_cast<End*>(self); }
  static std::int32_t open(void* self, const net::Window* window) { return of(self).window = *window, 0; }
  static void write(void* self, const net::Line* line, const net::Block* block) {
    const net::Window& there = of(self).other->window;
    there.land(there.team, line, block);
  }
  static void progress(void*) {}
  static std::int32_t is_gone(void* self, std::uint32_t) { return of(self).links->gone ? 1 : 0; }
  static void flush(void*, std::int64_t) {}
  static void close(void*, std::int64_t) {}
  static std::uint64_t add(End& end, const Side& side) {
    if (!end.links->has_memory) return 0;
    end.longs[++end.last_id] = side;
    return end.last_id;
  }
  static std::uint64_t send_long(void* self, std::uint32_t, const void* from, std::uint64_t bytes,
                                 std::uint64_t* number) {
    *number = of(self).sent++;
    return add(of(self), {static_cast<std::byte*>(const_cast<void*>(from)), bytes, *number});
  }
  static std::uint64_t receive_long(void* self, std::uint32_t, std::uint64_t number, void* to,
                                    std::uint64_t bytes) {
    return add(of(self), {static_cast<std::byte*>(to), bytes, number, true});
  }
  static std::int32_t is_over(void* self, std::uint64_t id) { return of(self).longs.at(id).over ? 1 : 0; }
  static std::int32_t end_long(void* self, std::uint64_t id, std::int64_t) {
    const auto found = of(self).longs.find(id);
    if (of(self).links->keeps && !found->second.over) return 0;
    of(self).longs.erase(found);
    return 1;
  }

  End ends_[2];
};

// Both ranks send their input to the other and receive into their output; or only rank 0 sends.
struct Exchange : testing::Test {
  Links links;
  Team* teams[2] = {};
  BlockEdge edges[2] = {{0, 1}, {1, 0}};
  BlockTransfer transfers[2][2];
  BlockStage stage{0, 2}, one{0, 1};
  BlockProgram program[2];
  Channel::End ends[2][4];
  std::uint64_t last_in_parts[2][2 * kMostParts] = {};
  Channel channels[2];
  BlockOperation::Work work[2][2];
  BlockOperation operation[2];
  std::vector<std::uint64_t> in[2], out[2];

  // Each rank has so many values.
  void fill(std::size_t count) {
    for (std::uint32_t r = 0; r < 2; ++r) {
      in[r].resize(count);
      for (std::size_t k = 0; k < count; ++k) in[r][k] = value(r, k);
      out[r].assign(count, 7);
    }
  }
  void SetUp() override {
    fill(kLongCount);
    const std::uint32_t hosts[] = {0, 1};
    for (std::uint32_t r = 0; r < 2; ++r) {
      const char* detail = "";
      const TeamOptions options{.members = 2, .blocks = true, .hosts = hosts, .host = r};
      ASSERT_EQ(Team::create(options, &teams[r], &detail), Status::kOk) << detail;
      ASSERT_EQ(teams[r]->port().connect(links.port(static_cast<int>(r)), &detail), Status::kOk) << detail;
      const TeamLayout& layout = teams[r]->layout();
      channels[r] = {teams[r]->base() + layout.rings,
                     layout.ring_lines,
                     layout.in_quarter,
                     2,
                     ends[r],
                     last_in_parts[r]};
      BlockTransfer &send = transfers[r][0], &receive = transfers[r][1];
      send.code = BlockCode::kSend;
      receive.code = BlockCode::kReceive;
      send.peer = receive.peer = 1 - r;
      send.edge = r;
      receive.edge = 1 - r;
      send.from = {BlockPlace::kInput, 0};
      receive.to = {BlockPlace::kOutput, 0};
      program[r] = {.members = 2,
                    .rank = r,
                    .stage_count = 1,
                    .transfer_count = 2,
                    .edge_count = 2,
                    .stages = &stage,
                    .transfers = transfers[r],
                    .edges = edges};
    }
  }
  void TearDown() override {
    for (Team* team : teams)
      if (team != nullptr) team->release();
  }
  static std::uint64_t value(std::uint32_t rank, std::size_t k) { return (rank + 1) * 1'000'000u + k; }
  void only_rank_0_sends() {
    for (std::uint32_t r = 0; r < 2; ++r) {
      program[r].stages = &one;
      program[r].transfer_count = 1;
    }
    program[1].transfers = &transfers[1][1];
  }
  // Rank 0 sends all by a long message, and rank 1 folds it.
  void prepare_fold(BlockCode code) {
    only_rank_0_sends();
    transfers[1][1].code = code;
    transfers[1][1].from = {BlockPlace::kInput, 0};
    for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 0);
  }
  void prepare(std::uint32_t rank, std::uint64_t* from, std::uint64_t* to, std::size_t before_long,
               std::size_t count = kLongCount, bool bounded = false) {
    BlockCall call;
    call.element = 8;
    call.fold = add;
    call.tag = 5;
    call.team = teams[rank];
    call.before_long = before_long;
    call.bounded = bounded;
    call.input = {reinterpret_cast<std::byte*>(from), count, nullptr, nullptr};
    call.output = {reinterpret_cast<std::byte*>(to), count, nullptr, nullptr};
    operation[rank].prepare(program[rank], call, &channels[rank], work[rank], nullptr, 0);
  }
  // Advances both until both are over.
  void run(std::size_t most = SIZE_MAX) {
    for (int turn = 0; turn < 10'000; ++turn) {
      bool all = true;
      for (BlockOperation& each : operation) all = each.advance(kNobodyIsTold, most) && all;
      if (all) break;
      links.move();
    }
    for (const BlockOperation& each : operation) {
      ASSERT_TRUE(each.over());
      EXPECT_EQ(each.status(), Status::kOk);
      EXPECT_FALSE(each.has_messages());
    }
    EXPECT_EQ(links.open_messages(), 0u);
  }
  void expect_values(const std::vector<std::uint64_t>& data, std::uint32_t of_rank) {
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < data.size(); ++k) wrong += data[k] != value(of_rank, k) ? 1 : 0;
    EXPECT_EQ(wrong, 0u) << "of rank " << of_rank;
  }
};

TEST_F(Exchange, BeginsThroughTheRingAndEndsAtItsPlace) {
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 100'000);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  EXPECT_FALSE(operation[0].untouched());
  EXPECT_TRUE(operation[0].has_messages());
  EXPECT_FALSE(operation[1].advance(kNobodyIsTold));
  EXPECT_EQ(out[1][100'000 / 8 - 1], value(0, 100'000 / 8 - 1)) << "through the ring";
  EXPECT_EQ(out[1][100'000 / 8], 7u);
  EXPECT_FALSE(operation[1].lacks(0)) << "rank 0 has just left, and its process moves the message";
  work[1][1].missed_ns -= 20'000'000'000;
  EXPECT_TRUE(operation[1].lacks(0)) << "it has left long ago";
  work[1][1].missed_ns = 0;
  links.gone = true;
  EXPECT_TRUE(operation[1].lacks(0));
  links.gone = false;
  EXPECT_FALSE(operation[1].ready());
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  EXPECT_EQ(links.move(), 2);
  EXPECT_FALSE(operation[1].lacks(0));
  EXPECT_TRUE(operation[1].ready());
  EXPECT_EQ(out[1][kLongCount - 1], value(0, kLongCount - 1)) << "no copy in between";
  run();
  for (std::uint32_t r = 0; r < 2; ++r) expect_values(out[r], 1 - r);
}

// Each side's receive waits until the same memory was sent. If they sent that by long messages, each would
// wait for the other to take it.
TEST_F(Exchange, InPlaceGoesThroughTheRing) {
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), in[r].data(), 0);
  run();
  for (std::uint32_t r = 0; r < 2; ++r) expect_values(in[r], 1 - r);
}

// Rank 0 cannot send all that lies where rank 1's message shall come: the ring is full.
TEST_F(Exchange, DoesNotOverwriteWhatIsStillToBeSent) {
  const std::size_t count = 5 * kRingQuarters * channels[0].in_quarter / 4 / 8;
  fill(count);
  prepare(0, in[0].data(), in[0].data(), 0, count);
  prepare(1, in[1].data(), out[1].data(), 0, count);
  EXPECT_FALSE(operation[1].advance(kNobodyIsTold));
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  EXPECT_EQ(links.move(), 0) << "it has not said where the message goes";
  run();
  expect_values(in[0], 1);
  expect_values(out[1], 0);
}

TEST_F(Exchange, FoldsWhatHasCome) {
  for (const BlockCode code : {BlockCode::kReceiveLeft, BlockCode::kReceiveRight}) {
    prepare_fold(code);
    run();
    std::size_t wrong = 0;
    for (std::size_t k = 0; k < kLongCount; ++k) wrong += out[1][k] != value(0, k) + value(1, k) ? 1 : 0;
    EXPECT_EQ(wrong, 0u);
  }
}

// Other requests get their turn, too.
TEST_F(Exchange, FoldsByFairShares) {
  prepare_fold(BlockCode::kReceiveLeft);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  EXPECT_FALSE(operation[1].advance(kNobodyIsTold));
  EXPECT_EQ(links.move(), 1);
  EXPECT_FALSE(operation[1].advance(kNobodyIsTold, 80'000));
  EXPECT_EQ(out[1][9'999], value(0, 9'999) + value(1, 9'999));
  EXPECT_EQ(out[1][10'000], 7u);
  run(80'000);
}

TEST_F(Exchange, AShorterReceiverWritesNoMoreThanItsRoom) {
  only_rank_0_sends();
  prepare(0, in[0].data(), nullptr, 1000);
  prepare(1, nullptr, out[1].data(), 0, kLongCount - 1000, true);
  run();
  EXPECT_TRUE(operation[1].truncated());
  EXPECT_EQ(out[1][kLongCount - 1001], value(0, kLongCount - 1001));
  EXPECT_EQ(out[1][kLongCount - 1000], 7u);
}

TEST_F(Exchange, ShortRestsGoThroughTheRing) {
  only_rank_0_sends();
  for (const std::size_t before : {kLongCount * 8 - kLeastLong + 8, kLongCount * 8 + 1, SIZE_MAX}) {
    prepare(0, in[0].data(), nullptr, before);
    prepare(1, nullptr, out[1].data(), 0);
    EXPECT_TRUE(operation[0].advance(kNobodyIsTold)) << before;
    run();
  }
  prepare(0, in[0].data(), nullptr, kLongCount * 8 - kLeastLong);
  prepare(1, nullptr, out[1].data(), 0);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  run();
}

TEST_F(Exchange, WithoutMemoryForTheMessageTheSenderUsesTheRing) {
  only_rank_0_sends();
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 0);
  links.has_memory = false;
  EXPECT_TRUE(operation[0].advance(kNobodyIsTold));
  links.has_memory = true;
  run();
  expect_values(out[1], 0);
}

TEST_F(Exchange, WithoutMemoryTheReceiverFails) {
  only_rank_0_sends();
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 0);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  links.has_memory = false;
  EXPECT_TRUE(operation[1].advance(kNobodyIsTold));
  EXPECT_EQ(operation[1].status(), Status::kMemory);
  EXPECT_FALSE(operation[1].has_messages());
  operation[0].end_messages(1);
  EXPECT_EQ(links.open_messages(), 0u);
}

// Two folds into one place: the second message gets memory once the first one is folded.
TEST_F(Exchange, AMessageWaitsUntilItsReceiveMayWriteAllOfIt) {
  transfers[0][1] = transfers[0][0];
  transfers[1][0] = transfers[1][1];
  for (BlockTransfer& x : transfers[1]) x.code = BlockCode::kReceiveLeft, x.from = {BlockPlace::kOutput, 0};
  std::fill(out[1].begin(), out[1].end(), 0);
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 0);
  for (int i = 0; i < 3; ++i) {
    operation[0].advance(kNobodyIsTold);
    operation[1].advance(kNobodyIsTold);
    EXPECT_LE(links.open_messages(), 2u) << "one on each side";
  }
  run();
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < kLongCount; ++k) wrong += out[1][k] != 2 * value(0, k) ? 1 : 0;
  EXPECT_EQ(wrong, 0u);
}

// Memory that the port may still use is not freed, and a message that comes late does no harm.
TEST_F(Exchange, LeavesMemoryToAPortThatKeepsIt) {
  prepare_fold(BlockCode::kReceiveLeft);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  EXPECT_FALSE(operation[1].advance(kNobodyIsTold));
  links.keeps = true;
  operation[1].give_up_messages();
  EXPECT_TRUE(operation[1].has_messages()) << "it is still to be awaited";
  operation[1].end_messages(1);
  EXPECT_FALSE(operation[1].has_messages());
  EXPECT_TRUE(operation[1].has_left_messages());
  EXPECT_EQ(links.move(), 1);
  links.free_left();
  links.keeps = false;
  operation[0].end_messages(1);
  EXPECT_FALSE(operation[0].has_left_messages());
  prepare(1, in[1].data(), out[1].data(), 0);
  EXPECT_FALSE(operation[1].has_left_messages());
}

// A line that announces what no sender of this team sends.
TEST_F(Exchange, AnImpossibleLengthIsAMismatch) {
  only_rank_0_sends();
  for (std::uint32_t r = 0; r < 2; ++r) prepare(r, in[r].data(), out[r].data(), 0);
  EXPECT_FALSE(operation[0].advance(kNobodyIsTold));
  std::byte* const line = channels[1].line(channels[1].ring(edges[0], 0), 1);
  const std::uint64_t more = kLongCount + 1;
  std::memcpy(line + 24, &more, sizeof more);
  EXPECT_TRUE(operation[1].advance(kNobodyIsTold));
  EXPECT_EQ(operation[1].status(), Status::kMismatch);
  EXPECT_EQ(operation[1].foreigner(), 0u);
  operation[0].end_messages(1);
}

}  // namespace
}  // namespace fermata::exec
