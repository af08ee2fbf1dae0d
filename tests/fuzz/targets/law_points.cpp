// Points of the latency law as text. What is accepted is then fitted or refused.
#include "../target.hpp"
#include "sim/latency_law.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const std::string_view text = fuzz::text_of(data, size);
  const int result = fuzz::round_trip(text, sim::points_from_csv, sim::to_csv);
  if (result != 0) return result;
  const auto points = sim::points_from_csv(text).value();
  for (const sim::Growth growth : {sim::Growth::kLog, sim::Growth::kLinear}) {
    const auto fit = sim::fit_law(points, growth);
    if (fit.ok() ? fit->worst >= points.size() : fit.error().message.empty())
      fuzz::fail("no fit and no reason", std::string(text));
  }
  return result;
}
