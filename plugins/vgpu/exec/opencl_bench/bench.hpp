// Shared parts of the benchmark: a case, its data, and means.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rigel::vgpu::bench {

/// Memory that both devices access. Each device has a copy of an output, so that results can be compared.
struct Buffer {
  void* memory = nullptr;
  size_t bytes = 0;
  bool output = false;
};

/// An image of four bytes per pixel, stored in rows, which kernels read as an image of opaque layout.
struct Picture {
  Buffer pixels;
  uint32_t width = 0, height = 0;
};

/// A sampler with normalised coordinates, clamping to the edge, and linear filters.
struct LinearSampler {};

using Argument = std::variant<Buffer, int32_t, float, Picture, LinearSampler>;

/// Required agreement of two devices' results: every bit; floats, except one in a thousand; integers,
/// except one in twenty; bytes with a difference of at most 2, because weights of filters are fractions of
/// eight bits or floats.
enum class Agreement { kExact, kFloat, kMostIntegers, kBytes };

/// What limits a case's speed. Each kind has a separate mean.
enum class Bound { kCompute, kMemory, kPrivate, kTextures };

struct Case {
  std::string name;  ///< Also the kernel's name.
  Bound bound = Bound::kCompute;
  size_t grid[3] = {1, 1, 1};   ///< work-items
  size_t group[3] = {1, 1, 1};  ///< work-items
  std::vector<Argument> arguments;
  Agreement agreement = Agreement::kExact;
};

/// Geometric mean.
struct Mean {
  double log_sum = 0;
  int count = 0;
  void add(double ratio) { log_sum += std::log(ratio), ++count; }
  double value() const { return count == 0 ? 0 : std::exp(log_sum / count); }
};

[[noreturn]] void fail(const std::string& message);

}  // namespace rigel::vgpu::bench
