// A kernel dispatch as the command processor hands it to the shader cores, and the hook that takes it.
//
// The command processor has read the packet and the kernel object, checked them, made sure that scratch is
// there, and worked out every register that a wave starts with other than the work-group ids and the
// work-item ids. The shader cores run it on threads of their own and answer once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu {

/// Most user SGPRs that hardware can load.
constexpr uint32_t kMaxUserSgprs = 32;
/// Bytes of LDS that are given out together; LDS_SIZE of COMPUTE_PGM_RSRC2 counts them.
constexpr uint32_t kLdsGranule = 512;

struct Dispatch {
  uint32_t queue_id = 0;
  uint64_t packet_id = 0;         ///< Index of the packet in its queue.
  uint64_t packet_va = 0;         ///< Where the AQL packet lies; 0 for a dispatch by PM4.
  uint64_t queue_va = 0;          ///< The amd_queue_t; 0 for a PM4 queue.
  uint64_t kernel_object_va = 0;  ///< Kernel descriptor or amd_kernel_code_t; 0 for a dispatch by PM4.
  uint64_t entry_va = 0;          ///< First instruction.
  uint64_t kernarg_va = 0;

  uint32_t work_group_size[3] = {1, 1, 1};  ///< In work-items.
  uint32_t grid_size[3] = {1, 1, 1};        ///< In work-items; the last work-group may be partial.
  uint32_t wave_size = 64;
  uint32_t lds_bytes = 0;      ///< Of one work-group, in whole granules: where accesses are out of bounds.
  uint32_t private_bytes = 0;  ///< Scratch of one lane.

  // Registers, as the kernel object gives them, with what the command processor adds (LDS granules, trap).
  uint32_t pgm_rsrc1 = 0;
  uint32_t pgm_rsrc2 = 0;
  uint32_t pgm_rsrc3 = 0;
  uint32_t code_properties = 0;

  /// s0 … s(user_sgpr_count-1) of every wave. The work-group id, work-group info and scratch wave offset
  /// SGPRs that pgm_rsrc2 enables follow them, and are the shader cores' to fill in.
  std::array<uint32_t, kMaxUserSgprs> user_sgprs{};
  uint32_t user_sgpr_count = 0;

  // Scratch of the queue at the time of the launch.
  uint64_t scratch_va = 0;  ///< Absolute address; 0 if the queue has none.
  uint64_t scratch_bytes = 0;
  uint32_t scratch_wave_bytes = 0;  ///< Of one wave slot, from COMPUTE_TMPRING_SIZE.
  uint32_t scratch_waves = 0;       ///< Slots, from COMPUTE_TMPRING_SIZE.
  uint64_t scratch_base = 0;        ///< gfx8: SH_HIDDEN_PRIVATE_BASE_VMID, as an address.
  uint64_t flat_group_base = 0;     ///< LDS aperture.
  uint64_t flat_private_base = 0;   ///< Scratch aperture.

  /// Which compute units it may have, a bit for each (Board::units_in_order); null: all.
  std::shared_ptr<const std::vector<uint32_t>> cu_mask;

  bool acquire_system =
      false;  ///< The packet's acquire fence is wider than nothing: drop cached code and data.
  bool trap_handler = false;  ///< queue_properties: waves start with traps enabled.
};

/// What became of a dispatch.
struct DispatchResult {
  enum class Kind : uint8_t {
    kDone,      ///< All waves ended.
    kError,     ///< `error` says what the program is told.
    kFault,     ///< `fault` happened; the command processor reports it.
    kCancelled  ///< cancel() or a stopping device ended it.
  };
  Kind kind = Kind::kDone;
  QueueError error = QueueError::kIllegalInstruction;
  VmFault fault;
  uint64_t instructions = 0;  ///< That waves have executed.
  std::string reason;         ///< For kError and kFault: names the instruction, register or field.
};

/// Where dispatches go. One object serves all queues of one GPU.
class DispatchSink {
 public:
  using Done = std::function<void(DispatchResult)>;

  virtual ~DispatchSink() = default;

  /// Takes a dispatch and returns soon: a processor thread calls it, outside of translation scopes, and has
  /// other queues to serve. `done` is called exactly once, from any thread, also from within start().
  virtual void start(const Dispatch& dispatch, Done done) = 0;

  /// Ends the dispatches of a queue that is being destroyed, as soon as it can; their `done` is still called.
  virtual void cancel(uint32_t queue_id) = 0;

  /// A dispatch that has started and not ended.
  struct Running {
    uint32_t queue_id = 0;
    double seconds = 0;  ///< Since it started.
    std::string text;    ///< Lines about it and where its waves are; each begins with a newline.
  };
  /// All of them. Stops them for a moment. Any thread that is outside of translation scopes and holds no
  /// lock; may take seconds.
  virtual std::vector<Running> describe_running() { return {}; }
  /// How long the one that has run longest has been running, in seconds; 0: there is none. Cheap.
  virtual double longest_running() { return 0; }

  /// Whether dispatches get on only by lend_thread(): the process may have no threads for them. Any thread,
  /// cheap.
  virtual bool wants_thread() const noexcept { return false; }

  /// Does a little of what dispatches have to do, on the thread of the caller, who calls again between
  /// packets as long as one is wanted. Outside of translation scopes, from any thread; `done` may be called
  /// from within. False: there was nothing to do.
  virtual bool lend_thread() { return false; }
};

/// A GPU without shader cores: every dispatch ends in a queue error that says so.
class NoShaderCores final : public DispatchSink {
 public:
  void start(const Dispatch& dispatch, Done done) override;
  void cancel(uint32_t) override {}
};

}  // namespace rigel::vgpu
