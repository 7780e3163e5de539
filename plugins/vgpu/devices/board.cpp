#include "plugins/vgpu/devices/board.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "loader/text/json_reader.hpp"
#include "loader/text/small_file.hpp"
#include "loader/text/words.hpp"
#include "plugins/vgpu/devices/built_in_boards.hpp"
#include "plugins/vgpu/devices/product_names.hpp"
#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu {
namespace {

constexpr auto kRequired = ObjectReader::kRequired;
constexpr uint32_t kMaxSdmaEngines = 16;  // their doorbells have fixed places
constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();

uint32_t number(ObjectReader& reader, std::string_view key, uint64_t minimum = 0,
                uint64_t maximum = kMost32) {
  return static_cast<uint32_t>(reader.natural(key, minimum, maximum));
}

// Returns a number that may be absent.
uint32_t number_or(ObjectReader& reader, std::string_view key, uint32_t fallback, uint32_t minimum,
                   uint32_t maximum) {
  return static_cast<uint32_t>(reader.integer(key, ObjectReader::kOptional, fallback, minimum, maximum));
}

void complain(const ObjectReader& reader, std::string_view key, std::string_view text) {
  reader.diagnostics().error(reader.at(key), text);
}

Cache read_cache(ObjectReader reader) {
  static constexpr std::string_view kTypes[] = {"data", "instruction", "scalar"};
  Cache cache;
  cache.level = number(reader, "level", 1, 3);
  const std::string type = reader.string("type", kRequired);
  const auto* const match = std::find(std::begin(kTypes), std::end(kTypes), type);
  if (match != std::end(kTypes)) {
    cache.type = static_cast<Cache::Type>(match - kTypes);
  } else if (!type.empty()) {
    complain(reader, "type", fmt::format("invalid value {}{}", in_quotes(type), remedy(type, kTypes)));
  }
  cache.size_kb = number(reader, "size_kb", 1);
  cache.line_bytes = number(reader, "line_bytes", 16, 4096);
  cache.shared_by_cus = number(reader, "shared_by_cus", 0, 1024);
  reader.refuse_unknown_keys();
  return cache;
}

HostLink read_host_link(ObjectReader& root) {
  static constexpr std::string_view kLinks[] = {"pcie", "xgmi"};
  const std::string link = root.string("host_link", ObjectReader::kOptional, kLinks[0]);
  const auto* const match = std::find(std::begin(kLinks), std::end(kLinks), link);
  if (match != std::end(kLinks)) return static_cast<HostLink>(match - kLinks);
  complain(root, "host_link", fmt::format("invalid value {}{}", in_quotes(link), remedy(link, kLinks)));
  return HostLink::kPcie;
}

// Checks constraints between numbers that are each in range.
void check_shader(const Board& board, const ObjectReader& shader) {
  const auto& s = board.shader;
  if (s.wave_front_size != 32 && s.wave_front_size != 64)
    complain(shader, "wave_front_size", "invalid value; use 32 or 64");
  if (s.simd_count / s.simd_per_cu > s.array_count * s.cu_per_array) {
    complain(shader, "simd_count", "more compute units than array_count * cu_per_array");
  }
  if (s.array_count % (s.xcc_count * s.arrays_per_engine) != 0)
    complain(shader, "array_count", "not a multiple of xcc_count * arrays_per_engine");
  if (s.simd_count % (s.xcc_count * s.simd_per_cu) != 0)
    complain(shader, "simd_count", "not a multiple of xcc_count * simd_per_cu");
  if (board.driver().has_unit_pairs && board.compute_units() % 2 != 0) {
    complain(shader, "simd_count", "odd number of compute units: this chip has them in pairs");
  }
}

Board read(ObjectReader root) {
  Board board;
  Diagnostics& diagnostics = root.diagnostics();
  board.name = root.string("name", kRequired);
  board.marketing_name = root.string("marketing_name", kRequired);
  constexpr uint64_t kFirst = 80000, kLast = 129999, kLastAnnounced = 639999;
  const bool made_up = root.has("executes");
  const std::string_view hardware = made_up ? "executes" : "gfx_target_version";
  if (made_up) board.announced_version = number(root, "gfx_target_version", kFirst, kLastAnnounced);
  const bool good_so_far = !diagnostics.has_errors();
  board.gfx_target_version = number(root, hardware, kFirst, kLast);
  const DriverTraits* const traits = find_driver_traits(board.gfx_target_version);
  if (good_so_far && !diagnostics.has_errors() &&
      (isa::chip_set(board.target()).is_empty() || traits == nullptr)) {
    complain(root, hardware,
             fmt::format("unknown chip {}: its code cannot be executed", board.gfx_target_version));
  }

  ObjectReader pci = root.object("pci", kRequired);
  board.pci.vendor_id = number(pci, "vendor_id", 1, 0xffff);
  board.pci.device_id = number(pci, "device_id", 1, 0xffff);
  board.pci.revision = number(pci, "revision", 0, 0xff);
  board.pci.subsystem_vendor_id = number(pci, "subsystem_vendor_id", 0, 0xffff);
  board.pci.subsystem_device_id = number(pci, "subsystem_device_id", 0, 0xffff);
  pci.refuse_unknown_keys();

  board.integrated = root.boolean("integrated", traits != nullptr && traits->is_apu);
  board.host_link = read_host_link(root);
  ObjectReader package = root.object("package", ObjectReader::kOptional);
  board.package.devices = number_or(package, "devices", 1, 1, 8);
  board.package.xgmi_links = number_or(package, "xgmi_links", 1, 1, 16);
  package.refuse_unknown_keys();
  board.family_id = number(root, "family_id");
  board.external_revision = number(root, "external_revision", 0, 255);
  board.asic_revision = number(root, "asic_revision", 0, 15);

  ObjectReader shader = root.object("shader", kRequired);
  auto& s = board.shader;
  s.simd_count = number(shader, "simd_count", 1, 4096);
  s.simd_per_cu = number(shader, "simd_per_cu", 1, 8);
  s.array_count = number(shader, "array_count", 1, 64);
  s.arrays_per_engine = number(shader, "arrays_per_engine", 1, 4);
  s.cu_per_array = number(shader, "cu_per_array", 1, 32);
  s.max_waves_per_simd = number(shader, "max_waves_per_simd", 1, 32);
  s.wave_front_size = number(shader, "wave_front_size", 32, 64);
  s.lds_kb = number(shader, "lds_kb", 32, 255);
  s.max_scratch_slots_per_cu = number(shader, "max_scratch_slots_per_cu", 1, 64);
  s.xcc_count = number_or(shader, "xcc_count", 1, 1, 16);
  if (!diagnostics.has_errors()) check_shader(board, shader);
  shader.refuse_unknown_keys();

  ObjectReader clocks = root.object("clocks", kRequired);
  board.clocks.engine_mhz = number(clocks, "engine_mhz", 1, 10000);
  board.clocks.memory_mhz = number(clocks, "memory_mhz", 1, 10000);
  board.clocks.reference_khz = number(clocks, "reference_khz", 1000, 1000000);
  clocks.refuse_unknown_keys();

  ObjectReader memory = root.object("memory", kRequired);
  board.memory.vram_mb = memory.natural("vram_mb", 16, 1u << 20);
  board.memory.width_bits = number(memory, "width_bits", 32, 16384);
  board.memory.small_bar_mb = memory.natural("small_bar_mb", 1, 1u << 20);
  memory.refuse_unknown_keys();

  ObjectReader sdma = root.object("sdma", kRequired);
  board.sdma.engines = number(sdma, "engines", 1, 16);
  board.sdma.queues_per_engine = number(sdma, "queues_per_engine", 1, 16);
  board.sdma.xgmi_engines = number_or(sdma, "xgmi_engines", 0, 0, 15);
  if (board.sdma_engines() > kMaxSdmaEngines)
    complain(sdma, "xgmi_engines", fmt::format("more than {} engines", kMaxSdmaEngines));
  sdma.refuse_unknown_keys();

  ObjectReader queues = root.object("queues", kRequired);
  board.queues.compute = number(queues, "compute", 1, 1024);
  board.queues.gws = number(queues, "gws", 0, 64);
  queues.refuse_unknown_keys();

  board.capability = number(root, "capability");
  ObjectReader firmware = root.object("firmware", kRequired);
  board.firmware.mec = number(firmware, "mec", 0, 1023);
  board.firmware.sdma = number(firmware, "sdma", 0, 1023);
  firmware.refuse_unknown_keys();
  board.gb_addr_config = number(root, "gb_addr_config");
  if (traits == nullptr) {
    root.object("tiling", ObjectReader::kOptional);  // for an unknown chip, either is accepted
  } else if (traits->has_tile_tables) {
    ObjectReader tiling = root.object("tiling", kRequired);
    board.tiling.banks = number(tiling, "banks", 0, 3);
    board.tiling.ranks = number(tiling, "ranks", 0, 3);
    const auto modes = tiling.words("modes", board.tiling.modes.size());
    std::copy(modes.begin(), modes.end(), board.tiling.modes.begin());
    const auto macro_modes = tiling.words("macro_modes", board.tiling.macro_modes.size());
    std::copy(macro_modes.begin(), macro_modes.end(), board.tiling.macro_modes.begin());
    tiling.refuse_unknown_keys();
  }

  const auto caches = root.array("caches", kRequired);
  for (size_t i = 0; i < caches.size(); ++i) {
    board.caches.push_back(
        read_cache(ObjectReader(&caches[i], fmt::format("{}/{}", root.at("caches"), i), diagnostics)));
  }
  root.refuse_unknown_keys();
  return board;
}

}  // namespace

