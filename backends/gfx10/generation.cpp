#include "backends/gfx10/generation.hpp"

#include "backends/gfx10/device_code.hpp"
#include "backends/gfx10/image.hpp"

namespace rigel::gfx10 {
namespace {

std::span<const uint32_t> trap_code_of(gfx::GfxVersion version, bool exceptions) {
  return trap_code(version, exceptions);
}

uint32_t* invalidate_code(uint32_t* to) {
  return gfx::put(to, gfx::pm4::invalidate_code_gcr());
}

uint32_t* release(uint32_t* to, const gfx::pm4::Release& release) {
  return gfx::put(to, gfx::pm4::release_mem_gfx10(release));
}

gfx::ScratchResource scratch_resource(const gfx::ScratchMemory& memory, bool) {
  return gfx::scratch_resource_gfx10(memory);
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
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = true,
    .images = &kImages,
};

}  // namespace rigel::gfx10
