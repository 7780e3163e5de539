#include "plugins/vgpu/kfd/driver_files.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace rigel::vgpu {
namespace {

constexpr const char* kModule = "/sys/module/amdgpu";

// A selection of the parameters of Linux 6.12's amdgpu, with their defaults as the kernel prints them. `int`
// and `uint` are decimal, `bool` is Y or N. A string that is not set is an empty line or "(null)".
constexpr std::pair<const char*, const char*> kParameters[] = {
    // amdkfd
    {"cwsr_enable", "1"},
    {"debug_evictions", "N"},
    {"halt_if_hws_hang", "0"},
    {"hws_max_conc_proc", "-1"},
    {"max_num_of_queues_per_device", "4096"},
    {"mtype_local", "0"},
    {"no_queue_eviction_on_vm_fault", "0"},
    {"no_system_mem_limit", "N"},
    {"queue_preemption_timeout_ms", "9000"},
    {"sched_policy", "0"},
    {"send_sigterm", "0"},
    {"svm_default_granularity", "9"},
    // amdgpu
    {"aspm", "-1"},
    {"async_gfx_ring", "1"},
    {"bad_page_threshold", "-1"},
    {"bapm", "-1"},
    {"cg_mask", "18446744073709551615"},
    {"compute_multipipe", "-1"},
    {"disable_cu", "(null)"},
    {"discovery", "-1"},
    {"dpm", "-1"},
    {"exp_hw_support", "0"},
    {"fw_load_type", "-1"},
    {"gpu_recovery", "-1"},
    {"gttsize", "-1"},
    {"ip_block_mask", "4294967295"},
    {"job_hang_limit", "0"},
    {"lockup_timeout", ""},
    {"mcbp", "-1"},
    {"mes", "0"},
    {"mes_kiq", "0"},
    {"msi", "-1"},
    {"noretry", "-1"},
    {"num_kcq", "-1"},
    {"pcie_gen_cap", "0"},
    {"pcie_lane_cap", "0"},
    {"pg_mask", "4294967295"},
    {"ppfeaturemask", "0xfff7bfff"},
    {"ras_enable", "-1"},
    {"ras_mask", "4294967295"},
    {"reset_method", "-1"},
    {"runpm", "-1"},
    {"sched_hw_submission", "2"},
    {"sched_jobs", "32"},
    {"sdma_phase_quantum", "32"},
    {"tmz", "-1"},
    {"use_xgmi_p2p", "1"},
    {"virtual_display", "(null)"},
    {"vis_vramlimit", "0"},
    {"vm_block_size", "-1"},
    {"vm_fault_stop", "0"},
    {"vm_fragment_size", "-1"},
    {"vm_size", "-1"},
    {"vm_update_mode", "-1"},
    {"vramlimit", "0"},
};

void add_module(FileTree& tree, const Machine& virtual_system) {
  const auto add = [&](const std::string& name, std::string_view value) {
    tree.add_file(fmt::format("{}/{}", kModule, name), fmt::format("{}\n", value));
  };
  const auto add_parameter = [&](const char* name, const char* value) {
    add(std::string("parameters/") + name, value);
  };
  tree.add_directory(kModule);
  tree.add_directory(std::string(kModule) + "/holders");
  add("initstate", "live");
  add("refcnt", "0");
  add("coresize", "8388608");
  add("taint", "");
  tree.add_file("/proc/modules", "amdgpu 8388608 0 - Live 0x0000000000000000\n");
  for (const auto& [name, value] : kParameters) add_parameter(name, value);
  // If the virtual system has peer access over PCIe or GWS of the first RDNA chips, the parameter that
  // enables it in the driver has the value Y.
  const auto has_gws_by_parameter = [](const Gpu& gpu) {
    return gpu.board.driver().needs_parameter_for_gws && gpu.board.queues.gws != 0;
  };
  const bool gws = std::any_of(virtual_system.gpus.begin(), virtual_system.gpus.end(), has_gws_by_parameter);
  add_parameter("pcie_p2p", virtual_system.peers == PeerLink::kNone ? "N" : "Y");
  add_parameter("hws_gws_support", gws ? "Y" : "N");
}

// Adds one DRM node of a board: its card (primary minor) or its render node.
void add_node(FileTree& tree, const std::string& pci, const std::string& name, uint32_t minor) {
  const std::string node = fmt::format("{}/drm/{}", pci, name);
  tree.add_drm_node("/dev/dri/" + name, minor);
  tree.add_file(node + "/dev", fmt::format("{}:{}\n", kDrmMajor, minor));
  tree.add_file(node + "/uevent", fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n",
                                              kDrmMajor, minor, name));
  tree.add_link(node + "/device", pci);
  tree.add_link(node + "/subsystem", "/sys/class/drm");
  tree.add_link(fmt::format("/sys/dev/char/{}:{}", kDrmMajor, minor), node);
  tree.add_link("/sys/class/drm/" + name, node);
}

