// Texts of the checks' findings.
#include <dlfcn.h>

#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "loader/text/words.hpp"
#include "plugins/vgpu/analysis/wait_check.hpp"
#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/exec/check/group_checker.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/isa/disassembler.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr size_t kMostHostFrames = 3;

std::string_view file_of(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

check::Frame frame_of(const SourceFrame& frame) {
  return {frame.function, frame.file, frame.line, frame.column};
}

// Whether frames of this library are between the program and the runtime's allocation functions.
bool is_of_runtime(std::string_view file) {
  constexpr std::array<std::string_view, 5> kLibraries = {"libvgpu_check", "libhsa-runtime64", "libamdhip64",
                                                          "libc.so", "libamdocl64"};
  for (const std::string_view library : kLibraries) {
    if (file.starts_with(library)) return true;
  }
  return false;
}

// Returns the source position of a host address, from the debugging information of its file.
SourceFrame host_source(const char* path, uint64_t offset) {
  struct File {
    std::vector<char> contents;
    std::unique_ptr<DebugInformation> information;
  };
  static Mutex mutex;
  static auto* const files = new std::map<std::string, File>;
  const MutexLock lock(mutex);
  const auto [found, is_new] = files->try_emplace(path);
  File& file = found->second;
  if (is_new) {
    std::ifstream stream(path, std::ios::binary);
    file.contents.assign(std::istreambuf_iterator<char>(stream), {});
    if (!file.contents.empty()) file.information = open_debug_information(file.contents);
  }
  if (file.information == nullptr) return {};
  const std::vector<SourceFrame> frames = file.information->frames(offset);
  // The outermost position: inlined wrappers of the runtime's functions are of no interest.
  return frames.empty() ? SourceFrame() : frames.back();
}

// Returns the program's innermost frames.
std::vector<check::Place> places_of_stack(const check::HostStack& stack, std::string_view role) {
  std::vector<check::Place> places;
  for (const void* const frame : stack) {
    if (frame == nullptr || places.size() == kMostHostFrames) break;
    Dl_info info{};
    // A return address is after the call.
    if (dladdr(static_cast<const char*>(frame) - 1, &info) == 0) continue;
    const std::string_view file = file_of(info.dli_fname);
    if (is_of_runtime(file)) continue;
    const auto offset =
        static_cast<uint64_t>(static_cast<const char*>(frame) - static_cast<const char*>(info.dli_fbase));
    const SourceFrame source = host_source(info.dli_fname, offset - 1);
    if (source.file.empty() && info.dli_sname == nullptr && !places.empty()) continue;
    check::Place place;
    place.role = role;
    place.address = reinterpret_cast<uint64_t>(frame);
    place.code = fmt::format("{}+{:#x}", file, offset);
    if (!source.file.empty()) {
      place.frames.push_back(frame_of(source));
    } else if (info.dli_sname != nullptr) {
      place.frames.push_back({demangled(info.dli_sname), {}, 0, 0});
    }
    places.push_back(std::move(place));
  }
  return places;
}

// "main at a.cpp:3:7", "main (a.out+0x100)" or "a.out+0x100".
std::string text_of_call(const check::Place& place) {
  if (place.frames.empty()) return place.code;
  const check::Frame& frame = place.frames.front();
  if (!frame.file.empty()) return text_of({frame.function, frame.file, frame.line, frame.column});
  return fmt::format("{} ({})", frame.function, place.code);
}

// Adds the calls to a finding, and a line for each to its text.
void add_stack(const check::HostStack& stack, std::string_view role, check::Finding& finding) {
  bool is_first = true;
  for (check::Place& place : places_of_stack(stack, role)) {
    finding.details += line(is_first ? role : "", text_of_call(place));
    finding.host.push_back(std::move(place));
    is_first = false;
  }
}

// "4000 bytes at 0x7fb10b400000 ('particles')".
std::string text_of_size(const check::Allocation& allocation) {
  const std::string name =
      allocation.name[0] == 0 ? std::string() : fmt::format(" ({})", in_quotes(allocation.name));
  return fmt::format("{} bytes at {:#x}{}", allocation.bytes, allocation.begin, name);
}

std::string text_of_address(const RawFinding& raw) {
  const check::Allocation& allocation = raw.allocation;
  const uint64_t va = raw.addresses[__builtin_ctzll(raw.lanes)];
  const uint64_t offset = va - allocation.begin;
  if (allocation.is_poisoned) {
    return fmt::format("byte {} of {} bytes at {:#x}, which the program has made inaccessible", offset,
                       allocation.room_bytes, allocation.begin);
  }
  const std::string bytes = text_of_size(allocation);
  if (allocation.is_freed) return fmt::format("byte {} of the freed {}", offset, bytes);
  if (offset < allocation.bytes)
    return fmt::format("starts {} bytes before the end of the {}", allocation.bytes - offset, bytes);
  return fmt::format("{} bytes past the {}", offset - allocation.bytes, bytes);
}

// Returns the allocation at the next higher address, or nothing.
std::optional<check::Allocation> next_allocation(check::Allocations& allocations,
                                                 const check::Allocation& allocation) {
  check::Allocation next = allocation;
  // The second step skips memory without allocations.
  for (int step = 0; step < 2; ++step) {
    const uint64_t end = next.begin + next.room_bytes;
    if (end <= allocation.begin) return std::nullopt;
    if (allocations.find(end, next)) return next;
  }
  return std::nullopt;
}

// Adds the allocation above to a finding if the address is closer to it: its index may be negative.
void add_next_allocation(const RawFinding& raw, const Launch& launch, check::Finding& finding) {
  const check::Allocation& below = raw.allocation;
  const uint64_t va = raw.addresses[__builtin_ctzll(raw.lanes)];
  if (below.is_freed || below.is_poisoned || va < below.begin + below.bytes ||
      launch.allocations() == nullptr)
    return;
  const auto next = next_allocation(*launch.allocations(), below);
  if (!next || next->is_freed || next->begin - va >= va - below.begin - below.bytes) return;
  finding.details += line("or", fmt::format("{} bytes before the {}", next->begin - va, text_of_size(*next)));
  add_stack(next->allocated, "allocated by", finding);
}

// "scale(int*, int)+0x6c": the function of an instruction. Functions that are not listed count as the kernel.
std::string text_of_code(SourceLines& lines, uint64_t pc, uint64_t entry, std::string_view kernel) {
  const auto function = lines.function(pc);
  if (!function || function->begin == entry) return fmt::format("{}+{:#x}", kernel, pc - entry);
  return fmt::format("{}+{:#x}", demangled(function->name), pc - function->begin);
}

check::Place place_of(SourceLines& lines, uint64_t pc, uint64_t entry, std::string_view kernel,
                      std::string_view role) {
  check::Place place;
  place.role = role;
  place.address = pc;
  place.code = text_of_code(lines, pc, entry, kernel);
  for (const SourceFrame& frame : lines.frames(pc)) place.frames.push_back(frame_of(frame));
  if (!place.frames.empty()) return place;
  if (const auto function = lines.function(pc)) place.frames.push_back({demangled(function->name), {}, 0, 0});
  return place;
}

// Returns a line with the function and the instruction's offset, if there is no source line.
std::string text_without_source(const check::Place& place) {
  return check::source_of(place).empty() ? line("at", place.code) : std::string();
}

std::string text_of_kernel(const check::Finding& finding) {
  return fmt::format("{}, launch {}", finding.kernel, finding.launch);
}

std::string text_of_node(const analysis::FlowGraph& graph, uint32_t index, uint64_t entry) {
  const analysis::Node& node = graph.nodes[index];
  return fmt::format("{}  {}", text_of_pc(node.pc, entry), isa::disassemble(graph.target, node.instruction));
}

}  // namespace

