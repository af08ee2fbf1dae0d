#include "os/environment.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fermata::os {
namespace {

constexpr double kMostSeconds = 9e9;  // this many seconds, in ns, still fit into 64 bits
constexpr double kMostHosts = 1e6;
constexpr const char* kOurs = "FERMATA_";
constexpr const char* kTests = "FERMATA_TEST_";  // variables of the tests; programs read none of them
constexpr std::size_t kMostName = 32;            // bound on the length of the table's names
constexpr std::size_t kNear = 2;
constexpr const char* kNamesOfCollectives =
    "barrier,bcast,reduce,allreduce,gather,scatter,allgather,reduce_scatter,alltoall,scan,exscan,all,none";

// The rows have the order of Variable. The columns are those of VariableRow: name, kind, words, least, most,
// default, readers, meaning. fermata(7) has an entry for each variable, with its words and its default. The
// page of a preload library has an entry for each variable that not all preload libraries read, and
// fermata-run(1) for those that all read (tests/man checks this).
constexpr VariableRow kTable[] = {
    {"FERMATA_REPRODUCIBLE", ValueKind::kSwitch, "", 0, 0, "0", kByLibraries, "the same bits in every run"},
    {"FERMATA_WAIT", ValueKind::kChoice, "auto,spin,yield,park", 0, 0, "", kByLibraries, "how members wait"},
    {"FERMATA_STALL_SECONDS", ValueKind::kSeconds, "", 0, kMostSeconds, "0", kByLibraries,
     "report waits that last this long"},
    {"FERMATA_REFRESH", ValueKind::kSeconds, "keep", 0, kMostSeconds, "0", kByLibraries,
     "how often teams over hosts look for better plans"},
    {"FERMATA_CMA", ValueKind::kChoice, "0,1", 0, 0, "", kByLibraries,
     "whether processes read each other's memory"},
    {"FERMATA_MONITOR", ValueKind::kChoice, "0,1", 0, 0, "", kByLibraries,
     "whether a spinning CPU sleeps until the awaited line is written"},
    {"FERMATA_MOVE", ValueKind::kChoice, "0,1", 0, 0, "1", kByLibraries,
     "whether members move to CPUs that fewer of them share"},
    {"FERMATA_PROGRESS_THREAD", ValueKind::kSwitch, "", 0, 0, "0", kByLibraries,
     "a thread moves data while the program computes"},
    {"FERMATA_DISABLE", ValueKind::kSwitch, "", 0, 0, "0", kByPreloads | kByRun, "preloads change nothing"},
    {"FERMATA_VERBOSE", ValueKind::kSwitch, "", 0, 0, "0", kByPreloads, "preloads say what they do"},
    {"FERMATA_PSHARED", ValueKind::kSwitch, "", 0, 0, "0", kByPthread,
     "all processes that share a barrier are preloaded"},
    {"FERMATA_OPENMP_REGIONS", ValueKind::kChoice, "0,1", 0, 0, "1", kByOpenmp,
     "whether OpenMP regions run on resident teams"},
    {"FERMATA_MPI_COLLECTIVES", ValueKind::kList, kNamesOfCollectives, 0, 0, "all", kByMpi,
     "the MPI collectives that Fermata replaces"},
    {"FERMATA_FAKE_HOSTS", ValueKind::kNumber, "", 0, kMostHosts, "0", kByMpi | kByNet,
     "for tests: ranks pretend to be on this many hosts"},
    {"FERMATA_STATS", ValueKind::kFolder, "", 0, 0, "", kByPreloads, "where preloads write statistics"},
    {"FERMATA_TRACE", ValueKind::kSwitch, "", 0, 0, "0", kByPreloads,
     "with FERMATA_STATS: record every wait"},
};
static_assert(sizeof kTable / sizeof *kTable == static_cast<std::size_t>(Variable::kCount));
static_assert([] {
  for (const VariableRow& row : kTable)
    if (__builtin_strlen(row.name) > kMostName) return false;
  return true;
}());

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads 12, 2.5 and 1e-3, whatever decimal point the locale has. Returns where the number ends, or null
// without a number.
const char* read_number(const char* at, double* out) {
  double value = 0, divisor = 1;
  bool found = false;
  for (; is_digit(*at); ++at, found = true) value = value * 10 + (*at - '0');
  if (*at == '.')
    for (++at; is_digit(*at); ++at, found = true) {
      value = value * 10 + (*at - '0');
      divisor *= 10;
    }
  if (!found) return nullptr;
  if (*at == 'e' || *at == 'E') {
    const char* digit = at + 1;
    const bool negative = *digit == '-';
    if (*digit == '-' || *digit == '+') ++digit;
    if (!is_digit(*digit)) return nullptr;
    int exponent = 0;
    for (; is_digit(*digit); ++digit) exponent = exponent < 400 ? exponent * 10 + (*digit - '0') : exponent;
    for (; exponent > 0; --exponent) (negative ? divisor : value) *= 10;
    at = digit;
  }
  *out = value / divisor;
  return at;
}

// Returns the index of a word in `words`, a list with commas; -1 if the list does not have the word.
int word_in(const char* words, const char* text, std::size_t length) {
  for (int i = 0; *words != '\0'; ++i) {
    const std::size_t here = strcspn(words, ",");
    if (here == length && strncmp(words, text, length) == 0) return i;
    words += here + (words[here] == ',' ? 1 : 0);
  }
  return -1;
}

// A number from row.least to row.most; with words, a comma and one of them may follow it.
void parse_number(const VariableRow& row, const char* text, bool whole, Value* out) {
  Value found;
  const char* const end = read_number(text, &found.number);
  bool good = end != nullptr && found.number >= row.least && found.number <= row.most;
  if (good && *end == ',') found.word = word_in(row.words, end + 1, strlen(end + 1));
  good = good && (*end == '\0' || found.word >= 0);
  // A double holds all whole numbers up to row.most exactly.
  good = good && (!whole || static_cast<double>(static_cast<std::int64_t>(found.number)) == found.number);
  if (good) *out = found;
  else out->wrong = text;
}

// Wrong words are left out.
void parse_list(const VariableRow& row, const char* text, Value* out) {
  while (*text != '\0') {
    const std::size_t length = strcspn(text, ",");
    const int word = word_in(row.words, text, length);
    if (word >= 0) out->words |= 1u << word;
    else if (length != 0 && out->wrong == nullptr) out->wrong = text;
    text += length + (text[length] == ',' ? 1 : 0);
  }
}

bool is_usable_folder(const char* path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode) && access(path, W_OK | X_OK) == 0;
}

