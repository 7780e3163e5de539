#include "backends/gfx11/generation.hpp"

#include "backends/gfx11/counters.hpp"
#include "backends/gfx11/device_code.hpp"
#include "backends/gfx11/image.hpp"

namespace rigel::gfx11 {

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code,
    .invalidate_code = gfx::put_packet<gfx::pm4::invalidate_code_gcr>,
    .release = gfx::put_packet<gfx::pm4::release_mem_gfx10>,
    .pm4_slot = gfx::pm4::aql_slot_vendor,
    .pm4_completes = true,
    .scratch_resource = gfx::scratch_resource_gfx11,
    // COMPUTE_TMPRING_SIZE counts the waves of a shader engine, in units of 64 dwords.
    .tmpring = {.unit = 256, .size_bits = 15, .counts_engine = true},
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = true,
    .images = &kImages,
    .counters = &kCounters,
};

}  // namespace rigel::gfx11
