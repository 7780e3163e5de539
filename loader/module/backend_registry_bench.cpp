// Cost of discovery at start-up: reading the manifests of an ordinary installation, and opening a module that
// has been opened before.
#include "loader/module/backend_registry.hpp"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loader/module/testing/manifests.hpp"

namespace rigel {
namespace {

class Installation {
 public:
  Installation() {
    std::string pattern = std::filesystem::temp_directory_path() / "rigel-loader-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    constexpr std::string_view kMore =
        R"(, "arch": "x86_64", "build_id": "cafe", "config": {"sdma": "auto", "max_queues": 128})";
    for (const char* name : {"cpu", "gfx8", "gfx9", "gfx10", "test"}) {
      std::ofstream(root_ / (std::string(name) + ".json"))
          << manifest_text(name, std::string(RIGEL_TEST_MODULES) + "/module_good.so", kMore);
    }
    environment.variable = [](const char*) -> const char* { return nullptr; };
    environment.manifest_folder = root_;
  }
  ~Installation() { std::filesystem::remove_all(root_); }

  LoaderEnvironment environment;

 private:
  std::filesystem::path root_;
};

void discover_five_manifests(benchmark::State& state) {
  const Installation installation;
  for (auto _ : state) {
    DiscoveryReport report;
    BackendRegistry registry;
    registry.discover(installation.environment, RuntimeConfig{}, report);
    benchmark::DoNotOptimize(registry.backends().size());
  }
}
BENCHMARK(discover_five_manifests);

void discover_and_open_again(benchmark::State& state) {
  const Installation installation;
  for (auto _ : state) {
    DiscoveryReport report;
    BackendRegistry registry;
    registry.discover(installation.environment, RuntimeConfig{}, report);
    benchmark::DoNotOptimize(registry.open(*registry.backends().back(), report));
  }
}
BENCHMARK(discover_and_open_again);

}  // namespace
}  // namespace rigel
