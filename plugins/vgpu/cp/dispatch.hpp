// A kernel dispatch as the command processor passes it to the shader cores, and the interface that receives
// it.
//
// The command processor has read and checked the packet and the kernel object, and has ensured that there is
// scratch. It has computed all initial registers of a wave, except for the ids of work-group and work-item.
// The shader cores run the dispatch on separate threads and call `done` once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/cp/wave_events.hpp"

namespace rigel::vgpu {

/// Maximum number of user SGPRs that hardware loads.
constexpr uint32_t kMaxUserSgprs = 32;
/// Allocation granule of LDS in bytes, and unit of LDS_SIZE in COMPUTE_PGM_RSRC2.
constexpr uint32_t kLdsGranule = 512;

struct Dispatch {
  uint32_t queue_id = 0;
  uint64_t packet_id = 0;         ///< Index of the packet in its queue.
  uint64_t packet_va = 0;         ///< Address of the AQL packet; 0 for a dispatch by PM4.
  uint64_t queue_va = 0;          ///< The amd_queue_t; 0 for a PM4 queue.
  uint64_t kernel_object_va = 0;  ///< Kernel descriptor or amd_kernel_code_t; 0 for a dispatch by PM4.
  uint64_t entry_va = 0;          ///< First instruction.
  uint64_t kernarg_va = 0;

  uint32_t work_group_size[3] = {1, 1, 1};  ///< In work-items.
  uint32_t grid_size[3] = {1, 1, 1};        ///< In work-items; the last work-group may be partial.
  uint32_t wave_size = 64;
  uint32_t lds_bytes = 0;            ///< LDS of one work-group, in whole granules; the bound of accesses.
  uint32_t lds_requested_bytes = 0;  ///< LDS of one work-group that the packet requests.
  uint32_t private_bytes = 0;        ///< Scratch of one lane.

  // Registers from the kernel object, with the command processor's additions (LDS granules, trap bit).
  uint32_t pgm_rsrc1 = 0;
  uint32_t pgm_rsrc2 = 0;
  uint32_t pgm_rsrc3 = 0;
  uint32_t code_properties = 0;

  /// s0 … s(user_sgpr_count-1) of every wave, with the kernel arguments that the kernel preloads. The shader
  /// cores add the SGPRs that pgm_rsrc2 enables after them: work-group ids, work-group info, scratch wave
  /// offset.
  std::array<uint32_t, kMaxUserSgprs> user_sgprs{};
  uint32_t user_sgpr_count = 0;

  // Scratch of the queue at the time of the launch.
  uint64_t scratch_va = 0;  ///< Absolute address; 0 if the queue has none.
  uint64_t scratch_bytes = 0;
  uint32_t scratch_wave_bytes = 0;  ///< Size for one wave slot, from COMPUTE_TMPRING_SIZE.
  uint32_t scratch_waves = 0;       ///< Number of slots of all XCCs, from COMPUTE_TMPRING_SIZE.
  uint64_t scratch_base = 0;        ///< gfx8: SH_HIDDEN_PRIVATE_BASE_VMID, as an address.
  uint64_t flat_group_base = 0;     ///< LDS aperture.
  uint64_t flat_private_base = 0;   ///< Scratch aperture.

  /// Compute units that it may use, one bit each (Board::units_in_order); null: all.
  std::shared_ptr<const std::vector<uint32_t>> cu_mask;

  bool acquire_system = false;  ///< The packet has an acquire scope: discard cached code and data.
  bool trap_handler = false;    ///< queue_properties: waves start with traps enabled.
  bool counts_events = false;   ///< Performance counters are running: the result has the events.
  bool counts_lds = false;      ///< With `counts_events`: also the events of needs_lds_counts().
};

/// Outcome of a dispatch.
struct DispatchResult {
  enum class Kind : uint8_t {
    kDone,      ///< All waves ended.
    kError,     ///< `error` is the code that the program receives.
    kFault,     ///< `fault` happened; the command processor reports it.
    kCancelled  ///< Ended by cancel() or by the end of the device.
  };
  Kind kind = Kind::kDone;
  QueueError error = QueueError::kIllegalInstruction;
  VmFault fault;
  uint64_t instructions = 0;                 ///< Executed by all waves.
  std::shared_ptr<const WaveEvents> events;  ///< Set if Dispatch::counts_events is, unless memory is lacking.
  std::string reason;                        ///< Instruction, register or field of a kError or kFault.
};

/// Receives dispatches. One object serves all queues of one GPU.
class DispatchSink {
 public:
  using Done = std::function<void(DispatchResult)>;

  virtual ~DispatchSink() = default;

  /// Starts a dispatch and returns soon, because the calling engine serves other queues too. Called outside
  /// of translation scopes. `done` is called exactly once, from any thread, possibly within start().
  virtual void start(const Dispatch& dispatch, Done done) = 0;

  /// Ends the dispatches of a queue that is being destroyed, as soon as possible. Their `done` is still
  /// called.
  virtual void cancel(uint32_t queue_id) = 0;

  /// A dispatch that has started and not completed.
  struct Running {
    uint32_t queue_id = 0;
    double seconds = 0;  ///< Time since its start.
    std::string text;    ///< Lines about it and its waves' positions; each starts with a newline.
  };
  /// Describes all running dispatches, which it stops for a moment; may take seconds. Any thread outside of
  /// translation scopes and without locks.
  virtual std::vector<Running> describe_running() { return {}; }
  /// Returns the seconds for which the oldest dispatch has been running, or 0 if there is none. Cheap.
  virtual double longest_running() { return 0; }

  /// Whether dispatches progress only in lend_thread(), because the process can create no threads. Any
  /// thread; cheap.
  virtual bool wants_thread() const noexcept { return false; }

  /// Does a part of the dispatches' work on the calling thread, outside of translation scopes. Engines call
  /// it between packets while wants_thread(). May call `done`. Returns false if there was no work.
  virtual bool lend_thread() { return false; }
};

/// A GPU without shader cores: every dispatch ends with a queue error.
class NoShaderCores final : public DispatchSink {
 public:
  void start(const Dispatch& dispatch, Done done) override;
  void cancel(uint32_t) override {}
};

}  // namespace rigel::vgpu
