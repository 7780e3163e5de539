#include "plugins/vgpu/cp/aql_queue.hpp"

#include <algorithm>

#include "plugins/vgpu/cp/aql_dispatch.hpp"
#include "plugins/vgpu/cp/packet_fidelity.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kDwordsPerPacket = aql::kPacketBytes / 4;

}  // namespace

AqlQueue::AqlQueue(QueueContext& context, const QueueConfig& config, std::function<void()> wake)
    : ComputeQueue(context, config, std::move(wake)),
      slots_(config.ring_bytes / aql::kPacketBytes),
      pm4_(*this) {}

void AqlQueue::set_ring(uint64_t va, uint64_t bytes) {
  HardwareQueue::set_ring(va, bytes);
  slots_ = bytes / aql::kPacketBytes;
}

// Doorbells
// --------------------------------------------------------------------------------------------------

void AqlQueue::raise_limit(uint64_t limit) noexcept {
  uint64_t seen = limit_.load(std::memory_order_relaxed);
  while (seen < limit && !limit_.compare_exchange_weak(seen, limit, std::memory_order_acq_rel)) {
  }
}

void AqlQueue::ring(uint64_t value) noexcept {
  if (dialect().has_wide_indices) {
    if (value != UINT64_MAX) raise_limit(value + 1);
    return;
  }
  const auto narrow = static_cast<uint32_t>(value);
  if (config_.doorbell_in_dwords) {
    rung32_.store(narrow, std::memory_order_release);
    return;
  }
  // 32 bits that wrap: a value less than half the range ahead goes forward.
  uint32_t seen = rung32_.load(std::memory_order_relaxed);
  while (static_cast<int32_t>(narrow - seen) > 0 &&
         !rung32_.compare_exchange_weak(seen, narrow, std::memory_order_acq_rel)) {
  }
}

void AqlQueue::ring_from_slot(uint64_t value) noexcept {
  ring(value);
  if (dialect().has_wide_indices) check_write_index_.store(true, std::memory_order_relaxed);
}

bool AqlQueue::read_write_pointer() {
  uint64_t index = 0;
  if (!memory_.load(config_.write_pointer_va, index)) return false;
  if (index == 0) return true;
  if (!dialect().has_wide_indices) {
    ring(config_.doorbell_in_dwords ? index % slots_ * kDwordsPerPacket : index);
  } else {
    raise_limit(index);
  }
  return true;
}

uint64_t AqlQueue::rung_ahead() const {
  const uint32_t rung = rung32_.load(std::memory_order_acquire);
  if (config_.doorbell_in_dwords) {
    // The ring is mapped twice, and offsets cover both mappings. An offset more than one ring ahead goes
    // back.
    const uint64_t ahead = (rung / kDwordsPerPacket - next_id_) % slots_;
    return ahead <= slots_ / 2 ? ahead : 0;
  }
  return static_cast<uint64_t>(std::max(static_cast<int32_t>(rung - static_cast<uint32_t>(next_id_)), 0));
}

uint64_t AqlQueue::limit() const {
  return dialect().has_wide_indices ? limit_.load(std::memory_order_acquire) : next_id_ + rung_ahead();
}

bool AqlQueue::ready() const {
  if (has_finished()) return true;
  if (stopped()) return false;
  if (in_pm4_ || scratch_request_ || reclaim_ || check_write_index_.load(std::memory_order_relaxed))
    return true;
  return limit() > next_id_;
}

// The loop
// ---------------------------------------------------------------------------------------------------

Outcome AqlQueue::run(uint32_t budget) {
  if (queue_va_ == 0 && !find_queue()) return fault_here("the queue's read index");
  if (check_write_index_.exchange(false, std::memory_order_relaxed) && config_.write_pointer_va != 0 &&
      !read_write_pointer()) {
    return fault_here("the write index");
  }
  bool progress = has_finished();
  if (!take_results()) return Outcome::kStopped;
  if (stopped()) return Outcome::kStopped;
  Outcome outcome = Outcome::kIdle;
  for (; budget != 0; --budget) {
    if (!retire()) return Outcome::kStopped;
    outcome = run_packet();
    if (outcome != Outcome::kProgress) break;
    progress = true;
    if (has_moved_a_piece()) break;
  }
  if (!stopped() && !retire()) return Outcome::kStopped;
  if (!is_read_id_published_) {
    is_read_id_published_ = true;
    if (!memory_.store<uint64_t>(config_.read_pointer_va, read_id_)) return fault_here("the read index");
  }
  if (stopped()) return Outcome::kStopped;
  return progress ? Outcome::kProgress : outcome;
}

