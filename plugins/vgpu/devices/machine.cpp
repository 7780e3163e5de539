#include "plugins/vgpu/devices/machine.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "api/support/page_size.hpp"
#include "loader/text/words.hpp"
#include "plugins/vgpu/devices/remedy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint32_t kFirstRenderMinor = 128;
constexpr size_t kMaxGpus = 64;
constexpr std::string_view kBoardOptions[] = {"vram", "bar", "partition"};
constexpr std::string_view kBars[] = {"large", "small"};
constexpr std::string_view kLinks[] = {"none", "pcie", "xgmi"};  // PeerLink
// Modes in which a device is one or several partitions. Source: __aqua_vanjaram_is_valid_mode of Linux.
struct PartitionMode {
  uint32_t partitions;    // 0: one for each XCC
  uint32_t xcc_multiple;  // requirement of the device
};
constexpr std::string_view kPartitions[] = {"spx", "dpx", "tpx", "qpx", "cpx"};
// In the order of kPartitions.
constexpr PartitionMode kPartitionModes[] = {{1, 1}, {2, 4}, {3, 3}, {4, 8}, {0, 2}};
constexpr uint64_t kHiveOfAll = 0x5247486976650001;
constexpr uint64_t kHiveOfPackage = 0x5247486976660000;

// Splits `text`; keeps empty parts, which find_board() rejects.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

tl::expected<uint64_t, std::string> parse_size(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const unsigned shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (error != std::errc{} || (shift == 0 && !unit.empty()) || number > (uint64_t{1} << 40 >> shift)) {
    return tl::unexpected(fmt::format("invalid size {}; use a number with K, M or G", in_quotes(text)));
  }
  return number << shift;
}

// Returns a nonzero 16-bit id. It differs between GPUs, like the kernel's hash.
uint32_t make_gpu_id(const Gpu& gpu) {
  uint64_t h = 0xcbf29ce484222325;
  for (uint64_t word : {uint64_t{gpu.board.pci.device_id}, uint64_t{gpu.location_id}, gpu.vram_bytes >> 20}) {
    h = (h ^ word) * 0x100000001b3;
    h ^= h >> 29;
  }
  const auto id = static_cast<uint32_t>(h & 0xffff);
  return id == 0 ? 1 : id;
}

Explained<void> set_vram(Gpu& gpu, std::string_view value) {
  const auto size = parse_size(value);
  if (!size) return tl::unexpected(fmt::format("vram: {}", size.error()));
  if (*size < 16 * kMiB) return tl::unexpected(std::string("vram: too small; use at least 16M"));
  gpu.vram_bytes = *size / kPageBytes * kPageBytes;
  return {};
}

Explained<void> set_bar(Gpu& gpu, std::string_view value) {
  if (std::find(std::begin(kBars), std::end(kBars), value) == std::end(kBars)) {
    return tl::unexpected(fmt::format("bar: invalid value {}{}", in_quotes(value), remedy(value, kBars)));
  }
  gpu.large_bar = value == "large";
  return {};
}

Explained<void> set_partition(Gpu& gpu, std::string_view value) {
  const auto* const match = std::find(std::begin(kPartitions), std::end(kPartitions), value);
  if (match == std::end(kPartitions)) {
    return tl::unexpected(
        fmt::format("partition: invalid value {}{}", in_quotes(value), remedy(value, kPartitions)));
  }
  const PartitionMode mode = kPartitionModes[match - std::begin(kPartitions)];
  const uint32_t xccs = gpu.board.shader.xcc_count;
  if (xccs % mode.xcc_multiple != 0) {
    return tl::unexpected(fmt::format("partition: {} needs a multiple of {} XCCs, but the device has {}",
                                      value, mode.xcc_multiple, xccs));
  }
  gpu.partitions = mode.partitions != 0 ? mode.partitions : xccs;
  return {};
}

// `option` is NAME=VALUE.
Explained<void> set_option(Gpu& gpu, std::string_view option) {
  const size_t equals = std::min(option.find('='), option.size());
  const std::string_view name = option.substr(0, equals);
  const std::string_view value = equals == option.size() ? "" : option.substr(equals + 1);
  if (name == "vram") return set_vram(gpu, value);
  if (name == "bar") return set_bar(gpu, value);
  if (name == "partition") return set_partition(gpu, value);
  std::string help = did_you_mean(name, kBoardOptions);
  if (help.empty()) help = "; use vram=SIZE, bar=large, bar=small or partition=MODE";
  return tl::unexpected(fmt::format("unknown option {}{}", in_quotes(option), help));
}

tl::expected<Gpu, std::string> parse_gpu(std::string_view text) {
  const auto parts = split(text, ':');
  BoardOr board = find_board(parts[0]);
  if (!board) return tl::unexpected(board.error());
  Gpu gpu;
  gpu.board = std::move(*board);
  gpu.vram_bytes = gpu.board.memory.vram_mb * kMiB;
  for (size_t i = 1; i < parts.size(); ++i) {
    if (const auto set = set_option(gpu, parts[i]); !set) {
      return tl::unexpected(fmt::format("{}: {}", parts[0], set.error()));
    }
  }
  if (gpu.board.host_link == HostLink::kXgmi && !gpu.large_bar)
    return tl::unexpected(fmt::format("{}: bar: the host accesses all memory over xGMI", parts[0]));
  return gpu;
}

