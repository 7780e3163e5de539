#include "loader/module/loaded_driver.hpp"

#include <fmt/core.h>

#include "loader/module/module_query.hpp"

namespace rigel {
namespace {

auto no(std::string why) {
  return tl::unexpected(std::move(why));
}

// Returns the first missing operation; null if there is none.
const char* missing(const hsadrv_ops_t& ops) {
  const struct {
    const char* name;
    bool present;
  } all[] = {
      {"open", ops.open != nullptr},
      {"close", ops.close != nullptr},
      {"dup", ops.dup != nullptr},
      {"ioctl", ops.ioctl != nullptr},
      {"mmap", ops.mmap != nullptr},
      {"munmap", ops.munmap != nullptr},
      {"read_file", ops.read_file != nullptr},
      {"list_dir", ops.list_dir != nullptr},
  };
  for (const auto& operation : all) {
    if (!operation.present) return operation.name;
  }
  return nullptr;
}

}  // namespace

Explained<hsadrv_sampling_ops_t> read_sampling_table(const hsadrv_sampling_ops_t* table) {
  if (table == nullptr) return hsadrv_sampling_ops_t{};
  const auto sampling = copy_sized(table, HSADRV_END(hsadrv_sampling_ops_t, stop), "the sampling table");
  if (!sampling) return no(sampling.error());
  if (sampling->start == nullptr || sampling->stop == nullptr)
    return no("the sampling table has no function 'start' or 'stop'");
  return *sampling;
}

Explained<LoadedDriver> read_driver_table(const hsadrv_driver_t* table, std::string path) {
  const auto own = copy_sized(table, HSADRV_END(hsadrv_driver_t, doorbell), "the table");
  if (!own) return no(own.error());
  if (own->abi_major != HSADRV_ABI_MAJOR) {
    return no(fmt::format("built for driver ABI {}.{}; this runtime has {}.{}", own->abi_major,
                          own->abi_minor, HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR));
  }
  if (own->open_driver == nullptr) return no("the function 'open_driver' is missing");
  if (own->close_driver == nullptr) return no("the function 'close_driver' is missing");
  if (own->ops == nullptr) return no("the operations are missing");

  LoadedDriver driver;
  driver.path = std::move(path);
  driver.abi_minor = own->abi_minor;
  auto name = copy_text(own->name, "name");
  if (!name) return no(name.error());
  driver.name = std::move(*name);
  auto version = copy_text(own->version, "version");
  if (!version) return no(version.error());
  driver.version = std::move(*version);

  const auto ops = copy_sized(own->ops, HSADRV_END(hsadrv_ops_t, list_dir), "the operations' table");
  if (!ops) return no(ops.error());
  if (const char* const operation = missing(*ops))
    return no(fmt::format("the operation '{}' is missing", operation));
  driver.ops = *ops;

  if (own->doorbell != nullptr) {
    const auto doorbell =
        copy_sized(own->doorbell, HSADRV_END(hsadrv_doorbell_ops_t, attach), "the doorbells' table");
    if (!doorbell) return no(doorbell.error());
    if (doorbell->attach == nullptr) return no("the doorbells' table has no function 'attach'");
    driver.doorbell = *doorbell;
  }
  const auto sampling = read_sampling_table(own->sampling);
  if (!sampling) return no(sampling.error());
  driver.sampling = *sampling;
  driver.table = *own;
  driver.table.ops = nullptr;
  driver.table.doorbell = nullptr;
  driver.table.sampling = nullptr;
  return driver;
}

Result<LoadedDriver> load_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                 DiscoveryReport& report) {
  const auto refuse = [&](const std::string& why) {
    report.add(Stage::kDriver, Outcome::kFailed, config.driver->library, why);
    return error(HSA_STATUS_ERROR);
  };
  const auto path =
      environment.find_library(config.driver->library, config.folder(), {environment.driver_folder});
  if (!path) return refuse(path.error());
  const auto table =
      query_module<hsadrv_driver_t>(*path, HSADRV_ENTRY_SYMBOL, HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR);
  if (!table) return refuse(table.error().text);
  auto driver = read_driver_table(*table, *path);
  if (!driver) return refuse(driver.error());
  report.add(Stage::kDriver, Outcome::kOk, config.driver->library,
             fmt::format("{} {}, {}", driver->name, driver->version, *path));
  return std::move(*driver);
}

}  // namespace rigel