// Returns the number of edits between two names (optimal string alignment distance). One edit is a missing,
// surplus or wrong letter, or a swap of two neighbours.
std::size_t distance(const char* x, std::size_t x_length, const char* y, std::size_t y_length) {
  std::size_t rows[3][kMostName + 1];  // the row before the last, the last row, this row
  for (std::size_t j = 0; j <= y_length; ++j) rows[1][j] = j;
  for (std::size_t i = 1; i <= x_length; ++i) {
    rows[2][0] = i;
    for (std::size_t j = 1; j <= y_length; ++j) {
      std::size_t best = rows[1][j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1);
      if (rows[1][j] + 1 < best) best = rows[1][j] + 1;
      if (rows[2][j - 1] + 1 < best) best = rows[2][j - 1] + 1;
      const bool swapped = i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1];
      if (swapped && rows[0][j - 2] + 1 < best) best = rows[0][j - 2] + 1;
      rows[2][j] = best;
    }
    memcpy(rows[0], rows[1], sizeof rows[0]);
    memcpy(rows[1], rows[2], sizeof rows[1]);
  }
  return rows[1][y_length];
}

// Returns how many letters may be wrong in a misspelt name. After Fermata's prefix: a third of the letters,
// but at least kNear. Without the prefix: kNear.
std::size_t slip(const char* name, std::size_t length) {
  const std::size_t prefix = strlen(kOurs);
  const bool ours = strncmp(name, kOurs, prefix) == 0;
  return ours && (length - prefix) / 3 > kNear ? (length - prefix) / 3 : kNear;
}

// Returns the variable that the user probably meant; null if there is none.
const VariableRow* meant_by(const char* name, std::size_t length) {
  const VariableRow* nearest = nullptr;
  std::size_t best = slip(name, length) + 1;
  for (const VariableRow& row : kTable) {
    const std::size_t own = strlen(row.name);
    if (length + best <= own || own + best <= length) continue;  // each letter of difference is an edit
    if (const std::size_t found = distance(name, length, row.name, own); found < best)
      best = found, nearest = &row;
  }
  return nearest;
}

const VariableRow* row_named(const char* name, std::size_t length) {
  for (const VariableRow& row : kTable)
    if (strlen(row.name) == length && strncmp(row.name, name, length) == 0) return &row;
  return nullptr;
}

// Writes "auto, spin and yield" for "auto,spin,yield".
void write_words(const char* words, char* to, std::size_t capacity) {
  const char* const last = strrchr(words, ',');
  std::size_t n = 0;
  for (const char* at = words; *at != '\0'; ++at) {
    const char* const between = *at != ',' ? nullptr : at == last ? " and " : ", ";
    const int wrote = between != nullptr ? snprintf(to + n, capacity - n, "%s", between)
                                         : snprintf(to + n, capacity - n, "%c", *at);
    if (wrote < 0 || n + static_cast<std::size_t>(wrote) >= capacity) return;
    n += static_cast<std::size_t>(wrote);
  }
}

