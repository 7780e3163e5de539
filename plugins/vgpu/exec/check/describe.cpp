// Texts of the checks' findings.
#include <cxxabi.h>
#include <dlfcn.h>

#include <array>
#include <string_view>

#include <fmt/core.h>

#include "plugins/vgpu/exec/check/group_checker.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/report/source_lines.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr int kMostHostFrames = 3;

std::string_view file_of(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
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

// Returns a line for each of the program's innermost frames.
std::string lines_of_stack(const check::HostStack& stack, std::string_view label) {
  std::string text;
  int count = 0;
  for (const void* const frame : stack) {
    if (frame == nullptr || count == kMostHostFrames) break;
    Dl_info info{};
    // A return address is after the call.
    if (dladdr(static_cast<const char*>(frame) - 1, &info) == 0) continue;
    const std::string_view file = file_of(info.dli_fname);
    if (is_of_runtime(file)) continue;
    const auto offset = static_cast<uint64_t>(static_cast<const char*>(frame) -
                                              static_cast<const char*>(info.dli_fbase));
    const std::string place = fmt::format("{}+{:#x}", file, offset);
    text += line(count == 0 ? label : "",
                 info.dli_sname == nullptr ? place : fmt::format("{} ({})", demangled(info.dli_sname), place));
    ++count;
  }
  return text;
}

std::string text_of_address(const RawFinding& raw) {
  const check::Allocation& allocation = raw.allocation;
  const uint64_t va = raw.addresses[__builtin_ctzll(raw.lanes)];
  const uint64_t offset = va - allocation.begin;
  if (allocation.is_freed)
    return fmt::format("byte {} of the freed {} bytes at {:#x}", offset, allocation.bytes, allocation.begin);
  if (offset < allocation.bytes) {
    return fmt::format("starts {} bytes before the end of the {} bytes at {:#x}", allocation.bytes - offset,
                       allocation.bytes, allocation.begin);
  }
  return fmt::format("{} bytes past the {} bytes at {:#x}", offset - allocation.bytes, allocation.bytes,
                     allocation.begin);
}

}  // namespace

check::Finding describe_finding(const RawFinding& raw, const Launch& launch, DeviceBus& bus) {
  const uint64_t entry = launch.dispatch().entry_va;
  check::Finding finding;
  finding.tool = raw.tool;
  finding.severity = raw.severity;
  finding.summary = raw.summary;
  finding.kernel = kernel_of(launch.dispatch(), bus);
  std::string& text = finding.details;
  text += line("kernel", finding.kernel);
  text += describe_place(raw.pc, entry, raw.wave, bus);
  text += line("work-group", fmt::format("{}, wave {}, {}", text_of(raw.items.group), raw.items.wave,
                                         text_of_pc(raw.pc, entry)));
  for (const std::string& item :
       describe_work_items(raw.items, raw.lanes, raw.has_addresses ? raw.addresses : nullptr)) {
    text += line("work-item", item);
  }
  SourceLines lines(bus.code_objects());
  if (raw.other.pc != 0) {
    const std::string other_place = text_of_pc(raw.other.pc, entry);
    text += line(raw.other.label, raw.other.who.empty() ? other_place
                                                        : fmt::format("{}, {}", raw.other.who, other_place));
    text += lines_of(lines.frames(raw.other.pc));
  }
  if (raw.has_allocation) {
    text += line("address", text_of_address(raw));
    text += lines_of_stack(raw.allocation.allocated, "allocated by");
    if (raw.allocation.is_freed) text += lines_of_stack(raw.allocation.freed, "freed by");
  }
  if (!raw.hint.empty()) text += line("note", raw.hint);
  text += raw.code;
  if (const auto frames = lines.frames(raw.pc); !frames.empty() && !frames.front().file.empty())
    finding.source = fmt::format("{}:{}", frames.front().file, frames.front().line);
  return finding;
}

}  // namespace rigel::vgpu::exec
