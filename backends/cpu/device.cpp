#include "backends/cpu/device.hpp"

#include <algorithm>
#include <string>

namespace rigel::cpu {
namespace {

int64_t integer(const hsabe_host_t* host, std::string_view key, int64_t fallback, int64_t most) {
  const int64_t value = host->config->get_integer(host->self, hsabe::str(key), fallback);
  if (value >= 0 && value <= most) return value;
  hsabe::warn(host, "option '" + std::string(key) + "': invalid value " + std::to_string(value) +
                        "; ignored; use 0 to " + std::to_string(most));
  return fallback;
}

uint32_t thread_count(const Options& options, const cpu_set_t& processors) {
  return options.threads ? options.threads : static_cast<uint32_t>(std::max(CPU_COUNT(&processors), 1));
}

}  // namespace

Options Options::read(const hsabe_host_t* host) {
  return {static_cast<uint32_t>(integer(host, "threads", 0, 4096)),
          static_cast<uint64_t>(integer(host, "spin_us", 20, 1'000'000)) * 1000};
}

Device::Device(const hsabe_host_t* host_, const hsabe_node_t* node)
    : host(host_),
      options(Options::read(host_)),
      processors(processors_of_node(node->node_id)),
      spin_ns(CPU_COUNT(&processors) > 1 ? options.spin_ns : 0),
      spin_ticks(static_cast<uint64_t>(static_cast<double>(spin_ns) * ticks_per_ns())),
      code(host_),
      engine(processors, thread_count(options, processors) - 1, spin_ticks) {}

}  // namespace rigel::cpu
