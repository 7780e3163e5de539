// Interface of executables to an agent: supported code, memory, and making code visible to instruction fetch.
// Its implementations contain everything that depends on an instruction set.
//
// The runtime implements it for each agent that runs code, with the `code` group of the agent's backend.
//
// *Threads:* called on application threads, concurrently for different executables, with the executable's
// lock held. Implementations must not call executables.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "api/support/status.hpp"
#include "loader/code_object/code_object.hpp"

namespace rigel {

/// Memory of a code object. Created and freed by a CodeTarget, owned by a loaded code object.
struct CodeMemory {
  uint64_t device_address = 0;
  /// Address at which the host writes and reads it. Null if the host has no access: the image is then built
  /// in other memory, and `finish` copies it.
  std::byte* host_address = nullptr;
  uint64_t size = 0;
  /// Private to the target.
  void* cookie = nullptr;
};

/// An address that a code object defines.
struct CodeExport {
  std::string_view name;
  uint64_t device_address;
  uint64_t size;
};

/// A relocated code object before it becomes executable.
struct FinishedCode {
  /// Relocated contents of the memory, at memory.host_address if that is not null.
  std::span<const std::byte> contents;
  /// Access rights of its parts. Addresses are as linked: `contents` starts at link_address.
  std::span<const CodeSegment> segments;
  uint64_t link_address;
  std::span<const CodeExport> exports;
};

class CodeTarget {
 public:
  virtual ~CodeTarget() = default;

  /// The agent; handle 0 for code of all agents.
  virtual hsa_agent_t agent() const = 0;

  /// Returns 0 if it cannot run the code object, otherwise a rank: higher is better.
  virtual uint32_t accepts(const CodeObject& object) = 0;

  /// Allocates `size` bytes at a multiple of `alignment`, zeroed if the host has access.
  virtual Result<CodeMemory> allocate(uint64_t size, uint64_t alignment) = 0;
  /// Frees memory, also after `finish`, successful or not. None of its code may be running.
  virtual void release(const CodeMemory& memory) noexcept = 0;

  /// Returns the address of a symbol that neither the code object nor its executable defines.
  virtual std::optional<uint64_t> resolve(std::string_view name) = 0;

  /// Corrects properties that the loader read from a kernel's descriptor (its relocated bytes are at
  /// `descriptor`).
  virtual Status describe_kernel(std::span<const std::byte> descriptor, CodeKernel& kernel) = 0;

  /// Copies `code` to `memory` if necessary, and makes it executable and visible to instruction fetch. May
  /// set memory.cookie.
  virtual Status finish(CodeMemory& memory, const FinishedCode& code) = 0;
};

/// Lookup of targets. Owned by the runtime; outlives all executables.
class CodeTargets {
 public:
  virtual ~CodeTargets() = default;

  /// Returns the target of an agent; null for an invalid agent, or if it runs no code.
  virtual CodeTarget* target_of(hsa_agent_t agent) = 0;
  /// Returns the target for program code objects, with variables of all agents. Null: not supported.
  virtual CodeTarget* program_target() = 0;
  /// Fails with INVALID_ISA_NAME for an unknown name. The ISA need not belong to an agent.
  virtual Result<hsa_isa_t> isa_from_name(std::string_view name) = 0;
};

}  // namespace rigel
