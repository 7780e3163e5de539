// Selects the code objects that run, and reads kernel descriptors.
#include <cstring>

#include "gfx50.hpp"

namespace gfx50 {
namespace {

constexpr uint32_t kMachineAmdgpu = 224;
constexpr uint32_t kGfx1030 = 0x36;  // of e_flags: the processor whose code this chip runs

uint32_t accepts(void* device, const hsabe_code_target_t* target) {
  if (target->elf_machine == kMachineAmdgpu && (target->elf_flags & 0xff) == kGfx1030) return 1;
  hsabe::fail(static_cast<Device*>(device)->host, HSA_STATUS_ERROR_INVALID_ISA, "not code for gfx1030");
  return 0;
}

// The bytes are in memory. A physical chip would also invalidate its instruction caches for these addresses.
hsabe_status_t load(void*, const hsabe_segment_t*, const hsabe_code_symbol_t*, uint64_t, void** image) {
  *image = nullptr;
  return HSA_STATUS_SUCCESS;
}

void unload(void*, void*) {}

// Layout: "Kernel Descriptor" in LLVM's AMDGPU user guide, 64 bytes.
hsabe_status_t describe_kernel(void*, const void* descriptor, hsabe_kernel_info_t* info) {
  uint32_t words[16];
  std::memcpy(words, descriptor, sizeof words);
  const uint32_t properties = words[14] & 0xffff;
  info->group_size = words[0];
  info->private_size = words[1];
  info->kernarg_size = words[2];
  info->kernarg_alignment = 16;
  info->wavefront_size = (properties & 1u << 10) != 0 ? 32 : 64;
  info->dynamic_callstack = (properties & 1u << 11) != 0;
  return HSA_STATUS_SUCCESS;
}

}  // namespace

const hsabe_code_ops_t kCode{sizeof(hsabe_code_ops_t), accepts, nullptr, load, unload, describe_kernel};

}  // namespace gfx50
