#include "backends/gfx9/generation.hpp"

#include "backends/gfx9/counters.hpp"
#include "backends/gfx9/device_code.hpp"
#include "backends/gfx9/image.hpp"

namespace rigel::gfx9 {

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code,
    .invalidate_code = gfx::put_packet<gfx::pm4::invalidate_code>,
    .release = gfx::put_packet<gfx::pm4::release_mem_gfx9>,
    .pm4_slot = gfx::pm4::aql_slot_vendor,
    .pm4_completes = true,
    .scratch_resource = gfx::scratch_resource_gfx8,
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = false,
    .images = &kImages,
    .counters = &kCounters,
};

}  // namespace rigel::gfx9
