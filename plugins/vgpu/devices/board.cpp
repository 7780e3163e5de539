#include "plugins/vgpu/devices/board.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plugins/vgpu/devices/built_in_boards.hpp"

namespace rigel::vgpu {
namespace {

using nlohmann::json;

struct SchemaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads the members of one JSON object and remembers which were asked for, so that finish() can name the ones
// that nobody knows.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) fail("", "must be an object");
  }

  template <class T>
  T number(const char* key, uint64_t low = 0, uint64_t high = std::numeric_limits<uint32_t>::max()) {
    return static_cast<T>(to_number(key, member(key), low, high));
  }

  /// An array of exactly N words.
  template <size_t N>
  std::array<uint32_t, N> words(const char* key) {
    const json& values = array(key);
    if (values.size() != N) fail(key, fmt::format("has {} entries, must have {}", values.size(), N));
    std::array<uint32_t, N> result{};
    for (size_t i = 0; i < N; ++i) {
      result[i] = static_cast<uint32_t>(
          to_number(fmt::format("{}[{}]", key, i), values[i], 0, std::numeric_limits<uint32_t>::max()));
    }
    return result;
  }

  std::string text(const char* key) {
    const json& value = member(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) fail(key, "must be a text");
    return value.get<std::string>();
  }

  ObjectReader object(const char* key) { return {member(key), prefix() + key}; }

  const json& array(const char* key) {
    const json& value = member(key);
    if (!value.is_array()) fail(key, "must be an array");
    return value;
  }

  bool has(const char* key) const { return object_.contains(key); }

  void finish() {
    for (const auto& item : object_.items()) {
      if (!asked_.contains(item.key())) fail(item.key(), "is not a key of this schema");
    }
  }

  [[noreturn]] void fail(std::string_view key, std::string_view what) const {
    throw SchemaError(fmt::format("{}{}: {}", key.empty() ? path_ : prefix(), key, what));
  }

  std::string prefix() const { return path_.empty() ? "" : path_ + "."; }

 private:
  uint64_t to_number(std::string_view key, const json& value, uint64_t low, uint64_t high) const {
    uint64_t n = 0;
    if (value.is_number_unsigned()) {
      n = value.get<uint64_t>();
    } else if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      const char* const end = text.data() + text.size();
      if (!text.starts_with("0x")) fail(key, "must be a number or a string that begins with 0x");
      const auto result = std::from_chars(text.data() + 2, end, n, 16);
      if (result.ec != std::errc{} || result.ptr != end) fail(key, "is not a hexadecimal number");
    } else {
      fail(key, "must be a number, 0 or more");
    }
    if (n < low || n > high) fail(key, fmt::format("is {}, must be between {} and {}", n, low, high));
    return n;
  }

  const json& member(const char* key) {
    asked_.insert(key);
    const auto it = object_.find(key);
    if (it == object_.end()) fail(key, "is missing");
    return *it;
  }

  const json& object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

Cache read_cache(const json& value, std::string path) {
  ObjectReader reader(value, std::move(path));
  Cache cache;
  cache.level = reader.number<uint32_t>("level", 1, 3);
  const auto type = reader.text("type");
  if (type == "data") {
    cache.type = Cache::Type::kData;
  } else if (type == "instruction") {
    cache.type = Cache::Type::kInstruction;
  } else if (type == "scalar") {
    cache.type = Cache::Type::kScalar;
  } else {
    reader.fail("type", fmt::format("is \"{}\", must be data, instruction or scalar", type));
  }
  cache.size_kb = reader.number<uint32_t>("size_kb", 1);
  cache.line_bytes = reader.number<uint32_t>("line_bytes", 16, 4096);
  cache.shared_by_cus = reader.number<uint32_t>("shared_by_cus", 0, 1024);
  reader.finish();
  return cache;
}

