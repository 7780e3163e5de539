#include "loader/module/loaded_driver.hpp"

#include <gmock/gmock.h>

#include <fmt/core.h>

#include "loader/module/testing/scratch_world.hpp"

namespace rigel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LoadedDriverTest : public ScratchWorld {
 protected:
  Result<LoadedDriver> load(const std::string& library) {
    RuntimeConfig config;
    config.path = root / "etc/runtime.json";
    config.driver = DriverConfig{library, {}};
    return load_driver(config, environment, report);
  }
  static std::string test_driver(std::string_view way) {
    return fmt::format("{}/driver_{}.so", RIGEL_TEST_MODULES, way);
  }
};

TEST_F(LoadedDriverTest, FindsInstalledDriver) {
  std::filesystem::create_directories(environment.driver_folder);
  std::filesystem::copy_file(test_driver("good"), environment.driver_folder + "/nothing.so");
  const auto driver = load("nothing.so");
  ASSERT_TRUE(driver) << report.to_text();
  EXPECT_EQ(driver->name, "nothing");
  EXPECT_EQ(driver->ops.ioctl(nullptr, 0, 0, nullptr), -ENOTTY);
  EXPECT_FALSE(driver->has_doorbell());
  EXPECT_NE(driver->table.open_driver, nullptr);
  EXPECT_THAT(lines(Outcome::kOk),
              ElementsAre("driver nothing.so: nothing 0.1, ~/prefix/lib/hsa/drivers/nothing.so"));
}

TEST_F(LoadedDriverTest, RejectsMissingOperations) {
  EXPECT_FALSE(load(test_driver("incomplete")));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("the operation 'ioctl' is missing")));
}

TEST_F(LoadedDriverTest, RejectsOtherModules) {
  EXPECT_FALSE(load(fmt::format("{}/module_good.so", RIGEL_TEST_MODULES)));
  EXPECT_THAT(failures(), ElementsAre(HasSubstr("does not export hsa_driver_query_v1")));
}

TEST_F(LoadedDriverTest, RejectsMissingFile) {
  EXPECT_FALSE(load("none.so"));
  EXPECT_THAT(failures(), ElementsAre("driver none.so: ~/etc/none.so: No such file or directory; also not in "
                                      "~/prefix/lib/hsa/drivers"));
}

TEST_F(LoadedDriverTest, RejectsOtherMajorVersion) {
  hsadrv_driver_t table{};
  table.struct_size = sizeof table;
  table.abi_major = 2;
  EXPECT_EQ(
      read_driver_table(&table, "").error(),
      fmt::format("built for driver ABI 2.0; this runtime has {}.{}", HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR));
  table.struct_size = 16;
  EXPECT_EQ(read_driver_table(&table, "").error(),
            "the table: invalid struct_size 16; version 1.0 has 80 bytes");
}

TEST_F(LoadedDriverTest, RejectsIncompleteSamplingTable) {
  hsadrv_sampling_ops_t table{.struct_size = sizeof table,
                              .start = [](void*, uint32_t, const hsadrv_sampler_t*) { return 0; },
                              .stop = nullptr};
  EXPECT_EQ(read_sampling_table(&table).error(), "the sampling table has no function 'start' or 'stop'");
  table.stop = [](void*, uint32_t) { return 0; };
  EXPECT_EQ(read_sampling_table(&table)->stop, table.stop);
  table.struct_size -= 1;
  EXPECT_THAT(read_sampling_table(&table).error(), HasSubstr("the sampling table: invalid struct_size 23"));
  EXPECT_EQ(read_sampling_table(nullptr)->start, nullptr);
}

}  // namespace
}  // namespace rigel
