#include "plugins/vgpu/exec/report/source_lines.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <cstdlib>
#include <utility>

namespace rigel::vgpu::exec {

struct SourceLines::Known {
  LoadedCodeObject object;
  std::unique_ptr<DebugInformation> information;  // of object.contents; null: there is none
};

SourceLines::SourceLines(const void* list) : list_(list) {}

SourceLines::~SourceLines() = default;

SourceLines::Known* SourceLines::known_at(uint64_t pc) {
  for (const auto& known : known_) {
    // What is loaded is hardly ever longer than its file, which has more in it.
    if (pc - known->object.base < known->object.contents.size()) return known.get();
  }
  auto object = find_code_object(list_, pc);
  if (!object) return nullptr;
  auto known = std::make_unique<Known>();
  known->object = std::move(*object);
  known->information = open_debug_information(known->object.contents);
  return known_.emplace_back(std::move(known)).get();
}

std::vector<SourceFrame> SourceLines::frames(uint64_t pc) {
  Known* const known = known_at(pc);
  if (known == nullptr || known->information == nullptr) return {};
  return known->information->frames(pc - known->object.base);
}

std::optional<Function> SourceLines::function(uint64_t pc) {
  Known* const known = known_at(pc);
  if (known == nullptr) return std::nullopt;
  auto found = function_at(known->object.contents, pc - known->object.base);
  if (found) found->begin += known->object.base;
  return found;
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
