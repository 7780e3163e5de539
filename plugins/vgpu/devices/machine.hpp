// A machine: the boards that a virtual system has, and how they are linked. Parsed from the text that a user
// gives:
//
//   gfx906,navi21:vram=4G:bar=small,./mine.json     boards, in the order of their nodes; "none": no GPU
//
// Options of a board: vram=<size, K/M/G> and bar=large|small. Pure functions; any thread.
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
  uint32_t gpu_id = 0;        ///< 16 bits, as amdkfd derives them from where the board sits.
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

/// What a machine has if nobody says what.
constexpr const char* kDefaultGpus = "gfx900";

using MachineOr = tl::expected<Machine, std::string>;

/// The machine, or what is wrong with the text: a line for each board that cannot be had, and more for one whose file
/// has several errors.
MachineOr parse_machine(std::string_view boards, PeerLink peers);

/// The same text with absolute paths of files, for processes that have another working directory.
std::string with_absolute_paths(std::string_view boards);

/// "none", "pcie", "xgmi"; an error names what was given.
tl::expected<PeerLink, std::string> parse_peer_link(std::string_view text);

}  // namespace rigel::vgpu