check::Finding describe_finding(const RawFinding& raw, const Launch& launch, DeviceBus& bus) {
  const uint64_t entry = launch.dispatch().entry_va;
  check::Finding finding;
  finding.kind = check::kind_of(raw.tool, raw.problem, entry, raw.pc, raw.other.pc);
  finding.severity = raw.severity;
  finding.summary = raw.summary;
  finding.kernel = kernel_of(launch.dispatch(), bus);
  finding.launch = launch.number();
  std::string& text = finding.details;
  SourceLines lines(bus.code_objects());
  const std::vector<std::string> work_items =
      describe_work_items(raw.items, raw.lanes, raw.has_addresses ? raw.addresses : nullptr);
  finding.place = place_of(lines, raw.pc, entry, finding.kernel,
                           fmt::format("by work-item {}", work_items.empty() ? "" : work_items.front()));
  text += line("kernel", text_of_kernel(finding));
  text += text_without_source(finding.place) + describe_place(raw.pc, entry, raw.wave, bus);
  text += line("work-group", fmt::format("{}, wave {}, {}", text_of(raw.items.group), raw.items.wave,
                                         text_of_pc(raw.pc, entry)));
  for (const std::string& item : work_items) text += line("work-item", item);
  if (raw.other.pc != 0) {
    const bool is_other_kernel = raw.other.dispatch != nullptr;
    const uint64_t other_entry = is_other_kernel ? raw.other.dispatch->entry_va : entry;
    const std::string other_kernel =
        is_other_kernel ? kernel_of(*raw.other.dispatch, bus) : std::string(finding.kernel);
    finding.others.push_back(place_of(
        lines, raw.other.pc, other_entry, other_kernel,
        raw.other.who.empty() ? raw.other.label : fmt::format("{} by {}", raw.other.label, raw.other.who)));
    const std::string other_place = text_of_pc(raw.other.pc, other_entry);
    if (is_other_kernel)
      text += line("other kernel", fmt::format("{}, launch {}", other_kernel, raw.other.launch));
    text += line(raw.other.label,
                 raw.other.who.empty() ? other_place : fmt::format("{}, {}", raw.other.who, other_place));
    text += text_without_source(finding.others.front()) + lines_of(lines.frames(raw.other.pc));
  }
  if (raw.has_allocation) {
    text += line("address", text_of_address(raw));
    add_stack(raw.allocation.allocated, raw.allocation.is_poisoned ? "poisoned by" : "allocated by", finding);
    if (raw.allocation.is_freed) add_stack(raw.allocation.freed, "freed by", finding);
    add_next_allocation(raw, launch, finding);
  }
  if (!raw.hint.empty()) text += line("note", raw.hint);
  text += raw.code;
  return finding;
}

