// Fermata's environment variables: one table, and the only code that reads them. A program that runs with the rights of its file (setuid)
// reads none of them, since its caller chose them.
//
// Every library of Fermata has a copy of these functions: they keep no state, and use neither the C++ run-time library nor an allocator.
// A variable that is not set, is empty or has a bad value leaves its default; check_environment() names those that are bad.
#ifndef FERMATA_OS_ENVIRONMENT_HPP
#define FERMATA_OS_ENVIRONMENT_HPP

#include <cstddef>
#include <cstdint>

namespace fermata::os {

// In the order of the table.
enum class Variable : std::uint8_t {
  kReproducible,
  kWait,
  kStallSeconds,
  kRefresh,
  kCma,
  kProgressThread,
  kDisable,
  kVerbose,
  kPshared,
  kMpiCollectives,
  kFakeHosts,
  kStats,
  kTrace,
  kCount
};

enum class ValueKind : std::uint8_t {
  kSwitch,   // off: not set, nothing or 0; else on
  kNumber,   // a whole number from `least` to `most`
  kSeconds,  // a decimal number from `least` to `most`, which a comma and one of `words` may follow
  kChoice,   // one of `words`
  kList,     // any of `words`, with commas; an empty list is one, too
  kFolder,   // a folder that exists and can be written to
};

// Who reads it: bits.
inline constexpr std::uint8_t kByLibraries = 1;  // libfermata or libfermata-rt: every program and every preload that uses Fermata
inline constexpr std::uint8_t kByPthread = 2;    // libfermata-pthread
inline constexpr std::uint8_t kByOpenmp = 4;     // libfermata-openmp
inline constexpr std::uint8_t kByMpi = 8;        // libfermata-mpi-*
inline constexpr std::uint8_t kByNet = 16;       // libfermata-net-*
inline constexpr std::uint8_t kByRun = 32;       // `fermata run`
inline constexpr std::uint8_t kByPreloads = kByPthread | kByOpenmp | kByMpi;

struct VariableRow {
  const char* name;
  ValueKind kind;
  const char* words;  // "spin,yield"; empty where the kind has none
  double least, most;
  std::uint8_t readers;
  const char* meaning;  // in a few words
};

const VariableRow& row_of(Variable variable);
const char* text_of(Variable variable);  // the value as it is; null if it is not set, or empty

// ---- Values, each by a call for its kind.
bool is_on(Variable variable);                              // kSwitch
std::int64_t number_of(Variable variable);                  // kNumber; 0 without a good value
int choice_of(Variable variable);                           // kChoice: which of the words; -1 without a good value
bool list_of(Variable variable, std::uint32_t* words);      // kList: a bit for each of the words; false if it is not set
double seconds_of(Variable variable, int* word = nullptr);  // kSeconds; 0 without a good value. *word: which one follows, or -1

// ---- What is wrong. "FERMATA_WIAT is not known; did you mean FERMATA_WAIT?" and "FERMATA_WAIT=foo is ignored; auto, spin, yield and park
// are allowed", as one line each.
inline constexpr std::size_t kComplaint = 400;
// Of one entry of the environment, "NAME=VALUE". False: nothing is wrong with it.
bool complaint(const char* entry, char (&text)[kComplaint]);
// Calls say(text) for each entry that something is wrong with. To be called while no other thread changes the environment.
void check_environment(void (*say)(const char* text));

}  // namespace fermata::os
#endif
