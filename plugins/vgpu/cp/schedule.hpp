// The order in which the waves of a work-group run: VGPU_SCHEDULE.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rigel::vgpu {

struct Schedule {
  enum class Order : uint8_t {
    kWaits,     ///< As on hardware: a wave yields when it waits for memory, if the order can matter.
    kBarriers,  ///< Each wave runs to its next barrier.
    kRandom     ///< Any runnable wave runs to its next wait, barrier or backward branch. Finds races.
  };
  Order order = Order::kWaits;
  uint64_t seed = 0;  ///< Seed of kRandom. A work-group's order depends only on the seed and its number.

  /// Parses "barriers", "random" or "random:<seed>"; empty text is the default. Returns nothing if it is
  /// invalid.
  static std::optional<Schedule> from_text(std::string_view text) {
    constexpr std::string_view kRandomText = "random", kSeparator = ":";
    if (text.empty()) return Schedule{};
    if (text == "barriers") return Schedule{Order::kBarriers, 0};
    if (!text.starts_with(kRandomText)) return std::nullopt;
    Schedule schedule{Order::kRandom, 0};
    text.remove_prefix(kRandomText.size());
    if (text.empty()) return schedule;
    if (!text.starts_with(kSeparator)) return std::nullopt;
    text.remove_prefix(kSeparator.size());
    const auto read = std::from_chars(text.data(), text.data() + text.size(), schedule.seed);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
    return schedule;
  }

  /// The inverse of from_text().
  std::string text() const {
    if (order == Order::kWaits) return {};
    return order == Order::kBarriers ? "barriers" : "random:" + std::to_string(seed);
  }

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace rigel::vgpu
