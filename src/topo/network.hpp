// The network between hosts: its form, what its links cost, and the route of a message. Each host has one
// port to the network and one from it; these are no links of the network.
//
// Routes are fixed:
// - Torus, mesh: dimension by dimension, the first one first. In a torus the shorter way around; half way
//   around goes up.
// - Fat tree: up to the lowest level that has both hosts below it, then down. The port up of a switch depends
//   on the receiver alone (its number, divided by the product of the ports up below, modulo the ports up).
// - Dragonfly: to the router of the own group that has the link to the receiver's group, over that link, to
//   the receiver's router. Two groups have b links, and the number of the receiver's router modulo b says
//   which one. The links of a group to the others, counted up from the group itself, are dealt out to its
//   routers in their order, to each one p, the smallest number that is enough.
#ifndef FERMATA_TOPO_NETWORK_HPP
#define FERMATA_TOPO_NETWORK_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fermata {

struct Network {
  enum class Kind : std::uint8_t { kNone, kTorus, kMesh, kFatTree, kDragonfly };
  Kind kind = Kind::kNone;  // kNone: nothing is known, and all pairs of hosts have links of their own
  // Innermost first: host h is at h % sides[0], h / sides[0] % sides[1] and so on.
  // Torus, mesh: the hosts along each dimension. Fat tree: the ports down of the switches of each level.
  // Dragonfly: the hosts of a router, the routers of a group, the groups.
  std::vector<std::int32_t> sides;
  // Fat tree: the ports up of the switches of each level but the last. They lead to different switches.
  // Dragonfly: one number, the links between each two groups.
  std::vector<std::int32_t> up;
  // Defaults where a file lacks a value: assumptions, of the order of current networks.
  double hop_ns = 100;   // the head of a message over a link and through the switch at its end
  double global_ns = 0;  // dragonfly: the same for a link between groups (in files the default is hop_ns)
  double gap_ns = 10;    // a link takes the next message so much later, or, if that is longer,
  double byte_ns = 0.1;  // so much for each byte of the message before
  explicit operator bool() const { return kind != Kind::kNone; }
  bool operator==(const Network&) const = default;
};

const char* name_of(Network::Kind kind);  // "torus", "mesh", "fat_tree", "dragonfly"

// What is wrong with it; empty: nothing. Limits: 65,536 hosts, 8 dimensions or levels, 2^22 links.
std::string network_flaw(const Network& network);

// For the following functions, network_flaw() must be empty and the network not kNone.
std::int32_t hosts_of(const Network& network);
std::int32_t links_of(const Network& network);  // each in one direction
double link_ns(const Network& network, std::int32_t link);
// Writes the links from one host to another, in their order; none if the hosts share a switch.
void find_route(const Network& network, std::int32_t from, std::int32_t to, std::vector<std::int32_t>& links);
// The cost of a signal between two hosts, O + L of a profile's level `network`, is for neighbours as hosts 0
// and 1. Returns by how many ns the way to each host is longer.
std::vector<double> further_ns(const Network& network, std::int32_t from);
std::int32_t most_hops(const Network& network);  // links of the longest route

// The values of two lines of a topology's text: "torus 8 8", "fat_tree 16 8 up 8" or "dragonfly 2 4 9 up 1",
// and "hop_ns 100 gap_ns 10 byte_ns 0.1".
std::string form_text(const Network& network);
std::string costs_text(const Network& network);
// Read them. Return the error, or an empty string.
std::string read_form(std::string_view text, Network& network);
std::string read_costs(std::string_view text, Network& network);
// For people: "torus of 8 x 8; 256 links, at most 8 hops".
std::string describe(const Network& network);

}  // namespace fermata
#endif