bool AqlQueue::find_queue() {
  uint32_t offset = 0;
  if (!memory_.load(config_.read_pointer_va + 8, offset)) return false;
  queue_va_ = config_.read_pointer_va - offset;
  return true;
}

bool AqlQueue::take_results() {
  for (Finished& finished : take_finished()) {
    const DispatchResult& result = finished.result;
    switch (result.kind) {
      case DispatchResult::Kind::kDone:
      case DispatchResult::Kind::kCancelled:
        break;
      case DispatchResult::Kind::kError:
        error(result.error, result.reason, finished.token);
        continue;
      case DispatchResult::Kind::kFault:
        stop_fault_of_kernel(result.fault, result.reason);
        continue;
    }
    if (finished.token == UINT64_MAX || result.kind == DispatchResult::Kind::kCancelled) continue;
    Started& packet = started_[finished.token - read_id_];
    packet.done = true;
    packet.start_ts = finished.begun;
    packet.end_ts = finished.ended;
    reclaim_ = reclaim_ || packet.scratch_once;
    trace(TraceTopic::kAql, "{}: KERNEL_DISPATCH completed", finished.token);
    if (!complete(packet)) return false;
  }
  return true;
}

bool AqlQueue::retire() {
  while (!started_.empty() && started_.front().done) {
    if (!memory_.store<uint16_t>(slot_va(read_id_), aql::kInvalidHeader)) {
      fault_here("a ring slot");
      return false;
    }
    started_.pop_front();
    ++read_id_;
    is_read_id_published_ = false;
  }
  return true;
}

Outcome AqlQueue::run_packet() {
  if (scratch_request_ || reclaim_) {
    if (const Outcome outcome = wait_for_scratch(); outcome != Outcome::kProgress) return outcome;
  }
  if (in_pm4_) return run_pm4();
  if (next_id_ >= limit()) return Outcome::kIdle;
  // A wrong doorbell must not execute a packet twice: at most one ring of packets is in progress. A ring that
  // is mapped twice has half of the slots.
  if (next_id_ - read_id_ >= (dialect().has_wide_indices ? slots_ : slots_ / 2)) return Outcome::kAsleep;

  const uint64_t va = slot_va(next_id_);
  aql::Packet packet;
  if (!memory_.load(va, packet.words[0])) return fault_here("a ring slot");
  if (aql::type(packet.header()) == HSA_PACKET_TYPE_INVALID) return Outcome::kPolling;
  if (!memory_.read(va + 4, packet.words + 1, sizeof packet - 4)) return fault_here("a ring slot");
  if (aql::barrier(packet.header()) && running_dispatches() != 0 &&
      !(dialect().has_pm4_in_slots && aql::is_pm4_slot(packet.words[0]))) {
    return Outcome::kAsleep;
  }
  if (!begun_) {
    begun_ = true;
    satisfied_ = 0;
    start_ts_ = 0;
    if (!memory_.load(queue_va_ + aql::kQueueProperties, properties_))
      return fault_here("the queue structure");
    if ((properties_ & aql::kPropertyProfiling) != 0) start_ts_ = context_.bus.gpu_clock();
  }
  return execute(packet);
}

