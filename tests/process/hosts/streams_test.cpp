// Calls that do not wait for an answer stream from host to host: their senders are far ahead, and send few
// messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "fermata/fermata.h"
#include "house.hpp"

namespace fermata::test {
namespace {

struct Stream {
  const char* name;
  int ahead;            // the rank that waits for no other
  std::uint64_t calls;  // more than a ring of one host holds
  int (*call)(fermata_member* member, const std::uint64_t* in, std::uint64_t* out);
};

// Short gathers and scatters of two members are reduces and broadcasts on lines, scans go through rings.
const Stream kStreams[] = {
    {"gather", 1, 4000,
     [](fermata_member* m, const std::uint64_t* in, std::uint64_t* out) {
       return fermata_gather(m, in, out, 1, FERMATA_UINT64, 0);
     }},
    {"scatter", 0, 4000,
     [](fermata_member* m, const std::uint64_t* in, std::uint64_t* out) {
       return fermata_scatter(m, in, out, 1, FERMATA_UINT64, 0);
     }},
    {"scan", 0, 1000,
     [](fermata_member* m, const std::uint64_t* in, std::uint64_t* out) {
       return fermata_scan(m, in, out, 1, FERMATA_UINT64, FERMATA_SUM);
     }},
    {"exscan", 0, 1000,
     [](fermata_member* m, const std::uint64_t* in, std::uint64_t* out) {
       return fermata_exscan(m, in, out, 1, FERMATA_UINT64, FERMATA_SUM);
     }},
};

// The other rank makes no call until the first has made them all. If the ring were full before that, the
// first would wait until its time limit.
TEST(HostStreams, ARankThatWaitsForNoOtherIsHundredsOfCallsAhead) {
  for (const Stream& stream : kStreams) {
    SCOPED_TRACE(stream.name);
    House house({}, false, {0, 1});
    std::atomic<bool> done{false};
    const auto ends = house.run(10, [&](fermata_member* m, int rank) {
      while (rank != stream.ahead && !done) std::this_thread::yield();
      int status = FERMATA_OK;
      for (std::uint64_t i = 0; i < stream.calls && status == FERMATA_OK; ++i) {
        const std::uint64_t in[2] = {i, 2 * i};
        std::uint64_t out[2] = {0, 0};
        status = stream.call(m, in, out);
        if (rank == stream.ahead || status != FERMATA_OK) continue;
        const std::string name = stream.name;
        if (name == "gather") EXPECT_EQ(out[1], i);
        else EXPECT_EQ(out[0], name == "exscan" ? i : 2 * i);
      }
      if (rank == stream.ahead) done = true;
      return status;
    });
    for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  }
}

// A prepared collective has ring buffers of its own, also the last one of many. Later they serve other
// requests, however many there are.
TEST(HostStreams, TheRootOfPreparedCollectivesIsFarAhead) {
  constexpr std::uint64_t kAhead = 100;
  constexpr int kTogether = 16, kRounds = 20;
  House house({}, false, {0, 1});
  std::atomic<bool> done{false};
  const auto streams = [&](fermata_member* m, int rank) {
    std::uint64_t data[kTogether][40] = {};
    fermata_request* requests[kTogether] = {};
    int status = FERMATA_OK;
    for (int k = 0; k < kTogether && status == FERMATA_OK; ++k) {
      fermata_operation o = FERMATA_OPERATION_INIT;
      o.collective = FERMATA_BROADCAST;
      o.out = data[k];
      o.count = k % 2 == 0 ? 1 : 40;
      o.type = FERMATA_UINT64;
      status = fermata_prepare(m, &o, &requests[k]);
    }
    while (rank != 0 && !done) std::this_thread::yield();
    for (std::uint64_t n = 0; n < kTogether * kAhead && status == FERMATA_OK; ++n) {
      const std::uint64_t k = n / kAhead, i = n % kAhead;
      data[k][0] = rank == 0 ? i : 0;
      status = fermata_request_start(requests[k]);
      if (status == FERMATA_OK) status = fermata_request_wait(requests[k]);
      if (status != FERMATA_OK) break;
      EXPECT_EQ(data[k][0], i);
    }
    if (rank == 0) done = true;
    for (fermata_request* request : requests) fermata_request_free(request);
    return status;
  };
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    int status = FERMATA_OK;
    for (int round = 0; round < kRounds && status == FERMATA_OK; ++round) status = streams(m, rank);
    return status;
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

// The same with blocks that do not fit on a line: the ring holds more than one of one host. Later the root
// and the receiver are in step, so places in the buffer are used again in another order.
TEST(HostStreams, ARootIsMegabytesAhead) {
  constexpr std::size_t kNumbers = 8192;
  constexpr std::uint64_t kAhead = 48, kCalls = 200;  // 3 MiB ahead
  House house({}, false, {0, 1});
  std::atomic<bool> done{false};
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    while (rank != 0 && !done) std::this_thread::yield();
    std::vector<std::uint64_t> data(kNumbers);
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      for (std::size_t k = 0; rank == 0 && k < kNumbers; ++k) data[k] = i * kNumbers + k;
      const std::size_t count = i < kAhead ? kNumbers : kNumbers - 37 * i;
      int status = fermata_broadcast(m, data.data(), count * sizeof data[0], 0);
      if (i + 1 == kAhead) done = true;
      if (status == FERMATA_OK && i >= kAhead && i % 8 == 0) status = fermata_barrier(m);
      if (status != FERMATA_OK) return status;
      std::uint64_t wrong = 0;
      for (std::size_t k = 0; k < count; ++k) wrong += data[k] != i * kNumbers + k ? 1 : 0;
      EXPECT_EQ(wrong, 0U) << "call " << i << ", rank " << rank;
    }
    return static_cast<int>(FERMATA_OK);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
}

// A line between hosts says where its piece lies. If no piece can lie there, the receiver reads nothing, and
// gets an error, also while it adapts to another length.
TEST(HostStreams, APlaceOutsideTheRingIsAMismatch) {
  for (const std::uint64_t place : {std::uint64_t{8}, std::uint64_t{1} << 40, ~std::uint64_t{63}})
    for (const bool bounded : {false, true}) {
      House house({}, false, {0, 1});
      const auto ends = house.run(10, [&](fermata_member* m, int rank) {
        fermata_member_set_bounded(m, bounded ? 1 : 0);
        if (const int status = fermata_barrier(m); status != FERMATA_OK) return status;
        if (rank == 0) house.loop.misplace_blocks(place);
        std::vector<char> data(bounded && rank == 1 ? 70'000 : 60'000);
        return fermata_broadcast(m, data.data(), data.size(), 0);
      });
      EXPECT_EQ(ends[1].status, FERMATA_ERR_MISMATCH) << place << ' ' << bounded << ' ' << ends[1].detail;
    }
}

// The blocks of two ranks go to their host together. All four blocks do not fit on one line, else the scatter
// would be a broadcast.
TEST(HostStreams, ShortBlocksToOneRankShareAMessage) {
  constexpr std::uint64_t kCalls = 64;
  House house({}, false, {0, 0, 1, 1});
  const auto ends = house.run(10, [&](fermata_member* m, int rank) {
    for (std::uint64_t i = 0; i < kCalls; ++i) {
      std::uint64_t in[8], out[2] = {0, 0};
      for (std::uint64_t k = 0; k < 8; ++k) in[k] = i + k;
      if (const int status = fermata_scatter(m, in, out, 2, FERMATA_UINT64, 0); status != FERMATA_OK)
        return status;
      for (std::uint64_t k = 0; k < 2; ++k) EXPECT_EQ(out[k], i + 2 * static_cast<std::uint64_t>(rank) + k);
    }
    return static_cast<int>(FERMATA_OK);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  const std::uint64_t lines = house.loop.packets_between(0, 1) - house.loop.counts().repeats;
  EXPECT_GE(lines, kCalls);
  EXPECT_LT(lines, 2 * kCalls) << "a message for each of the two blocks";
}

enum class Form { kCall, kBegin, kStartAgain, kMixed };

// Makes scans, each in one of the forms. A request that starts again keeps its buffers.
class Scans {
 public:
  Scans(fermata_member* member, Form form, int collective) : member_(member), form_(form) {
    operation_.collective = collective;
    operation_.in = &in_;
    operation_.out = &out_;
    operation_.count = 1;
    operation_.type = FERMATA_UINT64;
    operation_.op = FERMATA_SUM;
  }
  ~Scans() { fermata_request_free(again_); }
  Scans(const Scans&) = delete;
  Scans& operator=(const Scans&) = delete;

  int scan(std::uint64_t in, std::uint64_t i, std::uint64_t* out) {
    const Form form = form_ == Form::kMixed ? static_cast<Form>(i / 3 % 3) : form_;
    in_ = in, out_ = 0;
    int status = FERMATA_OK;
    if (form == Form::kCall) {
      // The same arguments for a while, then others.
      std::uint64_t other_in = in, other_out = 0;
      const bool others = i / 5 % 2 != 0;
      const fermata_operation& o = operation_;
      std::uint64_t *from = others ? &other_in : &in_, *to = others ? &other_out : &out_;
      status = o.collective == FERMATA_SCAN
                   ? fermata_scan(member_, from, to, 1, FERMATA_UINT64, FERMATA_SUM)
                   : fermata_exscan(member_, from, to, 1, FERMATA_UINT64, FERMATA_SUM);
      *out = *to;
      return status;
    }
    fermata_request* once = nullptr;
    fermata_request*& request = form == Form::kBegin ? once : again_;
    status =
        request == nullptr ? fermata_begin(member_, &operation_, &request) : fermata_request_start(request);
    if (status == FERMATA_OK) status = fermata_request_wait(request);
    if (once != nullptr) fermata_request_free(once);
    *out = out_;
    return status;
  }

 private:
  fermata_member* member_;
  Form form_;
  fermata_operation operation_ = FERMATA_OPERATION_INIT;
  std::uint64_t in_ = 0, out_ = 0;
  fermata_request* again_ = nullptr;
};

// Four hosts make scans in rows of that length, with a barrier after each, each host in another form. Returns
// how many lines hosts have sent to others than the next one. row 0: only the barriers.
std::uint64_t far_lines_of_scans(std::uint64_t row, std::uint64_t rows, int collective) {
  House house({.repeat_ns = 1'000'000 * kMilli}, false, {0, 1, 2, 3});  // links lose nothing
  const auto ends = house.run(20, [&](fermata_member* m, int rank) {
    const auto r = static_cast<std::uint64_t>(rank);
    Scans scans(m, static_cast<Form>(rank), collective);
    for (std::uint64_t i = 0; i < rows * std::max<std::uint64_t>(row, 1); ++i) {
      std::uint64_t out = 0;
      const int scanned = row != 0 ? scans.scan(i + r, i, &out) : FERMATA_OK;
      if (scanned != FERMATA_OK) return scanned;
      const std::uint64_t below = collective == FERMATA_SCAN ? r + 1 : r;
      if (row != 0 && below != 0) {
        EXPECT_EQ(out, below * i + below * (below - 1) / 2);
      }
      const bool row_ends = row == 0 || (i + 1) % row == 0;
      const int met = row_ends ? fermata_barrier(m) : FERMATA_OK;
      if (met != FERMATA_OK) return met;
    }
    return static_cast<int>(FERMATA_OK);
  });
  for (const auto& end : ends) EXPECT_EQ(end.status, FERMATA_OK) << end.detail;
  return house.loop.packets_between(0, 2) + house.loop.packets_between(0, 3) +
         house.loop.packets_between(1, 3);
}

// Scans in a row are a chain from host to host. All members find the same row, whatever the forms of their
// calls.
TEST(HostStreams, ScansInARowAreAChainAndScansByThemselvesAreNot) {
  for (const int collective : {FERMATA_SCAN, FERMATA_EXSCAN}) {
    EXPECT_GE(far_lines_of_scans(4, 50, collective), far_lines_of_scans(0, 50, collective) + 200);
    // The first scans of a row are no chain, and members that wait for 0.1 s tell others so.
    constexpr std::uint64_t kAlone = 400;
    EXPECT_LE(far_lines_of_scans(200, 2, collective), far_lines_of_scans(0, 2, collective) + kAlone);
  }
}

}  // namespace
}  // namespace fermata::test
