#include "plugins/vgpu/exec/report/source_lines.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <cstdlib>
#include <utility>

namespace rigel::vgpu::exec {

struct SourceLines::OpenedObject {
  LoadedCodeObject object;
  std::unique_ptr<DebugInformation> information;  // of object.contents; null if not available
};

SourceLines::SourceLines(const void* list) : list_(list) {}

SourceLines::~SourceLines() = default;

SourceLines::OpenedObject* SourceLines::object_at(uint64_t pc) {
  for (const auto& opened : objects_) {
    // A loaded object is rarely longer than its file, which also contains sections that are not loaded.
    if (pc - opened->object.base < opened->object.contents.size()) return opened.get();
  }
  auto object = find_code_object(list_, pc);
  if (!object) return nullptr;
  auto opened = std::make_unique<OpenedObject>();
  opened->object = std::move(*object);
  opened->information = open_debug_information(opened->object.contents);
  return objects_.emplace_back(std::move(opened)).get();
}

std::vector<SourceFrame> SourceLines::frames(uint64_t pc) {
  OpenedObject* const opened = object_at(pc);
  if (opened == nullptr || opened->information == nullptr) return {};
  return opened->information->frames(pc - opened->object.base);
}

std::optional<Function> SourceLines::function(uint64_t pc) {
  OpenedObject* const opened = object_at(pc);
  if (opened == nullptr) return std::nullopt;
  auto function = function_at(opened->object.contents, pc - opened->object.base);
  if (function) function->begin += opened->object.base;
  return function;
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