Outcome AqlQueue::execute(const aql::Packet& packet) {
  const uint32_t type = aql::type(packet.header());
  switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH:
      return dispatch(packet);
    case HSA_PACKET_TYPE_BARRIER_AND:
      return barrier(packet, true);
    case HSA_PACKET_TYPE_BARRIER_OR:
      return barrier(packet, false);
    case HSA_PACKET_TYPE_AGENT_DISPATCH:
      return error(QueueError::kBadPacket, "AGENT_DISPATCH is not supported on GPUs");
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
      break;
    default:
      return error(QueueError::kBadPacket, fmt::format("unknown packet type {}", type));
  }
  if (dialect().has_pm4_in_slots) {
    if (aql::is_pm4_slot(packet.words[0])) return begin_pm4(packet);
    return error(QueueError::kBadPacket, "vendor-specific packet without PM4 is not supported");
  }
  const uint32_t format = packet.words[0] >> 16 & 0xff;
  switch (format) {
    case aql::kFormatPm4Ib:
      return begin_pm4(packet);
    case aql::kFormatBarrierValue:
      return barrier_value(packet);
    default:
      return error(QueueError::kBadVendorPacket, fmt::format("unknown AMD packet format {}", format));
  }
}

// Packets
// ----------------------------------------------------------------------------------------------------

Outcome AqlQueue::barrier(const aql::Packet& packet, bool needs_all) {
  bool any_given = false, any_zero = false;
  bool all_zero = true;
  for (uint32_t i = 0; i < 5; ++i) {
    const uint64_t signal = packet.quad(2 + 2 * i);
    if (signal == 0) continue;
    any_given = true;
    // Each dependency must be seen at 0 once, not all at the same time.
    if ((satisfied_ >> i & 1) != 0) continue;
    uint64_t value = 0;
    if (!memory_.load(signal + aql::kSignalValue, value))
      return fault_here("a dependency signal of a barrier");
    if (value == 0) {
      any_zero = true;
      satisfied_ |= 1u << i;
    } else {
      all_zero = false;
    }
  }
  if (needs_all ? !all_zero : any_given && !any_zero) return Outcome::kPolling;
  start_packet(packet);
  return end_packet();
}

Outcome AqlQueue::barrier_value(const aql::Packet& packet) {
  const uint64_t signal = packet.quad(2);
  if (signal != 0) {
    uint64_t raw = 0;
    if (!memory_.load(signal + aql::kSignalValue, raw)) return fault_here("the signal of BARRIER_VALUE");
    const auto value = static_cast<int64_t>(raw & packet.quad(6));
    const auto reference = static_cast<int64_t>(packet.quad(4));
    bool holds = false;
    switch (packet.words[8]) {
      case HSA_SIGNAL_CONDITION_EQ:
        holds = value == reference;
        break;
      case HSA_SIGNAL_CONDITION_NE:
        holds = value != reference;
        break;
      case HSA_SIGNAL_CONDITION_LT:
        holds = value < reference;
        break;
      case HSA_SIGNAL_CONDITION_GTE:
        holds = value >= reference;
        break;
      default:
        return error(QueueError::kBadVendorPacket,
                     fmt::format("BARRIER_VALUE: invalid condition {}", packet.words[8]));
    }
    if (!holds) return Outcome::kPolling;
  }
  start_packet(packet);
  return end_packet();
}

Outcome AqlQueue::begin_pm4(const aql::Packet& packet) {
  if (dialect().has_pm4_in_slots) {
    pm4_.begin(packet.words);
    pm4_signal_ = 0;
  } else {
    pm4_.begin(std::span(packet.words).subspan(1, 4));
    pm4_signal_ = packet.completion_signal();
  }
  in_pm4_ = true;
  return Outcome::kProgress;
}

Outcome AqlQueue::run_pm4() {
  if (!pm4_.at_end() && !pm4_.released_slot()) {
    const Outcome outcome = pm4_.run_packet();
    // The program receives invalid PM4 as an error of the vendor packet.
    if (outcome == Outcome::kStopped && !faulted() && !error_) error_ = QueueError::kBadVendorPacket;
    return outcome;
  }
  if (dialect().has_pm4_in_slots && !pm4_.released_slot()) {
    return error(QueueError::kBadPacket, "PM4 in a ring slot: no RELEASE_MEM releases the slot");
  }
  // Dispatches of the stream are part of the packet.
  if (running_dispatches() != 0) return Outcome::kAsleep;
  in_pm4_ = false;
  Started started;
  started.completion_signal = pm4_signal_;
  started.start_ts = start_ts_;
  started_.push_back(started);
  count_packet(PacketSet::kAql, dialect().has_pm4_in_slots ? 0 : 0x100 | aql::kFormatPm4Ib);
  trace(TraceTopic::kAql, "{}: PM4 completed, completion {:#x}", next_id_, pm4_signal_);
  return end_packet();
}