// Adds one GPU. Devices have separate PCI buses; partitions of a device are its functions.
void add_gpu(Machine& machine, Gpu gpu, uint32_t device, uint32_t partition) {
  const auto index = static_cast<uint32_t>(machine.gpus.size());
  gpu.node = index + 1;
  gpu.card_minor = index;
  gpu.render_minor = kFirstRenderMinor + index;
  gpu.location_id = (3 + device * 3) << 8 | partition;
  gpu.unique_id = 0x5247000000000000 | uint64_t{gpu.board.pci.device_id} << 16 | (device + 1);
  if (machine.peers == PeerLink::kXgmi) {
    gpu.hive_id = kHiveOfAll;
  } else if (gpu.partitions > 1 || gpu.board.package.devices > 1) {
    gpu.hive_id = kHiveOfPackage + gpu.package;
  }
  gpu.gpu_id = make_gpu_id(gpu);
  const auto is_taken = [&](const Gpu& other) { return other.gpu_id == gpu.gpu_id; };
  while (std::any_of(machine.gpus.begin(), machine.gpus.end(), is_taken)) {
    gpu.gpu_id = gpu.gpu_id % 0xffff + 1;
  }
  machine.gpus.push_back(std::move(gpu));
}

}  // namespace

uint64_t Gpu::visible_bytes() const {
  return large_bar ? vram_bytes : std::min(vram_bytes, board.memory.small_bar_mb * kMiB);
}

std::vector<std::string_view> partition_modes(const Gpu& gpu) {
  std::vector<std::string_view> modes;
  const uint32_t xccs = gpu.board.shader.xcc_count * gpu.partitions;
  for (size_t i = 0; i < std::size(kPartitions); ++i) {
    if (xccs % kPartitionModes[i].xcc_multiple == 0) modes.push_back(kPartitions[i]);
  }
  return modes;
}

std::string_view partition_mode(const Gpu& gpu) {
  constexpr size_t kCpx = std::size(kPartitions) - 1;
  size_t mode = kCpx;  // of any number of partitions if each has one XCC
  for (size_t i = 0; i < kCpx && (gpu.partitions == 1 || gpu.board.shader.xcc_count > 1); ++i) {
    if (kPartitionModes[i].partitions == gpu.partitions) mode = i;
  }
  return kPartitions[mode];
}

XgmiLink xgmi_link(const Gpu& from, const Gpu& to) {
  constexpr uint32_t kWithinSocket = 13, kBetweenSockets = 15;
  constexpr uint32_t kMemoryBandwidth = 819200, kLinkBandwidth = 16 * 25000 / 8;
  const bool one_device = from.unique_id == to.unique_id;
  if (from.partitions > 1) {
    return one_device ? XgmiLink{kWithinSocket, kMemoryBandwidth, kMemoryBandwidth}
                      : XgmiLink{2 * kWithinSocket + kBetweenSockets, 0, 0};
  }
  if (!from.board.driver().has_xgmi_bandwidth) return {kBetweenSockets, 0, 0};
  const uint32_t links = from.package == to.package ? from.board.package.xgmi_links : 1;
  return {kBetweenSockets, kLinkBandwidth, links * kLinkBandwidth};
}

MachineOr parse_machine(std::string_view boards, PeerLink peers) {
  Machine machine;
  machine.peers = peers;
  if (boards == "none") return machine;
  // An empty text is usually an unset variable. Without GPUs, tests would pass without running.
  if (boards.empty())
    return tl::unexpected(
        std::string("no board is named; use a name of vgpu-run --list, or none for a system without GPUs"));
  std::string errors;
  uint32_t devices = 0;
  uint32_t packages = 0;
  for (std::string_view text : split(boards, ',')) {
    auto gpu = parse_gpu(text);
    if (!gpu) {
      errors += (errors.empty() ? "" : "\n") + gpu.error();
      continue;
    }
    gpu->package = packages++;
    const uint32_t count = gpu->partitions;
    if (count > 1) {
      gpu->board = gpu->board.partition(count);
      gpu->vram_bytes = gpu->vram_bytes / count / kPageBytes * kPageBytes;
    }
    const uint32_t devices_before = devices;
    devices += gpu->board.package.devices;
    if (machine.gpus.size() + gpu->board.package.devices * count > kMaxGpus)
      return tl::unexpected(fmt::format("too many boards; use at most {}", kMaxGpus));
    for (uint32_t device = devices_before; device < devices; ++device) {
      for (uint32_t partition = 0; partition < count; ++partition) add_gpu(machine, *gpu, device, partition);
    }
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return machine;
}

std::string with_absolute_paths(std::string_view boards) {
  std::vector<std::string> absolute;
  for (const std::string_view board : split(boards, ',')) {
    const std::string_view name = board.substr(0, board.find(':'));
    std::error_code error;  // no working directory: the file is not found
    const auto path = is_board_path(name) ? std::filesystem::absolute(name, error) : std::filesystem::path();
    absolute.push_back((path.empty() ? std::string(name) : path.string()).append(board.substr(name.size())));
  }
  return fmt::format("{}", fmt::join(absolute, ","));
}

tl::expected<PeerLink, std::string> parse_peer_link(std::string_view text) {
  if (text.empty()) return PeerLink::kPcie;
  const auto* const match = std::find(std::begin(kLinks), std::end(kLinks), text);
  if (match != std::end(kLinks)) return static_cast<PeerLink>(match - kLinks);
  return tl::unexpected(fmt::format("unknown link {}{}", in_quotes(text), remedy(text, kLinks)));
}

}  // namespace rigel::vgpu
