#include "plugins/vgpu/kfd/topology.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <fmt/core.h>

#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/driver_files.hpp"

namespace rigel::vgpu {
namespace {

constexpr const char* kTopology = "/sys/devices/virtual/kfd/kfd/topology";

enum HeapType : uint32_t { kSystem = 0, kPublic = 1, kPrivate = 2 };
enum LinkType : uint32_t { kPciExpress = 2, kXgmi = 11 };

// Formats "name value" lines.
class Properties {
 public:
  Properties& operator()(const char* name, uint64_t value) {
    fmt::format_to(std::back_inserter(text_), "{} {}\n", name, value);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string bank(uint32_t heap, uint64_t bytes, uint32_t width, uint32_t clock) {
  return Properties()("heap_type", heap)("size_in_bytes", bytes)("flags", 0)("width", width)("mem_clk_max",
                                                                                             clock)
      .take();
}

struct Bandwidth {
  uint32_t minimum, maximum;  ///< MB/s
};
constexpr Bandwidth kPcieBandwidth{312, 31504};

std::string link(uint32_t type, uint32_t from, uint32_t to, uint32_t weight, Bandwidth bandwidth) {
  // Bit 0 of the flags marks the other flags as valid. They are 0: the link has no restrictions, such as
  // missing atomics.
  return Properties()("type", type)("version_major", 0)("version_minor", 0)("node_from", from)("node_to", to)(
             "weight", weight)("min_latency", 0)("max_latency", 0)("min_bandwidth", bandwidth.minimum)(
             "max_bandwidth", bandwidth.maximum)("recommended_transfer_size", 0)(
             "recommended_sdma_engine_id_mask", 0)("flags", 1)
      .take();
}

uint32_t cache_type_bits(Cache::Type type) {
  constexpr uint32_t kDataBit = 1, kInstructionBit = 2, kSimdBit = 8;
  switch (type) {
    case Cache::Type::kData:
      return kDataBit | kSimdBit;
    case Cache::Type::kInstruction:
      return kInstructionBit | kSimdBit;
    case Cache::Type::kScalar:
      return kDataBit | kSimdBit;
  }
  return 0;
}

// Describes the link between a GPU and the host, in one direction.
std::string host_link(const Gpu& gpu, uint32_t from, uint32_t to) {
  constexpr uint32_t kPcieWeight = 20;
  if (gpu.board.host_link == HostLink::kPcie) return link(kPciExpress, from, to, kPcieWeight, kPcieBandwidth);
  constexpr uint32_t kWithinSocket = 13, kBetweenSockets = 15;
  constexpr Bandwidth kMemory{819200, 819200}, kXgmiLane{50000, 50000};
  return gpu.board.integrated ? link(kXgmi, from, to, kWithinSocket, kMemory)
                              : link(kXgmi, from, to, kBetweenSockets, kXgmiLane);
}

// Adds one entry for each group of compute units that shares a cache.
size_t add_caches(FileTree& tree, const std::string& node, const Gpu& gpu) {
  const Board& board = gpu.board;
  const uint32_t cus = board.compute_units();
  size_t count = 0;
  for (const Cache& cache : board.caches) {
    const uint32_t shared = cache.shared_by_cus == 0 ? cus : cache.shared_by_cus;
    for (uint32_t first = 0; first < cus; first += shared) {
      std::string siblings;
      for (uint32_t cu = 0; cu < 32; ++cu) siblings += cu < std::min(shared, cus - first) ? "1," : "0,";
      siblings.back() = '\n';
      const uint64_t id = 0x80000000u + gpu.node * 0x1000u + first * board.shader.simd_per_cu;
      std::string text = Properties()("processor_id_low", id)("level", cache.level)("size", cache.size_kb)(
                             "cache_line_size", cache.line_bytes)("cache_lines_per_tag", 1)("association", 1)(
                             "latency", 0)("type", cache_type_bits(cache.type))
                             .take();
      tree.add_file(fmt::format("{}/caches/{}/properties", node, count++), text + "sibling_map " + siblings);
    }
  }
  return count;
}

std::string gpu_properties(const Gpu& gpu, size_t caches, size_t io_links, size_t p2p_links) {
  const Board& b = gpu.board;
  const auto& s = b.shader;
  return Properties()("cpu_cores_count", 0)("simd_count", s.simd_count)("mem_banks_count", 1)(
             "caches_count", caches)("io_links_count", io_links)("p2p_links_count", p2p_links)(
             "cpu_core_id_base", 0)("simd_id_base", 0x80000000u + gpu.node * 0x1000u)(
             "max_waves_per_simd", s.max_waves_per_simd)("lds_size_in_kb", s.lds_kb)("gds_size_in_kb", 0)(
             "num_gws", b.queues.gws)("wave_front_size", s.wave_front_size)("array_count", s.array_count)(
             "simd_arrays_per_engine", s.arrays_per_engine)("cu_per_simd_array", s.cu_per_array)(
             "simd_per_cu", s.simd_per_cu)("max_slots_scratch_cu", s.max_scratch_slots_per_cu)(
             "gfx_target_version", b.shown_version())("vendor_id", b.pci.vendor_id)(
             "device_id", b.pci.device_id)("location_id", gpu.location_id)("domain", 0)(
             "drm_render_minor", gpu.render_minor)("hive_id", gpu.hive_id)(
             "num_sdma_engines", b.sdma.engines)("num_sdma_xgmi_engines", b.sdma.xgmi_engines)(
             "num_sdma_queues_per_engine", b.sdma.queues_per_engine)("num_cp_queues", b.queues.compute)(
             "cwsr_size", b.save_area().context_bytes)("ctl_stack_size", b.save_area().control_stack_bytes)(
             "max_engine_clk_fcompute", b.clocks.engine_mhz)("local_mem_size", 0)(
             "fw_version", b.firmware.mec)("capability", capability_of(gpu))("debug_prop", 0)(
             "sdma_fw_version", b.firmware.sdma)("unique_id", gpu.unique_id)("num_xcc", s.xcc_count)(
             "max_engine_clk_ccompute", 2400)
      .take();
}

void add_gpu(FileTree& tree, const Machine& virtual_system, const Gpu& gpu) {
  const Board& b = gpu.board;
  const std::string node = fmt::format("{}/nodes/{}", kTopology, gpu.node);
  for (const char* directory : {"mem_banks", "caches", "io_links", "p2p_links", "perf"}) {
    tree.add_directory(fmt::format("{}/{}", node, directory));
  }
  const uint32_t heap = gpu.large_bar ? kPublic : kPrivate;
  tree.add_file(node + "/mem_banks/0/properties",
                bank(heap, gpu.vram_bytes, b.memory.width_bits, b.clocks.memory_mhz));
  tree.add_file(node + "/mem_banks/0/used_memory", "0\n");
  const size_t caches = add_caches(tree, node, gpu);

  size_t io_links = 0;
  size_t p2p_links = 0;
  tree.add_file(fmt::format("{}/io_links/{}/properties", node, io_links++), host_link(gpu, gpu.node, 0));
  for (const Gpu& peer : virtual_system.gpus) {
    if (peer.node == gpu.node) continue;
    if (are_in_one_hive(gpu, peer)) {
      const XgmiLink xgmi = xgmi_link(gpu, peer);
      tree.add_file(fmt::format("{}/io_links/{}/properties", node, io_links++),
                    link(kXgmi, gpu.node, peer.node, xgmi.weight, {xgmi.min_bandwidth, xgmi.max_bandwidth}));
    } else if (virtual_system.peers == PeerLink::kPcie && peer.large_bar) {
      // Over PCIe a GPU accesses its peer's VRAM through the peer's BAR. The driver allows it only if the BAR
      // covers all.
      tree.add_file(fmt::format("{}/p2p_links/{}/properties", node, p2p_links++),
                    link(kPciExpress, gpu.node, peer.node, 40, kPcieBandwidth));
    }
  }
  tree.add_file(node + "/gpu_id", fmt::format("{}\n", gpu.gpu_id));
  tree.add_file(node + "/name", b.name + "\n");
  tree.add_file(node + "/properties", gpu_properties(gpu, caches, io_links, p2p_links));
}

}  // namespace

HostProperties HostProperties::read() {
  HostProperties properties;
  properties.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  properties.memory_bytes = static_cast<uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) * 4096;
  // The thunk identifies the CPU node by its first core's APIC id in /proc/cpuinfo.
  if (FILE* file = std::fopen("/proc/cpuinfo", "re")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, "apicid", 6) != 0) continue;
      if (std::sscanf(line, "apicid : %u", &properties.first_apic_id) == 1) break;
    }
    std::fclose(file);
  }
  return properties;
}