Board read(const json& value) {
  Board board;
  ObjectReader root(value, "");
  board.name = root.text("name");
  board.marketing_name = root.text("marketing_name");
  constexpr uint64_t kFirst = 80000, kLast = 109999, kLastAnnounced = 639999;
  if (root.has("executes")) {  // a chip that is made up
    board.announced_version = root.number<uint32_t>("gfx_target_version", kFirst, kLastAnnounced);
    board.gfx_target_version = root.number<uint32_t>("executes", kFirst, kLast);
  } else {
    board.gfx_target_version = root.number<uint32_t>("gfx_target_version", kFirst, kLast);
  }
  if (isa::chip_bit(board.target()) == 0 || find_driver_traits(board.gfx_target_version) == nullptr) {
    root.fail(root.has("executes") ? "executes" : "gfx_target_version",
              fmt::format("is {}, which is no chip whose code can be executed", board.gfx_target_version));
  }

  ObjectReader pci = root.object("pci");
  board.pci.vendor_id = pci.number<uint32_t>("vendor_id", 1, 0xffff);
  board.pci.device_id = pci.number<uint32_t>("device_id", 1, 0xffff);
  board.pci.revision = pci.number<uint32_t>("revision", 0, 0xff);
  board.pci.subsystem_vendor_id = pci.number<uint32_t>("subsystem_vendor_id", 0, 0xffff);
  board.pci.subsystem_device_id = pci.number<uint32_t>("subsystem_device_id", 0, 0xffff);
  pci.finish();

  board.family_id = root.number<uint32_t>("family_id");
  board.external_revision = root.number<uint32_t>("external_revision", 0, 255);
  board.asic_revision = root.number<uint32_t>("asic_revision", 0, 15);

  ObjectReader shader = root.object("shader");
  auto& s = board.shader;
  s.simd_count = shader.number<uint32_t>("simd_count", 1, 4096);
  s.simd_per_cu = shader.number<uint32_t>("simd_per_cu", 1, 8);
  s.array_count = shader.number<uint32_t>("array_count", 1, 64);
  s.arrays_per_engine = shader.number<uint32_t>("arrays_per_engine", 1, 4);
  s.cu_per_array = shader.number<uint32_t>("cu_per_array", 1, 32);
  s.max_waves_per_simd = shader.number<uint32_t>("max_waves_per_simd", 1, 32);
  s.wave_front_size = shader.number<uint32_t>("wave_front_size", 32, 64);
  s.lds_kb = shader.number<uint32_t>("lds_kb", 32, 1024);
  s.max_scratch_slots_per_cu = shader.number<uint32_t>("max_scratch_slots_per_cu", 1, 64);
  if (s.wave_front_size != 32 && s.wave_front_size != 64) shader.fail("wave_front_size", "must be 32 or 64");
  if (s.simd_count % s.simd_per_cu != 0) shader.fail("simd_count", "is not a multiple of simd_per_cu");
  if (s.array_count % s.arrays_per_engine != 0) {
    shader.fail("array_count", "is not a multiple of arrays_per_engine");
  }
  if (s.simd_count / s.simd_per_cu > s.array_count * s.cu_per_array) {
    shader.fail("simd_count", "has more compute units than array_count * cu_per_array has room for");
  }
  shader.finish();

  ObjectReader clocks = root.object("clocks");
  board.clocks.engine_mhz = clocks.number<uint32_t>("engine_mhz", 1, 10000);
  board.clocks.memory_mhz = clocks.number<uint32_t>("memory_mhz", 1, 10000);
  board.clocks.reference_khz = clocks.number<uint32_t>("reference_khz", 1000, 1000000);
  clocks.finish();

  ObjectReader memory = root.object("memory");
  board.memory.vram_mb = memory.number<uint64_t>("vram_mb", 16, 1u << 20);
  board.memory.width_bits = memory.number<uint32_t>("width_bits", 32, 16384);
  board.memory.small_bar_mb = memory.number<uint64_t>("small_bar_mb", 1, 1u << 20);
  memory.finish();

  ObjectReader sdma = root.object("sdma");
  board.sdma.engines = sdma.number<uint32_t>("engines", 1, 16);
  board.sdma.queues_per_engine = sdma.number<uint32_t>("queues_per_engine", 1, 16);
  sdma.finish();

  ObjectReader queues = root.object("queues");
  board.queues.compute = queues.number<uint32_t>("compute", 1, 1024);
  board.queues.gws = queues.number<uint32_t>("gws", 0, 64);
  queues.finish();

  board.capability = root.number<uint32_t>("capability");
  ObjectReader firmware = root.object("firmware");
  board.firmware.mec = firmware.number<uint32_t>("mec", 0, 1023);
  board.firmware.sdma = firmware.number<uint32_t>("sdma", 0, 1023);
  firmware.finish();
  board.gb_addr_config = root.number<uint32_t>("gb_addr_config");
  if (board.driver().has_tile_tables) {
    ObjectReader tiling = root.object("tiling");
    board.tiling.banks = tiling.number<uint32_t>("banks", 0, 3);
    board.tiling.ranks = tiling.number<uint32_t>("ranks", 0, 3);
    board.tiling.modes = tiling.words<32>("modes");
    board.tiling.macro_modes = tiling.words<16>("macro_modes");
    tiling.finish();
  }

  size_t i = 0;
  for (const json& cache : root.array("caches")) {
    board.caches.push_back(read_cache(cache, fmt::format("caches[{}]", i++)));
  }
  root.finish();
  return board;
}

