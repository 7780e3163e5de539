#include "backends/common/queue_error.hpp"

#include <iterator>

#include <hsa/hsa_ext_amd.h>

namespace rigel::gfx {
namespace {

struct Row {
  uint64_t bits;
  hsa_status_t status;
  std::string_view what;
};

// The first match counts: errors of waves precede errors of packets.
constexpr Row kInactiveCodes[] = {
    {kInactiveAperture, static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION),
     "a wave accessed an address outside its aperture"},
    {kInactiveIllegalInstruction, static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION),
     "a wave executed an illegal instruction"},
    {kInactiveTrap, HSA_STATUS_ERROR_EXCEPTION, "a wave trapped"},
    {kInactiveDimensions, HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "a dispatch has no work-items"},
    {kInactiveGroupMemory, HSA_STATUS_ERROR_INVALID_ALLOCATION,
     "the group segment of a dispatch is too large"},
    {kInactiveCodeObject, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "the kernel object of a dispatch is invalid"},
    {kInactivePacketFormat | kInactiveVendorPacket, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
     "unknown packet format"},
    {kInactiveGroupSize, HSA_STATUS_ERROR_INVALID_ARGUMENT, "the work-groups of a dispatch are too large"},
    {kInactiveRegisters, static_cast<hsa_status_t>(HSA_STATUS_ERROR_OUT_OF_REGISTERS),
     "the work-groups of a dispatch need more registers than the device has"},
};

constexpr uint64_t exception(uint32_t number) {
  return uint64_t{1} << (number - 1);
}

// Numbers of amdkfd's exceptions of queues and devices.
constexpr Row kExceptions[] = {
    {exception(4), static_cast<hsa_status_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION),
     "a wave executed an illegal instruction"},
    {exception(6), static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION),
     "a wave accessed an address outside its aperture"},
    {exception(5) | exception(33), static_cast<hsa_status_t>(HSA_STATUS_ERROR_MEMORY_FAULT),
     "memory fault: an address could not be translated"},
    {exception(1) | exception(2) | exception(3), HSA_STATUS_ERROR_EXCEPTION, "a wave trapped"},
    {exception(16), HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "a dispatch has no work-items"},
    {exception(17), HSA_STATUS_ERROR_INVALID_ALLOCATION, "the group segment of a dispatch is too large"},
    {exception(18), HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "the kernel object of a dispatch is invalid"},
    {exception(20) | exception(23), HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "unknown packet format"},
    {exception(21), HSA_STATUS_ERROR_INVALID_ARGUMENT, "the work-groups of a dispatch are too large"},
    {exception(22), HSA_STATUS_ERROR_INVALID_ISA,
     "the work-groups of a dispatch need more registers than the device has"},
    {exception(30), HSA_STATUS_ERROR, "the queue could not be preempted"},
    {exception(34) | exception(35), HSA_STATUS_ERROR, "hardware error"},
    {exception(49), HSA_STATUS_ERROR, "the device was removed"},
};

template <size_t kRows>
QueueError find(const Row (&rows)[kRows], uint64_t bits) {
  for (const Row& row : rows) {
    if ((bits & row.bits) != 0) return {row.status, row.what};
  }
  if (bits == 0) return {};
  return {HSA_STATUS_ERROR, "unknown device error"};
}

}  // namespace

QueueError error_of_inactive_code(uint64_t code) {
  constexpr uint64_t kNoErrors = kInactiveScratchWave64 | kInactiveScratchWave32 | kInactiveScratchReturned;
  return find(kInactiveCodes, code & ~kNoErrors);
}

QueueError error_of_exceptions(uint64_t bits) {
  constexpr uint64_t kNoErrors =
      exception(31) | exception(36);  // a new queue and a new device, for debuggers
  return find(kExceptions, bits & ~kNoErrors);
}

}  // namespace rigel::gfx
