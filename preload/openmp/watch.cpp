#include "watch.hpp"

#include "notice.hpp"
#include "objects.hpp"

namespace fermata::preload {
namespace {

std::uintptr_t low = 0, span = 0;  // this library's addresses

// The site as reports show it. If a region's function jumps to its last barrier, the return address is in the
// trampoline. Then the function stands for the site, by the address after its first byte, like a return
// address.
const void* told(Place place, const void* site) {
  const bool ours = reinterpret_cast<std::uintptr_t>(site) - low < span;
  return ours && place.region != nullptr ? static_cast<const char*>(place.region->body) + 1 : site;
}

stats::Meeting left(const RunTime& run_time, Place place, const void* site) {
  return {nullptr, told(place, site), static_cast<std::uint32_t>(run_time.num_threads()),
          text_of(why_left(place))};
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

stats::Wait planned_wait(Place place, const void* site) {
  const std::uint64_t serial = place.region->serial;
  if (own.serial != serial) {
    own = {};
    own.serial = serial;
    own.next = fermata_ranked_calls(place.team(), place.rank);
  }
  const std::uint64_t number = own.next - own.left;
  stats::Wait wait(
      {nullptr, told(place, site), place.region->size, nullptr}, place.region->arrivals, number,
      [&](char* text, std::size_t capacity) { fermata_ranked_describe(place.team(), text, capacity); });
  own.next = stats::next_sampled(number + 1);
  own.left = own.next - number - 1;
  if (wait.record() != nullptr) own.seen[place_of(site)] = {site, wait.record()};
  return wait;
}

LeftWait::LeftWait(const RunTime& run_time, Place place, const void* site)
    : wait_(left(run_time, place, site)), counts_(run_time.thread_num() == 0) {}

LeftWait::~LeftWait() { wait_.end_untold(counts_); }

}  // namespace fermata::preload
