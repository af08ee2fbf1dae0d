#include "exec/proof/places.hpp"

namespace fermata::exec::proof {
namespace {

std::uint32_t hash_of(std::uint32_t offset) {
  return static_cast<std::uint32_t>(offset * 0x9e3779b97f4a7c15u >> 32);
}

bool adds(Code code) { return code == Code::kAdd || code == Code::kFlip; }
bool leaves(Code code) { return code == Code::kSendAway || code == Code::kCreditGiveAway; }

Place::Use use_of(Code code) {
  if (adds(code) || code == Code::kPoll) return Place::Use::kWord;
  return gives(code) || code == Code::kCreditAwait ? Place::Use::kCredit : Place::Use::kSlot;
}

}  // namespace

bool Places::prepare(std::size_t most) {
  std::size_t size = 16;
  while (size < 2 * most) size *= 2;
  if (size > std::size_t{1} << 31) return false;
  table_mask_ = static_cast<std::uint32_t>(size - 1);
  table_ = scratch_.array<std::uint32_t>(size);
  places_ = scratch_.array<Place>(most);
  claimed_ = scratch_.array<std::uint64_t>(header_.region_bytes / 512 + 1);
  return !scratch_.failed();
}

std::uint32_t Places::find(std::uint32_t offset) const {
  for (std::uint32_t at = hash_of(offset);; ++at) {
    const std::uint32_t found = table_[at & table_mask_];
    if (found == 0) return kNone;
    if (places_[found - 1].offset == offset) return found - 1;
  }
}

std::uint32_t Places::add(const Place& place) {
  std::uint32_t at = hash_of(place.offset);
  while (table_[at & table_mask_] != 0) ++at;
  places_[count_] = place;
  table_[at & table_mask_] = count_ + 1;
  return count_++;
}

// In units of 8 bytes. A sound offset is aligned and within the region.
bool Places::claim(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t unit = offset / 8; unit < (offset + bytes) / 8; ++unit) {
    const std::uint64_t bit = std::uint64_t{1} << (unit % 64);
    if ((claimed_[unit / 64] & bit) != 0) return false;
    claimed_[unit / 64] |= bit;
  }
  return true;
}

const char* Places::claim_all(const Place& place) {
  const std::uint64_t bytes = place.use == Place::Use::kSlot ? 8 + round_up(header_.payload, 8) : 8;
  for (std::uint64_t k = 0; k <= place.mask; ++k)
    if (!claim(place.offset + k * place.stride, bytes))
      return "what it writes overlaps what another step writes";
  return nullptr;
}

// All members that park at a door in the region share it.
const char* Places::claim_door(const Step& step) {
  if (step.rings != 2 || !terms_.parks) return nullptr;
  if (const std::uint32_t known = find(step.door); known != kNone)
    return places_[known].use == Place::Use::kDoor ? nullptr
                                                   : "the door that it rings overlaps what a step writes";
  Place door;
  door.use = Place::Use::kDoor;
  door.offset = step.door;
  if (const char* flaw = claim_all(door)) return flaw;
  add(door);
  return nullptr;
}

const char* Places::signal(const Step& step, std::uint32_t member, std::uint32_t index,
                           std::uint32_t* place) {
  if (leaves(step.code) && (terms_.hosts == nullptr || share_memory(member, step.peer)))
    return "it sends over hosts to a member on its own";
  *place = find(step.offset);
  if (*place != kNone) {
    Place& known = places_[*place];
    if (!adds(step.code) || known.use != Place::Use::kWord)
      return "what it writes overlaps what another step writes";
    if (step.code == Code::kFlip || known.code == Code::kFlip) return "two steps store to one word";
    if (known.threshold != step.threshold || known.rings != step.rings ||
        (known.rings != 0 && known.door != step.door))
      return "it adds to a word otherwise than another step";
    ++known.signals;
    return use_word(step, member);
  }
  Place fresh;
  fresh.use = use_of(step.code);
  fresh.offset = step.offset;
  if (fresh.use == Place::Use::kSlot) fresh.stride = step.stride, fresh.mask = step.mask;
  fresh.threshold = step.code == Code::kFlip ? 1 : step.threshold;
  fresh.rings = step.rings;
  fresh.door = step.door;
  fresh.code = step.code;
  fresh.writer = member;
  fresh.step = index;
  fresh.peer = step.peer;
  fresh.signals = 1;
  if (fresh.use == Place::Use::kWord && fresh.threshold == 0)
    return "it adds to a word that nothing completes";
  if (const char* flaw = claim_all(fresh)) return flaw;
  if (const char* flaw = claim_door(step)) return flaw;
  *place = add(fresh);
  return nullptr;
}

const char* Places::wait(const Step& step, std::uint32_t member, std::uint32_t* place) const {
  const std::uint32_t found = find(step.offset);
  if (found == kNone || places_[found].use != use_of(step.code)) return "nobody signals what it waits for";
  const Place& p = places_[found];
  *place = found;
  if (step.code == Code::kPoll && step.threshold != p.threshold)
    return "it waits for another number of adds than come";
  if (step.code == Code::kAwait && (step.mask != p.mask || (step.mask != 0 && step.stride != p.stride)))
    return "it looks for a slot elsewhere than its writer puts it";
  if (step.code != Code::kPoll && step.peer != p.writer)
    return "it waits for another member than the one that signals";
  if (leaves(p.code) ? p.peer != member : !share_memory(p.writer, member))
    return "what it waits for comes to another host";
  if (step.code == Code::kCreditAwait && (step.threshold == 0 || step.threshold < p.threshold))
    return "it waits for credits that come later than its slots last";
  if (!terms_.parks) return nullptr;
  if (step.rings != p.rings || step.rings == 0 || step.door != p.door) return "it parks where nobody rings";
  return step.rings == 1 && step.door != member ? "it parks at another member's door" : nullptr;
}

const char* Places::use_word(const Step& step, std::uint32_t member) const {
  const std::uint32_t found = find(step.offset);
  if (found == kNone || places_[found].use != Place::Use::kWord) return "nobody signals what it waits for";
  return share_memory(places_[found].writer, member) ? nullptr : "it uses a word in another host's memory";
}

}  // namespace fermata::exec::proof
