// Recorder that a test and its tools share: the tools' options contain its address.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rigel::testing {

struct ToolNotes {
  void note(std::string text) {
    const std::lock_guard lock(mutex);
    lines.push_back(std::move(text));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(lines, {});
  }
  /// Returns the member of a tool's options that contains the recorder's address.
  std::string as_option() const {
    return "\"recorder\": \"" + std::to_string(reinterpret_cast<uintptr_t>(this)) + "\"";
  }
  /// Returns the recorder whose address is in a tool's options. The runtime passes them as JSON without
  /// spaces.
  static ToolNotes& of(std::string_view json) {
    constexpr std::string_view kKey = "\"recorder\":\"";
    const std::string digits(json.substr(json.find(kKey) + kKey.size()));
    return *reinterpret_cast<ToolNotes*>(std::strtoull(digits.c_str(), nullptr, 10));
  }

  const void* tables = nullptr;  ///< the runtime's HsaApiTable
  std::mutex mutex;
  std::vector<std::string> lines;
};

}  // namespace rigel::testing