uint32_t capability_of(const Gpu& gpu) {
  return gpu.board.capability | (gpu.board.asic_revision & 15) << 22 |
         (gpu.board.host_link == HostLink::kXgmi ? KFD_CAP_COHERENT_HOST_ACCESS : 0);
}

FileTree make_file_tree(const Machine& virtual_system, const HostProperties& host) {
  FileTree tree;
  tree.add_directory("/sys/devices/virtual/kfd");
  tree.add_directory("/sys/class/kfd");
  tree.add_link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd");
  tree.add_file(fmt::format("{}/generation_id", kTopology), "2\n");
  tree.add_file(fmt::format("{}/system_properties", kTopology),
                "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
  // rocm-smi and amdsmi search processes here, and fail without the directory. It is empty: other processes
  // have separate virtual GPUs.
  tree.add_directory("/sys/devices/virtual/kfd/kfd/proc");
  tree.add_kfd("/dev/kfd");
  add_driver_files(tree, virtual_system);

  const std::string cpu = fmt::format("{}/nodes/0", kTopology);
  for (const char* directory : {"mem_banks", "caches", "io_links", "p2p_links"}) {
    tree.add_directory(fmt::format("{}/{}", cpu, directory));
  }
  tree.add_file(cpu + "/mem_banks/0/properties", bank(kSystem, host.memory_bytes, 64, 0));
  size_t links = 0;
  // The host has links only to GPUs whose memory it can access: runtimes and HIP rely on this.
  for (const Gpu& gpu : virtual_system.gpus) {
    if (!gpu.large_bar) continue;
    tree.add_file(fmt::format("{}/io_links/{}/properties", cpu, links++), host_link(gpu, 0, gpu.node));
  }
  tree.add_file(cpu + "/gpu_id", "0\n");
  tree.add_file(cpu + "/name", "\n");
  tree.add_file(
      cpu + "/properties",
      Properties()("cpu_cores_count", host.cpus)("simd_count", 0)("mem_banks_count", 1)("caches_count", 0)(
          "io_links_count", links)("p2p_links_count", 0)("cpu_core_id_base", host.first_apic_id)(
          "simd_id_base", 0)("max_waves_per_simd", 0)("lds_size_in_kb", 0)("gds_size_in_kb", 0)("num_gws", 0)(
          "wave_front_size", 0)("array_count", 0)("simd_arrays_per_engine", 0)("cu_per_simd_array", 0)(
          "simd_per_cu", 0)("max_slots_scratch_cu", 0)("gfx_target_version", 0)("vendor_id", 0)(
          "device_id", 0)("location_id", 0)("domain", 0)("drm_render_minor", 0)("hive_id", 0)(
          "num_sdma_engines", 0)("num_sdma_xgmi_engines", 0)("num_sdma_queues_per_engine", 0)(
          "num_cp_queues", 0)("cwsr_size", 0)("ctl_stack_size", 0)("max_engine_clk_ccompute", 2400)
          .take());
  for (const Gpu& gpu : virtual_system.gpus) add_gpu(tree, virtual_system, gpu);
  return tree;
}

}  // namespace rigel::vgpu
