// A board: the properties of a GPU model that amdkfd and the command processors use, as data.
//
// The boards of this directory (one JSON file each) are compiled in. A user can add files by path or in the
// directories of VGPU_BOARD_PATH. read_board() checks a file against its schema: every key is required
// unless stated otherwise. An unknown key, a wrong type or a value out of range is an error that names the
// key by its JSON pointer ("/shader/simd_count"). Numbers may be strings with 0x.
//
// Threads: any.
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
  uint32_t shared_by_cus = 0;  ///< 0: all compute units.
};

enum class HostLink : uint8_t { kPcie, kXgmi };

struct Board {
  std::string name;                 ///< "vega10"
  std::string marketing_name;       ///< "Radeon Instinct MI25"
  uint32_t gfx_target_version = 0;  ///< Version of the hardware: major * 10000 + minor * 100 + stepping.
  /// Version that the driver's topology reports for a fictitious chip. Code, queues and packets are those
  /// of gfx_target_version. 0: the same version.
  uint32_t announced_version = 0;
  struct {
    uint32_t vendor_id, device_id, revision, subsystem_vendor_id, subsystem_device_id;
  } pci{};
  uint32_t family_id = 0;
  uint32_t external_revision = 0;
  uint32_t asic_revision = 0;
  /// Whether the GPU and the CPU are one chip with one memory. Optional key; the default depends on the chip.
  bool integrated = false;
  /// How the GPU is attached to the host: "pcie" or "xgmi". Over xGMI the host's caches are coherent with the
  /// GPU's memory. Optional key "host_link".
  HostLink host_link = HostLink::kPcie;
  /// Devices in one package, linked over xGMI. Optional key: one device.
  struct {
    uint32_t devices = 1, xgmi_links = 1;
  } package;
  /// The counts of units and arrays are those of all XCCs. XCCs (accelerated compute cores) are the dies that
  /// work as one device; all are alike. `xcc_count` is an optional key: one.
  struct {
    uint32_t simd_count, simd_per_cu, array_count, arrays_per_engine, cu_per_array, max_waves_per_simd,
        wave_front_size, lds_kb, max_scratch_slots_per_cu;
    uint32_t xcc_count = 1;
  } shader{};
  struct {
    uint32_t engine_mhz, memory_mhz, reference_khz;
  } clocks{};
  struct {
    uint64_t vram_mb;
    uint32_t width_bits;
    uint64_t small_bar_mb;  ///< Part of VRAM that the host can access without a large BAR.
  } memory{};
  /// `xgmi_engines` are further engines, for copies over xGMI. Optional key: none.
  struct {
    uint32_t engines, queues_per_engine, xgmi_engines;
  } sdma{};
  struct {
    uint32_t compute, gws;
  } queues{};
  uint32_t capability = 0;  ///< The topology's value without the bits that derive from other fields.
  struct {
    uint32_t mec, sdma;
  } firmware{};
  uint32_t gb_addr_config = 0;
  /// Image layout tables of gfx8, which the driver fills: words of GB_TILE_MODE and GB_MACROTILE_MODE; log2
  /// of the memory's banks / 4 and of its ranks. Zeros from gfx9 on.
  struct {
    uint32_t banks, ranks;
    std::array<uint32_t, 32> modes;
    std::array<uint32_t, 16> macro_modes;
  } tiling{};
  std::vector<Cache> caches;

  uint32_t gfx_major() const { return gfx_target_version / 10000; }
  uint32_t gfx_minor() const { return gfx_target_version / 100 % 100; }
  uint32_t gfx_stepping() const { return gfx_target_version % 100; }
  /// The chip whose code the board executes. read_board() rejects boards of unknown chips.
  isa::Target target() const {
    return {static_cast<uint8_t>(gfx_major()), static_cast<uint8_t>(gfx_minor()),
            static_cast<uint8_t>(gfx_stepping())};
  }
  uint32_t shown_version() const { return announced_version != 0 ? announced_version : gfx_target_version; }
  /// "gfx900": the announced version. The stepping is hexadecimal.
  std::string gfx_name() const;
  uint32_t compute_units() const { return shader.simd_count / shader.simd_per_cu; }
  /// Compute units of an array of an XCC, spread evenly over its arrays. On chips with unit pairs a multiple
  /// of 2.
  uint32_t compute_units_of(uint32_t engine, uint32_t array) const;
  struct ComputeUnit {
    uint8_t engine, array, unit;  ///< Index within the XCC, the engine and the array.
    uint8_t xcc = 0;              ///< Index within the device.
  };
  /// Returns all units in the order of a mask's bits, as amdkfd assigns them: the XCC changes fastest, then
  /// the engine, the array and the unit; pairs stay together. Source: mqd_symmetrically_map_cu_mask of Linux.
  std::vector<ComputeUnit> units_in_order() const;
  /// Shader engines of an XCC.
  uint32_t shader_engines() const { return shader.array_count / shader.arrays_per_engine / shader.xcc_count; }
  /// Returns one of `count` partitions of the board, which divides the number of XCCs. Source:
  /// aqua_vanjaram.c of Linux.
  Board partition(uint32_t count) const;
  uint32_t sdma_engines() const { return sdma.engines + sdma.xgmi_engines; }
  /// What the driver does differently for this chip. read_board() rejects boards of chips without it.
  const DriverTraits& driver() const { return *find_driver_traits(gfx_target_version); }
  /// Whether doorbells of AQL queues count dwords instead of packets, as on gfx7 and Tonga.
  bool doorbell_in_dwords() const { return driver().doorbell_bytes == 4 && (capability >> 12 & 3) == 0; }
  /// A process's part of the doorbell aperture.
  uint32_t doorbell_slice_bytes() const { return driver().doorbell_bytes * 1024; }
  /// Sizes of the context save area that CREATE_QUEUE requires, for one XCC. The contexts of all XCCs precede
  /// the memory for debuggers.
  struct SaveArea {
    uint32_t control_stack_bytes;
    uint32_t context_bytes;  ///< ctx_save_restore_size
    uint32_t debug_bytes;
  };
  SaveArea save_area() const;
};

/// A board, or all errors, one per line: "vega10.json: /shader/simd_count: …".
using BoardOr = tl::expected<Board, std::string>;

/// Reads one board from JSON text. Error messages start with `source`.
BoardOr read_board(std::string_view json, std::string_view source);

/// Names of the boards that are compiled in, in a fixed order.
std::vector<std::string_view> built_in_board_names();

/// Reads each *.json in the directories of VGPU_BOARD_PATH (separated by ':'), in order of directory, then
/// file name. Files with errors have an error as their result.
std::vector<BoardOr> boards_in_path();

/// Whether `name_or_path` is a file: it contains a slash or ends in .json.
bool is_board_path(std::string_view name_or_path);

/// Finds a board by its name, its gfx name, a product's name (product_names.hpp), or the path of a file.
/// The first match counts; boards of VGPU_BOARD_PATH precede those compiled in.
BoardOr find_board(std::string_view name_or_path);

}  // namespace rigel::vgpu
