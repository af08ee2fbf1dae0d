#include "topo/network.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fermata {
namespace {

constexpr std::size_t kMostSides = 8;
constexpr std::int64_t kMostHosts = 65536, kMostLinks = std::int64_t{1} << 22;
using Kind = Network::Kind;

// The product of the first `count` values; above every limit where it would be larger.
std::int64_t product(const std::vector<std::int32_t>& values, std::size_t count) {
  std::int64_t all = 1;
  for (std::size_t k = 0; k < count && k < values.size(); ++k)
    all = std::min(all * values[k], std::int64_t{1} << 31);
  return all;
}

// ---- Torus and mesh: the links of a host, two for each dimension, down and up

std::int64_t grid_links(const Network& n) {
  return product(n.sides, n.sides.size()) * static_cast<std::int64_t>(n.sides.size()) * 2;
}

void grid_route(const Network& n, std::int32_t from, std::int32_t to, std::vector<std::int32_t>& links) {
  const auto dimensions = static_cast<std::int32_t>(n.sides.size());
  std::int32_t at = from, step = 1;  // step: between neighbours of this dimension
  for (std::int32_t d = 0; d < dimensions; ++d) {
    const std::int32_t side = n.sides[static_cast<std::size_t>(d)];
    std::int32_t place = at / step % side;
    const std::int32_t target = to / step % side;
    const std::int32_t ahead = (target - place + side) % side;
    const bool up = n.kind == Kind::kMesh ? target > place : 2 * ahead <= side;
    while (place != target) {
      links.push_back((at * dimensions + d) * 2 + (up ? 1 : 0));
      const std::int32_t next = (place + (up ? 1 : side - 1)) % side;
      at += (next - place) * step;
      place = next;
    }
    step *= side;
  }
}

// ---- Fat tree. Switches below level l + 1 form groups of `below` hosts; each group has `paths` links up and
// as many down.

struct TreeLevel {
  std::int64_t below = 1, paths = 1;
};
TreeLevel tree_level(const Network& n, std::size_t level) {
  return {product(n.sides, level), product(n.up, level)};
}

std::int64_t links_up(const Network& n, std::size_t level) {
  const TreeLevel l = tree_level(n, level);
  return product(n.sides, n.sides.size()) / l.below * l.paths;
}

std::int64_t tree_links(const Network& n) {
  std::int64_t all = 0;
  for (std::size_t level = 1; level < n.sides.size(); ++level)
    all = std::min(all + 2 * links_up(n, level), kMostLinks + 1);
  return all;
}

void tree_route(const Network& n, std::int32_t from, std::int32_t to, std::vector<std::int32_t>& links) {
  std::int64_t offset = 0, path = 0;
  std::vector<std::int32_t> down;
  for (std::size_t level = 1; level < n.sides.size(); ++level) {
    const TreeLevel l = tree_level(n, level);
    if (from / l.below == to / l.below) break;
    const std::int64_t ports = n.up[level - 1];
    path = path * ports + to / (l.paths / ports) % ports;
    links.push_back(static_cast<std::int32_t>(offset + from / l.below * l.paths + path));
    const std::int64_t count = links_up(n, level);
    down.push_back(static_cast<std::int32_t>(offset + count + to / l.below * l.paths + path));
    offset += 2 * count;
  }
  links.insert(links.end(), down.rbegin(), down.rend());
}

// ---- Dragonfly: the links of each group between its routers, then those between groups

struct Dragonfly {
  explicit Dragonfly(const Network& n)
      : hosts(n.sides[0]),
        routers(n.sides[1]),
        groups(n.sides[2]),
        between(n.up[0]),
        ports(((groups - 1) * std::int64_t{between} + routers - 1) / routers) {}
  std::int64_t local() const { return std::int64_t{groups} * routers * routers; }
  std::int64_t links() const { return local() + std::int64_t{groups} * groups * between; }
  // The router of a group that has this link to another group.
  std::int32_t gate(std::int32_t group, std::int32_t other, std::int32_t link) const {
    const std::int64_t further = (other - group - 1 + groups) % groups;
    return static_cast<std::int32_t>((further * between + link) / ports);
  }
  std::int32_t local_link(std::int32_t group, std::int32_t from, std::int32_t to) const {
    return (group * routers + from) * routers + to;
  }
  std::int32_t hosts, routers, groups;
  std::int32_t between;  // links between each two groups
  std::int64_t ports;    // of a router to other groups
};

void dragonfly_route(const Network& n, std::int32_t from, std::int32_t to, std::vector<std::int32_t>& links) {
  const Dragonfly d(n);
  std::int32_t router = from / d.hosts % d.routers, group = from / d.hosts / d.routers;
  const std::int32_t last = to / d.hosts % d.routers, other = to / d.hosts / d.routers;
  if (group != other) {
    const std::int32_t link = last % d.between, gate = d.gate(group, other, link);
    if (router != gate) links.push_back(d.local_link(group, router, gate));
    links.push_back(
        static_cast<std::int32_t>(d.local() + (std::int64_t{group} * d.groups + other) * d.between + link));
    router = d.gate(other, group, link);
    group = other;
  }
  if (router != last) links.push_back(d.local_link(group, router, last));
}

std::int64_t count_links(const Network& n) {
  switch (n.kind) {
    case Kind::kTorus:
    case Kind::kMesh: return grid_links(n);
    case Kind::kFatTree: return tree_links(n);
    case Kind::kDragonfly: return Dragonfly(n).links();
    case Kind::kNone: break;
  }
  return 0;
}

}  // namespace