// How many letters have to be put in, taken out or changed to make one of the other, whatever their case.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i])) == b[j];
      const size_t changed = diagonal + (same ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Board::gfx_name() const {
  const uint32_t version = shown_version();
  return fmt::format("gfx{}{}{:x}", version / 10000, version / 100 % 100, version % 100);
}

Board::SaveArea Board::save_area() const {
  // The kernel's formula: every wave that fits on the chip saves its state, every compute unit its memory.
  constexpr uint32_t kHeader = 40, kVgprs = 0x40000, kSgprs = 0x4000, kLds = 0x10000, kHwRegs = 0x1000;
  const auto up = [](uint32_t n, uint32_t to) { return (n + to - 1) / to * to; };
  const DriverTraits& traits = driver();
  const uint32_t cus = compute_units();
  const uint32_t most = cus * traits.saved_waves_per_unit;
  const uint32_t waves = traits.saved_waves_per_engine == 0
                             ? most
                             : std::min(most, shader_engines() * traits.saved_waves_per_engine);
  const uint32_t control =
      std::min(up(kHeader + waves * traits.control_bytes_per_wave + 8, 4096), traits.control_stack_limit);
  const uint32_t groups = cus * (kVgprs + kSgprs + kLds + kHwRegs);
  return {control, control + up(groups, 4096), up(waves * 32, 64)};
}

namespace {

BoardOr read_board_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return tl::unexpected(fmt::format("{}: cannot be read", path));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return read_board(text, path);
}

}  // namespace

BoardOr read_board(std::string_view text, std::string_view source) {
  try {
    return read(json::parse(text));
  } catch (const SchemaError& error) {
    return tl::unexpected(fmt::format("{}: {}", source, error.what()));
  } catch (const json::exception& error) {
    return tl::unexpected(fmt::format("{}: {}", source, error.what()));
  }
}

std::vector<std::string_view> built_in_board_names() {
  std::vector<std::string_view> names;
  for (const auto& file : kBuiltInBoards) names.push_back(file.name);
  return names;
}

std::vector<BoardOr> boards_in_path() {
  std::vector<BoardOr> boards;
  const char* const text = secure_getenv("VGPU_BOARD_PATH");
  std::string_view folders = text == nullptr ? "" : text;
  while (!folders.empty()) {
    const size_t end = std::min(folders.find(':'), folders.size());
    const std::string folder(folders.substr(0, end));
    folders.remove_prefix(std::min(end + 1, folders.size()));
    std::set<std::string> files;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".json") files.insert(entry.path().string());
    }
    for (const std::string& file : files) boards.push_back(read_board_file(file));
  }
  return boards;
}

BoardOr find_board(std::string_view what) {
  if (what.find('/') != what.npos || what.ends_with(".json")) return read_board_file(std::string(what));
  std::string known, closest;
  size_t distance = 3;  // further off is another word, not a mistyped one
  const auto is_it = [&](const BoardOr& board) {
    if (!board || board->name == what || board->gfx_name() == what) return true;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", board->name, board->gfx_name());
    for (const std::string& name : {board->name, board->gfx_name()}) {
      if (const size_t mistakes = edit_distance(what, name); mistakes < distance) {
        distance = mistakes;
        closest = name;
      }
    }
    return false;
  };
  for (BoardOr& board : boards_in_path()) {
    if (is_it(board)) return std::move(board);
  }
  for (const auto& file : kBuiltInBoards) {
    BoardOr board = read_board(file.json, fmt::format("{}.json", file.name));
    if (is_it(board)) return board;
  }
  return tl::unexpected(fmt::format("no board \"{}\"{}: there are {}, or the path of a .json file", what,
                                    closest.empty() ? "" : fmt::format(" (did you mean {}?)", closest),
                                    known));
}

}  // namespace rigel::vgpu
