// One GPU as seen by one process: its address space, doorbells and command processors. It is the bus of the
// command processors (plugins/vgpu/cp).
//
// Threads: DeviceBus functions from any thread; they take no lock of the process. map() and unmap() under the
// process's memory lock; unmap() waits for translation scopes, which never block. The queue registry has a
// separate lock, which is not held during calls of a command processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <hsa_plugin/hsa_driver.h>
#include "api/support/mutex.hpp"

#include "plugins/vgpu/cp/command_processor.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/events.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/page_table.hpp"
#include "plugins/vgpu/kfd/scopes.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {

class DoorbellWatch;
class Process;

/// Creates the object that runs the kernels of one GPU. The bus outlives it.
using MakeShaderCores = std::unique_ptr<DispatchSink> (*)(const Gpu& gpu, DeviceBus& bus);

struct GpuApertures {
  uint64_t lds_base, lds_limit, scratch_base, scratch_limit, gpuvm_base, gpuvm_limit;
};

class GpuContext final : public DeviceBus {
 public:
  GpuContext(const Gpu& gpu, uint32_t index, Events& events, Log& log, DoorbellWatch& watch,
             MakeShaderCores cores, bool threads, uint64_t seed);
  ~GpuContext() override;

  const Gpu& gpu() const { return gpu_; }
  uint32_t index() const { return index_; }
  GpuApertures apertures() const;

  // Memory, under the process's memory lock.
  bool acquired() const { return drm_file_ != nullptr; }
  const std::shared_ptr<void>& drm_file() const { return drm_file_; }
  /// The open file keeps the address space alive, also after the program has closed its descriptor.
  void set_drm_file(std::shared_ptr<void> file) { drm_file_ = std::move(file); }
  PageTable& table() { return table_; }
  /// Whether [va, va + bytes) consists of whole pages inside the GPU's address space.
  bool can_map(uint64_t va, uint64_t bytes) const;
  /// Invalidates cached translations, and waits until all uses have ended.
  void flush_translations() noexcept;
  /// Removes the mappings in [va, va + bytes) and waits until all uses have ended.
  void unmap(uint64_t va, uint64_t bytes);
  /// See PageTable::remap; waits until all uses have ended if a page lost its memory or a right.
  void remap(uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights);
  uint64_t vram_used = 0;

  // Doorbells.
  /// The process's slice of doorbells, created at the first call.
  ErrnoOr<std::shared_ptr<MemoryObject>> doorbells();
  ErrnoOr<std::shared_ptr<MemoryObject>> mmio_page();

  // Queues.
  /// The command processors, created at the first call.
  CommandProcessor& processor();
  CommandProcessor* processor_if_made() noexcept { return processor_.load(std::memory_order_acquire); }

  /// Properties of a queue that the bus needs when a command processor reports an event.
  struct QueueNote {
    uint64_t save_area_va = 0;  ///< Its header has the addresses for reporting exceptions.
    bool runtime_enabled = false;
    uint32_t doorbell_index = 0;  ///< Index in the process's slice, in units of 8 bytes.
  };
  void note_queue(uint32_t queue_id, QueueNote note);
  void forget_queue(uint32_t queue_id);
  void set_trap_handler(TrapHandler handler);
  /// Sets the process, which resolves addresses. Before the first queue.
  void set_process(Process* process) { process_ = process; }

  /// Samples launches from here on; see hsadrv_sampling_ops_t. Returns false if it is being sampled.
  bool start_sampling(const hsadrv_sampler_t& sampler);
  /// Returns false if it is not being sampled.
  bool stop_sampling();

  // DeviceBus.
  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override;
  uint32_t begin_translations() noexcept override { return scopes_.enter(); }
  void end_translations(uint32_t scope) noexcept override { scopes_.leave(scope); }
  uint64_t translation_epoch() const noexcept override { return epoch_.load(std::memory_order_acquire); }
  void report_fault(const VmFault& fault) noexcept override;
  void raise_interrupt(InterruptSource source, uint32_t context_id, uint32_t queue_id) noexcept override;
  bool take_queue_error(uint32_t queue_id, QueueError error) noexcept override;
  void queue_stopped(uint32_t queue_id, std::string_view reason) noexcept override;
  void report(Severity severity, std::optional<uint32_t> queue_id,
              std::string_view problem) noexcept override;
  std::string describe_address(uint64_t va) override;
  const void* code_objects() const noexcept override;
  TrapHandler trap_handler() const noexcept override;
  uint32_t doorbell_index(uint32_t queue_id) noexcept override;
  uint64_t gpu_clock() noexcept override;
  PcSampling sampling() noexcept override;
  void take_samples(uint64_t session, uint32_t queue_id, uint64_t packet_id,
                    std::span<const PcSample> samples, uint64_t lost) noexcept override;
  void watch_doorbells() noexcept override;
  void doorbells_unwatched() noexcept override;
  bool trace_enabled(TraceTopic topic) const noexcept override;
  void trace(TraceTopic topic, std::string_view line) noexcept override;

 private:
  /// Copies from GPU memory; returns false if a part is not mapped.
  bool read(uint64_t va, void* to, size_t bytes);

  const Gpu& gpu_;
  const uint32_t index_;
  Events& events_;
  Log& log_;
  DoorbellWatch& watch_;
  const MakeShaderCores make_cores_;
  const bool threads_;
  const uint64_t seed_;
  Process* process_ = nullptr;

  std::shared_ptr<void> drm_file_;
  PageTable table_;
  Scopes scopes_;
  std::atomic<uint64_t> epoch_{1};

  Mutex creation_mutex_;  // guards the creation of the three below
  std::shared_ptr<MemoryObject> doorbells_ RIGEL_GUARDED_BY(creation_mutex_);
  std::shared_ptr<MemoryObject> mmio_ RIGEL_GUARDED_BY(creation_mutex_);
  std::unique_ptr<DispatchSink> cores_;
  std::unique_ptr<CommandProcessor> owned_processor_;
  std::atomic<CommandProcessor*> processor_{nullptr};

  // Each start_sampling() is a session.
  std::atomic<bool> is_sampled_{false};
  Mutex sampling_mutex_;  // not held while the sampler is called, so launches do not wait for it
  PcSampling sampling_ RIGEL_GUARDED_BY(sampling_mutex_);  // the session is that of the latest start
  Mutex sampler_mutex_;                                    // held while the sampler is called
  hsadrv_sampler_t sampler_ RIGEL_GUARDED_BY(sampler_mutex_){};
  uint64_t session_of_sampler_ RIGEL_GUARDED_BY(sampler_mutex_) = 0;

  std::atomic<uint64_t> trap_code_{0}, trap_data_{0};

  Mutex notes_mutex_;
  std::map<uint32_t, QueueNote> notes_ RIGEL_GUARDED_BY(notes_mutex_);
};

}  // namespace rigel::vgpu
