#include "plugins/vgpu/exec/whole_kernels/model_run.hpp"

#include <cstring>

#include "plugins/vgpu/exec/whole_kernels/contents.hpp"

namespace rigel::vgpu::exec::whole {
namespace {

using reference::World;

void map(World& world, uint64_t va, const void* from, size_t bytes) {
  World::Region& region = world.regions.emplace_back();
  region.va = va;
  region.bytes.resize(bytes);
  std::memcpy(region.bytes.data(), from, bytes);
}

std::vector<std::byte> bytes_of(const World::Region& region) {
  std::vector<std::byte> copy(region.bytes.size());
  std::memcpy(copy.data(), region.bytes.data(), copy.size());
  return copy;
}

}  // namespace

ModelRun run_on_model(const Kernel& kernel, const std::vector<uint32_t>& code,
                      const std::vector<std::byte>& out) {
  std::vector<std::byte> in(size_t{kernel.in_bytes} + kInSlack), arguments(argument::kBytes),
      atomics(kAtomicsBytes), in_end(kInEndBytes);
  fill_in(kernel, in);
  fill_in_end(kernel, in_end);
  fill_arguments(kernel, arguments);
  World world;
  map(world, kOutVa - kGuardBytes, out.data(), out.size());
  map(world, kAtomicsVa, atomics.data(), atomics.size());
  map(world, kInVa, in.data(), in.size());
  map(world, kInEndVa, in_end.data(), in_end.size());
  map(world, kKernargVa, arguments.data(), arguments.size());
  map(world, kCodeVa, code.data(), code.size() * 4);
  const reference::DispatchRun run = reference::run_dispatch(kernel.target, dispatch_of(kernel), world);
  if (!run.failure.empty()) return {run.failure, run.is_open, {}, {}, {}};
  return {{}, run.is_open, bytes_of(world.regions[0]), bytes_of(world.regions[1]), run.counts};
}

}  // namespace rigel::vgpu::exec::whole
