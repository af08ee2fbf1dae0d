#include "watch.hpp"

#include <stdio.h>

#include "notice.hpp"
#include "objects.hpp"

namespace fermata::preload {
namespace {

std::uintptr_t low = 0, span = 0;  // this library's addresses

// The site as reports show it. If a region's function jumps to its last barrier, the return address is in the
// trampoline. Then the function stands for the site, by the address after its first byte, like a return
// address.
const void* told(Position position, const void* site) {
  const bool ours = reinterpret_cast<std::uintptr_t>(site) - low < span;
  return ours && position.region != nullptr ? static_cast<const char*>(position.region->body) + 1 : site;
}

}  // namespace

bool watched = false;

void watch() {
  watched = true;
  for_each_loaded([](const dl_phdr_info& info) {
    const Object object(info);
    if (!object.contains(&watched)) return false;
    low = object.low();
    span = object.span();
    return true;
  });
}

__thread Own own = {};

void count_watched_part(Region& region, std::uint32_t rank) {
  if (rank == 0) region.join.set_members(static_cast<std::uint32_t>(region.run_time->num_threads()));
  region.join.arrive(rank);
}

stats::Wait planned_wait(Position position, const void* site, const char* plan) {
  const std::uint64_t serial = position.region->serial;
  if (own.serial != serial) {
    own = {};
    own.serial = serial;
    own.next = calls_of(*position.region, position.rank);
  }
  const std::uint64_t number = own.next - own.left;
  stats::Wait wait({nullptr, told(position, site), position.region->size, nullptr}, position.region->arrivals,
                   number, [&](char* text, std::size_t capacity) {
                     if (plan != nullptr) snprintf(text, capacity, "%s", plan);
                     else fermata_ranked_describe(position.team(), text, capacity);
                   });
  own.next = stats::next_sampled(number + 1);
  own.left = own.next - number - 1;
  if (wait.record() != nullptr) own.seen[place_of(site)] = {site, wait.record()};
  return wait;
}

stats::Wait left_wait(const RunTime& run_time, Position position, const void* site) {
  return stats::Wait({nullptr, told(position, site), static_cast<std::uint32_t>(run_time.num_threads()),
                      text_of(why_left(position))});
}

}  // namespace fermata::preload
