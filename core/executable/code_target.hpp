// What executables need of an agent: to know which code it can run, memory for it, and the last touches that
// make instruction fetch see it. Everything that depends on an instruction set is behind this interface.
//
// The runtime implements it for each agent that runs code, over the `code` group of the agent's backend.
// Executables call it from whichever thread the application calls on, for different executables at the same
// time; they hold their own executable's lock while they do, so an implementation must not call back into
// executables.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/status.hpp"
#include "loader/code_object/code_object.hpp"

namespace rigel {

/// A piece of memory that holds a code object. Made and freed by a CodeTarget, owned by a loaded code object.
struct CodeMemory {
  uint64_t device_address = 0;
  /// Where the host writes it and later reads it. Null if the host does not reach it: the image is then built
  /// elsewhere and copied by `finish`.
  std::byte* host_address = nullptr;
  uint64_t size = 0;
  /// The target's own; executables do not look at it.
  void* cookie = nullptr;
};

/// An address that a code object defines.
struct CodeExport {
  std::string_view name;
  uint64_t device_address;
  uint64_t size;
};

/// A code object with everything in place except that nothing can be executed yet.
struct FinishedCode {
  /// The bytes of the memory, relocated. At memory.host_address if that is not null.
  std::span<const std::byte> contents;
  /// What of it may be read, written and executed. Addresses are as linked: `contents` begins at
  /// link_address.
  std::span<const CodeSegment> segments;
  uint64_t link_address;
  std::span<const CodeExport> exports;
};

class CodeTarget {
 public:
  virtual ~CodeTarget() = default;

  /// The agent, or handle 0 for what all agents share.
  virtual hsa_agent_t agent() const = 0;

  /// 0 if it cannot run the code object, else how well it fits: higher is better.
  virtual uint32_t accepts(const CodeObject& object) = 0;

  /// `size` bytes at a multiple of `alignment`, all zero as far as the host sees them.
  virtual Result<CodeMemory> allocate(uint64_t size, uint64_t alignment) = 0;
  /// Also after `finish`, whether that succeeded or not. No code in it is running any more.
  virtual void release(const CodeMemory& memory) noexcept = 0;

  /// The address of a symbol that neither the code object nor its executable defines.
  virtual std::optional<uint64_t> resolve(std::string_view name) = 0;

  /// Corrects what the loader read from the descriptor of a kernel (its bytes, relocated, at `descriptor`).
  virtual Status describe_kernel(std::span<const std::byte> descriptor, CodeKernel& kernel) = 0;

  /// Brings `code` into `memory` if it is not there, and makes it executable and visible to instruction
  /// fetch. May set memory.cookie.
  virtual Status finish(CodeMemory& memory, const FinishedCode& code) = 0;
};

/// Where executables find targets. Owned by the runtime; outlives all executables.
class CodeTargets {
 public:
  virtual ~CodeTargets() = default;

  /// The target of an agent; null if there is no such agent or it runs no code.
  virtual CodeTarget* target_of(hsa_agent_t agent) = 0;
  /// Memory for program code objects, which hold the variables that all agents share. Null: not supported.
  virtual CodeTarget* program_target() = 0;
  /// INVALID_ISA_NAME if there is none; no agent needs to have it.
  virtual Result<hsa_isa_t> isa_from_name(std::string_view name) = 0;
};

}  // namespace rigel
