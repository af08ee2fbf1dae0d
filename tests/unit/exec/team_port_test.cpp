// A team's port: where its lines go, and which lines land.
#include "exec/team_port.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "bare_host.hpp"

namespace fermata::exec {
namespace {

// Ranks 0 and 2 are on host 0, rank 1 is on host 1. Its sub-team has ranks 0 and 1, which are 2 and 1 here.
struct TeamPorts : testing::Test {
  Wire wire;
  BareHost near{{0, 1, 0}, 0}, far{{0, 1, 0}, 1};
  std::unique_ptr<BareHost> near_subteam = std::make_unique<BareHost>(std::vector{0U, 1U}, 0);
  std::unique_ptr<BareHost> far_subteam = std::make_unique<BareHost>(std::vector{0U, 1U}, 1);
  const char* detail = "";

  void SetUp() override {
    ASSERT_EQ(near.port.connect(wire[0].port(), &detail), Status::kOk) << detail;
    ASSERT_EQ(far.port.connect(wire[1].port(), &detail), Status::kOk) << detail;
  }
  void split(std::uint32_t number) {
    const std::uint32_t ranks[] = {2, 1};
    ASSERT_EQ(near_subteam->port.use_port_of(near.port, ranks, number, &detail), Status::kOk) << detail;
    ASSERT_EQ(far_subteam->port.use_port_of(far.port, ranks, number, &detail), Status::kOk) << detail;
  }
};

TEST_F(TeamPorts, LinesLandAtTheirOffset) {
  net::Line line{.offset = near.slot(1), .header = 7, .to = 1, .words = 1, .payload = {70}};
  near.port.write(line);
  EXPECT_EQ(far.word(far.slot(1)), 7U);
  EXPECT_EQ(far.word(far.slot(1) + 8), 70U);
  EXPECT_EQ(near.word(near.slot(1)), 0U);
}

TEST_F(TeamPorts, LinesOutsideTheWindowDoNotLand) {
  const std::uint64_t end = far.segment.bytes();
  for (const std::uint64_t offset : {far.segment.layout().window - 8, end - 8, end, ~std::uint64_t{7}}) {
    net::Line line{.offset = offset, .header = 7, .to = 1, .words = 1, .payload = {70}};
    near.port.write(line);
  }
  for (const std::uint64_t offset : {far.segment.layout().window - 8, end - 8})
    EXPECT_EQ(far.word(offset), 0U) << offset;
  net::Line nobodys{.offset = near.slot(0), .header = 7, .to = 3};
  near.port.write(nobodys);
  net::Line between{.offset = near.slot(0) + 4, .header = 7, .to = 1};
  near.port.write(between);
  net::Line line{.offset = near.slot(0), .header = 7, .to = 1};
  const net::Block block{.offset = end - 4, .bytes = 8, .from = &line};
  near.port.write(line, &block);
  EXPECT_EQ(far.word(far.slot(0)), 0U);
}

TEST_F(TeamPorts, LinesOfASubteamLandInIt) {
  split(5);
  net::Line line{.offset = near_subteam->slot(0), .header = 9, .to = 0};
  far_subteam->port.write(line);
  ASSERT_EQ(wire[1].written.size(), 1U);
  EXPECT_EQ(wire[1].written[0].subteam, 5U);
  EXPECT_EQ(wire[1].written[0].to, 2U) << "the receiver's rank in the port owner";
  EXPECT_EQ(wire[1].written[0].rank, 0U);
  EXPECT_EQ(near_subteam->word(near_subteam->slot(0)), 9U);
  EXPECT_EQ(near.word(near_subteam->slot(0)), 0U);
}

// Its port drives the owner's, but it has no window.
TEST_F(TeamPorts, NoLineLandsInASubteamOnOneHost) {
  split(5);
  TeamLayout layout = near_subteam->segment.layout();
  layout.window = 0;
  near_subteam->segment.set_layout(layout);
  const std::uint64_t before = near_subteam->word(kMaxLine);
  net::Line line{.offset = kMaxLine, .header = before + 9, .to = 0};
  far_subteam->port.write(line);
  EXPECT_EQ(near_subteam->word(kMaxLine), before);
}

TEST_F(TeamPorts, ASubteamThatHasClosedGetsNoLines) {
  split(5);
  net::Line line{.offset = near_subteam->slot(0), .header = 9, .to = 0};
  near_subteam.reset();  // unmaps its segment
  far_subteam->port.write(line);
  EXPECT_FALSE(wire[0].closed) << "the port is the owner's";
  near.port.close();
  EXPECT_TRUE(wire[0].closed);
  EXPECT_TRUE(far.port.is_gone(0));
}

TEST_F(TeamPorts, ConnectOnce) {
  EXPECT_EQ(near.port.connect(wire[0].port(), &detail), Status::kBusy);
  const std::uint32_t ranks[] = {0, 1, 2};
  EXPECT_EQ(near.port.use_port_of(far.port, ranks, 1, &detail), Status::kBusy);
  net::Port half = wire[0].port();
  half.flush = nullptr;
  EXPECT_EQ(near_subteam->port.connect(half, &detail), Status::kArgument);
  EXPECT_FALSE(near_subteam->port.is_connected());
}

// A port that keeps what it is asked for.
struct LongPort {
  std::uint32_t to = 0, from = 0;
  std::uint64_t ended = 0;
  net::Port port{};

