#include "backends/gfx8/generation.hpp"

#include "backends/gfx8/counters.hpp"
#include "backends/gfx8/device_code.hpp"
#include "backends/gfx8/image.hpp"

namespace rigel::gfx8 {
namespace {

std::span<const uint32_t> trap_code_of(gfx::GfxVersion, bool exceptions) {
  if (exceptions) return {};
  return trap_code();
}

gfx::pm4::Slot pm4_slot(uint64_t va, uint32_t dwords, uint64_t, uint32_t) {
  return gfx::pm4::aql_slot_gfx8(va, dwords);
}

}  // namespace

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code_of,
    .invalidate_code = gfx::put_packet<gfx::pm4::invalidate_code>,
    .release = gfx::put_packet<gfx::pm4::release_mem_gfx8>,
    .pm4_slot = pm4_slot,
    .pm4_completes = false,
    .scratch_resource = gfx::scratch_resource_gfx8,
    .scratch_by_pool = true,
    .waves_know_queues = false,
    .cu_pairs = false,
    .images = &kImages,
    .counters = &kCounters,
};

}  // namespace rigel::gfx8