void check_waits(TranslatedCode& code, const Launch& launch, DeviceBus& bus) {
  check::Findings& findings = check::Findings::of_process();
  const uint64_t entry = launch.dispatch().entry_va;
  tl::expected<analysis::FlowGraph, std::string> graph;
  {
    const TranslationScope scope(bus);
    graph = code.read_graph(entry);
  }
  const std::string kernel = kernel_of(launch.dispatch(), bus);
  if (!graph) return findings.note_unchecked(fmt::format("waits of {}: {}", kernel, graph.error()));
  SourceLines lines(bus.code_objects());
  for (const analysis::MissingWait& missing : analysis::missing_waits(*graph)) {
    const uint64_t pc = graph->nodes[missing.node].pc, load_pc = graph->nodes[missing.load].pc;
    check::Finding finding;
    finding.kind = check::kind_of(check::Tool::kWaits, check::kMissingWait, entry, pc, load_pc);
    if (!findings.count(finding.kind, Severity::kError)) continue;
    finding.kernel = kernel;
    finding.launch = launch.number();
    finding.place = place_of(lines, pc, entry, kernel, "use");
    finding.others.push_back(place_of(lines, load_pc, entry, kernel, "load"));
    finding.summary =
        fmt::format("{} is {} before the load that writes it has completed; s_waitcnt {} is missing",
                    missing.register_name, missing.is_read ? "read" : "overwritten", missing.wait);
    std::string& text = finding.details;
    text += line("kernel", text_of_kernel(finding));
    text += text_without_source(finding.place) + lines_of(lines.frames(pc));
    text += line("instruction", text_of_node(*graph, missing.node, entry));
    text += line("load", text_of_node(*graph, missing.load, entry));
    text += text_without_source(finding.others.front()) + lines_of(lines.frames(load_pc));
    findings.add(finding, bus, launch.dispatch().queue_id);
  }
}

}  // namespace rigel::vgpu::exec
