// The interface of a virtual GPU's processors (engines, shader cores) to the rest of the device: memory,
// interrupts, clock, reports. `plugins/vgpu/kfd` implements it with one object per GPU and process (one
// VMID). Tests implement it over a plain buffer.
//
// Threads: any function may be called from any thread while the processors exist. translate() is called
// inside a TranslationScope only. The functions report_fault, raise_interrupt, take_queue_error,
// queue_stopped, report and trace are called outside of scopes. No lock of the processors is held then, so an
// implementation may take its locks there. Of the processors' functions it may call only
// CommandProcessor::ring_doorbell() and wake().
//
// Memory order: threads of the program access the memory behind translate() at the same time. Processors
// follow the rules that programs expect from hardware:
//  - A packet is read after an acquire load of its header (AQL) or of the doorbell (PM4, SDMA). Ring entries
//    are released by a release store of the read index.
//  - The effects of a packet are visible before the signal decrement, fence value or mailbox store that
//    announces it (release). That store is visible before raise_interrupt() is called for it.
//  - Naturally aligned accesses of 1, 2, 4 and 8 bytes are single-copy atomic; larger ones are not.
//  - ring_doorbell() synchronises with the processor: earlier writes of the caller are visible to it.
//
// Lifetime: the bus outlives the processors. Host pointers belong to the bus and are valid during the scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rigel::vgpu {

/// Severity of a report to the user.
enum class Severity : uint8_t { kError, kWarning };

/// Kind of an access. An atomic operation is a write that also reads.
enum class Access : uint8_t { kRead, kWrite, kExecute };

/// Reason of a failed access; the values of a KFD memory event.
enum class FaultReason : uint8_t { kNone, kNotPresent, kReadOnly, kNoExecute };

/// A range of GPU addresses that is contiguous in host memory.
struct Translation {
  std::byte* host = nullptr;  ///< Null if the first byte cannot be accessed.
  uint64_t bytes = 0;         ///< At least 1 if `host` is not null; at most the requested size.
  FaultReason reason = FaultReason::kNone;
};

/// An access that failed. `queue_id` is the queue of the packet or wave.
struct VmFault {
  uint64_t va = 0;
  Access access = Access::kRead;
  FaultReason reason = FaultReason::kNotPresent;
  uint32_t queue_id = 0;
};

/// Source of an interrupt. KFD interprets `context_id` by source; see amdkfd's interrupt tables.
enum class InterruptSource : uint8_t {
  kEndOfPipe,   ///< A completion or RELEASE_MEM on a compute queue: context id = event id.
  kSdmaTrap,    ///< An SDMA TRAP packet: context id = event id, 28 bits.
  kWaveMessage  ///< s_sendmsg of a wave (trap handler): context id = the payload.
};

/// Error bits of `queue_inactive_signal`. Each is also one exception code of RUNTIME_ENABLE's reporting.
enum class QueueError : uint32_t {
  kScratchWave64 = 0x1,
  kBadDimensions = 0x2,
  kGroupMemory = 0x4,
  kBadCodeObject = 0x8,
  kBadPacket = 0x20,
  kWorkGroupTooLarge = 0x40,
  kTooManyRegisters = 0x80,
  kBadVendorPacket = 0x100,
  kReclaimScratch = 0x200,
  kScratchWave32 = 0x400,
  kAperture = 0x20000000,
  kIllegalInstruction = 0x40000000,
  kTrap = 0x80000000,
};

enum class TraceTopic : uint8_t { kQueue, kAql, kPm4, kSdma, kDispatch };

/// A sample of a wave's program counter.
struct PcSample {
  uint64_t pc = 0;
  uint64_t exec = 0;
  uint32_t group[3] = {};
  uint32_t wave = 0;             ///< Number in the work-group
  uint64_t number_of_group = 0;  ///< In the grid
};

/// How the waves of a launch are sampled.
struct PcSampling {
  uint64_t session = 0;   ///< Number of the session that receives the samples
  uint64_t interval = 0;  ///< Instructions from one sample of a wave to the next; 0: no sampling
};

class DeviceBus {
 public:
  virtual ~DeviceBus() = default;

  // Memory ------------------------------------------------------------------------------------------------

  /// Finds the host memory of `va`. The range covers at most `bytes` and ends early if the next page belongs
  /// to another object, is not mapped to this GPU, or does not allow `access`. Callers loop over ranges, so
  /// an access may cross objects. For an inaccessible address the host pointer is null and `reason` is set;
  /// nothing is reported. Any `va` is valid input, and `va + bytes` may overflow.
  virtual Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept = 0;

