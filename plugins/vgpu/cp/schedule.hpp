// In which order the waves of a work-group run: VGPU_SCHEDULE.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rigel::vgpu {

struct Schedule {
  enum class Order : uint8_t {
    kWaits,  ///< As on hardware: a wave that waits for memory lets the others go on, where that can matter.
    kBarriers,  ///< One wave after the other, each until its next barrier.
    kRandom     ///< Any wave that can go on, until any wait, barrier or branch back. For finding races.
  };
  Order order = Order::kWaits;
  uint64_t seed = 0;  ///< Of kRandom. A work-group of one number has the same order in every run.

  /// "barriers", "random" or "random:<seed>"; empty: the default. Nothing if the text is none of these.
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

  /// What from_text() reads as this.
  std::string text() const {
    if (order == Order::kWaits) return {};
    return order == Order::kBarriers ? "barriers" : "random:" + std::to_string(seed);
  }

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

}  // namespace rigel::vgpu
