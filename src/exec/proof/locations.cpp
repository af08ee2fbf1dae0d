#include "exec/proof/locations.hpp"

namespace fermata::exec::proof {
namespace {

std::uint32_t hash_of(std::uint32_t offset) {
  return static_cast<std::uint32_t>(offset * 0x9e3779b97f4a7c15u >> 32);
}

bool adds(Code code) { return code == Code::kAdd || code == Code::kFlip; }
bool leaves(Code code) { return code == Code::kSendAway || code == Code::kCreditGiveAway; }

Location::Use use_of(Code code) {
  if (adds(code) || code == Code::kPoll) return Location::Use::kWord;
  return gives(code) || code == Code::kCreditAwait ? Location::Use::kCredit : Location::Use::kSlot;
}

}  // namespace

bool Locations::prepare(std::size_t most) {
  std::size_t size = 16;
  while (size < 2 * most) size *= 2;
  if (size > std::size_t{1} << 31) return false;
  table_mask_ = static_cast<std::uint32_t>(size - 1);
  table_ = scratch_.array<std::uint32_t>(size);
  locations_ = scratch_.array<Location>(most);
  claimed_ = scratch_.array<std::uint64_t>(header_.region_bytes / 512 + 1);
  return !scratch_.failed();
}

std::uint32_t Locations::find(std::uint32_t offset) const {
  for (std::uint32_t at = hash_of(offset);; ++at) {
    const std::uint32_t found = table_[at & table_mask_];
    if (found == 0) return kNone;
    if (locations_[found - 1].offset == offset) return found - 1;
  }
}

std::uint32_t Locations::add(const Location& location) {
  std::uint32_t at = hash_of(location.offset);
  while (table_[at & table_mask_] != 0) ++at;
  locations_[count_] = location;
  table_[at & table_mask_] = count_ + 1;
  return count_++;
}

// Claims units of 8 bytes. A sound offset is aligned and within the region.
bool Locations::claim(std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t unit = offset / 8; unit < (offset + bytes) / 8; ++unit) {
    const std::uint64_t bit = std::uint64_t{1} << (unit % 64);
    if ((claimed_[unit / 64] & bit) != 0) return false;
    claimed_[unit / 64] |= bit;
  }
  return true;
}

const char* Locations::claim_all(const Location& location) {
  const std::uint64_t bytes = location.use == Location::Use::kSlot   ? 8 + round_up(header_.payload, 8)
                              : location.use == Location::Use::kDoor ? kDoorBytes
                                                                     : 8;
  for (std::uint64_t k = 0; k <= location.mask; ++k)
    if (!claim(location.offset + k * location.stride, bytes))
      return "it writes to the same memory as another step";
  return nullptr;
}

// All members that park at a door in the region share the door.
const char* Locations::claim_door(const Step& step) {
  if (step.rings != 2 || !terms_.parks) return nullptr;
  if (const std::uint32_t known = find(step.door); known != kNone)
    return locations_[known].use == Location::Use::kDoor ? nullptr
                                                         : "a step writes to the doorbell that it rings";
  Location door;
  door.use = Location::Use::kDoor;
  door.offset = step.door;
  if (const char* flaw = claim_all(door)) return flaw;
  add(door);
  return nullptr;
}

const char* Locations::signal(const Step& step, std::uint32_t member, std::uint32_t index,
                              std::uint32_t* location) {
  if (leaves(step.code) && (terms_.hosts == nullptr || share_memory(member, step.peer)))
    return "it sends to another host, but the receiver is on its own host";
  *location = find(step.offset);
  if (*location != kNone) {
    Location& known = locations_[*location];
    if (!adds(step.code) || known.use != Location::Use::kWord)
      return "it writes to the same memory as another step";
    if (step.code == Code::kFlip || known.code == Code::kFlip) return "two steps store to one word";
    if (known.threshold != step.threshold || known.rings != step.rings ||
        (known.rings != 0 && known.door != step.door))
      return "its threshold or doorbell for a word differs from another step's";
    ++known.signals;
    return use_word(step, member);
  }
  Location fresh;
  fresh.use = use_of(step.code);
  fresh.offset = step.offset;
  if (fresh.use == Location::Use::kSlot) fresh.stride = step.stride, fresh.mask = step.mask;
  fresh.threshold = step.code == Code::kFlip ? 1 : step.threshold;
  fresh.rings = step.rings;
  fresh.door = step.door;
  fresh.code = step.code;
  fresh.writer = member;
  fresh.step = index;
  fresh.peer = step.peer;
  fresh.signals = 1;
  if (fresh.use == Location::Use::kWord && fresh.threshold == 0)
    return "it adds to a word that nothing completes";
  if (const char* flaw = claim_all(fresh)) return flaw;
  if (const char* flaw = claim_door(step)) return flaw;
  *location = add(fresh);
  return nullptr;
}

const char* Locations::wait(const Step& step, std::uint32_t member, std::uint32_t* location) const {
  const std::uint32_t found = find(step.offset);
  if (found == kNone || locations_[found].use != use_of(step.code))
    return "no step sends the signal that it waits for";
  const Location& p = locations_[found];
  *location = found;
  if (step.code == Code::kPoll && step.threshold != p.threshold)
    return "it waits for more or fewer adds than come";
  if (step.code == Code::kAwait && (step.mask != p.mask || (step.mask != 0 && step.stride != p.stride)))
    return "it reads a slot at another place than its writer writes it";
  if (step.code != Code::kPoll && step.peer != p.writer)
    return "it waits for another member than the one that signals";
  if (leaves(p.code) ? p.peer != member : !share_memory(p.writer, member))
    return "the signal that it waits for goes to another host";
  if (step.code == Code::kCreditAwait && (step.threshold == 0 || step.threshold < p.threshold))
    return "it waits for a credit that comes only after its slots are used up";
  if (!terms_.parks) return nullptr;
  if (step.rings != p.rings || step.rings == 0 || step.door != p.door)
    return "no step rings the doorbell at which it parks";
  return step.rings == 1 && step.door != member ? "it parks at another member's doorbell" : nullptr;
}

const char* Locations::use_word(const Step& step, std::uint32_t member) const {
  const std::uint32_t found = find(step.offset);
  if (found == kNone || locations_[found].use != Location::Use::kWord)
    return "no step sends the signal that it waits for";
  return share_memory(locations_[found].writer, member) ? nullptr : "it uses a word in another host's memory";
}

}  // namespace fermata::exec::proof
