// What the parts of the benchmark share: a piece of work, and a device that does it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rigel::vgpu::bench {

/// Memory that both devices reach. An output has one copy for each, so that the results can be compared.
struct Buffer {
  void* memory = nullptr;
  size_t bytes = 0;
  bool output = false;
};

/// A picture of four bytes a pixel, row by row, that kernels read as an image of opaque layout.
struct Picture {
  Buffer pixels;
  uint32_t width = 0, height = 0;
};

/// A sampler: normalised coordinates, the nearest edge, linear.
struct LinearSampler {};

using Argument = std::variant<Buffer, int32_t, float, Picture, LinearSampler>;

/// How the results of two devices have to agree: in every bit; as floats, but for one in a thousand; as
/// integers, but for one in twenty; as bytes, but for two: filters weigh texels by fractions of eight bits, or by floats.
enum class Agreement { kExact, kFloat, kMostIntegers, kBytes };

/// What bounds it: each has a mean of its own.
enum class Bound { kCompute, kMemory, kPrivate, kTextures };

struct Case {
  std::string name;  ///< Also the kernel's.
  Bound bound = Bound::kCompute;
  size_t grid[3] = {1, 1, 1};   ///< work-items
  size_t group[3] = {1, 1, 1};  ///< work-items
  std::vector<Argument> arguments;
  Agreement agreement = Agreement::kExact;
};

/// A geometric one.
struct Mean {
  double log_sum = 0;
  int count = 0;
  void add(double ratio) { log_sum += std::log(ratio), ++count; }
  double value() const { return count == 0 ? 0 : std::exp(log_sum / count); }
};

[[noreturn]] void fail(const std::string& what);

}  // namespace rigel::vgpu::bench
