// Memory without an address for GPUs of amdkfd, which the virtual memory API maps.
#pragma once

#include <map>
#include <memory>

#include "core/memory/kfd_memory.hpp"
#include "core/memory/provider.hpp"

namespace rigel {

/// A GPU's memory. Every GPU with access maps it at the reserved addresses through its render node, with
/// separate rights; so does the host, if it can access the memory.
class KfdPhysicalMemory final : public PhysicalMemory {
 public:
  /// Fails with NOT_SUPPORTED if the driver does not support it.
  static Result<std::unique_ptr<PhysicalMemory>> create(const KfdAgents& agents, const KfdGpu& gpu,
                                                        uint32_t flags, size_t size);
  /// Imports memory that another process exported. Fails with INVALID_ALLOCATION if it is not this GPU's.
  static Result<MemoryProvider::Imported> import(const KfdAgents& agents, const KfdGpu& gpu, int descriptor);
  ~KfdPhysicalMemory() override;

  Status map(void* address, size_t size) override;
  void unmap(void* address, size_t size) noexcept override;
  Status set_access(void* address, size_t size, const MappingAccess& access) override;
  Result<int> export_descriptor() override { return agents_.kfd().gem_export(gpu_, gems_.at(gpu_.gpu_id)); }

 private:
  using Rights = std::map<uint32_t, bool>;  // GPUs that may read, and whether they may write
  struct Mapping {
    Rights rights;
    int protection = 0;  // protection (PROT_) of the host's mapping
  };

  KfdPhysicalMemory(const KfdAgents& agents, const KfdGpu& gpu)
      : agents_(agents), gpu_(gpu), gems_{{gpu.gpu_id, 0}} {}
  Result<uint32_t> gem_of(const KfdGpu& gpu);
  Status set_rights(void* address, size_t size, Rights& now, const Rights& wanted);
  Status show_host(void* address, size_t size, Mapping& mapping, int protection);

  const KfdAgents& agents_;
  const KfdGpu& gpu_;
  uint64_t handle_ = 0;                // the driver's handle; 0: imported memory
  std::map<uint32_t, uint32_t> gems_;  // by GPU; 0: not imported there
  std::map<void*, Mapping> mappings_;
};

/// Host memory that GPUs can access. They receive a private mapping of the runtime, because the host's rights
/// at the reserved addresses differ from theirs.
class KfdHostPhysicalMemory final : public PhysicalMemory {
 public:
  KfdHostPhysicalMemory(const KfdAgents& agents, uint32_t attributes, std::unique_ptr<PhysicalMemory> file,
                        size_t size)
      : agents_(agents), attributes_(attributes), file_(std::move(file)), size_(size) {}
  ~KfdHostPhysicalMemory() override;

  Status map(void* address, size_t size) override { return file_->map(address, size); }
  void unmap(void* address, size_t size) noexcept override;
  Status set_access(void* address, size_t size, const MappingAccess& access) override;
  Result<int> export_descriptor() override { return file_->export_descriptor(); }

 private:
  // Rights belong to an object, so GPUs that only read have a second one.
  struct Pinned {
    uint64_t handle = 0;
    KfdMapping mapping;
  };
  struct Mapping {
    Pinned writers, readers;
  };
  using Gpus = std::vector<uint32_t>;  // sorted

  Status pin(Pinned& pinned, void* address, size_t size, bool writable);
  Status let_in(Mapping& mapping, void* address, size_t size, const Gpus& writers, const Gpus& readers);
  void forget(Pinned& pinned) noexcept;

  const KfdAgents& agents_;
  const uint32_t attributes_;
  const std::unique_ptr<PhysicalMemory> file_;
  const size_t size_;
  void* alias_ = nullptr;  // the runtime's private mapping
  std::map<void*, Mapping> mappings_;
};

}  // namespace rigel
