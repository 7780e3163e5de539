// A virtual system: its boards and how they are linked. It is parsed from the user's text:
//
//   gfx906,navi21:vram=4G:bar=small,./mine.json     boards in the order of their nodes; "none": no GPU
//
// Options of a board: vram=<size, K/M/G>, bar=large|small, and partition=spx|dpx|tpx|qpx|cpx. A package of
// several devices, and a board in several partitions, are several GPUs.
//
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/devices/board.hpp"

namespace rigel::vgpu {

/// How GPUs reach each other's memory.
enum class PeerLink : uint8_t { kNone, kPcie, kXgmi };

struct Gpu {
  Board board;
  uint64_t vram_bytes = 0;
  bool large_bar = true;
  uint32_t node = 0;          ///< Topology node; node 0 is the CPU.
  uint32_t gpu_id = 0;        ///< 16 bits that amdkfd derives from the device and its PCI location.
  uint32_t card_minor = 0;    ///< /dev/dri/card<minor>
  uint32_t render_minor = 0;  ///< /dev/dri/renderD<minor>
  /// PCI bus << 8 | device << 3 | function. Partitions of a device differ in the function.
  uint32_t location_id = 0;
  uint32_t partitions = 1;  ///< Number of partitions of the device.
  uint32_t package = 0;     ///< Index of the package.
  uint64_t unique_id = 0;   ///< Unique ID of the device, the same for its partitions.
  uint64_t hive_id = 0;     ///< 0: not in an XGMI hive
  uint64_t visible_bytes() const;
};

/// Returns the modes into which the GPU's device can be partitioned ("spx", …); one mode if it cannot.
std::vector<std::string_view> partition_modes(const Gpu& gpu);

/// Returns the mode of the GPU's device.
std::string_view partition_mode(const Gpu& gpu);

/// A link over XGMI as the topology describes it. Source: kfd_fill_gpu_xgmi_link_to_gpu of Linux.
struct XgmiLink {
  uint32_t weight, min_bandwidth, max_bandwidth;  ///< Bandwidths in MB/s.
};

/// Returns the link between two GPUs of a hive.
XgmiLink xgmi_link(const Gpu& from, const Gpu& to);

/// Whether two GPUs are in the same XGMI hive.
inline bool are_in_one_hive(const Gpu& a, const Gpu& b) {
  return a.hive_id != 0 && a.hive_id == b.hive_id;
}

struct Machine {
  std::vector<Gpu> gpus;
  PeerLink peers = PeerLink::kPcie;
};

/// The boards if none are specified.
constexpr const char* kDefaultGpus = "gfx900";

using MachineOr = tl::expected<Machine, std::string>;

/// Returns the virtual system, or the errors: one line per invalid board, or several if its file has
/// several errors.
MachineOr parse_machine(std::string_view boards, PeerLink peers);

/// Makes paths of files absolute, for processes with another working directory.
std::string with_absolute_paths(std::string_view boards);

/// Parses "none", "pcie" or "xgmi". An error quotes `text`.
tl::expected<PeerLink, std::string> parse_peer_link(std::string_view text);

}  // namespace rigel::vgpu
