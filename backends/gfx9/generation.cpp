#include "backends/gfx9/generation.hpp"

#include <algorithm>

#include "backends/gfx9/device_code.hpp"
#include "backends/gfx9/image.hpp"

namespace rigel::gfx9 {
namespace {

template <size_t kDwords>
uint32_t* put(uint32_t* to, const gfx::pm4::Packet<kDwords>& packet) {
  static_assert(kDwords <= gfx::kPm4PacketMax);
  return std::copy(packet.begin(), packet.end(), to);
}

std::span<const uint32_t> trap_code_of(gfx::GfxVersion version, bool exceptions) {
  return trap_code(version, exceptions);
}

uint32_t* invalidate_code(uint32_t* to) {
  return put(to, gfx::pm4::invalidate_code());
}

uint32_t* release(uint32_t* to, const gfx::pm4::Release& release) {
  return put(to, gfx::pm4::release_mem_gfx9(release));
}

}  // namespace

constinit const gfx::Generation kGeneration = {
    .blit_code = blit_code,
    .trap_code = trap_code_of,
    .invalidate_code = invalidate_code,
    .release = release,
    .pm4_slot = gfx::pm4::aql_slot_vendor,
    .pm4_completes = true,
    .scratch_resource = gfx::scratch_resource_gfx8,
    .scratch_by_pool = false,
    .waves_know_queues = true,
    .cu_pairs = false,
    .images = &kImages,
};

}  // namespace rigel::gfx9
