#include "plugins/vgpu/compiler/warm.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "loader/text/words.hpp"
#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/devices/gpu_target.hpp"
#include "plugins/vgpu/exec/native/code_cache.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"
#include "plugins/vgpu/runner/make_dispatch.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr uint32_t kDefaultItems = 256, kMostItems = 1024;

constexpr const char* kHelp =
    "usage: vgpu-compiler --warm [options] FILE...\n"
    "Compiles kernels into the kernel cache, so that programs on virtual GPUs do not wait for the compiler.\n"
    "\n"
    "FILE is a code object, or a program or library that contains code objects uncompressed. The cache is\n"
    "the directory in VGPU_CACHE (default: ~/.cache/rigel/vgpu), at most 128 MiB.\n"
    "\n"
    "  --gpu LIST            boards as in vgpu-run --list, separated by commas (default: the first board of\n"
    "                        each target in the files)\n"
    "  --group-size X,Y,Z    size of the work-groups in work-items; repeat it for several sizes (default:\n"
    "                        the kernel's required size, else 256, or 16,16 or 8,8,4 if it uses more ids)\n"
    "  --kernel PATTERN      only kernels whose names match, * is any text (default: all)\n"
    "  --simd LIST           SIMD levels of the machines that use the cache: avx2, avx512, or all for those\n"
    "                        of this CPU (default: this CPU's best)\n"
    "  --help                print this text (also -h)\n"
    "  --version             print LLVM's version\n"
    "\n"
    "Examples:\n"
    "  vgpu-compiler --warm --gpu gfx1030 kernels.co\n"
    "  VGPU_CACHE=cache vgpu-compiler --warm --group-size 64 --group-size 16,16 --simd all ./program\n";

// An invalid command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<Board> boards;
  std::vector<GroupSize> sizes;
  std::string kernels = "*";
  std::vector<SimdLevel> levels;
  std::vector<std::string> files;
};

constexpr SimdLevel kCompiledLevels[] = {SimdLevel::kAvx2, SimdLevel::kAvx512};

std::string_view name_of(SimdLevel level) {
  return level == SimdLevel::kAvx512 ? "avx512" : "avx2";
}

GroupSize parse_size(std::string_view text) {
  const auto invalid = [&] {
    return UsageError(
        fmt::format("--group-size: invalid value {}; use one to three numbers with a product of at "
                    "most {}, such as 64 or 16,16",
                    in_quotes(text), kMostItems));
  };
  GroupSize size{1, 1, 1};
  const std::vector<std::string_view> numbers = split(text, ',');
  if (numbers.empty() || numbers.size() > size.size()) throw invalid();
  uint64_t items = 1;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto read = std::from_chars(numbers[i].begin(), numbers[i].end(), size[i]);
    if (read.ec != std::errc() || read.ptr != numbers[i].end() || size[i] == 0) throw invalid();
    items = std::min<uint64_t>(items * size[i], kMostItems + 1);
  }
  if (items > kMostItems) throw invalid();
  return size;
}

// Planning for a level executes code of that level, so only this machine's are possible.
std::vector<SimdLevel> parse_levels(std::string_view text) {
  std::vector<SimdLevel> available(simd_levels().begin(), simd_levels().end());
  std::erase(available, SimdLevel::kBaseline);
  if (text == "all") return available;
  std::vector<SimdLevel> levels;
  for (const std::string_view word : split(text, ',')) {
    const auto* const level = std::ranges::find(kCompiledLevels, word, name_of);
    if (level == std::end(kCompiledLevels))
      throw UsageError(fmt::format("--simd: invalid value {}; use avx2, avx512 or all", in_quotes(word)));
    if (std::ranges::find(available, *level) == available.end())
      throw UsageError(fmt::format("--simd: no {} on this machine: {}", word, why_absent(*level)));
    levels.push_back(*level);
  }
  return levels;
}

