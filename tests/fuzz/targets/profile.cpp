// Profile files.
#include "profile/profile.hpp"
#include "../target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  return fuzz::round_trip(fuzz::text_of(data, size), profile_from_json,
                          [](const Profile& profile) { return to_json(profile); });
}
