// vgpu-exec: runs one kernel of a code object on the shader cores of a board, without a driver or a runtime.
//
//   vgpu-exec [--gpu gfx900] [--threads N] [--trace FILE] [--repeat N] [--dump] run.json
//
// docs/guide/diagnosing.md describes the file.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "loader/text/words.hpp"
#include "plugins/vgpu/analysis/text.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"
#include "plugins/vgpu/kfd/variables.hpp"
#include "plugins/vgpu/runner/load_kernel.hpp"
#include "plugins/vgpu/runner/make_dispatch.hpp"
#include "tools/vgpu-exec/instruction_tracer.hpp"

namespace rigel::vgpu::runner {
namespace {

using nlohmann::json;

constexpr const char* kHelp =
    "usage: vgpu-exec [options] run.json\n"
    "Runs one kernel of a code object on a virtual GPU, without a driver or a runtime.\n"
    "\n"
    "  --gpu BOARD   a name or gfx name of vgpu-run --list, or the path of a .json file (default: gfx900)\n"
    "  --threads N   number of threads that execute the kernel, 1 to 1024 (default: 1)\n"
    "  --repeat N    number of runs; the mean time is printed (default: 1)\n"
    "  --trace FILE  write each instruction with the registers that it changes; -: to standard output\n"
    "                (default: no trace)\n"
    "  --dump        print the kernel's basic blocks with live registers, and do not run the kernel\n"
    "  --help        print this text (also -h)\n"
    "\n"
    "run.json names the code object, the kernel, its arguments and buffers, and the buffers to print (see\n"
    "docs/guide/diagnosing.md). Times are printed in milliseconds.\n"
    "\n"
    "Examples:\n"
    "  vgpu-exec --gpu gfx1030 run.json\n"
    "  vgpu-exec --trace - run.json\n";

struct Options {
  Board board;
  uint32_t threads = 1;
  std::string trace;
  uint32_t repeat = 1;
  bool dump_code = false;
  std::filesystem::path file;
};

// An invalid command line.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

uint32_t parse_number(std::string_view option, std::string_view text, uint32_t maximum) {
  uint32_t value = 0;
  const auto read = std::from_chars(text.begin(), text.end(), value);
  if (read.ec == std::errc() && read.ptr == text.end() && value >= 1 && value <= maximum) return value;
  throw UsageError(
      fmt::format("{}: invalid value {}; use a number from 1 to {}", option, in_quotes(text), maximum));
}

Board board_named(std::string_view name) {
  BoardOr board = find_board(name);
  if (!board) throw UsageError(board.error());
  return *std::move(board);
}

// Returns nothing if help was requested.
std::optional<Options> parse(std::span<const char* const> arguments) {
  Options options;
  std::string_view gpu = "gfx900";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    const auto value = [&] {
      if (i + 1 == arguments.size()) throw UsageError(fmt::format("{}: missing value", option));
      return arguments[++i];
    };
    if (option == "--help" || option == "-h") {
      return std::nullopt;
    } else if (option == "--gpu") {
      gpu = value();
    } else if (option == "--threads") {
      options.threads = parse_number(option, value(), kMostThreads);
    } else if (option == "--repeat") {
      options.repeat = parse_number(option, value(), UINT32_MAX);
    } else if (option == "--dump") {
      options.dump_code = true;
    } else if (option == "--trace") {
      options.trace = value();
    } else if (option.starts_with("-")) {
      throw UsageError(fmt::format("unknown option {}; use vgpu-exec --help", in_quotes(option)));
    } else if (!options.file.empty()) {
      throw UsageError(fmt::format("unexpected argument {}", in_quotes(option)));
    } else {
      options.file = option;
    }
  }
  if (options.file.empty()) throw UsageError("missing argument: run.json");
  options.board = board_named(gpu);
  return options;
}

std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) throw std::runtime_error(path.string() + ": cannot read");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Calls `f` with a value of the C++ type that `name` names.
template <class F>
auto with_type(const std::string& name, F&& f) {
  if (name == "i8") return f(int8_t{});
  if (name == "u8") return f(uint8_t{});
  if (name == "i16") return f(int16_t{});
  if (name == "u16") return f(uint16_t{});
  if (name == "i32") return f(int32_t{});
  if (name == "u32") return f(uint32_t{});
  if (name == "i64") return f(int64_t{});
  if (name == "u64") return f(uint64_t{});
  if (name == "f32") return f(float{});
  if (name == "f64") return f(double{});
  throw std::runtime_error("unknown type " + in_quotes(name) +
                           "; use i8, u8, i16, u16, i32, u32, i64, u64, f32 or f64");
}

