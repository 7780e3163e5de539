// The topology in amdkfd's sysfs files: nodes with their memory banks, caches and links.
//
// *Threads:* read once by one thread when the runtime starts; constant afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/support/status.hpp"
#include "core/driver/transport.hpp"

namespace rigel {

using KfdProperties = std::map<std::string, uint64_t, std::less<>>;

struct KfdBank {
  enum Heap : uint32_t { kSystem = 0, kPublic = 1, kPrivate = 2 };
  uint32_t heap = kSystem;
  uint64_t size = 0;  ///< bytes
  uint32_t width_bits = 0;
  uint32_t max_clock_mhz = 0;
};

struct KfdCache {
  uint32_t level = 0;
  uint32_t type = 0;  ///< bits: 0 data, 1 instruction, 2 CPU, 3 HSA
  uint64_t size = 0;  ///< bytes
  uint64_t line_bytes = 0;
};

struct KfdLink {
  // Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.h: CRAT_IOLINK_TYPE_* and CRAT_IOLINK_FLAGS_*.
  static constexpr uint32_t kPcie = 2, kXgmi = 11;
  static constexpr uint32_t kFlagsValid = 1, kNotCoherent = 2, kNo32BitAtomics = 4, kNo64BitAtomics = 8;

  uint32_t type = 0;  ///< kPcie, kXgmi or another
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t weight = 0;
  uint32_t min_latency = 0;
  uint32_t max_latency = 0;
  uint32_t min_bandwidth = 0;
  uint32_t max_bandwidth = 0;
  uint32_t flags = 0;  ///< none apply without kFlagsValid
  uint32_t recommended_engines = 0;
};

struct KfdNode {
  uint32_t number = 0;
  uint32_t gpu_id = 0;  ///< 0: a CPU
  std::string name;
  KfdProperties properties;
  std::vector<KfdBank> banks;
  std::vector<KfdCache> caches;  ///< a GPU's first cache of each level; none for a CPU
  std::vector<KfdLink> links;    ///< links that start here, direct and indirect

  bool is_gpu() const { return gpu_id != 0; }
  uint64_t property(std::string_view key, uint64_t fallback = 0) const;
  /// Bytes of VRAM: all, and those that the host can access.
  uint64_t local_bytes() const;
  uint64_t public_bytes() const;
};

struct KfdTopology {
  std::vector<KfdNode> nodes;  ///< nodes that this process can read, sorted by number
};

/// Whether 64-bit atomics of a GPU reach the memory of every CPU that it is linked to.
bool has_atomics_to_host(const KfdTopology& topology, const KfdNode& gpu);

/// Adds links between GPUs and the CPUs that they reach through another CPU. Linux lists them since 6.0,
/// among the links of peers; for older kernels, libhsakmt adds them as well.
void add_links_by_hosts(KfdTopology& topology);

/// Reads "name value" lines up to the first invalid line.
KfdProperties parse_kfd_properties(std::string_view text);

/// Fails with HSA_STATUS_ERROR_OUT_OF_RESOURCES without a topology, or if it keeps changing.
Result<KfdTopology> read_kfd_topology(const Transport& transport);

}  // namespace rigel
