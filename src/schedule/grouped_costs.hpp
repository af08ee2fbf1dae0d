// O and L between the members of a large team, by groups of members that cost the same. Full matrices for
// 16,384 members would take 4 GB.
#ifndef FERMATA_SCHEDULE_GROUPED_COSTS_HPP
#define FERMATA_SCHEDULE_GROUPED_COSTS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace fermata {

// A group is a set of members of one host. Two different members cost what their groups cost, and on
// different hosts what their hosts cost. Hosts have numbers from 0, groups have numbers from 0 on each host.
class GroupedCosts {
 public:
  struct Place {
    std::int32_t host = 0, group = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Link {
    double o = 0, l = 0;  // ns
  };

  GroupedCosts() = default;
  // self_o: o(i,i) of each member. between(i, j): the link from member i to member j, i != j. It is called
  // for one pair of members of each two groups of a host, and of each two hosts.
  template <class Between>
  GroupedCosts(std::vector<Place> places, std::vector<double> self_o, Between&& between)
      : places_(std::move(places)), self_o_(std::move(self_o)) {
    auto tables = std::make_shared<Tables>();
    const std::vector<Host> hosts = hosts_of(everyone());
    tables->hosts = hosts.size();
    for (const Host& host : hosts) {
      tables->first.push_back(tables->inner.size());
      tables->groups.push_back(host.groups.size());
      for (const Group& a : host.groups)
        for (const Group& b : host.groups)
          tables->inner.push_back(&a != &b        ? between(a.first, b.first)
                                  : a.members > 1 ? between(a.first, a.second)
                                                  : Link{});
    }
    for (const Host& a : hosts)
      for (const Host& b : hosts)
        tables->outer.push_back(&a == &b ? Link{} : between(a.groups[0].first, b.groups[0].first));
    tables_ = std::move(tables);
  }

  bool empty() const { return places_.empty(); }
  const Place& place(std::int32_t member) const { return places_[static_cast<std::size_t>(member)]; }
  double o(std::int32_t i, std::int32_t j) const {
    return i == j ? self_o_[static_cast<std::size_t>(i)] : link(i, j).o;
  }
  double l(std::int32_t i, std::int32_t j) const { return i == j ? 0 : link(i, j).l; }

  // The costs of these members alone.
  GroupedCosts part(const std::vector<std::int32_t>& members) const {
    GroupedCosts out;
    out.tables_ = tables_;
    for (const std::int32_t m : members) {
      out.places_.push_back(places_[static_cast<std::size_t>(m)]);
      out.self_o_.push_back(self_o_[static_cast<std::size_t>(m)]);
    }
    return out;
  }

  void scale(double factor) {
    auto tables = std::make_shared<Tables>(*tables_);
    for (std::vector<Link>* links : {&tables->inner, &tables->outer})
      for (Link& link : *links) link.o *= factor, link.l *= factor;
    tables_ = std::move(tables);
    for (double& o : self_o_) o *= factor;
  }

  // Calls visit(i, j, count) for each kind of unordered pair among these members: i and j are one such pair,
  // and there are `count`.
  template <class Visit>
  void each_kind(const std::vector<std::int32_t>& members, Visit&& visit) const {
    const std::vector<Host> hosts = hosts_of(members);
    for (std::size_t a = 0; a < hosts.size(); ++a) {
      const std::vector<Group>& groups = hosts[a].groups;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto own = static_cast<double>(groups[g].members);
        if (groups[g].members > 1) visit(groups[g].first, groups[g].second, own * (own - 1) / 2);
        for (std::size_t h = g + 1; h < groups.size(); ++h)
          visit(groups[g].first, groups[h].first, own * static_cast<double>(groups[h].members));
      }
      for (std::size_t b = a + 1; b < hosts.size(); ++b)
        visit(groups[0].first, hosts[b].groups[0].first, hosts[a].members * hosts[b].members);
    }
  }

 private:
  struct Group {
    std::int32_t first = -1, second = -1;  // two members; second: -1 if there is one
    std::int64_t members = 0;
  };
  struct Host {
    std::vector<Group> groups;
    double members = 0;
  };
  struct Tables {
    std::size_t hosts = 0;
    std::vector<std::size_t> first;   // of each host: its first link in `inner`
    std::vector<std::size_t> groups;  // of each host: how many
    std::vector<Link> inner;          // of each host, groups x groups, row-major
    std::vector<Link> outer;          // hosts x hosts
  };

  const Link& link(std::int32_t i, std::int32_t j) const {
    const Place a = place(i), b = place(j);
    const auto from = static_cast<std::size_t>(a.host);
    if (a.host != b.host) return tables_->outer[from * tables_->hosts + static_cast<std::size_t>(b.host)];
    return tables_->inner[tables_->first[from] + static_cast<std::size_t>(a.group) * tables_->groups[from] +
                          static_cast<std::size_t>(b.group)];
  }

  std::vector<std::int32_t> everyone() const {
    std::vector<std::int32_t> members(places_.size());
    for (std::size_t m = 0; m < members.size(); ++m) members[m] = static_cast<std::int32_t>(m);
    return members;
  }

  // The hosts and groups that these members are on, ascending.
  std::vector<Host> hosts_of(std::vector<std::int32_t> members) const {
    std::sort(members.begin(), members.end(), [this](std::int32_t a, std::int32_t b) {
      return place(a) != place(b) ? place(a) < place(b) : a < b;
    });
    std::vector<Host> hosts;
    Place before{-1, -1};
    for (const std::int32_t m : members) {
      const Place at = place(m);
      if (at.host != before.host) hosts.emplace_back();
      if (at != before) hosts.back().groups.push_back({.first = m});
      Group& group = hosts.back().groups.back();
      if (group.members++ == 1) group.second = m;
      ++hosts.back().members;
      before = at;
    }
    return hosts;
  }

  std::vector<Place> places_;
  std::vector<double> self_o_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace fermata
#endif