Outcome AqlQueue::dispatch(const aql::Packet& packet) {
  DispatchPlan plan = plan_dispatch(memory_, context_, queue_va_, packet, slot_va(next_id_), next_id_);
  switch (plan.kind) {
    case DispatchPlan::Kind::kReady:
      break;
    case DispatchPlan::Kind::kFault:
      return fault_here("the kernel object or queue structure");
    case DispatchPlan::Kind::kError:
      return error(plan.error, std::move(plan.reason));
    case DispatchPlan::Kind::kNeedsScratch:
      // The runtime identifies the requesting packet by the read index, and moves memory that running waves
      // may use. All preceding packets must therefore complete first.
      return started_.empty() ? request_scratch(plan.error) : Outcome::kAsleep;
  }
  start_packet(packet);
  Started& started = started_.back();
  started.scratch_once =
      (plan.queue_properties & aql::kPropertyScratchOnce) != 0 && plan.dispatch.private_bytes != 0;
  plan.dispatch.queue_id = id();
  trace(TraceTopic::kDispatch,
        "packet {} kernel {:#x} entry {:#x} grid {}x{}x{} group {}x{}x{} lds {} private {}", next_id_,
        plan.dispatch.kernel_object_va, plan.dispatch.entry_va, plan.dispatch.grid_size[0],
        plan.dispatch.grid_size[1], plan.dispatch.grid_size[2], plan.dispatch.work_group_size[0],
        plan.dispatch.work_group_size[1], plan.dispatch.work_group_size[2], packet.words[7],
        plan.dispatch.private_bytes);
  start_dispatch(plan.dispatch, next_id_, start_ts_ != 0 ? Timing::kTimed : Timing::kUntimed);
  ++next_id_;
  begun_ = false;
  return Outcome::kProgress;
}

void AqlQueue::start_packet(const aql::Packet& packet) {
  Started started;
  started.completion_signal = packet.completion_signal();
  started.start_ts = start_ts_;
  started_.push_back(started);
  const uint32_t code = aql::code(packet);
  const uint32_t acquire = aql::acquire_scope(packet.header()), release = aql::release_scope(packet.header());
  const bool is_dispatch = code == HSA_PACKET_TYPE_KERNEL_DISPATCH;
  count_packet(PacketSet::kAql, code,
               is_dispatch && acquire != 0   ? "header.acquire"
               : is_dispatch && release != 0 ? "header.release"
                                             : "");
  if (tracing(TraceTopic::kAql)) {
    trace(TraceTopic::kAql, "{}: {}{} acquire {} release {} completion {:#x}", next_id_,
          packet_name(PacketSet::kAql, code), aql::barrier(packet.header()) ? " barrier" : "", acquire,
          release, started.completion_signal);
  }
}

// Completes packet next_id_, which is the last of started_ and has nothing running.
Outcome AqlQueue::end_packet() {
  Started& started = started_.back();
  started.done = true;
  if (started.start_ts != 0) started.end_ts = context_.bus.gpu_clock();
  ++next_id_;
  begun_ = false;
  return complete(started) ? Outcome::kProgress : Outcome::kStopped;
}

// Completion
// -------------------------------------------------------------------------------------------------