std::string Board::gfx_name() const {
  const uint32_t version = shown_version();
  return fmt::format("gfx{}{}{:x}", version / 10000, version / 100 % 100, version % 100);
}

Board::SaveArea Board::save_area() const {
  // The formula of amdkfd: each resident wave saves its state, each compute unit its registers and LDS.
  constexpr uint32_t kHeader = 40, kSgprs = 0x4000, kLds = 0x10000, kHwRegs = 0x1000;
  const auto up = [](uint32_t n, uint32_t to) { return (n + to - 1) / to * to; };
  const DriverTraits& traits = driver();
  const uint32_t cus = compute_units() / shader.xcc_count;
  const uint32_t max_waves = cus * traits.saved_waves_per_unit;
  const uint32_t waves = traits.saved_waves_per_engine == 0
                             ? max_waves
                             : std::min(max_waves, shader_engines() * traits.saved_waves_per_engine);
  const uint32_t control =
      std::min(up(kHeader + waves * traits.control_bytes_per_wave + 8, 4096), traits.control_stack_limit);
  const uint32_t groups = cus * (traits.saved_vgpr_bytes + kSgprs + kLds + kHwRegs);
  return {control, control + up(groups, 4096), up(waves * 32, 64)};
}

namespace {

BoardOr read_board_file(const std::string& path) {
  const auto text = read_small_file(path, kMaxJsonBytes);
  if (!text) return tl::unexpected(fmt::format("{}: cannot read: {}", path, text.error()));
  return read_board(*text, path);
}

}  // namespace