  /// Begin and end a scope in which pointers from translate() stay valid. Unmap, free and destroy wait until
  /// all earlier scopes have ended, as for a TLB flush. Scopes are short: one packet, or a megabyte of a
  /// copy. The holder waits only for threads that help with its copy (shared_copy.hpp), which do not wait.
  /// begin_translations() returns the scope's number. Use TranslationScope.
  virtual uint32_t begin_translations() noexcept = 0;
  virtual void end_translations(uint32_t scope) noexcept = 0;

  /// Changes whenever a mapping is removed or loses a right. A processor that keeps translations over several
  /// scopes (a TLB) compares this inside the new scope before it uses them.
  virtual uint64_t translation_epoch() const noexcept = 0;

  // Reports -----------------------------------------------------------------------------------------------

  /// Reports a fault to the program. The queue has been stopped.
  virtual void report_fault(const VmFault& fault) noexcept = 0;

  virtual void raise_interrupt(InterruptSource source, uint32_t context_id, uint32_t queue_id) noexcept = 0;

  /// Reports a queue error of the kinds that user mode receives. Returns true if it was delivered here (the
  /// exception reporting that RUNTIME_ENABLE switches on), false if the processor must deliver it by the
  /// queue's inactive signal. Scratch requests do not come here.
  virtual bool take_queue_error(uint32_t queue_id, QueueError error) noexcept = 0;

  /// Reports that an error has stopped a queue. `reason` names the packet or field and the problem.
  virtual void queue_stopped(uint32_t queue_id, std::string_view reason) noexcept = 0;

  // Waves -------------------------------------------------------------------------------------------------

  /// The program's trap handler; zeros if it has not installed one.
  struct TrapHandler {
    uint64_t code_va = 0;
    uint64_t data_va = 0;
  };
  virtual TrapHandler trap_handler() const noexcept { return {}; }

  /// The queue's doorbell in the process's slice, in units of 8 bytes; waves can read it.
  virtual uint32_t doorbell_index(uint32_t /*queue_id*/) noexcept { return 0; }

  // Samples -----------------------------------------------------------------------------------------------

  /// How a launch that starts now is sampled.
  virtual PcSampling sampling() noexcept { return {}; }

  /// Receives the samples of a launch, in the order of work-groups and waves, before the launch completes.
  /// `session`: from sampling(). Samples of a session that has ended are dropped.
  virtual void take_samples(uint64_t /*session*/, uint32_t /*queue_id*/, uint64_t /*packet_id*/,
                            std::span<const PcSample> /*samples*/, uint64_t /*lost*/) noexcept {}

  // Time --------------------------------------------------------------------------------------------------

  /// Ticks of the GPU's reference clock, as in GET_CLOCK_COUNTERS. Monotonic.
  virtual uint64_t gpu_clock() noexcept = 0;

  // Sleep -------------------------------------------------------------------------------------------------

  /// Called by a worker that is about to sleep until ring_doorbell() or wake(). Sleeping workers do not poll
  /// doorbell slots (QueueConfig::doorbell), so the bus must watch them from here on. The worker checks the
  /// slots once more after this returns. Several workers may call it; each call is followed by one of
  /// doorbells_unwatched().
  virtual void watch_doorbells() noexcept {}

  /// Called when the worker is awake again.
  virtual void doorbells_unwatched() noexcept {}

  // Trace -------------------------------------------------------------------------------------------------

  /// Whether trace() has an effect; called before a line is formatted.
  virtual bool trace_enabled(TraceTopic) const noexcept { return false; }

  /// Logs one line, without newline, about a packet.
  virtual void trace(TraceTopic, std::string_view) noexcept {}

  /// Describes an inaccessible address by the program's allocations: "0x… is 4 bytes after …". Empty if
  /// nothing is known. May be slow.
  virtual std::string describe_address(uint64_t /*va*/) { return {}; }

  /// The code objects that the program's runtime lists for debuggers (an r_debug); null if it is unknown.
  virtual const void* code_objects() const noexcept { return nullptr; }

  /// Reports a problem of the device or, if `queue_id` is given, of a queue that is not stopped: a trap
  /// (error), or a condition that is worked around (warning). `problem` is "<problem>; <remedy>".
  virtual void report(Severity /*severity*/, std::optional<uint32_t> /*queue_id*/,
                      std::string_view /*problem*/) noexcept {}
};

/// Keeps translations valid; see DeviceBus::begin_translations().
class TranslationScope {
 public:
  explicit TranslationScope(DeviceBus& bus) noexcept : bus_(bus), scope_(bus.begin_translations()) {}
  ~TranslationScope() { bus_.end_translations(scope_); }
  TranslationScope(const TranslationScope&) = delete;
  TranslationScope& operator=(const TranslationScope&) = delete;

 private:
  DeviceBus& bus_;
  const uint32_t scope_;
};

}  // namespace rigel::vgpu
