#include "plugins/vgpu/exec/report/source_lines.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "plugins/vgpu/exec/report/loaded_code_objects.hpp"

namespace rigel::vgpu::exec {

struct SourceLines::Known {
  uint64_t base = 0;
  uint64_t bytes = 0;
  std::unique_ptr<DebugInformation> information;
};

SourceLines::SourceLines(const void* list) : list_(list) {}

SourceLines::~SourceLines() = default;

std::vector<SourceFrame> SourceLines::frames(uint64_t pc) {
  for (const auto& known : known_) {
    if (pc - known->base >= known->bytes) continue;
    return known->information == nullptr ? std::vector<SourceFrame>()
                                         : known->information->frames(pc - known->base);
  }
  auto object = find_code_object(list_, pc);
  if (!object) return {};
  auto known = std::make_unique<Known>();
  known->base = object->base;
  // What is loaded is hardly ever longer than its file, which has more in it.
  known->bytes = object->contents.size();
  known->information = open_debug_information(std::move(object->contents));
  known_.push_back(std::move(known));
  auto& information = known_.back()->information;
  return information == nullptr ? std::vector<SourceFrame>() : information->frames(pc - known_.back()->base);
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

std::string text_of(const SourceFrame& frame) {
  std::string place = frame.file;
  if (frame.line != 0) place += fmt::format(":{}", frame.line);
  if (frame.line != 0 && frame.column != 0) place += fmt::format(":{}", frame.column);
  if (frame.function.empty()) return place;
  return place.empty() ? frame.function : fmt::format("{} at {}", frame.function, place);
}

}  // namespace rigel::vgpu::exec
