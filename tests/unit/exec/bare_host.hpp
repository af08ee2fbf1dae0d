// One host's part of a team over two hosts, without programs or members: a segment, a host table, a port and
// notices. The wire between the two hosts lands each line at once if the other end is open.
#ifndef FERMATA_TESTS_UNIT_EXEC_BARE_HOST_HPP
#define FERMATA_TESTS_UNIT_EXEC_BARE_HOST_HPP

#include <gtest/gtest.h>

#include <vector>

#include "exec/host_notices.hpp"
#include "exec/host_table.hpp"
#include "exec/team_port.hpp"
#include "exec/team_segment.hpp"

namespace fermata::exec {

// One end for each host.
class Wire {
 public:
  struct End {
    net::Window window;  // base null: not open
    std::vector<net::Line> written;
    bool closed = false;
    End* other = nullptr;

    net::Port port() { return {sizeof(net::Port), this, open, write, progress, is_gone, flush, close}; }

   private:
    static End& of(void* self) { return *static_cast<End*>(self); }
    static std::int32_t open(void* self, const net::Window* window) {
      of(self).window = *window;
      return 0;
    }
    static void write(void* self, const net::Line* line, const net::Block* block) {
      of(self).written.push_back(*line);
      const net::Window& there = of(self).other->window;
      if (there.base != nullptr) there.land(there.team, line, block);
    }
    static void progress(void*) {}
    static std::int32_t is_gone(void* self, std::uint32_t) { return of(self).other->closed ? 1 : 0; }
    static void flush(void*, std::int64_t) {}
    static void close(void* self, std::int64_t) { of(self).closed = true; }
  };

  Wire() {
    for (int i = 0; i < 2; ++i) ends_[i].other = &ends_[1 - i];
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  End& operator[](int host) { return ends_[host]; }

 private:
  End ends_[2];
};

// A segment of this many members, with a window and no programs.
inline TeamSegment bare_segment(std::uint32_t members) {
  TeamLayout layout;
  layout.members = members;
  layout.window = round_up(plans_offset(members), kMaxLine);
  layout.bytes = layout.window + regions_in_window(members) + 4096;
  SegmentMemory memory;
  EXPECT_EQ(SegmentMemory::create(false, layout.bytes, &memory), Status::kOk);
  TeamSegment segment(memory);
  segment.set_layout(layout);
  return segment;
}

class BareHost {
 public:
  // hosts: the host of each member. here: this host.
  BareHost(std::vector<std::uint32_t> hosts, std::uint32_t here)
      : segment(bare_segment(static_cast<std::uint32_t>(hosts.size()))) {
    hosts.push_back(here);
    EXPECT_EQ(table.copy(hosts.data(), segment.members()), Status::kOk);
  }
  ~BareHost() {
    port.close();
    segment.memory().unmap();
  }
  BareHost(const BareHost&) = delete;
  BareHost& operator=(const BareHost&) = delete;

  // The place of a slot in the window, after the notices.
  std::uint64_t slot(std::uint64_t number) const {
    return segment.layout().window + regions_in_window(segment.members()) + number * kMaxLine;
  }
  std::uint64_t word(std::uint64_t offset) const {
    return *reinterpret_cast<const std::uint64_t*>(segment.base() + offset);
  }

  TeamSegment segment;
  HostTable table;
  TeamPort port{segment, table};
  HostNotices notices{segment, table, port};
};

}  // namespace fermata::exec
#endif
