// The properties of a libhsa-runtime64 (Rigel or another) and of its agents, queried through the public API.
// An attribute that a runtime does not support is absent, not zero.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rigel_info {

/// A failed call, with the runtime's text for its status.
class HsaError : public std::runtime_error {
 public:
  HsaError(const char* function, hsa_status_t status);
};

struct Cache {
  std::string name;
  uint32_t level = 0;
  uint32_t bytes = 0;
};

struct Pool {
  std::string segment;
  std::vector<std::string> flags;
  uint64_t bytes = 0;
  uint64_t largest_allocation = 0;
  std::optional<uint64_t> granule;    // absent if nothing can be allocated
  std::optional<uint64_t> alignment;  // absent if nothing can be allocated
  std::optional<bool> accessible_by_all;
};

struct Isa {
  std::string name;
  std::optional<uint32_t> wavefront_size;
  std::optional<uint32_t> workgroup_max_size;
  std::optional<uint64_t> grid_max_size;
};

struct Agent {
  std::string name;
  std::string vendor;
  std::string type;  // "CPU", "GPU", ...
  std::optional<std::string> product;
  std::optional<std::string> uuid;
  std::vector<std::string> features;
  std::string profile;
  uint32_t node = 0;
  std::optional<uint32_t> compute_units;
  std::optional<uint32_t> max_clock_mhz;
  std::optional<uint32_t> chip_id;
  std::optional<uint32_t> cacheline_bytes;
  std::optional<uint64_t> memory_available;
  uint32_t queues_max = 0;
  uint32_t queue_min_packets = 0;
  uint32_t queue_max_packets = 0;
  uint32_t workgroup_max_size = 0;  // this and the next two: 0 unless it dispatches kernels
  uint32_t wavefront_size = 0;
  uint32_t fbarriers = 0;
  std::vector<Isa> isas;
  std::vector<Cache> caches;
  std::vector<Pool> pools;
};

/// A tool that the runtime knows. Unknown texts are empty.
struct Tool {
  std::string name;
  std::string state;  // "loaded", "failed", "disabled" or "installed"
  std::string version;
  std::string library;
  std::string abi;
  std::string named_by;
  std::string reason;
  std::vector<std::string> functions;
  bool packets = false;
  std::vector<std::string> activities;
};

struct Inventory {
  std::string library;  // path of the libhsa-runtime64 in use
  std::optional<std::string> build;
  std::string hsa_version;
  std::optional<std::string> amd_version;
  uint64_t timestamp_hz = 0;
  std::vector<std::string> extensions;
  std::vector<Agent> agents;
};

/// Queries everything. Requires an initialised runtime. Throws HsaError.
Inventory take_inventory();

/// Returns Rigel's tools, outermost first, or nothing on another runtime. Requires an initialised runtime.
std::optional<std::vector<Tool>> known_tools();

/// Returns Rigel's discovery report, or nothing on another runtime. Requires an initialised runtime.
std::optional<std::string> discovery_report(bool json);

}  // namespace rigel_info