BoardOr read_board(std::string_view text, std::string_view source) {
  Diagnostics diagnostics;
  Board board;
  if (const auto document = parse_json(text, diagnostics)) {
    board = read(ObjectReader(&**document, "", diagnostics));
  }
  if (!diagnostics.has_errors()) return board;
  std::string errors;
  for (const auto& entry : diagnostics.entries()) {
    errors += fmt::format("{}{}: {}", errors.empty() ? "" : "\n", source, entry.text);
  }
  return tl::unexpected(std::move(errors));
}

std::vector<std::string_view> built_in_board_names() {
  std::vector<std::string_view> names;
  for (const auto& file : kBuiltInBoards) names.push_back(file.name);
  return names;
}

std::vector<BoardOr> boards_in_path() {
  std::vector<BoardOr> boards;
  const char* const text = secure_getenv("VGPU_BOARD_PATH");
  std::string_view directories = text == nullptr ? "" : text;
  while (!directories.empty()) {
    const size_t end = std::min(directories.find(':'), directories.size());
    const std::string directory(directories.substr(0, end));
    directories.remove_prefix(std::min(end + 1, directories.size()));
    std::set<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
      if (entry.path().extension() == ".json") files.insert(entry.path().string());
    }
    for (const std::string& file : files) boards.push_back(read_board_file(file));
  }
  return boards;
}

