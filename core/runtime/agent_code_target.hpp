// The code group of an agent's backend, for executables.
#pragma once

#include <deque>
#include <optional>

#include "core/copy/copy_engine.hpp"
#include "core/executable/code_target.hpp"
#include "core/memory/heaps.hpp"
#include "core/topology/machine.hpp"

namespace rigel {

class AgentCodeTarget final : public CodeTarget {
 public:
  /// Creates the target of an agent, or of another agent whose code it holds; handle 0 is the program.
  /// All references outlive the target.
  AgentCodeTarget(Heaps& heaps, CopyEngine& copies, const Agent& agent, hsa_agent_t serves)
      : heaps_(heaps), copies_(copies), agent_(agent), serves_(serves) {}

  hsa_agent_t agent() const override { return serves_; }
  uint32_t accepts(const CodeObject& object) override;
  Result<CodeMemory> allocate(uint64_t size, uint64_t alignment) override;
  void release(const CodeMemory& memory) noexcept override;
  std::optional<uint64_t> resolve(std::string_view name) override;
  Status describe_kernel(std::span<const std::byte> descriptor, CodeKernel& kernel) override;
  Status finish(CodeMemory& memory, const FinishedCode& code) override;

 private:
  struct Block;  // object of CodeMemory::cookie

  const Heap* own_pool() const;
  /// Whether it holds the variables that all agents share.
  bool is_for_program() const { return serves_.handle == 0; }
  bool runs_on_host() const { return agent_.is_cpu() && !is_for_program(); }
  Status allocate_pool(const Heap& pool, uint64_t size, uint64_t alignment, Block& block, CodeMemory& memory);
  Status allocate_pages(uint64_t size, uint64_t alignment, Block& block, CodeMemory& memory);
  Status allocate_host(uint64_t size, uint64_t alignment, Block& block, CodeMemory& memory);

  Heaps& heaps_;
  CopyEngine& copies_;
  const Agent& agent_;
  const hsa_agent_t serves_;
};

class AgentCodeTargets final : public CodeTargets {
 public:
  /// All references outlive the targets; only `finish` uses `copies`.
  AgentCodeTargets(const Machine& machine, Heaps& heaps, CopyEngine& copies);

  CodeTarget* target_of(hsa_agent_t agent) override;
  CodeTarget* program_target() override { return program_ ? &*program_ : nullptr; }
  Result<hsa_isa_t> isa_from_name(std::string_view name) override;

 private:
  const Machine& machine_;
  std::deque<AgentCodeTarget> targets_;
  /// Variables of all agents, in memory of a CPU agent that all can access.
  std::optional<AgentCodeTarget> program_;
};

}  // namespace rigel
