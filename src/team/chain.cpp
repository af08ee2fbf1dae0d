// Chains: several persistent collectives, one after the other, as one request (hybrid-collectives-p7ih,
// section 4: chaining).
#include "team/blocks.hpp"

namespace fermata::team {

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

std::unique_ptr<fermata_request> make_chain(fermata_request* const* links, std::size_t count) {
  auto whole = std::make_unique<fermata_request>();
  whole->links = std::make_unique<Chain>();
  whole->links->links.reserve(count);
  whole->links->whole = whole.get();
  whole->member = links[0]->member;
  whole->member_serial = links[0]->member_serial;
  whole->prepared = true;
  for (std::size_t i = 0; i < count; ++i) {
    links[i]->chain = whole->links.get();
    whole->links->links.emplace_back(links[i]);
  }
  return whole;
}

}  // namespace fermata::team
