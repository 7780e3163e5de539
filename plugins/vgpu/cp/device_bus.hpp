// What the processors of a virtual GPU see of the rest of it: memory behind GPU addresses, interrupts, the
// clock, and somewhere to say what happened. `plugins/vgpu/kfd` implements it, one object for each GPU as one
// process sees it (one VMID); tests implement it over a plain buffer.
//
// Threads. Every function may be called from any thread at any time between the start of the first processor
// and the return of its destructor. translate() is called inside a TranslationScope only. Everything that
// reports (report_fault, raise_interrupt, take_queue_error, queue_stopped, report, trace) is called outside of
// scopes and without any lock of the processors held, so an implementation may take its own locks there; it
// must not call back into the processors from within, other than CommandProcessor::ring_doorbell() and
// wake().
//
// Memory order. A host pointer from translate() is shared with threads of the program that do not know about
// us. Processors follow the rules that hardware gives programs:
//  - a packet is read after an acquire load of its header (AQL) or of the doorbell (PM4, SDMA), and ring
//    entries are given back by a release store of the read index;
//  - what a packet wrote is visible before the signal decrement, fence value or mailbox store that announces
//    it (release), and that store is visible before raise_interrupt() is called for it;
//  - naturally aligned accesses of 1, 2, 4 and 8 bytes are single-copy atomic; larger ones are not.
// ring_doorbell() synchronises with the processor: what the caller wrote before is visible to it.
//
// Ownership. The bus outlives the processors. Host pointers belong to the bus and live as long as the scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rigel::vgpu {

/// Of a report to the user.
enum class Severity : uint8_t { kError, kWarning };

/// What an access does. An atomic operation counts as a write that also reads.
enum class Access : uint8_t { kRead, kWrite, kExecute };

/// Why an access cannot be done; the values of a KFD memory event.
enum class FaultReason : uint8_t { kNone, kNotPresent, kReadOnly, kNoExecute };

/// The longest run of bytes, beginning at an address, that lies in one piece in the host's memory.
struct Translation {
  std::byte* host = nullptr;  ///< Null if the first byte cannot be accessed.
  uint64_t bytes = 0;         ///< At least 1 if `host` is not null; never more than was asked for.
  FaultReason reason = FaultReason::kNone;
};

/// An access that failed. `queue_id` is the queue whose packet or wave did it.
struct VmFault {
  uint64_t va = 0;
  Access access = Access::kRead;
  FaultReason reason = FaultReason::kNotPresent;
  uint32_t queue_id = 0;
};

/// Who interrupts. What KFD makes of `context_id` differs: see the interrupt tables of amdkfd.
enum class InterruptSource : uint8_t {
  kEndOfPipe,   ///< A completion or RELEASE_MEM on a compute queue: context id = event id.
  kSdmaTrap,    ///< An SDMA TRAP packet: context id = event id, 28 bits.
  kWaveMessage  ///< s_sendmsg of a wave (trap handler): context id = the message's payload.
};

/// Error bits of `queue_inactive_signal`; each is also one exception code of the newer reporting.
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

class DeviceBus {
 public:
  virtual ~DeviceBus() = default;

  // Memory ------------------------------------------------------------------------------------------------

  /// Finds the host memory behind `va`, page by page: the result covers at most `bytes` and ends early where
  /// the next page belongs to another object, is not mapped to this GPU, or does not allow `access`. Callers
  /// loop over runs, so an access may cross objects. An address that cannot be accessed gives a null host
  /// pointer and the reason; nothing is reported: that is the caller's decision. Any value is a legal `va`,
  /// and `va + bytes` may overflow.
  virtual Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept = 0;

  /// Between these two, pointers from translate() stay valid: taking a mapping away (unmap, free, destroy)
  /// waits until every scope that began before has ended, as a TLB flush does. Scopes are short (one packet,
  /// or a megabyte of a copy). Their holder waits for nothing but for those who help it with its copy
  /// (shared_copy.hpp), who wait for nothing. The first returns what names the scope to the second. Use
  /// TranslationScope.
  virtual uint32_t begin_translations() noexcept = 0;
  virtual void end_translations(uint32_t scope) noexcept = 0;

  /// Changes whenever a mapping is taken away or loses a right. A processor that keeps translations over
  /// several scopes (a TLB) must compare this inside the new scope before it uses them.
  virtual uint64_t translation_epoch() const noexcept = 0;

  // Telling -----------------------------------------------------------------------------------------------

  /// A fault for the program to hear of. The queue that faulted has been stopped.
  virtual void report_fault(const VmFault& fault) noexcept = 0;

  virtual void raise_interrupt(InterruptSource source, uint32_t context_id, uint32_t queue_id) noexcept = 0;

  /// A queue has an error of the kinds that user mode is told about. True: it was delivered here (the
  /// exception reporting that RUNTIME_ENABLE switches on). False: the processor delivers it itself, by the
  /// queue's inactive signal. Scratch requests never come here.
  virtual bool take_queue_error(uint32_t queue_id, QueueError error) noexcept = 0;

  /// A queue has stopped for good: an error. `reason` names the packet or field and the problem.
  virtual void queue_stopped(uint32_t queue_id, std::string_view reason) noexcept = 0;

  // Waves -------------------------------------------------------------------------------------------------

  /// Where traps of waves go, if the program has installed a handler; zeros: nowhere.
  struct TrapHandler {
    uint64_t code_va = 0;
    uint64_t data_va = 0;
  };
  virtual TrapHandler trap_handler() const noexcept { return {}; }

  /// What a wave is told of its queue: which doorbell of the process's slice it has, counted in 8 bytes.
  virtual uint32_t doorbell_index(uint32_t /*queue_id*/) noexcept { return 0; }

  // Time --------------------------------------------------------------------------------------------------

  /// Ticks of the GPU's reference clock, as GET_CLOCK_COUNTERS reports them. Never goes backwards.
  virtual uint64_t gpu_clock() noexcept = 0;

  // Sleep -------------------------------------------------------------------------------------------------

  /// A worker thread has found nothing to do and is about to sleep until ring_doorbell() or wake(). Doorbells
  /// that arrive as plain stores are looked at by the worker only while it is awake, so from now on the bus
  /// must watch those slots that QueueConfig::doorbell names. The worker looks at them once more after this
  /// returns. May be called by several workers; every call is followed by one of doorbells_unwatched().
  virtual void watch_doorbells() noexcept {}

  /// The worker is awake again.
  virtual void doorbells_unwatched() noexcept {}

  // Trace -------------------------------------------------------------------------------------------------

  /// Whether trace() is wanted at all; asked before a line is formatted.
  virtual bool trace_enabled(TraceTopic) const noexcept { return false; }

  /// One line, without newline, for people: what a packet said and did.
  virtual void trace(TraceTopic, std::string_view) noexcept {}

  /// What the program knows of an address that a wave could not access, in words: "0x… is 4 bytes after …".
  /// Empty: nothing. May take long.
  virtual std::string describe_address(uint64_t /*va*/) { return {}; }

  /// The list of code objects that the program's runtime keeps for debuggers (an r_debug), if it has told us.
  virtual const void* code_objects() const noexcept { return nullptr; }

  /// A problem of the device or, if `queue_id` is given, of one of its queues that is not stopped: a trap (an error), or
  /// a condition that is worked around (a warning). `problem` is "<problem>; <remedy>".
  virtual void report(Severity /*severity*/, std::optional<uint32_t> /*queue_id*/,
                      std::string_view /*problem*/) noexcept {}
};

/// Holds translations valid; see DeviceBus::begin_translations().
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
