// Mock agents: two host CPUs, and a GPU whose memory the host cannot access.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/executable/code_target.hpp"

namespace rigel {

/// Counters and settings of both kinds of targets.
class FakeTarget : public CodeTarget {
 public:
  explicit FakeTarget(uint64_t handle, CodeMachine machine) : agent_{handle}, machine_(machine) {}

  hsa_agent_t agent() const override { return agent_; }
  uint32_t accepts(const CodeObject& object) override {
    if (on_accepts) on_accepts();
    return object.identity().machine == machine_ ? 1 : 0;
  }
  std::optional<uint64_t> resolve(std::string_view name) override {
    const auto found = known_symbols.find(std::string(name));
    return found == known_symbols.end() ? std::nullopt : std::optional(found->second);
  }
  Status describe_kernel(std::span<const std::byte> descriptor, CodeKernel& kernel) override {
    EXPECT_EQ(descriptor.size(), kernel.descriptor_size);
    kernel.wavefront_size = 1;
    return describe_status;
  }

  std::function<void()> on_accepts;
  std::map<std::string, uint64_t> known_symbols;
  Status allocate_status = HSA_STATUS_SUCCESS;
  Status describe_status = HSA_STATUS_SUCCESS;
  Status finish_status = HSA_STATUS_SUCCESS;
  std::atomic<int> live_allocations{0};
  std::atomic<int> finished{0};

 private:
  const hsa_agent_t agent_;
  const CodeMachine machine_;
};

constexpr CodeMachine kHostMachine =
#if defined(__x86_64__)
    CodeMachine::kX86_64;
#else
    CodeMachine::kAarch64;
#endif

/// Memory of the process; finished code can be called.
class HostTarget : public FakeTarget {
 public:
  explicit HostTarget(uint64_t handle) : FakeTarget(handle, kHostMachine) {}

  Result<CodeMemory> allocate(uint64_t size, uint64_t alignment) override {
    if (allocate_status != HSA_STATUS_SUCCESS) return error(allocate_status);
    // Aligned manually in a larger mapping, whose address is in `cookie`.
    const uint64_t mapped = size + alignment;
    void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    ++live_allocations;
    const uint64_t address = (reinterpret_cast<uintptr_t>(memory) + alignment - 1) / alignment * alignment;
    return CodeMemory{.device_address = address,
                      .host_address = reinterpret_cast<std::byte*>(address),
                      .size = size,
                      .cookie = new Mapping{memory, mapped}};
  }
  void release(const CodeMemory& memory) noexcept override {
    const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(memory.cookie));
    munmap(mapping->address, mapping->size);
    --live_allocations;
  }
  Status finish(CodeMemory& memory, const FinishedCode& code) override {
    if (finish_status != HSA_STATUS_SUCCESS) return finish_status;
    EXPECT_EQ(code.contents.data(), memory.host_address);
    ++finished;
    for (const CodeSegment& segment : code.segments) {
      if (!segment.executable) continue;
      const uint64_t page = 4096;
      const uint64_t begin = (memory.device_address + segment.address - code.link_address) / page * page;
      const uint64_t end = memory.device_address + segment.address - code.link_address + segment.memory_size;
      EXPECT_EQ(mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_EXEC), 0);
    }
    __builtin___clear_cache(reinterpret_cast<char*>(memory.host_address),
                            reinterpret_cast<char*>(memory.host_address + memory.size));
    return HSA_STATUS_SUCCESS;
  }

 private:
  struct Mapping {
    void* address;
    uint64_t size;
  };
};

/// A GPU: its addresses are unmapped in the host, and `finish` creates a copy of the memory.
class GpuTarget : public FakeTarget {
 public:
  explicit GpuTarget(uint64_t handle) : FakeTarget(handle, CodeMachine::kAmdGpu) {}

  Result<CodeMemory> allocate(uint64_t size, uint64_t alignment) override {
    if (allocate_status != HSA_STATUS_SUCCESS) return error(allocate_status);
    const MutexLock lock(mutex_);
    next_address_ = (next_address_ + alignment - 1) / alignment * alignment;
    const uint64_t address = next_address_;
    next_address_ += size;
    ++live_allocations;
    return CodeMemory{.device_address = address, .host_address = nullptr, .size = size, .cookie = nullptr};
  }
  void release(const CodeMemory& memory) noexcept override {
    const MutexLock lock(mutex_);
    device_memory.erase(memory.device_address);
    --live_allocations;
  }
  Status finish(CodeMemory& memory, const FinishedCode& code) override {
    if (finish_status != HSA_STATUS_SUCCESS) return finish_status;
    const MutexLock lock(mutex_);
    ++finished;
    device_memory[memory.device_address].assign(code.contents.begin(), code.contents.end());
    for (const CodeExport& entry : code.exports) exports[std::string(entry.name)] = entry.device_address;
    return HSA_STATUS_SUCCESS;
  }

  std::map<uint64_t, std::vector<std::byte>> device_memory;
  std::map<std::string, uint64_t> exports;

 private:
  Mutex mutex_;
  uint64_t next_address_ = 0x7e00'0000'0000;
};

struct FakeTargets : CodeTargets {
  HostTarget cpu{0x1001};
  HostTarget other_cpu{0x1002};
  GpuTarget gpu{0x2001};
  HostTarget program{0};
  bool has_program_target = true;

  CodeTarget* target_of(hsa_agent_t agent) override {
    for (CodeTarget* target : std::initializer_list<CodeTarget*>{&cpu, &other_cpu, &gpu}) {
      if (target->agent().handle == agent.handle) return target;
    }
    return nullptr;
  }
  CodeTarget* program_target() override { return has_program_target ? &program : nullptr; }
  Result<hsa_isa_t> isa_from_name(std::string_view name) override {
    if (name == "amdgcn-amd-amdhsa--gfx1030") return hsa_isa_t{1030};
    return error(HSA_STATUS_ERROR_INVALID_ISA_NAME);
  }
};

}  // namespace rigel
