// Joules from pretended files of Linux: tests cannot rely on a machine that shows its own.
#include "bench/energy.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "../../own_folder.hpp"
#include "bench/report.hpp"
#include "bench/session.hpp"

namespace fermata::bench {
namespace {

class EnergyTest : public testing::Test {
 protected:
  std::string zone(const std::string& number) const {
    return root_ + "/sys/class/powercap/intel-rapl:" + number;
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text << "\n"; }
  void make(const std::string& number, const std::string& name, const std::string& uj,
            const std::string& range = "1000000") const {
    std::filesystem::create_directories(zone(number));
    write(zone(number) + "/name", name);
    write(zone(number) + "/energy_uj", uj);
    write(zone(number) + "/max_energy_range_uj", range);
  }

  const test::OwnFolder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(EnergyTest, PackagesAndTheirMemoryAreAddedUp) {
  make("0", "package-0", "1000");
  make("0:0", "core", "500");
  make("0:1", "dram", "100");
  make("1", "package-1", "7000");
  make("2", "psys", "9000");
  Energy energy(root_);
  EXPECT_EQ(energy.source(), "package-0, dram, package-1");
  EXPECT_EQ(energy.spent(), 0.0);
  write(zone("0") + "/energy_uj", "2000");
  write(zone("0:0") + "/energy_uj", "900");
  write(zone("0:1") + "/energy_uj", "350");
  write(zone("1") + "/energy_uj", "7500");
  write(zone("2") + "/energy_uj", "99000");
  EXPECT_DOUBLE_EQ(energy.spent().value(), 0.00175);
  EXPECT_EQ(energy.spent(), 0.0);
}

TEST_F(EnergyTest, ACounterMayBeginAnew) {
  make("0", "package-0", "999000", "1000000");
  Energy energy(root_);
  write(zone("0") + "/energy_uj", "3000");
  EXPECT_DOUBLE_EQ(energy.spent().value(), 0.004);
}

TEST_F(EnergyTest, WhyThereAreNoJoulesIsSaid) {
  Energy none(root_);
  EXPECT_EQ(none.source(), "not read: " + root_ + "/sys/class/powercap has no intel-rapl:...");
  EXPECT_EQ(none.spent(), std::nullopt);
  make("0", "psys", "1000");
  EXPECT_EQ(Energy(root_).source(), "not read: no zone of " + root_ + "/sys/class/powercap is a package");
  make("1", "package-0", "secret");
  Energy unreadable(root_);
  EXPECT_EQ(unreadable.source(), "not read: cannot read " + zone("1") + "/energy_uj");
  EXPECT_EQ(unreadable.spent(), std::nullopt);
}

TEST_F(EnergyTest, ACounterThatDisappearsGivesNoJoulesUntilItIsBack) {
  make("0", "package-0", "1000");
  Energy energy(root_);
  write(zone("0") + "/energy_uj", "");
  EXPECT_EQ(energy.spent(), std::nullopt);
  write(zone("0") + "/energy_uj", "3000");
  EXPECT_DOUBLE_EQ(energy.spent().value(), 0.002);
}

// A barrier by one counter. Each episode uses 5 uJ.
class Metered final : public Subject {
 public:
  explicit Metered(std::string counter) : counter_(std::move(counter)) {}
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = static_cast<std::uint64_t>(c.members);
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    return {};
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = word_->load() / members_ * members_;
    turn.run(rank, [&] {
      if (rank == 0) {
        std::uint64_t uj = 0;
        std::ifstream(counter_) >> uj;
        std::ofstream(counter_) << uj + 5;
      }
      goal += members_;
      word_->fetch_add(1);
      while (word_->load() < goal) std::this_thread::yield();
    });
  }

 private:
  const std::string counter_;
  std::uint64_t members_ = 0;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

Outcome run_metered(const std::string& root, const std::string& counter) {
  Options options;
  options.rivals = {};
  options.own = options.floors = false;
  options.seconds = 0.05;
  options.energy_root = root;
  Contestant c;
  c.name = "metered";
  c.launch.make = [counter] { return std::make_unique<Metered>(counter); };
  options.extra.push_back(c);
  return run(options);
}

TEST_F(EnergyTest, ARunShowsTheJoulesOfAnEpisode) {
  make("0", "package-0", "1000", "1000000000000");
  const Outcome outcome = run_metered(root_, zone("0") + "/energy_uj");
  ASSERT_EQ(outcome.rows.size(), 1u);
  ASSERT_TRUE(outcome.rows[0].joules);
  EXPECT_NEAR(*outcome.rows[0].joules, 5e-6, 1e-12);
  const std::string table = to_table(outcome);
  EXPECT_NE(table.find(" uJ "), std::string::npos) << table;
  EXPECT_NE(table.find(" 5.00\n"), std::string::npos) << table;
  EXPECT_NE(table.find("whole machine in an episode (package-0)"), std::string::npos) << table;
  const nlohmann::json json = to_json({}, outcome, "fermata bench");
  EXPECT_NEAR(json.at("results")[0].at("joules").get<double>(), 5e-6, 1e-12);
  EXPECT_EQ(json.at("machine").at("energy"), "package-0");
}

TEST_F(EnergyTest, WithoutCountersThereIsNoColumn) {
  const Outcome outcome = run_metered(root_, root_ + "/unused");
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_EQ(to_table(outcome).find("uJ"), std::string::npos);
  const nlohmann::json json = to_json({}, outcome, "fermata bench");
  EXPECT_TRUE(json.at("results")[0].at("joules").is_null());
  EXPECT_TRUE(json.at("machine").at("energy").get<std::string>().starts_with("not read: "));
}

}  // namespace
}  // namespace fermata::bench
