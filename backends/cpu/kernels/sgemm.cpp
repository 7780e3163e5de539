// A matrix product in tiles, as on GPUs: each work-group computes a tile from pairs of tiles in group memory.
#include <hsa_cpu/kernel.hpp>

#include "backends/cpu/kernels/args.hpp"

namespace {

constexpr uint32_t kTile = 16;

struct Tiles {
  float a[kTile][kTile];
  float b[kTile][kTile];
};

}  // namespace

HSA_CPU_KERNEL(sgemm, samples::SgemmArgs, hsa_cpu::Size<kTile, kTile>, hsa_cpu::Shared<Tiles>) {
  Tiles& tiles = group.shared();
  auto sum = group.per_item<float>();
  group.for_each([&](auto item) { sum[item] = 0; });

  for (size_t begin = 0; begin < args.size; begin += kTile) {
    group.for_each([&](auto item) {
      const size_t x = item.local_id(0), y = item.local_id(1);
      tiles.a[y][x] = args.a[item.global_id(1) * args.size + begin + x];
      tiles.b[y][x] = args.b[(begin + y) * args.size + item.global_id(0)];
    });
    group.for_each([&](auto item) {
      float total = sum[item];
      for (uint32_t k = 0; k < kTile; ++k)
        total += tiles.a[item.local_id(1)][k] * tiles.b[k][item.local_id(0)];
      sum[item] = total;
    });
  }
  group.for_each([&](auto item) { args.c[item.global_id(1) * args.size + item.global_id(0)] = sum[item]; });
}