  explicit LongPort(const net::Port& lines) : port(lines) {
    port.self = this;
    port.open = [](void*, const net::Window*) { return std::int32_t{0}; };
    port.close = [](void*, std::int64_t) {};
    port.send_long = [](void* self, std::uint32_t rank, const void*, std::uint64_t bytes,
                        std::uint64_t* number) {
      static_cast<LongPort*>(self)->to = rank;
      *number = 3;
      return bytes;
    };
    port.receive_long = [](void* self, std::uint32_t rank, std::uint64_t number, void*, std::uint64_t) {
      static_cast<LongPort*>(self)->from = rank;
      return number;
    };
    port.is_over = [](void*, std::uint64_t id) { return std::int32_t{id == 3 ? 1 : 0}; };
    port.end_long = [](void* self, std::uint64_t id, std::int64_t) {
      static_cast<LongPort*>(self)->ended = id;
      return std::int32_t{id == 8 ? 1 : 0};
    };
  }
};

TEST(TeamPort, LongMessagesAreForRanksOfThePortOwner) {
  Wire wire;
  LongPort wired(wire[0].port());
  BareHost host{{0, 1, 0}, 0}, subteam{{0, 1}, 0};
  const char* detail = "";
  ASSERT_EQ(host.port.connect(wired.port, &detail), Status::kOk) << detail;
  EXPECT_TRUE(host.port.has_long());
  const std::uint32_t ranks[] = {2, 1};
  ASSERT_EQ(subteam.port.use_port_of(host.port, ranks, 5, &detail), Status::kOk) << detail;
  ASSERT_TRUE(subteam.port.has_long());
  std::byte data[8] = {};
  std::uint64_t number = 0;
  EXPECT_EQ(subteam.port.send_long(0, data, 8, &number), 8U);
  EXPECT_EQ(wired.to, 2U);
  EXPECT_EQ(number, 3U);
  EXPECT_EQ(subteam.port.receive_long(0, number, data, 8), 3U);
  EXPECT_EQ(wired.from, 2U);
  EXPECT_TRUE(subteam.port.is_over(3));
  EXPECT_FALSE(subteam.port.is_over(8));
  EXPECT_FALSE(subteam.port.end_long(7, 0));
  EXPECT_TRUE(subteam.port.end_long(8, 0));
  EXPECT_EQ(wired.ended, 8U);
}

// Programs of before have a shorter port.
TEST(TeamPort, AllFunctionsOfLongMessagesOrNone) {
  Wire wire;
  const char* detail = "";
  {
    LongPort wired(wire[0].port());
    wired.port.size = net::kPortWithoutLong;
    BareHost host{{0, 1}, 0};
    EXPECT_EQ(host.port.connect(wired.port, &detail), Status::kOk) << detail;
    EXPECT_FALSE(host.port.has_long());
  }
  for (const std::size_t size :
       {net::kPortWithoutLong - 8, net::kPortWithoutLong + 8, sizeof(net::Port) + 8}) {
    LongPort wired(wire[0].port());
    wired.port.size = size;
    BareHost host{{0, 1}, 0};
    EXPECT_EQ(host.port.connect(wired.port, &detail), Status::kArgument) << size;
  }
  LongPort half(wire[0].port());
  half.port.is_over = nullptr;
  BareHost host{{0, 1}, 0};
  EXPECT_EQ(host.port.connect(half.port, &detail), Status::kArgument);
}

TEST(TeamPort, OneHostTakesNone) {
  Wire wire;
  const HostTable one_host;
  TeamSegment segment = bare_segment(2);
  TeamPort port(segment, one_host);
  const char* detail = "";
  EXPECT_EQ(port.connect(wire[0].port(), &detail), Status::kArgument);
  EXPECT_STREQ(detail, "all members of this team are on one host, so it takes no port");
  segment.memory().unmap();
}

}  // namespace
}  // namespace fermata::exec
