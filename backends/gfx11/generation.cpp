#include "backends/gfx11/generation.hpp"

#include "backends/gfx11/device_code.hpp"
#include "backends/gfx11/image.hpp"

namespace rigel::gfx11 {
namespace {

std::span<const uint32_t> trap_code_of(gfx::GfxVersion, bool exceptions) {
  return trap_code(exceptions);
}

uint32_t* invalidate_code(uint32_t* to) {
  return gfx::put(to, gfx::pm4::invalidate_code_gcr());
}

uint32_t* release(uint32_t* to, const gfx::pm4::Release& release) {
  return gfx::put(to, gfx::pm4::release_mem_gfx10(release));
}

gfx::ScratchResource scratch_resource(const gfx::ScratchMemory& memory, bool) {
  return gfx::scratch_resource_gfx11(memory);
}

}  // namespace

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code_of,
    .invalidate_code = invalidate_code,
    .release = release,
    .pm4_slot = gfx::pm4::aql_slot_vendor,
    .pm4_completes = true,
    .scratch_resource = scratch_resource,
    // COMPUTE_TMPRING_SIZE counts the waves of a shader engine, in units of 64 dwords.
    .tmpring = {.unit = 256, .size_bits = 15, .counts_engine = true},
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = true,
    .images = &kImages,
};

}  // namespace rigel::gfx11
