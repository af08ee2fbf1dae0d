// The file that preloaded processes write for `fermata run`. An input gives the head of the file, some
// records and some events; the rest of the file is zeros, as in most files on disk.
#include "tools/fermata/run_stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "../target.hpp"
#include "preload/common/stats.hpp"
#include "tools/fermata/elf_symbols.hpp"

// Replaces the reader of ELF files, which has its own target.
namespace fermata::tool {
std::string function_at(const std::string& path, std::uint64_t offset) {
  return offset % 2 == 0 ? "" : path.substr(0, 8) + "+0x1";
}
}  // namespace fermata::tool

namespace {

using fermata::stats::Event;
using fermata::stats::File;
using fermata::stats::Note;
using fermata::stats::Record;

constexpr std::size_t kSomeNotes = 2, kSomeRecords = 5, kSomeEvents = 64;
constexpr std::size_t kHead = offsetof(File, note);

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  std::size_t left() const { return left_; }
  void fill(void* to, std::size_t bytes) {
    const std::size_t n = std::min(bytes, left_);
    if (n > 0) std::memcpy(to, data_, n);
    std::memset(static_cast<char*>(to) + n, 0, bytes - n);
    data_ += n;
    left_ -= n;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// Counts may exceed the room in the file. Checked once only: a full file takes a second.
bool stays_within(File& file) {
  file.magic = fermata::stats::kMagic;
  file.version = fermata::stats::kVersion;
  file.records = UINT32_MAX;
  file.events = UINT32_MAX;
  file.regions = UINT32_MAX;
  const auto stats = fermata::tool::stats_of(file, "input");
  return stats.ok() && stats->waits.size() == fermata::stats::kEvents;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static const auto file = std::make_unique<File>();
  static const bool within = stays_within(*file);
  if (!within) fuzz::fail("a full file was refused, or cut", "");
  Input in(data, size);
  in.fill(static_cast<void*>(file.get()), kHead);
  in.fill(file->note, kSomeNotes * sizeof(Note));
  in.fill(file->record, kSomeRecords * sizeof(Record));
  in.fill(file->event, kSomeEvents * sizeof(Event));
  file->records = std::min<std::uint32_t>(file->records, kSomeRecords);
  file->events = std::min<std::uint32_t>(file->events, kSomeEvents);
  const auto stats = tool::stats_of(*file, "input");
  if (!stats.ok()) {
    if (stats.error().message.empty()) fuzz::fail("refused without a reason", "");
    return -1;
  }
  if (tool::to_text(*stats).empty()) fuzz::fail("no text", "");
  for (const tool::SiteStats& s : stats->sites)
    if (!std::isfinite(s.late_ns)) fuzz::fail("a mean that is no number", s.place);
  for (const tool::Wait& w : stats->waits)
    if (!(w.length_us >= 0)) fuzz::fail("a wait that ends before it begins", w.place);
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  for (const auto& json : {tool::to_json(*stats), tool::trace_of({*stats})})
    if (!nlohmann::ordered_json::accept(json.dump(1, ' ', false, kReplace))) fuzz::fail("no JSON", "");
  return 0;
}
