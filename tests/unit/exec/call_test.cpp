// Members' descriptions of their calls: packing loses nothing, and where lengths may differ, only certain
// other fields may.
#include "exec/call.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace fermata::exec {
namespace {

Call reduce() {
  Call call;
  call.collective = Collective::kReduce;
  call.type = 3;
  call.op = 2;
  call.root = 1;
  call.bytes = 800;
  call.order = Call::kRankOrder;
  return call;
}

using Change = std::function<void(Call&)>;

bool only_lengths_differ(Call call, const Change& change) {
  const std::uint64_t before = call.packed();
  change(call);
  const std::uint64_t after = call.packed();
  EXPECT_EQ(Call::only_lengths_differ(before, after), Call::only_lengths_differ(after, before));
  return Call::only_lengths_differ(before, after);
}

const Change kLonger = [](Call& c) { c.bytes += 8; };

TEST(Call, IsPackedWhole) {
  Call call = reduce();
  call.type = Call::kOwnType;
  call.op = Call::kOwnOp;
  call.root = kMaxTeamMembers - 1;
  call.bytes = Call::kMostBytes;
  call.irregular = call.prepares = true;
  call.order = Call::kLineOrder;
  const Call back = Call::unpack(call.packed());
  EXPECT_EQ(back.packed(), call.packed());
  EXPECT_TRUE(back.collective == call.collective && back.type == call.type && back.op == call.op &&
              back.root == call.root);
  EXPECT_TRUE(back.bytes == call.bytes && back.irregular && back.prepares && back.order == call.order);
  call.bytes = ~std::uint64_t{0};  // stands for so many or more
  EXPECT_EQ(back.packed(), call.packed());
}

TEST(Call, OfARootMayDifferInItsLengthAlone) {
  EXPECT_TRUE(only_lengths_differ(reduce(), kLonger));
  EXPECT_FALSE(only_lengths_differ(reduce(), [](Call&) {}));
  const Change others[] = {[](Call& c) { ++c.type; },
                           [](Call& c) { ++c.op; },
                           [](Call& c) { ++c.root; },
                           [](Call& c) { c.prepares = true; },
                           [](Call& c) { c.collective = Collective::kGather; },
                           [](Call& c) { c.order = Call::kLeftToRight; }};
  for (const Change& other : others) {
    EXPECT_FALSE(only_lengths_differ(reduce(), other));
    EXPECT_FALSE(only_lengths_differ(reduce(), [&](Call& c) { kLonger(c), other(c); }));
  }
}

// Only long elements are described.
TEST(Call, OfABroadcastMayDifferInItsTypeToo) {
  Call broadcast = reduce();
  broadcast.collective = Collective::kBroadcast;
  EXPECT_TRUE(only_lengths_differ(broadcast, kLonger));
  EXPECT_TRUE(only_lengths_differ(broadcast, [](Call& c) { kLonger(c), ++c.type; }));
  EXPECT_FALSE(only_lengths_differ(broadcast, [](Call& c) { kLonger(c), ++c.root; }));
}

TEST(Call, OfAllMembersMayNotDiffer) {
  Call call = reduce();
  for (const Collective collective :
       {Collective::kAllreduce, Collective::kAllgather, Collective::kAlltoall, Collective::kScan}) {
    call.collective = collective;
    EXPECT_FALSE(only_lengths_differ(call, kLonger)) << name_of(collective);
  }
  for (const Change& change :
       {Change([](Call& c) { c.irregular = true; }), Change([](Call& c) { c.prepares = true; })}) {
    call = reduce();
    change(call);
    EXPECT_FALSE(only_lengths_differ(call, kLonger));
  }
}

}  // namespace
}  // namespace fermata::exec
