// The links between hosts in virtual time: when a message arrives. Each host has one port to the network and
// one from it; messages pass a port, and each link, one at a time, in the order in which they come.
//
// - A message from i to j passes the ports of both hosts L(i,j) after the one before it, or, in a network, so
//   much later as its bytes take, if that is longer.
// - Without a network it arrives O + L after it has left, if the port there is free.
// - In a network, O + L contains the way of the message's head: all links of its route (Network::hop_ns). The
//   rest of it passes at the two ends, half at each. So O + L holds where nothing is in the way. If O + L is
//   less than the way alone, the message takes that long.
// - A link takes the next message after gap_ns, or after the bytes of the one before.
// - O + L is for a signal without data, of 8 bytes. Further bytes take their time once: the head is not
//   stopped in between.
#ifndef FERMATA_SIM_LINKS_HPP
#define FERMATA_SIM_LINKS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/machine.hpp"

namespace fermata::sim {

// A message on its way.
struct Message {
  std::int32_t from = 0, to = 0;    // members, on different hosts
  std::size_t bytes = 8;            // with its header
  std::vector<std::int32_t> route;  // the links, in their order
  std::size_t passed = 0;           // so many of them are behind its head
  Time gap = 0, second_end = 0;     // at the receiver's port, and before it
};

class Links {
 public:
  explicit Links(const Machine& machine);

  // Where the message's head is next, and when. arrived: the whole message is there.
  struct Step {
    Time at;
    bool arrived;
  };
  Step leave(Message& message, Time now);
  // Call it at the time of the last step, in the order of these times, until the message has arrived.
  Step advance(Message& message, Time now);

 private:
  std::size_t host_of(std::int32_t member) const {
    return static_cast<std::size_t>(machine_.host[static_cast<std::size_t>(member)]);
  }
  Time passing(std::size_t bytes) const {
    return from_ns(machine_.network.byte_ns * static_cast<double>(bytes));
  }

  const Machine& machine_;
  std::vector<Time> out_, in_;  // of each host: when its port is free
  std::vector<Time> free_;      // of each link of the network
  std::vector<Time> hop_;       // of each link
};

}  // namespace fermata::sim
#endif
