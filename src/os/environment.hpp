// Fermata's environment variables: one table, and the only code that reads them. A setuid program reads none
// of them, because its caller chose their values.
//
// Every shared library of Fermata has a copy of these functions. They keep no state, and use neither the C++
// run-time library nor an allocator. check_environment() names bad values and unknown names.
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
  kMonitor,
  kMove,
  kProgressThread,
  kDisable,
  kVerbose,
  kPshared,
  kOpenmpRegions,
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
  kFolder,   // an existing folder with write and search permission; text_of() gives it, unchecked
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
  // The value that holds if the variable is not set, is empty or has a bad value. Exceptions: a list may be
  // empty, and bad values of switches and lists count as Value::wrong says. Empty fallback: no value. Then
  // the program or the machine's profile decides, or there is nothing to do.
  const char* fallback;
  std::uint8_t readers;
  const char* meaning;  // in a few words
};

const VariableRow& row_of(Variable variable);
const char* text_of(Variable variable);  // the value's text; null if the variable is not set or empty

// A value as the table's kind reads it. The other fields keep their initial values.
struct Value {
  bool on = false;          // kSwitch
  double number = 0;        // kNumber, kSeconds
  int word = -1;            // kChoice; kSeconds: the word that follows. The index of the word; -1: none.
  std::uint32_t words = 0;  // kList: one bit for each word
  // Where the text is wrong; null: it is right. A wrong switch is on, and a list has its other words.
  const char* wrong = nullptr;
};
// The one parser: for values, defaults and complaints. Only complaint() checks a folder.
Value parse(const VariableRow& row, const char* text);
// Returns the variable's value, or its default. A list that is set to nothing has no words.
Value value_of(Variable variable);

inline bool is_on(Variable variable) { return value_of(variable).on; }
inline std::int64_t number_of(Variable variable) {
  return static_cast<std::int64_t>(value_of(variable).number);
}
inline int choice_of(Variable variable) { return value_of(variable).word; }
inline std::uint32_t list_of(Variable variable) { return value_of(variable).words; }
// *word: the index of the word that follows, or -1.
inline double seconds_of(Variable variable, int* word = nullptr) {
  const Value value = value_of(variable);
  if (word != nullptr) *word = value.word;
  return value.number;
}

// FERMATA_FAKE_HOSTS=k: `size` ranks count as those of k hosts, or of `size` hosts if k is larger. Each host
// has a block of consecutive ranks. Returns the number of the rank's host; -1 if k or `size` is below 2: all
// ranks are on their real hosts. For jobs on one real host.
inline std::int64_t fake_host_of(std::int64_t rank, std::int64_t size) {
  const std::int64_t asked = number_of(Variable::kFakeHosts), hosts = asked < size ? asked : size;
  return hosts > 1 ? rank * hosts / size : -1;
}

// ---- Complaints, each one line. Examples: "FERMATA_WIAT is not known; did you mean FERMATA_WAIT?" and
// "FERMATA_WAIT=foo is ignored; auto, spin, yield and park are allowed".
inline constexpr std::size_t kComplaint = 400;  // with the final null character
// Checks one entry of the environment, "NAME=VALUE". Returns false if the entry is right, or none of
// Fermata's.
bool complaint(const char* entry, char (&text)[kComplaint]);
// Calls say(text) for each wrong entry. No other thread may change the environment meanwhile.
void check_environment(void (*say)(const char* text));

}  // namespace fermata::os
#endif