std::vector<char> encode(const std::string& type, const json& values, size_t count) {
  return with_type(type, [&]<class T>(T) {
    std::vector<char> bytes(count * sizeof(T));
    for (size_t i = 0; i < count && !values.empty(); ++i) {
      const T value = values[i % values.size()].get<T>();
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
  });
}

std::vector<char> contents(const json& buffer, const std::filesystem::path& folder) {
  if (buffer.contains("file")) return read_file(folder / buffer["file"].get<std::string>());
  if (buffer.contains("bytes")) return std::vector<char>(buffer["bytes"].get<size_t>());
  const json& values = buffer.at("values");
  return encode(buffer.at("type"), values, buffer.value("count", values.size()));
}

struct Grid {
  uint32_t size[3] = {1, 1, 1};
  Grid(std::string_view name, const json& numbers, uint32_t maximum) {
    if (numbers.empty() || numbers.size() > 3)
      throw std::runtime_error(fmt::format("{}: invalid number of sizes; use one to three", name));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const json& number = numbers[i];
      if (!number.is_number_integer() || number < 1 || number > maximum)
        throw std::runtime_error(
            fmt::format("{}: invalid size {}; use a number from 1 to {}", name, number.dump(), maximum));
      size[i] = number;
    }
  }
};

// Fills a hidden argument, if its value is known without a runtime.
void fill_hidden(const Kernel::Argument& argument, const Grid& grid, const Grid& group,
                 const Apertures& apertures, std::byte* to) {
  uint64_t value = 0;
  if (argument.kind == "hidden_private_base") value = apertures.private_high;
  if (argument.kind == "hidden_shared_base") value = apertures.group_high;
  for (size_t i = 0; i < 3; ++i) {
    const std::string axis(1, "xyz"[i]);
    if (argument.kind == "hidden_block_count_" + axis) value = grid.size[i] / group.size[i];
    if (argument.kind == "hidden_group_size_" + axis) value = group.size[i];
    if (argument.kind == "hidden_remainder_" + axis) value = grid.size[i] % group.size[i];
  }
  if (argument.kind == "hidden_grid_dims") {
    value = grid.size[2] > 1 ? 3 : grid.size[1] > 1 ? 2 : 1;
  }
  std::memcpy(to + argument.offset, &value, std::min<size_t>(argument.bytes, sizeof value));
}

void dump(const json& description, const Region& region, size_t bytes, const std::filesystem::path& folder) {
  if (description.contains("file")) {
    std::ofstream out(folder / description["file"].get<std::string>(), std::ios::binary);
    out.write(reinterpret_cast<const char*>(region.host), static_cast<std::streamsize>(bytes));
    if (!out) throw std::runtime_error(description["file"].get<std::string>() + ": cannot write");
    return;
  }
  with_type(description.at("type"), [&]<class T>(T) {
    const size_t first = description.value("first", size_t{0});
    const size_t count = std::min(description.value("count", bytes / sizeof(T)),
                                  bytes / sizeof(T) - std::min(first, bytes / sizeof(T)));
    json values = json::array();
    for (size_t i = 0; i < count; ++i) {
      T value;
      std::memcpy(&value, region.host + (first + i) * sizeof(T), sizeof(T));
      values.push_back(value);
    }
    std::printf("%s: %s\n", description.at("buffer").get<std::string>().c_str(), values.dump().c_str());
  });
}

void dump_code(isa::Target target, const Dispatch& dispatch, MemoryBus& memory) {
  target.wave32 = dispatch.wave_size == 32;
  const auto read = [&](uint64_t va, std::span<std::byte> to) -> size_t {
    const Translation code = memory.translate(va, to.size(), Access::kExecute);
    const size_t bytes = code.host == nullptr ? 0 : std::min<uint64_t>(code.bytes, to.size());
    std::memcpy(to.data(), code.host, bytes);
    return bytes;
  };
  const auto graph = analysis::read_flow_graph(target, dispatch.wave_size, dispatch.entry_va, read);
  if (!graph) throw std::runtime_error("kernel code: cannot read " + graph.error());
  std::fputs(analysis::text_of(*graph, analysis::liveness_of(*graph)).c_str(), stdout);
}