// Returns nothing if help was requested.
std::optional<Options> parse(std::span<const char* const> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 == arguments.size()) throw UsageError(fmt::format("{}: missing value", option));
      return arguments[++i];
    };
    if (option == "--help" || option == "-h") return std::nullopt;
    if (option == "--gpu") {
      for (const std::string_view name : split(value(), ',')) {
        BoardOr board = find_board(name);
        if (!board) throw UsageError("--gpu: " + board.error());
        options.boards.push_back(*std::move(board));
      }
    } else if (option == "--group-size") {
      options.sizes.push_back(parse_size(value()));
    } else if (option == "--kernel") {
      options.kernels = value();
    } else if (option == "--simd") {
      options.levels = parse_levels(value());
    } else if (option.starts_with("-")) {
      throw UsageError(fmt::format("unknown option {}; use vgpu-compiler --warm --help", in_quotes(option)));
    } else {
      options.files.emplace_back(option);
    }
  }
  if (options.files.empty()) throw UsageError("--warm: missing argument: a file with kernels");
  return options;
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) throw std::runtime_error("cannot read");
  return {std::istreambuf_iterator<char>(in), {}};
}

class Warmer {
 public:
  explicit Warmer(const Options& options)
      : options_(options), boards_(options.boards.empty() ? first_boards() : options.boards) {}

  void warm_file(const std::string& path) {
    const std::vector<char> file = read_file(path);
    const std::vector<std::span<const char>> objects = runner::find_code_objects(file);
    if (objects.empty()) {
      throw std::runtime_error(
          "contains no code object for AMD GPUs; compressed ones are not found (use --no-offload-compress)");
    }
    const uint64_t kernels_before = kernel_count_;
    std::set<std::string> targets;
    for (const std::span<const char> object : objects) targets.insert(warm_object(object));
    if (kernel_count_ == kernels_before) {
      throw std::runtime_error(fmt::format("contains no such kernel for these boards; its targets are {}",
                                           fmt::join(targets, ", ")));
    }
  }

  // Prints the summary. Returns whether the cache has all code that was compiled.
  bool report() const {
    fmt::print("{} compiled, {} in the cache before, {} not compiled\n", stored_, loaded_, interpreted_);
    return std::fflush(stdout) == 0 && lost_ == 0;
  }

 private:
  // Returns the object's target.
  std::string warm_object(std::span<const char> object) {
    std::string target;
    {
      runner::MemoryBus memory(1);  // Only for the target, which selects the boards.
      target = runner::load_code_object(object, memory).target;
    }
    const bool is_known = !target.empty();
    if (!is_known && options_.boards.empty())
      throw std::runtime_error("a code object of version 3 does not contain its target; use --gpu");
    for (const Board& board : boards_) {
      if (!is_known || fits(target, board.gfx_name())) warm_on(board, object);
    }
    return is_known ? target : "unknown";
  }

  // The first built-in board of each target.
  static std::vector<Board> first_boards() {
    std::vector<Board> boards;
    for (const std::string_view name : built_in_board_names()) {
      BoardOr board = find_board(name);
      if (!board) continue;
      const auto is_equal = [&](const Board& other) { return other.gfx_name() == board->gfx_name(); };
      if (std::ranges::none_of(boards, is_equal)) boards.push_back(*std::move(board));
    }
    return boards;
  }

  void warm_on(const Board& board, std::span<const char> object) {
    runner::MemoryBus memory(board.clocks.reference_khz);
    for (const runner::Kernel& kernel : runner::load_code_object(object, memory).kernels) {
      if (!glob_matches(options_.kernels, kernel.name)) continue;
      ++kernel_count_;
      const std::vector<GroupSize> sizes =
          group_sizes(kernel, dimensions_of(board, memory, kernel), options_.sizes);
      if (sizes.empty()) {
        print(board, kernel, "not compiled: the sizes of --group-size exceed the kernel's maximum");
        ++interpreted_;
      }
      for (const GroupSize& size : sizes) {
        for (const SimdLevel level : options_.levels) warm_kernel(board, memory, kernel, size, level);
      }
    }
  }

