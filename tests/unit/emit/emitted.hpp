// Headers as `fermata plan --emit` writes them, and programs that include one.
#ifndef FERMATA_TESTS_EMITTED_HPP
#define FERMATA_TESTS_EMITTED_HPP

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "../../own_folder.hpp"
#include "algo/algorithm.hpp"
#include "plan/emit/emit.hpp"
#include "profile/store.hpp"

namespace fermata::test {

// credits: receivers give credits every so many episodes; 0: never.
inline Plan plan_of(Collective collective, std::int32_t members, const char* algorithm, const char* layout,
                    std::int32_t payload = 0, std::int32_t credits = 0) {
  const auto named = parse_algorithm(algorithm);
  Plan plan;
  plan.key.collective = collective;
  plan.key.members = members;
  plan.key.payload = payload;
  plan.schedule =
      named->algorithm->build({.collective = collective, .members = members, .degree = named->degree});
  plan.layout = *parse_layouts(layout);
  plan.credit_batch = credits;
  return plan;
}

inline Plan barrier_of(std::int32_t members, const char* algorithm, const char* layout) {
  return plan_of(Collective::kBarrier, members, algorithm, layout);
}

inline Plan allreduce_of(std::int32_t members, const char* algorithm, const char* layout,
                         std::int32_t payload = 56, std::int32_t credits = 0) {
  return plan_of(Collective::kAllreduce, members, algorithm, layout, payload, credits);
}

inline bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

inline bool is_installed(const std::string& compiler) {
  return succeeds(compiler + " --version > /dev/null 2>&1");
}

// A header with the prefix `made` in a folder of its own, and the programs made with it.
class Emitted {
 public:
  Emitted(const Plan& barrier, const Plan& allreduce) : Emitted(emit_code(barrier, allreduce, "made")) {}
  // Another text in its place, for example a header that was changed on purpose.
  explicit Emitted(const Result<std::string>& text) {
    EXPECT_TRUE(text.ok()) << text.error().message;
    if (!text) return;
    text_ = *text;
    EXPECT_TRUE(write_file_atomically(folder_.path() / "made.h", text_).ok());
  }

  const std::string& text() const { return text_; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  // `source` is a file of this folder of tests. The program gets the name of the source.
  bool compile(const std::string& compiler, const std::string& source) const {
    const std::string language = compiler.find("++") == std::string::npos ? "c" : "c++";
    return succeeds(compiler + " -pthread -I" + folder_.path().string() + " -x " + language + " " + kSources +
                    source + " -o " + path(source));
  }
  bool compile_without_warnings(const std::string& compiler, const std::string& source) const {
    return compile(compiler + " -pedantic -Wall -Wextra -Wshadow -Wconversion -Wcast-qual -Werror", source);
  }

  // Runs the program, in the emulator if the compiler is for another machine.
  bool runs(const std::string& source, const std::string& arguments) const {
    return succeeds("timeout 60 " FERMATA_TEST_EMULATOR " " + path(source) + " " + arguments);
  }

 private:
  static constexpr const char* kSources = FERMATA_SOURCE_DIR "/tests/unit/emit/";

  OwnFolder folder_;
  std::string text_;
};

}  // namespace fermata::test
#endif
