// Fuzzes read_board() with arbitrary text. The result must be a consistent board, or an error that names
// the file.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugins/vgpu/devices/machine.hpp"

namespace {

using rigel::vgpu::Board;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Board& board) {
  require(!board.name.empty() && board.gfx_name().starts_with("gfx"));
  require(board.gfx_major() >= 8 && board.gfx_major() <= 10);
  require(board.compute_units() > 0 && board.shader_engines() > 0);
  const Board::SaveArea area = board.save_area();
  require(area.control_stack_bytes >= 4096 && area.control_stack_bytes % 4096 == 0);
  require(area.context_bytes > area.control_stack_bytes && area.context_bytes % 4096 == 0);
  require(area.debug_bytes > 0);
  // The driver keeps one bit per SDMA queue.
  require(board.sdma.engines * board.sdma.queues_per_engine <= 256);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto board = rigel::vgpu::read_board(text, "fuzz.json");
  if (board) {
    check(*board);
  } else {
    require(board.error().starts_with("fuzz.json: "));
  }
  // Board specifications of the command line, except paths of files.
  if (size > 256 || text.find('/') != text.npos || text.find(".json") != text.npos) return 0;
  const auto machine = rigel::vgpu::parse_machine(text, rigel::vgpu::PeerLink::kXgmi);
  if (!machine) return 0;
  for (const rigel::vgpu::Gpu& gpu : machine->gpus) {
    check(gpu.board);
    require(gpu.vram_bytes % 4096 == 0 && gpu.visible_bytes() <= gpu.vram_bytes && gpu.gpu_id != 0);
  }
  return 0;
}
