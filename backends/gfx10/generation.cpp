#include "backends/gfx10/generation.hpp"

#include "backends/gfx10/counters.hpp"
#include "backends/gfx10/device_code.hpp"
#include "backends/gfx10/image.hpp"

namespace rigel::gfx10 {

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code,
    .invalidate_code = gfx::put_packet<gfx::pm4::invalidate_code_gcr>,
    .release = gfx::put_packet<gfx::pm4::release_mem_gfx10>,
    .pm4_slot = gfx::pm4::aql_slot_vendor,
    .pm4_completes = true,
    .scratch_resource = gfx::scratch_resource_gfx10,
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = true,
    .images = &kImages,
    .counters = &kCounters,
};

}  // namespace rigel::gfx10
