// Chains: several persistent collectives, one after the other, as one request (hybrid-collectives-p7ih,
// section 4: chaining).
#include <algorithm>

#include "api/blocks.hpp"

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {

namespace {

Status begin(fermata_request& link) {
  // The link's member may have left, for example a sub-team's member.
  if (check_request(&link) != FERMATA_OK) return Status::kBroken;
  try {
    fill_again(link);
  } catch (const std::bad_alloc&) {
    return Status::kMemory;
  }
  return link.member->member->begin(&link.core);
}

void end(Chain& chain, Status status) {
  fermata_request& whole = *chain.whole;
  whole.core.active = false;
  whole.core.status = status;
  if (whole.callback != nullptr) whole.callback(&whole, static_cast<int>(status), whole.callback_user);
}

}  // namespace

void go_on(Chain& chain, Status status) {
  chain.over = true;
  chain.status = status;
  if (chain.stepping) return;
  chain.stepping = true;
  while (chain.over && chain.status == Status::kOk && chain.next < chain.links.size()) {
    chain.over = false;
    const Status begun = begin(*chain.links[chain.next++]);
    if (begun == Status::kOk) continue;
    chain.over = true;
    chain.status = begun;
  }
  chain.stepping = false;
  if (chain.over) end(chain, chain.status);
}

int start_chain(fermata_request& request) {
  Chain& chain = *request.links;
  for (const auto& link : chain.links)
    if (const int bad = check_request(link.get()); bad != FERMATA_OK) return bad;
  chain.next = 1;
  request.core.active = true;
  chain.stepping = true;
  chain.over = false;
  const Status begun = begin(*chain.links[0]);
  chain.stepping = false;
  if (begun != Status::kOk) {
    request.core.active = false;
    return answer(request.member, begun);
  }
  if (chain.over) go_on(chain, chain.status);
  return FERMATA_OK;
}

int reset_chain(fermata_request& request, const void* in, void* out) {
  fermata_request& first = *request.links->links.front();
  fermata_request& last = *request.links->links.back();
  if (const int bad = check_request(&last); bad != FERMATA_OK) return bad;
  fermata_operation begins = first.given;
  begins.in = in;
  if (&first == &last) begins.out = out;
  fermata_operation ends = last.given;
  ends.out = out;
  if (&first == &last) ends.in = in;
  for (const auto& [link, operation] : {std::pair{&first, &begins}, std::pair{&last, &ends}}) {
    Checked checked;
    const int bad = check(link->member, *operation, &checked);
    if (bad != FERMATA_OK) return bad;
  }
  first.given = begins;
  last.given = ends;
  first.filled = last.filled = false;
  return FERMATA_OK;
}

}  // namespace fermata::api

extern "C" {

int fermata_chain(fermata_request* const* links, size_t count, fermata_request** out) {
  if (links == nullptr || out == nullptr) return null_handle();
  if (count == 0) return fail(Status::kArgument, "a chain has at least one link");
  for (size_t i = 0; i < count; ++i) {
    if (const int bad = check_request(links[i]); bad != FERMATA_OK) return bad;
    if (!links[i]->prepared || links[i]->links != nullptr)
      return fail(Status::kArgument, "link %zu was not made by fermata_prepare", i);
    if (links[i]->chain != nullptr || std::find(links, links + i, links[i]) != links + i)
      return fail(Status::kArgument, "link %zu is already a link of a chain", i);
    if (links[i]->core.active) return fail(Status::kBusy, "link %zu is still active", i);
  }
  return guarded([&] {
    auto whole = std::make_unique<fermata_request>();
    whole->links = std::make_unique<Chain>();
    whole->links->links.reserve(count);
    whole->links->whole = whole.get();
    whole->member = links[0]->member;
    whole->member_serial = links[0]->member_serial;
    whole->prepared = true;
    for (size_t i = 0; i < count; ++i) {
      links[i]->chain = whole->links.get();
      whole->links->links.emplace_back(links[i]);
    }
    *out = whole.release();
    return static_cast<int>(FERMATA_OK);
  });
}

}  // extern "C"
