// Schedules as text. An accepted schedule is then proved or refused: the verifier must cope with every
// schedule that the reader accepts.
#include "schedule/schedule.hpp"
#include "../target.hpp"
#include "schedule/print.hpp"
#include "schedule/verify.hpp"

namespace {

// The proof of a large schedule takes seconds; a fuzzer needs thousands of small ones.
constexpr std::int32_t kMaxProvedMembers = 48;
constexpr std::size_t kMaxProvedTransfers = 4000;

void prove(const fermata::Schedule& schedule) {
  using namespace fermata;
  if (schedule.members > kMaxProvedMembers || schedule.transfer_count() > kMaxProvedTransfers) return;
  if (schedule.words.size() > 200 || schedule.chunks > 64 || schedule.stages.size() > 200) return;
  for (const OpTraits op :
       {OpTraits{}, OpTraits{.associative = false, .commutative = true, .idempotent = false}}) {
    const auto verified = verify(schedule, op);
    if (!verified.ok() && verified.error().message.empty())
      fuzz::fail("no proof and no reason", to_text(schedule));
    if (verified.ok()) (void)reuse_hazards(schedule, 2, schedule.chunks > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const std::string_view text = fuzz::text_of(data, size);
  const int result =
      fuzz::round_trip(text, parse_schedule, [](const Schedule& schedule) { return to_text(schedule); });
  if (result == 0) prove(parse_schedule(text).value());
  return result;
}