bool is_board_path(std::string_view name_or_path) {
  return name_or_path.find('/') != name_or_path.npos || name_or_path.ends_with(".json");
}

BoardOr find_board(std::string_view name_or_path) {
  if (is_board_path(name_or_path)) return read_board_file(std::string(name_or_path));
  std::vector<std::string> names;
  const auto matches = [&](const BoardOr& board) {
    if (!board || board->name == name_or_path || board->gfx_name() == name_or_path) return true;
    names.push_back(board->name);
    names.push_back(board->gfx_name());
    return false;
  };
  for (BoardOr& board : boards_in_path()) {
    if (matches(board)) return std::move(board);
  }
  for (const auto& file : kBuiltInBoards) {
    BoardOr board = read_board(file.json, fmt::format("{}.json", file.name));
    if (matches(board)) return board;
  }
  if (const std::string_view named = board_of_product(name_or_path); !named.empty()) return find_board(named);
  for (const ProductNames& board : all_product_names()) {
    names.insert(names.end(), board.products.begin(), board.products.end());
  }
  std::string word(name_or_path);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::string help = did_you_mean(word, known);
  if (help.empty()) help = "; use vgpu-run --list, or the path of a .json file";
  return tl::unexpected(fmt::format("unknown board {}{}", in_quotes(name_or_path), help));
}

uint32_t Board::compute_units_of(uint32_t engine, uint32_t array) const {
  const uint32_t units_per_group = driver().has_unit_pairs ? 2 : 1;
  const uint32_t groups = compute_units() / shader.xcc_count / units_per_group;
  const uint32_t arrays = shader.array_count / shader.xcc_count;
  const uint32_t index = array * shader_engines() + engine;  // the first arrays have the remainder
  return (groups / arrays + (index < groups % arrays ? 1 : 0)) * units_per_group;
}

std::vector<Board::ComputeUnit> Board::units_in_order() const {
  std::vector<ComputeUnit> units;
  const uint32_t units_per_group = driver().has_unit_pairs ? 2 : 1;
  const auto add = [&](uint32_t xcc, uint32_t engine, uint32_t array, uint32_t unit) {
    for (uint32_t i = 0; i < units_per_group; ++i) {
      units.push_back({static_cast<uint8_t>(engine), static_cast<uint8_t>(array),
                       static_cast<uint8_t>(unit + i), static_cast<uint8_t>(xcc)});
    }
  };
  for (uint32_t unit = 0; units.size() < compute_units(); unit += units_per_group) {
    const size_t size_before = units.size();
    for (uint32_t array = 0; array < shader.arrays_per_engine; ++array) {
      for (uint32_t engine = 0; engine < shader_engines(); ++engine) {
        if (unit >= compute_units_of(engine, array)) continue;
        for (uint32_t xcc = 0; xcc < shader.xcc_count; ++xcc) add(xcc, engine, array, unit);
      }
    }
    if (units.size() == size_before) break;  // no array has more
  }
  return units;
}

Board Board::partition(uint32_t count) const {
  Board part = *this;
  part.shader.xcc_count /= count;
  part.shader.simd_count /= count;
  part.shader.array_count /= count;
  const uint32_t engines = std::max(sdma_engines() / count, 1u);
  part.sdma.engines = std::min(engines, sdma.engines);
  part.sdma.xgmi_engines = engines - part.sdma.engines;
  part.memory.vram_mb /= count;
  return part;
}

}  // namespace rigel::vgpu
