// What each status means, for hsa_status_string.
#include "api/entry/functions.hpp"

namespace rigel::api {
namespace {

struct StatusText {
  uint32_t status;
  const char* text;
};

constexpr StatusText kTexts[] = {
    {HSA_STATUS_SUCCESS, "HSA_STATUS_SUCCESS: The call did what was asked."},
    {HSA_STATUS_INFO_BREAK, "HSA_STATUS_INFO_BREAK: A callback ended the traversal early."},
    {HSA_STATUS_ERROR, "HSA_STATUS_ERROR: The call failed for a reason that no other status names."},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, "HSA_STATUS_ERROR_INVALID_ARGUMENT: An argument has no valid value."},
    {HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
     "HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: The agent does not have queues of the requested kind."},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION,
     "HSA_STATUS_ERROR_INVALID_ALLOCATION: Memory of this kind or size cannot be allocated here, or the "
     "address "
     "is not that of an allocation."},
    {HSA_STATUS_ERROR_INVALID_AGENT, "HSA_STATUS_ERROR_INVALID_AGENT: The agent is not one of this runtime."},
    {HSA_STATUS_ERROR_INVALID_REGION,
     "HSA_STATUS_ERROR_INVALID_REGION: The region is not one of this runtime."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL, "HSA_STATUS_ERROR_INVALID_SIGNAL: The signal does not exist."},
    {HSA_STATUS_ERROR_INVALID_QUEUE, "HSA_STATUS_ERROR_INVALID_QUEUE: The queue does not exist."},
    {HSA_STATUS_ERROR_OUT_OF_RESOURCES,
     "HSA_STATUS_ERROR_OUT_OF_RESOURCES: Memory, queues or another resource that the call needs ran out."},
    {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
     "HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: A packet in the queue is malformed."},
    {HSA_STATUS_ERROR_RESOURCE_FREE,
     "HSA_STATUS_ERROR_RESOURCE_FREE: The resource cannot be released while it is in use."},
    {HSA_STATUS_ERROR_NOT_INITIALIZED, "HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called."},
    {HSA_STATUS_ERROR_REFCOUNT_OVERFLOW,
     "HSA_STATUS_ERROR_REFCOUNT_OVERFLOW: hsa_init has been called too many times."},
    {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
     "HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS: The arguments are valid, but not together."},
    {HSA_STATUS_ERROR_INVALID_INDEX, "HSA_STATUS_ERROR_INVALID_INDEX: The index is out of range."},
    {HSA_STATUS_ERROR_INVALID_ISA,
     "HSA_STATUS_ERROR_INVALID_ISA: The instruction set is unknown or does not fit."},
    {HSA_STATUS_ERROR_INVALID_ISA_NAME,
     "HSA_STATUS_ERROR_INVALID_ISA_NAME: No instruction set of this runtime has this name."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
     "HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object is malformed or its handle is not valid."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE,
     "HSA_STATUS_ERROR_INVALID_EXECUTABLE: The executable is malformed or does not exist."},
    {HSA_STATUS_ERROR_FROZEN_EXECUTABLE,
     "HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen and takes no more changes."},
    {HSA_STATUS_ERROR_INVALID_SYMBOL_NAME,
     "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: There is no symbol of this name."},
    {HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED,
     "HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED: The variable has a definition already."},
    {HSA_STATUS_ERROR_VARIABLE_UNDEFINED,
     "HSA_STATUS_ERROR_VARIABLE_UNDEFINED: A variable that the code uses has no definition."},
    {HSA_STATUS_ERROR_EXCEPTION, "HSA_STATUS_ERROR_EXCEPTION: A kernel raised an exception."},
    {HSA_STATUS_ERROR_INVALID_CODE_SYMBOL,
     "HSA_STATUS_ERROR_INVALID_CODE_SYMBOL: The code object symbol does not exist."},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL,
     "HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: The executable symbol does not exist."},
    {HSA_STATUS_ERROR_INVALID_FILE, "HSA_STATUS_ERROR_INVALID_FILE: A file cannot be read or used."},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER,
     "HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: The code object reader does not exist."},
    {HSA_STATUS_ERROR_INVALID_CACHE, "HSA_STATUS_ERROR_INVALID_CACHE: The cache is not one of this runtime."},
    {HSA_STATUS_ERROR_INVALID_WAVEFRONT,
     "HSA_STATUS_ERROR_INVALID_WAVEFRONT: The wavefront is not one of this runtime."},
    {HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP,
     "HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP: The signal group does not exist."},
    {HSA_STATUS_ERROR_INVALID_RUNTIME_STATE,
     "HSA_STATUS_ERROR_INVALID_RUNTIME_STATE: The runtime's configuration does not allow it."},
    {HSA_STATUS_ERROR_FATAL, "HSA_STATUS_ERROR_FATAL: The queue met an error that it cannot recover from."},
    {HSA_STATUS_ERROR_INVALID_MEMORY_POOL,
     "HSA_STATUS_ERROR_INVALID_MEMORY_POOL: The memory pool is not one of this runtime."},
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
     "HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: A kernel left the address range of a memory segment."},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION,
     "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION: A kernel met an instruction that the device does not have."},
    {HSA_STATUS_ERROR_MEMORY_FAULT,
     "HSA_STATUS_ERROR_MEMORY_FAULT: A kernel reached memory that it may not reach."},
    {HSA_STATUS_CU_MASK_REDUCED,
     "HSA_STATUS_CU_MASK_REDUCED: The mask asked for compute units that the process may not use; the others "
     "were set."},
    {HSA_STATUS_ERROR_OUT_OF_REGISTERS,
     "HSA_STATUS_ERROR_OUT_OF_REGISTERS: The kernel needs more registers than the device has."},
    {HSA_STATUS_ERROR_RESOURCE_BUSY,
     "HSA_STATUS_ERROR_RESOURCE_BUSY: Somebody else is using the resource now."},
    {HSA_STATUS_ERROR_NOT_SUPPORTED, "HSA_STATUS_ERROR_NOT_SUPPORTED: Not supported on this system."},
    {HSA_STATUS_ERROR_XNACK_DISABLED,
     "HSA_STATUS_ERROR_XNACK_DISABLED: It needs page faults to be retried, and they are not."},
    {HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS,
     "HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS: The dispatch asks for more than the device has."},
    {HSA_STATUS_ERROR_RESOURCE_NOT_READY,
     "HSA_STATUS_ERROR_RESOURCE_NOT_READY: The resource cannot be used yet."},
    {HSA_EXT_STATUS_ERROR_INVALID_PROGRAM,
     "HSA_EXT_STATUS_ERROR_INVALID_PROGRAM: The finalizer's program does not exist."},
    {HSA_EXT_STATUS_ERROR_INVALID_MODULE,
     "HSA_EXT_STATUS_ERROR_INVALID_MODULE: The HSAIL module is malformed."},
    {HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE,
     "HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE: The HSAIL module's machine model or profile is not the "
     "program's."},
    {HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED,
     "HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED: The program has the HSAIL module already."},
    {HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH,
     "HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH: Two HSAIL modules declare a symbol differently."},
    {HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED,
     "HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED: The finalizer met an error."},
    {HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH,
     "HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH: A control directive contradicts another."},
    {HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED: The agent does not have images of this format."},
    {HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED: The agent does not have images of this size."},
    {HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED: The agent does not have images of this pitch."},
    {HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED,
     "HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED: The agent does not have samplers of this kind."},
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
