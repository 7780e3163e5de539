#include "plugins/vgpu/exec/opencl_bench/cases.hpp"

#include <cmath>
#include <numbers>
#include <random>

namespace rigel::vgpu::bench {
namespace {

constexpr int kItems = 4 << 20;
constexpr int kMatrix = 512;
constexpr int kBodies = 8192;
constexpr int kImage = 1024;
constexpr int kMandelbrotLimit = 256;
constexpr int kHistogramPerItem = 16;
constexpr int kHashes = 1 << 18;
constexpr int kVolume = 128;
constexpr int kPicture = 3072, kResized = 4096;
constexpr int kSorters = 1 << 15, kSorted = 24;
constexpr int kRows = 1 << 17, kRowEntries = 16;

class Data {
 public:
  explicit Data(const std::function<void*(size_t)>& allocate) : allocate_(allocate) {}

  template <class T, class Make>
  Buffer input(size_t count, Make make) {
    const Buffer buffer = memory<T>(count, false);
    for (size_t i = 0; i < count; ++i) static_cast<T*>(buffer.memory)[i] = make(i);
    return buffer;
  }
  Buffer floats(size_t count) {
    std::uniform_real_distribution<float> any(-1.0f, 1.0f);
    return input<float>(count, [&](size_t) { return any(random_); });
  }
  Buffer words(size_t count) {
    return input<uint32_t>(count, [&](size_t) { return static_cast<uint32_t>(random_()); });
  }
  template <class T>
  Buffer output(size_t count) {
    return memory<T>(count, true);
  }

  std::mt19937& random() { return random_; }

 private:
  template <class T>
  Buffer memory(size_t count, bool output) {
    return {allocate_(count * sizeof(T)), count * sizeof(T), output};
  }

  const std::function<void*(size_t)>& allocate_;
  std::mt19937 random_{42};
};

}  // namespace

std::vector<Case> make_cases(const std::function<void*(size_t bytes)>& allocate) {
  Data data(allocate);
  const Buffer a = data.floats(kItems), b = data.floats(kItems);
  const Buffer keys = data.words(kItems);
  const Buffer matrix_a = data.floats(kMatrix * kMatrix), matrix_b = data.floats(kMatrix * kMatrix);
  const Buffer roots = data.input<float>(64, [](size_t i) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(i / 2) / 64;
    return static_cast<float>(i % 2 == 0 ? std::cos(angle) : std::sin(angle));
  });
  const Buffer starts =
      data.input<int32_t>(kRows + 1, [](size_t i) { return static_cast<int32_t>(i * kRowEntries); });
  const Buffer columns = data.input<int32_t>(kRows * kRowEntries, [&](size_t i) {
    // A band, with some entries far away, as in matrices of meshes.
    const auto row = static_cast<int32_t>(i / kRowEntries);
    const auto far = static_cast<int32_t>(data.random()() % kRows);
    return i % kRowEntries < 12 ? (row + static_cast<int32_t>(i % kRowEntries)) % kRows : far;
  });

  std::vector<Case> cases;
  const auto add = [&](Case work) { cases.push_back(std::move(work)); };
  const size_t n = kItems;
  add({"vadd", Bound::kMemory, {n, 1, 1}, {256, 1, 1}, {a, b, data.output<float>(n)}});
  add({"vcopy", Bound::kMemory, {n, 1, 1}, {256, 1, 1}, {a, data.output<float>(n)}});
  add({"saxpy",
       Bound::kMemory,
       {n, 1, 1},
       {256, 1, 1},
       {a, b, data.output<float>(n), 1.5f},
       Agreement::kFloat});
  add({"sgemm_naive",
       Bound::kCompute,
       {kMatrix, kMatrix, 1},
       {64, 4, 1},
       {matrix_a, matrix_b, data.output<float>(kMatrix * kMatrix), kMatrix},
       Agreement::kFloat});
  add({"sgemm_tiled",
       Bound::kCompute,
       {kMatrix, kMatrix, 1},
       {16, 16, 1},
       {matrix_a, matrix_b, data.output<float>(kMatrix * kMatrix), kMatrix},
       Agreement::kFloat});
  add({"nbody",
       Bound::kCompute,
       {kBodies, 1, 1},
       {256, 1, 1},
       {data.floats(kBodies * 4), data.output<float>(kBodies * 4), kBodies},
       Agreement::kFloat});
  add({"mandelbrot",
       Bound::kCompute,
       {kImage, kImage, 1},
       {64, 4, 1},
       {data.output<int32_t>(kImage * kImage), kImage, kImage, kMandelbrotLimit},
       Agreement::kMostIntegers});
  add({"reduce",
       Bound::kCompute,
       {n, 1, 1},
       {256, 1, 1},
       {a, data.output<float>(n / 256)},
       Agreement::kFloat});
  add({"histogram",
       Bound::kCompute,
       {n / kHistogramPerItem, 1, 1},
       {256, 1, 1},
       {keys, data.output<uint32_t>(256), kHistogramPerItem}});
  add({"bitonic", Bound::kCompute, {n / 4, 1, 1}, {256, 1, 1}, {keys, data.output<uint32_t>(n / 2)}});
  add({"fft64",
       Bound::kCompute,
       {n / 4, 1, 1},
       {128, 1, 1},
       {a, data.output<float>(n), roots},
       Agreement::kFloat});
  add({"sha256", Bound::kCompute, {kHashes, 1, 1}, {256, 1, 1}, {data.output<uint32_t>(kHashes)}});
  add({"stencil3d",
       Bound::kMemory,
       {kVolume, kVolume, kVolume},
       {64, 2, 2},
       {a, data.output<float>(kVolume * kVolume * kVolume), kVolume},
       Agreement::kFloat});
  add({"spmv",
       Bound::kMemory,
       {kRows, 1, 1},
       {256, 1, 1},
       {starts, columns, data.floats(kRows * kRowEntries), a, data.output<float>(kRows)},
       Agreement::kFloat});
  add({"sort_private",
       Bound::kPrivate,
       {kSorters, 1, 1},
       {256, 1, 1},
       {keys, data.output<uint32_t>(kSorters * kSorted), kSorters}});
  add({"resize",
       Bound::kTextures,
       {kResized, kResized, 1},
       {64, 4, 1},
       {Picture{data.words(kPicture * kPicture), kPicture, kPicture}, LinearSampler{},
        data.output<uint32_t>(kResized * kResized)},
       Agreement::kBytes});
  return cases;
}

}  // namespace rigel::vgpu::bench