std::vector<std::string> upper_case(const std::vector<std::string_view>& words) {
  std::vector<std::string> upper(words.begin(), words.end());
  for (std::string& word : upper) {
    for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

void add_pci_device(FileTree& tree, const Machine& virtual_system, uint32_t gpu_index) {
  const Gpu& gpu = virtual_system.gpus[gpu_index];
  const Board& b = gpu.board;
  const std::string slot = fmt::format("0000:{:02x}:{:02x}.{}", gpu.location_id >> 8,
                                       gpu.location_id >> 3 & 31, gpu.location_id & 7);
  const std::string pci = fmt::format("/sys/devices/pci0000:00/{}", slot);
  const auto add = [&](const char* name, std::string_view value) {
    tree.add_file(fmt::format("{}/{}", pci, name), fmt::format("{}\n", value));
  };
  const auto add_hex = [&](const char* name, uint32_t value) { add(name, fmt::format("0x{:04x}", value)); };
  tree.add_directory(pci);
  add_hex("vendor", b.pci.vendor_id);
  add_hex("device", b.pci.device_id);
  add("revision", fmt::format("0x{:02x}", b.pci.revision));
  add_hex("subsystem_vendor", b.pci.subsystem_vendor_id);
  add_hex("subsystem_device", b.pci.subsystem_device_id);
  add("class", "0x038000");
  add("numa_node", "-1");
  add("unique_id", fmt::format("{:016x}", gpu.unique_id));
  // rocm-smi assigns a card without this file to another vendor.
  add("vbios_version", fmt::format("113-RG{:04X}-001", b.pci.device_id));
  add("mem_info_vram_total", std::to_string(gpu.vram_bytes));
  add("mem_info_vis_vram_total", std::to_string(gpu.visible_bytes()));
  add("mem_info_gtt_total", std::to_string(kGttBytes));
  add("mem_info_gtt_used", "0");
  if (const auto modes = partition_modes(gpu); modes.size() > 1) {
    add("available_compute_partition", fmt::format("{}", fmt::join(upper_case(modes), ", ")));
    add("current_compute_partition", upper_case({partition_mode(gpu)})[0]);
    add("current_memory_partition", "NPS1");
  }
  tree.add_vram_use(pci + "/mem_info_vram_used", {gpu_index, gpu.vram_bytes});
  tree.add_vram_use(pci + "/mem_info_vis_vram_used", {gpu_index, gpu.visible_bytes()});
  add("fw_version/mec_fw_version", fmt::format("0x{:08x}", b.firmware.mec));
  add("fw_version/sdma_fw_version", fmt::format("0x{:08x}", b.firmware.sdma));
  // PCIe 4.0 with 16 lanes, which is the bandwidth of the topology's links: 31,504 MB/s.
  for (const char* which : {"current", "max"}) {
    add(fmt::format("{}_link_speed", which).c_str(), "16.0 GT/s PCIe");
    add(fmt::format("{}_link_width", which).c_str(), "16");
  }
  add("uevent",
      fmt::format("DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                  "PCI_SLOT_NAME={}",
                  b.pci.vendor_id, b.pci.device_id, b.pci.subsystem_vendor_id, b.pci.subsystem_device_id,
                  slot));
  // A hardware monitor without measured values. rocm-smi aborts if a card has no monitor, or if the monitor
  // has no label for a voltage.
  const std::string monitor = fmt::format("hwmon/hwmon{}", gpu.card_minor);
  add((monitor + "/name").c_str(), "amdgpu");
  add((monitor + "/in0_label").c_str(), "vddgfx");
  tree.add_link(fmt::format("{}/{}/device", pci, monitor), pci);
  tree.add_link(pci + "/subsystem", "/sys/bus/pci");
  tree.add_link(pci + "/driver", "/sys/bus/pci/drivers/amdgpu");
  tree.add_link("/sys/bus/pci/devices/" + slot, pci);
  // libdrm merges two boards unless each has a primary node.
  add_node(tree, pci, fmt::format("card{}", gpu.card_minor), gpu.card_minor);
  add_node(tree, pci, fmt::format("renderD{}", gpu.render_minor), gpu.render_minor);
}

}  // namespace

void add_driver_files(FileTree& tree, const Machine& virtual_system) {
  // The directories are owned by the tree, so that nodes of real hardware are hidden.
  tree.add_directory("/dev/dri");
  tree.add_directory("/sys/class/drm");
  tree.add_file("/sys/class/drm/version", "drm 1.1.0 20060810\n");
  add_module(tree, virtual_system);
  for (uint32_t i = 0; i < virtual_system.gpus.size(); ++i) add_pci_device(tree, virtual_system, i);
}

}  // namespace rigel::vgpu
