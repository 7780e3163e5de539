// JSON document whose destructor allocates no memory. For the files of this directory.
#pragma once

#include <utility>

#include <nlohmann/json.hpp>

namespace rigel {

/// A document no deeper than kMaxJsonDepth. nlohmann's destructor allocates for the contents of containers,
/// and ends the process without memory; this one empties containers first, innermost first.
class JsonDocument {
 public:
  JsonDocument() = default;
  explicit JsonDocument(nlohmann::json root) noexcept : root_(std::move(root)) {}
  JsonDocument(JsonDocument&&) noexcept = default;
  JsonDocument& operator=(JsonDocument&&) = delete;
  ~JsonDocument() { empty(root_); }

  nlohmann::json& operator*() noexcept { return root_; }
  const nlohmann::json& operator*() const noexcept { return root_; }
  nlohmann::json* operator->() noexcept { return &root_; }
  const nlohmann::json* operator->() const noexcept { return &root_; }

 private:
  static void empty(nlohmann::json& value) noexcept {
    if (!value.is_structured()) return;
    for (nlohmann::json& member : value) empty(member);
    value.clear();
  }

  nlohmann::json root_;
};

}  // namespace rigel