const char* name_of(Network::Kind kind) {
  constexpr const char* kNames[] = {"none", "torus", "mesh", "fat_tree", "dragonfly"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string network_flaw(const Network& n) {
  if (n.kind == Kind::kNone) return {};
  if (n.kind == Kind::kDragonfly && n.sides.size() != 3) return "a dragonfly has hosts, routers and groups";
  if (n.sides.empty() || n.sides.size() > kMostSides) return "1 to 8 dimensions or levels are expected";
  if (n.kind == Kind::kFatTree && n.up.size() != n.sides.size() - 1)
    return "one number of ports up is expected for each level of a fat tree but the last";
  if (n.kind != Kind::kFatTree && n.up.size() != (n.kind == Kind::kDragonfly ? 1 : 0))
    return "one number of links between two groups of a dragonfly is expected";
  for (const std::vector<std::int32_t>* list : {&n.sides, &n.up})
    for (const std::int32_t count : *list)
      if (count < 1 || count > kMostHosts) return "counts from 1 to 65536 are expected";
  if (product(n.sides, n.sides.size()) > kMostHosts) return "more than 65536 hosts";
  if (count_links(n) > kMostLinks) return "more than 4194304 links";
  for (const double cost : {n.hop_ns, n.global_ns, n.gap_ns, n.byte_ns})
    if (!(cost >= 0 && cost <= 1e12)) return "costs from 0 to 1e12 ns are expected";
  return {};
}

std::int32_t hosts_of(const Network& n) {
  return static_cast<std::int32_t>(product(n.sides, n.sides.size()));
}

std::int32_t links_of(const Network& n) { return static_cast<std::int32_t>(count_links(n)); }

double link_ns(const Network& n, std::int32_t link) {
  return n.kind == Kind::kDragonfly && link >= Dragonfly(n).local() ? n.global_ns : n.hop_ns;
}

void find_route(const Network& n, std::int32_t from, std::int32_t to, std::vector<std::int32_t>& links) {
  links.clear();
  switch (n.kind) {
    case Kind::kTorus:
    case Kind::kMesh: return grid_route(n, from, to, links);
    case Kind::kFatTree: return tree_route(n, from, to, links);
    case Kind::kDragonfly: return dragonfly_route(n, from, to, links);
    case Kind::kNone: return;
  }
}

std::vector<double> further_ns(const Network& n, std::int32_t from) {
  std::vector<std::int32_t> links;
  const auto path_ns = [&](std::int32_t a, std::int32_t b) {
    find_route(n, a, b, links);
    return std::accumulate(links.begin(), links.end(), 0.0,
                           [&](double sum, std::int32_t link) { return sum + link_ns(n, link); });
  };
  const std::int32_t hosts = hosts_of(n);
  const double neighbour = hosts > 1 ? path_ns(0, 1) : 0;
  std::vector<double> further;
  for (std::int32_t to = 0; to < hosts; ++to) further.push_back(std::max(0.0, path_ns(from, to) - neighbour));
  return further;
}

std::int32_t most_hops(const Network& n) {
  std::int32_t sum = 0;
  switch (n.kind) {
    case Kind::kTorus:
      for (const std::int32_t side : n.sides) sum += side / 2;
      return sum;
    case Kind::kMesh:
      for (const std::int32_t side : n.sides) sum += side - 1;
      return sum;
    case Kind::kFatTree:  // up to the highest level that joins anything
      for (std::size_t level = 1; level < n.sides.size(); ++level)
        if (n.sides[level] > 1) sum = 2 * static_cast<std::int32_t>(level);
      return sum;
    case Kind::kDragonfly: {
      const std::int32_t local = n.sides[1] > 1 ? 1 : 0;
      return n.sides[2] > 1 ? 1 + 2 * local : local;
    }
    case Kind::kNone: break;
  }
  return 0;
}

}  // namespace fermata
