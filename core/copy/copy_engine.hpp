// Copies and fills as the HSA API shows them: who moves the bytes, when, and whom to tell.
//
// Each function is the API function of the same name, without the check that the runtime is open and without
// the catching of exceptions (std::bad_alloc: HSA_STATUS_ERROR_OUT_OF_RESOURCES). Any thread may call any of
// them.
//
// Who copies: the device that the agents or the memory name, if one does; otherwise the host. Of two devices
// it is the one that reaches both sides, and if neither does, each copies its side to or from the host. The
// host copies small blocks at once, in less time than it takes to wake a thread, and leaves others to a few
// threads of its own, so that asynchronous functions never wait for memory. What it may not read or write is
// refused: virtual memory has permissions. A copy that still has to wait for signals costs no thread either: one
// dispatcher is told by the signals.
//
// Order: a copy sees what happened before its dependencies became 0 and before its submission, and happens
// before what sees its completion. Copies are ordered by signals only. A dependency that is negative is an
// error that goes on to the completion signal, which otherwise is decremented by 1 when the copy is done, or
// set to a negative value when it failed.
//
// The runtime owns the engine, adds devices before the first copy, and destroys it, while signals and memory
// still are, when no call is in it: copies that have begun are then finished, those that wait are dropped.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/copy/box.hpp"
#include "core/copy/copy_threads.hpp"
#include "core/copy/device_copier.hpp"
#include "core/memory/memory_manager.hpp"
#include "core/signal/async_dispatcher.hpp"

namespace rigel {

class CopyEngine {
 public:
  explicit CopyEngine(const MemoryManager& memory);
  ~CopyEngine();
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  /// While the runtime starts: `agent`, which is no CPU agent, copies with `copier`.
  void add_device(hsa_agent_t agent, std::unique_ptr<DeviceCopier> copier);

  Status memory_copy(void* dst, const void* src, size_t size);
  /// The same for a box, which lies in one allocation on each side.
  Status memory_copy_box(const Box& box);
  Status memory_fill(void* ptr, uint32_t value, size_t count);

  Status memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                           size_t size, uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                           hsa_signal_t completion_signal);
  Status memory_async_copy_on_engine(void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                                     size_t size, uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                     hsa_signal_t completion_signal, hsa_amd_sdma_engine_id_t engine_id,
                                     bool force_copy_on_sdma);
  Status memory_async_copy_rect(const hsa_pitched_ptr_t* dst, const hsa_dim3_t* dst_offset,
                                const hsa_pitched_ptr_t* src, const hsa_dim3_t* src_offset,
                                const hsa_dim3_t* range, hsa_agent_t copy_agent, hsa_amd_copy_direction_t dir,
                                uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                hsa_signal_t completion_signal);

  Status memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent, uint32_t* engine_ids_mask);
  Status memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                          uint32_t* recommended_ids_mask);

  Status profiling_async_copy_enable(bool enable);
  /// Times of copies are kept in the completion signal, in system time.
  Status profiling_get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time);

 private:
  class Job;

  bool is_agent(hsa_agent_t agent, hsa_agent_t owner) const noexcept;
  DeviceCopier* device_of(hsa_agent_t agent) const noexcept;
  struct Route {
    DeviceCopier* device = nullptr;  ///< null: the host
    CopySides sides{};
    /// Set: copies to the host what `device` copies on from there, as neither reaches both sides. One row.
    DeviceCopier* reader = nullptr;
    ptrdiff_t destination_to_host = 0, source_to_host = 0;  ///< as in Placement
  };
  Result<Route> route(const void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent,
                      size_t size) const;
  Result<DeviceCopier*> copier_between(hsa_agent_t dst_agent, hsa_agent_t src_agent) const;
  bool may_be_reached(hsa_agent_t agent, const void* ptr, size_t size, const Placement& placement) const;

  /// The signals of an asynchronous copy, as its caller gives them and as what they are.
  struct Signals {
    const uint32_t count;
    const hsa_signal_t* const dependencies;
    const hsa_signal_t handle;
    Signal* completion = nullptr;
    bool ready = true;  ///< every dependency has been seen at 0
  };
  static Status find(Signals& signals);
  Status submit_row(void* dst, const void* src, size_t size, const Route& route, uint32_t engines,
                    Signals& signals);
  Status submit(Box box, const Route& route, uint32_t engines, const Signals& signals);
  Status copy_through_host(DeviceCopier& to, void* dst, DeviceCopier& from, const void* src, size_t size);

  void enlist(Job& job) noexcept;
  void delist(Job& job) noexcept;

  const MemoryManager& memory_;
  struct Device {
    hsa_agent_t agent;
    std::unique_ptr<DeviceCopier> copier;
  };
  std::vector<Device> devices_;  // constant when running
  std::atomic<bool> profiling_{false};

  Mutex jobs_mutex_;
  Job* jobs_ RIGEL_GUARDED_BY(jobs_mutex_) = nullptr;  // that wait for signals; their links are guarded too

  // In this order: the dispatcher's last handlers submit to the threads.
  CopyThreads threads_;
  AsyncDispatcher dependencies_;
};

}  // namespace rigel