  void warm_kernel(const Board& board, runner::MemoryBus& memory, const runner::Kernel& kernel,
                   const GroupSize& size, SimdLevel level) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = fmt::format("({},{},{}) {}", size[0], size[1], size[2], name_of(level));
    std::string outcome;
    try {
      const Dispatch dispatch = dispatch_of(board, memory, kernel, size);
      Device device = device_of(board);
      device.level = level;
      device.compilation = Compilation::kBeforehand;
      // One scheduler per size, whose code then has the outcome of this size.
      outcome = outcome_of(*Scheduler(device, memory, {1, false}).prepare(dispatch));
    } catch (const std::runtime_error& error) {
      ++interpreted_;
      outcome = std::string("not compiled: ") + error.what();
    }
    const auto duration =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    print(board, kernel, fmt::format("{}: {} ({} ms)", text, outcome, duration.count()));
  }

  std::string outcome_of(TranslatedCode& code) {
    if (!code.is_compiled()) {
      ++interpreted_;
      return "not compiled: " + code.why_not_compiled();
    }
    switch (code.cache_use()) {
      case CacheUse::kStored:
        ++stored_;
        return "compiled";
      case CacheUse::kLoaded:
        ++loaded_;
        return "in the cache";
      case CacheUse::kNone:
        break;
    }
    ++lost_;
    return fmt::format("compiled, but {} cannot be written", code_cache_folder());
  }

  static Dispatch dispatch_of(const Board& board, runner::MemoryBus& memory, const runner::Kernel& kernel,
                              const GroupSize& size) {
    runner::Shape shape;
    std::ranges::copy(size, shape.grid);
    std::ranges::copy(size, shape.group);
    return runner::make_dispatch(board, memory, kernel, shape);
  }

  // The number of work-item ids that the kernel uses.
  static uint32_t dimensions_of(const Board& board, runner::MemoryBus& memory, const runner::Kernel& kernel) {
    const Dispatch dispatch = dispatch_of(board, memory, kernel, {1, 1, 1});
    return std::min((dispatch.pgm_rsrc2 >> 11 & 3) + 1, 3u);
  }

  static void print(const Board& board, const runner::Kernel& kernel, const std::string& text) {
    fmt::print("{} {} {}\n", board.gfx_name(), kernel.name, text);
    std::fflush(stdout);
  }

  const Options& options_;
  const std::vector<Board> boards_;
  uint64_t kernel_count_ = 0, stored_ = 0, loaded_ = 0, interpreted_ = 0, lost_ = 0;
};

}  // namespace

std::vector<GroupSize> group_sizes(const runner::Kernel& kernel, uint32_t dimensions,
                                   std::span<const GroupSize> requested) {
  if (kernel.required_group[0] != 0) return {kernel.required_group};
  const uint32_t most = kernel.max_group_items == 0 ? kMostItems : kernel.max_group_items;
  const auto items = [](const GroupSize& size) { return uint64_t{size[0]} * size[1] * size[2]; };
  std::vector<GroupSize> sizes;
  std::ranges::copy_if(requested, std::back_inserter(sizes),
                       [&](const GroupSize& size) { return items(size) <= most; });
  if (!requested.empty()) return sizes;
  GroupSize size = dimensions >= 3   ? GroupSize{8, 8, 4}
                   : dimensions == 2 ? GroupSize{16, 16, 1}
                                     : GroupSize{256, 1, 1};
  while (items(size) > most) *std::ranges::max_element(size) /= 2;
  return {size};
}

int warm(std::span<const char* const> arguments) {
  const auto complain = [](std::string_view text) { fmt::print(stderr, "vgpu-compiler: error: {}\n", text); };
  std::optional<Options> options;
  try {
    options = parse(arguments);
  } catch (const UsageError& error) {
    complain(error.what());
    return 2;
  }
  if (!options) return std::fputs(kHelp, stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
  if (const std::string why = why_no_compiler(); !why.empty()) {
    complain("kernels are not compiled: " + why);
    return 1;
  }
  if (code_cache_folder().empty()) {
    complain("there is no kernel cache; set VGPU_CACHE to a directory");
    return 1;
  }
  if (options->levels.empty()) options->levels = {best_simd_level()};
  Warmer warmer(*options);
  bool is_complete = true;
  for (const std::string& path : options->files) {
    try {
      warmer.warm_file(path);
    } catch (const std::exception& error) {
      complain(fmt::format("{}: {}", path, error.what()));
      is_complete = false;
    }
  }
  return warmer.report() && is_complete ? 0 : 1;
}

}  // namespace rigel::vgpu::exec::compiler
