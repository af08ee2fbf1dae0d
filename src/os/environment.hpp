// Fermata's environment variables: one table, and the only code that reads them. A setuid program reads none
// of them, because its caller chose their values.
//
// Every shared library of Fermata has a copy of these functions. They keep no state, and use neither the C++
// run-time library nor an allocator. If a variable is not set, is empty or has a bad value, its default
// applies. check_environment() reports bad values.
#ifndef FERMATA_OS_ENVIRONMENT_HPP
#define FERMATA_OS_ENVIRONMENT_HPP

#include <cstddef>
#include <cstdint>

namespace fermata::os {

// The same order as in the table in environment.cpp.
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
  kSwitch,   // off if not set, empty or 0; else on
  kNumber,   // a whole number from `least` to `most`
  kSeconds,  // a decimal number from `least` to `most`; a comma and one of `words` may follow
  kChoice,   // one of `words`
  kList,     // any of `words`, separated by commas; may be empty
  kFolder,   // an existing folder with write permission
};

// Bits that say which parts of Fermata read a variable.
// Libfermata or libfermata-rt: every program and every preload that uses Fermata.
inline constexpr std::uint8_t kByLibraries = 1;
inline constexpr std::uint8_t kByPthread = 2;  // libfermata-pthread
inline constexpr std::uint8_t kByOpenmp = 4;   // libfermata-openmp
inline constexpr std::uint8_t kByMpi = 8;      // libfermata-mpi-*
inline constexpr std::uint8_t kByNet = 16;     // libfermata-net-*
inline constexpr std::uint8_t kByRun = 32;     // `fermata run`
inline constexpr std::uint8_t kByPreloads = kByPthread | kByOpenmp | kByMpi;

struct VariableRow {
  const char* name;
  ValueKind kind;
  const char* words;  // "spin,yield"; empty if the kind has none
  double least, most;
  std::uint8_t readers;
  const char* meaning;  // in a few words
};

const VariableRow& row_of(Variable variable);
const char* text_of(Variable variable);  // the value's text; null if the variable is not set or empty

// ---- Values: one call for each kind.
bool is_on(Variable variable);              // kSwitch
std::int64_t number_of(Variable variable);  // kNumber; 0 if there is no good value
int choice_of(Variable variable);           // kChoice: the index of the word; -1 if there is no good value
// kList: one bit for each word; false if the variable is not set.
bool list_of(Variable variable, std::uint32_t* words);
// kSeconds; 0 if there is no good value. *word: the index of the word that follows, or -1.
double seconds_of(Variable variable, int* word = nullptr);

// ---- Complaints, each one line. Examples: "FERMATA_WIAT is not known; did you mean FERMATA_WAIT?" and
// "FERMATA_WAIT=foo is ignored; auto, spin, yield and park are allowed".
inline constexpr std::size_t kComplaint = 400;
// Checks one entry of the environment, "NAME=VALUE". Returns false if the entry is right.
bool complaint(const char* entry, char (&text)[kComplaint]);
// Calls say(text) for each wrong entry. No other thread may change the environment meanwhile.
void check_environment(void (*say)(const char* text));

}  // namespace fermata::os
#endif
