// Every fuzz target provides the entry below. Most targets check two things of a reader: an accepted input
// survives a round trip, and a refused one has a reason.
#ifndef FERMATA_TESTS_FUZZ_TARGET_HPP
#define FERMATA_TESTS_FUZZ_TARGET_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/result.hpp"

// libFuzzer's entry. Returns 0, or -1 for a refused input, which libFuzzer then keeps out of its corpus.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fermata::fuzz {

[[noreturn]] inline void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "fuzz: %s\n%s\n", what, detail.c_str());
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// read: text -> Result<T>; write: T -> text. Reading again must give the same value, and writing again the
// same text.
template <class Read, class Write>
int round_trip(std::string_view text, Read read, Write write) {
  const auto first = read(text);
  if (!first.ok()) {
    const Error& error = first.error();
    if (error.status == Status::kOk || error.status == Status::kPending)
      fail("refused with success", error.message);
    if (error.message.empty()) fail("refused without a reason", std::string(text));
    return -1;
  }
  const std::string written = write(first.value());
  const auto second = read(written);
  if (!second.ok()) fail("refuses what it wrote itself", second.error().message + "\n" + written);
  if (!(second.value() == first.value())) fail("reads something else than it wrote", written);
  if (write(second.value()) != written) fail("writes the same value differently", written);
  return 0;
}

}  // namespace fermata::fuzz
#endif
