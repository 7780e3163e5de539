// Texts of hsa_status_string.
#include "api/entry/functions.hpp"

namespace rigel::api {
namespace {

struct StatusText {
  uint32_t status;
  const char* text;
};

constexpr StatusText kTexts[] = {
    {HSA_STATUS_SUCCESS, "HSA_STATUS_SUCCESS: The call succeeded."},
    {HSA_STATUS_INFO_BREAK, "HSA_STATUS_INFO_BREAK: A callback stopped the traversal."},
    {HSA_STATUS_ERROR, "HSA_STATUS_ERROR: The call failed; no other status describes the reason."},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, "HSA_STATUS_ERROR_INVALID_ARGUMENT: An argument is invalid."},
    {HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
     "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: The agent does not support queues of the requested type."},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION,
     "HSA_STATUS_ERROR_INVALID_ALLOCATION: Memory of this kind or size cannot be allocated, or an address is "
     "not in an allocation."},
    {HSA_STATUS_ERROR_INVALID_AGENT,
     "HSA_STATUS_ERROR_INVALID_AGENT: The agent handle is invalid, or the agent does not support the "
     "operation."},
    {HSA_STATUS_ERROR_INVALID_REGION, "HSA_STATUS_ERROR_INVALID_REGION: The region handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL, "HSA_STATUS_ERROR_INVALID_SIGNAL: The signal handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_QUEUE, "HSA_STATUS_ERROR_INVALID_QUEUE: The queue is invalid."},
    {HSA_STATUS_ERROR_OUT_OF_RESOURCES,
     "HSA_STATUS_ERROR_OUT_OF_RESOURCES: Memory, queues or another required resource ran out."},
    {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
     "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: A packet in the queue is malformed."},
    {HSA_STATUS_ERROR_RESOURCE_FREE,
     "HSA_STATUS_ERROR_RESOURCE_FREE: The resource cannot be released while it is in use."},
    {HSA_STATUS_ERROR_NOT_INITIALIZED, "HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called."},
    {HSA_STATUS_ERROR_REFCOUNT_OVERFLOW,
     "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW: hsa_init has been called too often."},
    {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
     "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: The arguments are individually valid but incompatible."},
    {HSA_STATUS_ERROR_INVALID_INDEX, "HSA_STATUS_ERROR_INVALID_INDEX: The index is out of range."},
    {HSA_STATUS_ERROR_INVALID_ISA,
     "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is unknown or incompatible."},
    {HSA_STATUS_ERROR_INVALID_ISA_NAME,
     "HSA_STATUS_ERROR_INVALID_ISA_NAME: The name of the instruction set architecture is unknown."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
     "HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is malformed, or its handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE,
     "HSA_STATUS_ERROR_INVALID_EXECUTABLE: The executable is malformed, or its handle is invalid."},
    {HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
     "HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen and cannot be changed."},
    {HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
     "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: The symbol name is unknown."},
    {HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
     "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED: The variable is already defined."},
    {HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
     "HSA_STATUS_ERROR_VARIABLE_UNDEFINED: A variable that the code uses is not defined."},
    {HSA_STATUS_ERROR_EXCEPTION, "HSA_STATUS_ERROR_EXCEPTION: A kernel raised an exception."},
    {HSA_STATUS_ERROR_INVALID_CODE_SYMBOL,
     "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: The code object symbol handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
     "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: The executable symbol handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_FILE,
     "HSA_STATUS_ERROR_INVALID_FILE: A file cannot be read, or its contents are invalid."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
     "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: The code object reader handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_CACHE, "HSA_STATUS_ERROR_INVALID_CACHE: The cache handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_WAVEFRONT,
     "HSA_STATUS_ERROR_INVALID_WAVEFRONT: The wavefront handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP,
     "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: The signal group handle is invalid."},
    {HSA_STATUS_ERROR_INVALID_RUNTIME_STATE,
     "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE: The configuration of the runtime does not allow the "
     "operation."},
    {HSA_STATUS_ERROR_FATAL, "HSA_STATUS_ERROR_FATAL: A queue stopped with an unrecoverable error."},
    {HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
     "HSA_STATUS_ERROR_INVALID_MEMORY_POOL: The memory pool handle is invalid."},
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
     "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: A kernel accessed an address outside a memory aperture."},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION,
     "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: A kernel executed an instruction that the device does not "
     "support."},
    {HSA_STATUS_ERROR_MEMORY_FAULT,
     "HSA_STATUS_ERROR_MEMORY_FAULT: A kernel accessed an address that is not mapped or not accessible."},
    {HSA_STATUS_CU_MASK_REDUCED,
     "HSA_STATUS_CU_MASK_REDUCED: The mask includes compute units that the process may not use; only the "
     "others "
     "were set."},
    {HSA_STATUS_ERROR_OUT_OF_REGISTERS,
     "HSA_STATUS_ERROR_OUT_OF_REGISTERS: The kernel needs more registers than the device has."},
    {HSA_STATUS_ERROR_RESOURCE_BUSY, "HSA_STATUS_ERROR_RESOURCE_BUSY: The resource is in use."},
    {HSA_STATUS_ERROR_NOT_SUPPORTED,
     "HSA_STATUS_ERROR_NOT_SUPPORTED: The operation is not supported on this system."},
    {HSA_STATUS_ERROR_XNACK_DISABLED,
     "HSA_STATUS_ERROR_XNACK_DISABLED: The operation requires XNACK (retry of page faults), which is "
     "disabled."},
    {HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS,
     "HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS: A dispatch requires more than the device has."},
    {HSA_STATUS_ERROR_RESOURCE_NOT_READY, "HSA_STATUS_ERROR_RESOURCE_NOT_READY: The resource is not ready."},
    {HSA_EXT_STATUS_ERROR_INVALID_PROGRAM,
     "HSA_EXT_STATUS_ERROR_INVALID_PROGRAM: The finalizer program handle is invalid."},
    {HSA_EXT_STATUS_ERROR_INVALID_MODULE,
     "HSA_EXT_STATUS_ERROR_INVALID_MODULE: The HSAIL module is malformed."},
    {HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE,
     "HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE: The machine model or profile of the HSAIL module differs "
     "from that of the program."},
    {HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED,
     "HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED: The program already contains the HSAIL module."},
    {HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH,
     "HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH: Two HSAIL modules declare a symbol differently."},
    {HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED,
     "HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED: The finalizer failed."},
    {HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH,
     "HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH: A control directive contradicts another."},
    {HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED: The agent does not support images of this format."},
    {HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED: The agent does not support images of this size."},
    {HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED: The agent does not support images of this pitch."},
    {HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED: The agent does not support samplers of this "
     "kind."},
};

}  // namespace

hsa_status_t hsa_status_string(hsa_status_t status, const char** status_string) {
  if (status_string == nullptr) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  for (const StatusText& entry : kTexts) {
    if (entry.status == static_cast<uint32_t>(status)) {
      *status_string = entry.text;
      return HSA_STATUS_SUCCESS;
    }
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

}  // namespace rigel::api