int run(const Options& options) {
  const Board& board = options.board;
  const std::filesystem::path folder = options.file.parent_path();
  const std::vector<char> text = read_file(options.file);
  const json description = json::parse(text.begin(), text.end());
  // Ranges as in a dispatch packet.
  const Grid grid("grid", description.at("grid"), UINT32_MAX);
  const Grid group("group", description.at("group"), UINT16_MAX);

  MemoryBus memory(board.clocks.reference_khz);
  const Kernel kernel = load_kernel(read_file(folder / description.at("code").get<std::string>()),
                                    description.value("kernel", ""), memory);

  struct Buffer {
    Region region;
    size_t bytes;
  };
  std::map<std::string, Buffer> buffers;
  const json contents_of = description.value("buffers", json::object());
  for (const auto& [name, buffer] : contents_of.items()) {
    const std::vector<char> bytes = contents(buffer, folder);
    const Region region = memory.allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(region.host, bytes.data(), bytes.size());
    buffers[name] = {region, bytes.size()};
  }
  const auto find_buffer = [&](const json& name) -> const Buffer& {
    const auto found = buffers.find(name.get<std::string>());
    if (found == buffers.end()) throw std::runtime_error("unknown buffer " + name.dump());
    return found->second;
  };

  const Region kernarg = memory.allocate(kernel.kernarg_bytes);
  size_t next = 0;
  const json arguments = description.value("args", json::array());
  for (const Kernel::Argument& argument : kernel.arguments) {
    if (uint64_t{argument.offset} + argument.bytes > kernarg.bytes)
      throw std::runtime_error("code object: an argument exceeds the kernarg segment");
    if (argument.kind.starts_with("hidden_")) {
      fill_hidden(argument, grid, group, apertures_of(board), kernarg.host);
      continue;
    }
    if (next == arguments.size()) throw std::runtime_error("args: too few arguments for the kernel");
    const json& given = arguments[next++];
    std::vector<char> bytes;
    if (given.contains("buffer")) {
      bytes = encode("u64", json::array({find_buffer(given["buffer"]).region.va}), 1);
    } else {
      bytes = encode(given.at("type"), json::array({given.at("value")}), 1);
    }
    if (bytes.size() > argument.bytes)
      throw std::runtime_error(
          fmt::format("args: argument {} is larger than {} bytes", next, argument.bytes));
    std::memcpy(kernarg.host + argument.offset, bytes.data(), bytes.size());
  }
  if (next != arguments.size()) throw std::runtime_error("args: too many arguments for the kernel");

  const Dispatch dispatch = make_dispatch(board, memory, kernel,
                                          {.grid = {grid.size[0], grid.size[1], grid.size[2]},
                                           .group = {group.size[0], group.size[1], group.size[2]},
                                           .kernarg_va = kernarg.va,
                                           .dynamic_lds = description.value("dynamic_lds", 0u)});
  exec::Device device = exec::device_of(board);
  if (options.dump_code) {
    dump_code(device.target, dispatch, memory);
    return 0;
  }
  std::FILE* const out = options.trace.empty()  ? nullptr
                         : options.trace == "-" ? stdout
                                                : std::fopen(options.trace.c_str(), "w");
  if (!options.trace.empty() && out == nullptr) throw std::runtime_error(options.trace + ": cannot write");
  InstructionTracer tracer(out, device.target, memory);
  if (out != nullptr) device.tracer = &tracer;
  exec::Scheduler scheduler(device, memory, {out != nullptr ? 1 : options.threads, false});
  DispatchResult result;
  const auto begin = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < options.repeat && result.kind == DispatchResult::Kind::kDone; ++i) {
    std::promise<DispatchResult> promise;
    scheduler.start(dispatch, [&](DispatchResult r) { promise.set_value(std::move(r)); });
    std::future<DispatchResult> ended = promise.get_future();
    while (scheduler.wants_thread() && ended.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      scheduler.lend_thread();
    }
    result = ended.get();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  tracer.finish();
  if (out != nullptr && out != stdout) std::fclose(out);
  if (result.kind != DispatchResult::Kind::kDone) {
    std::fprintf(stderr, "vgpu-exec: error: %s\n", result.reason.c_str());
    return 3;
  }
  for (const json& what : description.value("dump", json::array())) {
    const Buffer& buffer = find_buffer(what.at("buffer"));
    dump(what, buffer.region, buffer.bytes, folder);
  }
  std::printf("%llu instructions, %.3f ms\n", static_cast<unsigned long long>(result.instructions),
              took.count() * 1e3 / options.repeat);
  return 0;
}

}  // namespace
}  // namespace rigel::vgpu::runner

int main(int argc, char** argv) {
  using namespace rigel::vgpu::runner;
  std::optional<Options> options;
  try {
    options = parse({argv + 1, argv + std::max(argc, 1)});
    if (!options) return std::fputs(kHelp, stdout) < 0 ? 1 : 0;
    return run(*options);
  } catch (const json::exception& error) {
    // Removes the first part of "[json.exception.out_of_range.403] key 'grid' not found".
    std::string_view text(error.what());
    if (const size_t end = text.find("] "); end != text.npos) text.remove_prefix(end + 2);
    std::fprintf(stderr, "vgpu-exec: error: %s: %.*s\n", options->file.c_str(), static_cast<int>(text.size()),
                 text.data());
    return 1;
  } catch (const UsageError& mistake) {
    std::fprintf(stderr, "vgpu-exec: error: %s\n", mistake.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vgpu-exec: error: %s\n", error.what());
    return 1;
  }
}