// Writes what is wrong with a variable's value, from `wrong` on.
void complain_of_value(const VariableRow& row, const char* value, const char* wrong,
                       char (&text)[kComplaint]) {
  char words[160] = "";
  write_words(row.words, words, sizeof words);
  switch (row.kind) {
    case ValueKind::kSwitch:
      snprintf(text, sizeof text, "%s=%.60s counts as 1; 0 and 1 are allowed", row.name, value);
      break;
    case ValueKind::kNumber:
      snprintf(text, sizeof text, "%s=%.60s is ignored; a whole number from %.0f to %.0f is allowed",
               row.name, value, row.least, row.most);
      break;
    case ValueKind::kSeconds:
      snprintf(text, sizeof text,
               "%s=%.60s is ignored; a number of seconds from %.0f to %.0f%s%s%s is allowed", row.name, value,
               row.least, row.most, words[0] != '\0' ? ", also with a comma and " : "", words,
               words[0] != '\0' ? " after it," : "");
      break;
    case ValueKind::kChoice:
      snprintf(text, sizeof text, "%s=%.60s is ignored; %s are allowed", row.name, value, words);
      break;
    case ValueKind::kList:
      snprintf(text, sizeof text, "%s: '%.*s' is ignored; %s are allowed", row.name,
               static_cast<int>(strcspn(wrong, ",") < 60 ? strcspn(wrong, ",") : 60), wrong, words);
      break;
    case ValueKind::kFolder:
      snprintf(text, sizeof text, "%s=%.160s is ignored; an existing folder with write permission is allowed",
               row.name, value);
      break;
  }
}

// Writes what is wrong with a name that is not in the table. Returns false if it is none of Fermata's.
bool complain_of_name(const char* name, std::size_t length, char (&text)[kComplaint]) {
  const VariableRow* const meant = meant_by(name, length);
  const int shown = static_cast<int>(length < 60 ? length : 60);
  if (meant == nullptr && strncmp(name, kOurs, strlen(kOurs)) != 0) return false;
  if (meant != nullptr)
    snprintf(text, sizeof text, "%.*s is not known; did you mean %s?", shown, name, meant->name);
  else snprintf(text, sizeof text, "%.*s is not known; fermata(7) lists the known variables", shown, name);
  return true;
}

// Returns where the value is wrong, or null. Only complaints look at folders: values are also read in waits.
const char* wrong_in(const VariableRow& row, const char* value) {
  if (row.kind == ValueKind::kFolder) return is_usable_folder(value) ? nullptr : value;
  return parse(row, value).wrong;
}

}  // namespace

const VariableRow& row_of(Variable variable) { return kTable[static_cast<std::size_t>(variable)]; }

const char* text_of(Variable variable) {
  const char* const text = secure_getenv(row_of(variable).name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

Value parse(const VariableRow& row, const char* text) {
  Value value;
  switch (row.kind) {
    case ValueKind::kSwitch:
      value.on = *text != '\0' && strcmp(text, "0") != 0;
      if (value.on && strcmp(text, "1") != 0) value.wrong = text;
      break;
    case ValueKind::kNumber: parse_number(row, text, true, &value); break;
    case ValueKind::kSeconds: parse_number(row, text, false, &value); break;
    case ValueKind::kChoice:
      value.word = word_in(row.words, text, strlen(text));
      if (value.word < 0) value.wrong = text;
      break;
    case ValueKind::kList: parse_list(row, text, &value); break;
    case ValueKind::kFolder: break;  // its text is the value
  }
  return value;
}

Value value_of(Variable variable) {
  const VariableRow& row = row_of(variable);
  const char* const text = secure_getenv(row.name);
  const bool is_set = text != nullptr && (*text != '\0' || row.kind == ValueKind::kList);
  const Value given = is_set ? parse(row, text) : Value{};
  const bool keeps = row.kind == ValueKind::kSwitch || row.kind == ValueKind::kList;
  if (is_set && (given.wrong == nullptr || keeps)) return given;
  return row.fallback[0] != '\0' ? parse(row, row.fallback) : Value{};
}

bool complaint(const char* entry, char (&text)[kComplaint]) {
  const std::size_t length = strcspn(entry, "=");
  if (entry[length] == '\0' || strncmp(entry, kTests, strlen(kTests)) == 0) return false;
  const char* const value = entry + length + 1;
  bool found = false;
  if (const VariableRow* const row = row_named(entry, length); row != nullptr) {
    const char* const wrong = *value != '\0' ? wrong_in(*row, value) : nullptr;
    found = wrong != nullptr;
    if (found) complain_of_value(*row, value, wrong, text);
  } else {
    found = complain_of_name(entry, length, text);
  }
  for (char* at = text; found && *at != '\0'; ++at)
    // One line, without control characters for the terminal.
    if (static_cast<unsigned char>(*at) < ' ') *at = '?';
  return found;
}

void check_environment(void (*say)(const char* text)) {
  if (getauxval(AT_SECURE) != 0) return;
  char text[kComplaint];
  for (char* const* entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (complaint(*entry, text)) say(text);
}

}  // namespace fermata::os
