// A board: everything that amdkfd and the command processors need to know of a GPU, as data.
//
// The boards of this folder (one JSON file each) are compiled in; a user can bring files of his own, by path
// or in the folders of VGPU_BOARD_PATH. A file is checked against the schema that read_board() embodies:
// every key is required unless said otherwise, an unknown key, a wrong type or a value out of range is an
// error that names the key by its JSON pointer ("/shader/simd_count"). Numbers may be written as strings with 0x. Any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "plugins/vgpu/devices/driver_traits.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu {

struct Cache {
  enum class Type : uint8_t { kData, kInstruction, kScalar };
  uint32_t level = 1;
  Type type = Type::kData;
  uint32_t size_kb = 0;
  uint32_t line_bytes = 64;
  uint32_t shared_by_cus = 0;  ///< 0: by all.
};

struct Board {
  std::string name;                 ///< "vega10"
  std::string marketing_name;       ///< "Radeon Instinct MI25"
  uint32_t gfx_target_version = 0;  ///< major * 10000 + minor * 100 + stepping: of the hardware
  /// What the driver's topology calls it instead, of a chip that is made up: code, queues and packets are
  /// those of the version above. 0: the same.
  uint32_t announced_version = 0;
  struct {
    uint32_t vendor_id, device_id, revision, subsystem_vendor_id, subsystem_device_id;
  } pci{};
  uint32_t family_id = 0;
  uint32_t external_revision = 0;
  uint32_t asic_revision = 0;
  struct {
    uint32_t simd_count, simd_per_cu, array_count, arrays_per_engine, cu_per_array, max_waves_per_simd,
        wave_front_size, lds_kb, max_scratch_slots_per_cu;
  } shader{};
  struct {
    uint32_t engine_mhz, memory_mhz, reference_khz;
  } clocks{};
  struct {
    uint64_t vram_mb;
    uint32_t width_bits;
    uint64_t small_bar_mb;  ///< How much of VRAM the host sees without a large BAR.
  } memory{};
  struct {
    uint32_t engines, queues_per_engine;
  } sdma{};
  struct {
    uint32_t compute, gws;
  } queues{};
  uint32_t capability = 0;  ///< The topology's word, without the bits that derive from other fields.
  struct {
    uint32_t mec, sdma;
  } firmware{};
  uint32_t gb_addr_config = 0;
  /// Up to gfx8 images are laid out by tables that the driver fills: words of GB_TILE_MODE and
  /// GB_MACROTILE_MODE, and log2 of the memory's banks / 4 and of its ranks. Zeros from gfx9 on.
  struct {
    uint32_t banks, ranks;
    std::array<uint32_t, 32> modes;
    std::array<uint32_t, 16> macro_modes;
  } tiling{};
  std::vector<Cache> caches;

  uint32_t gfx_major() const { return gfx_target_version / 10000; }
  uint32_t gfx_minor() const { return gfx_target_version / 100 % 100; }
  uint32_t gfx_stepping() const { return gfx_target_version % 100; }
  /// The chip whose code it executes; read_board() refuses boards of chips that are not known.
  isa::Target target() const {
    return {static_cast<uint8_t>(gfx_major()), static_cast<uint8_t>(gfx_minor()),
            static_cast<uint8_t>(gfx_stepping())};
  }
  uint32_t shown_version() const { return announced_version != 0 ? announced_version : gfx_target_version; }
  /// "gfx900", of the version that is shown; the stepping is hexadecimal.
  std::string gfx_name() const;
  uint32_t compute_units() const { return shader.simd_count / shader.simd_per_cu; }
  /// How many compute units (or pairs, counted in units) an array of an engine has: evenly spread.
  uint32_t compute_units_of(uint32_t engine, uint32_t array) const;
  struct ComputeUnit {
    uint8_t engine, array, unit;  ///< `unit` in its array.
  };
  /// All of them in the order of a mask's bits, as amdkfd gives them out: the engine changes fastest, then
  /// the array, then the unit, pairs together. Source: mqd_symmetrically_map_cu_mask of Linux.
  std::vector<ComputeUnit> units_in_order() const;
  uint32_t shader_engines() const { return shader.array_count / shader.arrays_per_engine; }
  /// What its driver does otherwise than for other chips; read_board() refuses boards of chips without it.
  const DriverTraits& driver() const { return *find_driver_traits(gfx_target_version); }
  /// Whether doorbells of AQL queues take dwords and not packets, as gfx7's and Tonga's do.
  bool doorbell_in_dwords() const { return driver().doorbell_bytes == 4 && (capability >> 12 & 3) == 0; }
  /// What a process owns of the doorbell aperture.
  uint32_t doorbell_slice_bytes() const { return driver().doorbell_bytes * 1024; }
  /// The context save area that CREATE_QUEUE asks for.
  struct SaveArea {
    uint32_t control_stack_bytes;
    uint32_t context_bytes;  ///< ctx_save_restore_size
    uint32_t debug_bytes;    ///< follows the context in the allocation
  };
  SaveArea save_area() const;
};

/// A board, or all that is wrong with it, a line each: "vega10.json: /shader/simd_count: …".
using BoardOr = tl::expected<Board, std::string>;

/// Reads one board from JSON text. `source` begins error messages.
BoardOr read_board(std::string_view json, std::string_view source);

/// The boards compiled in, in a fixed order.
std::vector<std::string_view> built_in_board_names();

/// The boards of the folders in VGPU_BOARD_PATH (separated by ':'), by folder and then by file name: of each
/// *.json what became of it.
std::vector<BoardOr> boards_in_path();

/// Whether a user means a file: anything with a slash or ending in .json.
bool is_board_path(std::string_view what);

/// A board by its name, its gfx name (the first such board, those of VGPU_BOARD_PATH before those compiled in),
/// a product's name (product_names.hpp), or the path of a file.
BoardOr find_board(std::string_view what);

}  // namespace rigel::vgpu
