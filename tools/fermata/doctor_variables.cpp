// Lists the FERMATA_* variables of the environment, with their errors.
#include "doctor_checks.hpp"
#include "os/environment.hpp"

namespace fermata::tool {

namespace {

struct Reader {
  std::uint8_t bit;
  const char* name;
};
constexpr Reader kReaders[] = {{os::kByLibraries, "all programs with Fermata"},
                               {os::kByPthread, "libfermata-pthread"},
                               {os::kByOpenmp, "libfermata-openmp"},
                               {os::kByMpi, "libfermata-mpi"},
                               {os::kByNet, "libfermata-net"},
                               {os::kByRun, "fermata run"}};

std::string readers_of(const os::VariableRow& row) {
  std::string names;
  for (const Reader& reader : kReaders)
    if ((row.readers & reader.bit) != 0) names += (names.empty() ? "" : ", ") + std::string(reader.name);
  return names;
}

}  // namespace

Check check_variables() {
  std::string set, wrong;
  for (std::size_t i = 0; i < static_cast<std::size_t>(os::Variable::kCount); ++i) {
    const auto variable = static_cast<os::Variable>(i);
    const char* const value = os::text_of(variable);
    if (value == nullptr) continue;
    const os::VariableRow& row = os::row_of(variable);
    set += (set.empty() ? "" : "; ") + std::string(row.name) + "=" + value + " (" + row.meaning +
           "; read by " + readers_of(row) + ")";
    char text[os::kComplaint];
    if (os::complaint((std::string(row.name) + "=" + value).c_str(), text))
      wrong += (wrong.empty() ? "" : "; ") + std::string(text);
  }
  if (set.empty())
    return {"variables", "no", "no known FERMATA_* variable is set", "all settings are at their defaults"};
  if (!wrong.empty()) return {"variables", "partly", set, wrong};
  return {"variables", "yes", set,
          "programs use these settings, except those that are setuid, setgid or have file capabilities"};
}

}  // namespace fermata::tool