bool AqlQueue::complete(const Started& packet) {
  const uint64_t signal = packet.completion_signal;
  if (signal == 0) return true;
  // All fields are read before the decrement, because the program may free the signal after it.
  uint64_t mailbox = 0;
  uint32_t event_id = 0;
  bool reached = memory_.load(signal + aql::kSignalMailbox, mailbox) &&
                 memory_.load(signal + aql::kSignalEventId, event_id);
  if (reached && packet.start_ts != 0) {
    reached = memory_.store<uint64_t>(signal + aql::kSignalStart, packet.start_ts) &&
              memory_.store<uint64_t>(signal + aql::kSignalEnd, packet.end_ts);
  }
  reached = reached && memory_.fetch_sub<uint64_t>(signal + aql::kSignalValue, 1) &&
            (mailbox == 0 || memory_.store<uint64_t>(mailbox, event_id));
  if (!reached) {
    fault_here("a completion signal");
    return false;
  }
  if (mailbox != 0) interrupt(InterruptSource::kEndOfPipe, event_id);
  return true;
}

bool AqlQueue::send_signal(uint64_t signal, uint64_t value) {
  uint64_t mailbox = 0;
  uint32_t event_id = 0;
  const bool sent = memory_.load(signal + aql::kSignalMailbox, mailbox) &&
                    memory_.load(signal + aql::kSignalEventId, event_id) &&
                    memory_.store<uint64_t>(signal + aql::kSignalValue, value) &&
                    (mailbox == 0 || memory_.store<uint64_t>(mailbox, event_id));
  if (sent && mailbox != 0) interrupt(InterruptSource::kEndOfPipe, event_id);
  return sent;
}

// Scratch and errors
// -----------------------------------------------------------------------------------------

Outcome AqlQueue::request_scratch(QueueError request) {
  uint64_t signal = 0;
  if (!memory_.load(queue_va_ + aql::kQueueInactiveSignal, signal)) return fault_here("the queue structure");
  if (signal == 0) {
    return error(request,
                 "the dispatch needs scratch memory, but the queue has no inactive signal to request it");
  }
  // The runtime finds the requesting packet by the read index.
  if (!is_read_id_published_) {
    is_read_id_published_ = true;
    if (!memory_.store<uint64_t>(config_.read_pointer_va, read_id_)) return fault_here("the read index");
  }
  if (!send_signal(signal, static_cast<uint32_t>(request))) return fault_here("the inactive signal");
  trace(TraceTopic::kAql, "{}: requests {}", next_id_,
        request == QueueError::kReclaimScratch ? "that scratch memory is released" : "scratch memory");
  scratch_request_ = request;
  return Outcome::kPolling;
}

Outcome AqlQueue::wait_for_scratch() {
  if (!scratch_request_) {  // release the scratch of a single dispatch, once nothing uses it
    if (running_dispatches() != 0) return Outcome::kAsleep;
    if (!retire()) return Outcome::kStopped;
    return request_scratch(QueueError::kReclaimScratch);
  }
  uint64_t signal = 0, value = 0;
  if (!memory_.load(queue_va_ + aql::kQueueInactiveSignal, signal) || signal == 0 ||
      !memory_.load(signal + aql::kSignalValue, value)) {
    return fault_here("the inactive signal");
  }
  if (value != 0) return Outcome::kPolling;
  if (*scratch_request_ == QueueError::kReclaimScratch) reclaim_ = false;
  scratch_request_.reset();
  return Outcome::kProgress;
}

Outcome AqlQueue::error(QueueError code, std::string_view reason, std::optional<uint64_t> packet) {
  if (!stopped()) error_ = code;
  if (code == QueueError::kBadPacket || code == QueueError::kBadVendorPacket)
    count_rejected_packet(PacketSet::kAql, reason);
  stop(fmt::format("AQL packet {}: {}", packet.value_or(next_id_), reason));
  return Outcome::kStopped;
}

void AqlQueue::deliver() {
  ComputeQueue::deliver();
  if (!error_ || error_reported_) return;
  error_reported_ = true;
  if (context_.bus.take_queue_error(id(), *error_)) return;
  GpuMemory::Scope scope(memory_);
  uint64_t signal = 0;
  if (memory_.load(queue_va_ + aql::kQueueInactiveSignal, signal) && signal != 0) {
    send_signal(signal, static_cast<uint32_t>(*error_));
  }
}

}  // namespace rigel::vgpu
