// A virtual system: its boards and how they are linked. It is parsed from the user's text:
//
//   gfx906,navi21:vram=4G:bar=small,./mine.json     boards in the order of their nodes; "none": no GPU
//
// Options of a board: vram=<size, K/M/G> and bar=large|small.
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
  uint32_t location_id = 0;   ///< PCI bus << 8 | device << 3 | function
  uint64_t unique_id = 0;
  uint64_t hive_id = 0;  ///< 0: not in an XGMI hive
  uint64_t visible_bytes() const;
};

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
