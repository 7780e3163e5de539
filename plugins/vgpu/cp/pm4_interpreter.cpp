#include "plugins/vgpu/cp/pm4_interpreter.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plugins/vgpu/cp/packet_atomics.hpp"
#include "plugins/vgpu/cp/packet_fidelity.hpp"
#include "plugins/vgpu/cp/pm4_packets.hpp"

namespace rigel::vgpu {
namespace {

// Maximum number of unfinished launches. Without it, a stream that loops would exhaust memory.
constexpr uint32_t kMostDispatches = 256;

}  // namespace

void Pm4Interpreter::begin(std::span<const uint32_t> words) {
  std::copy(words.begin(), words.end(), words_.begin());
  depth_ = 0;
  levels_[0] = Level{true, 0, 0, words.size(), 0};
  released_slot_ = false;
  copied_ = 0;
}

void Pm4Interpreter::begin_ring(uint64_t va, uint64_t dwords, uint64_t position) {
  depth_ = 0;
  levels_[0] = Level{false, va, position, position, dwords - 1};
}

void Pm4Interpreter::move_ring(uint64_t va, uint64_t dwords) {
  levels_[0].va = va;
  levels_[0].ring_mask = dwords - 1;
}

void Pm4Interpreter::set_ring_end(uint64_t position) {
  levels_[0].end = position;
}

bool Pm4Interpreter::at_end() const {
  return depth_ == 0 && levels_[0].position >= levels_[0].end;
}

bool Pm4Interpreter::fetch(uint64_t offset, uint32_t count, uint32_t* to) {
  const Level& level = levels_[depth_];
  const uint64_t at = level.position + offset;
  if (level.inline_words) {
    std::copy_n(words_.begin() + static_cast<ptrdiff_t>(at), count, to);
    return true;
  }
  if (level.ring_mask == 0) return queue_.memory_.read(level.va + at * 4, to, uint64_t{count} * 4);
  const uint64_t begin = at & level.ring_mask;
  const uint64_t first = std::min<uint64_t>(count, level.ring_mask + 1 - begin);
  return queue_.memory_.read(level.va + begin * 4, to, first * 4) &&
         queue_.memory_.read(level.va, to + first, (count - first) * 4);
}

Outcome Pm4Interpreter::fail(std::string reason) {
  count_rejected_packet(PacketSet::kPm4, reason);
  queue_.stop("PM4: " + std::move(reason));
  return Outcome::kStopped;
}

Outcome Pm4Interpreter::memory_fault(std::string_view packet) {
  return queue_.fault_here(fmt::format("PM4 {}", packet));
}

void Pm4Interpreter::advance(uint64_t dwords) {
  levels_[depth_].position += dwords;
  while (depth_ > 0 && levels_[depth_].position >= levels_[depth_].end) --depth_;
}

Outcome Pm4Interpreter::run_packet() {
  const Level& level = levels_[depth_];
  const uint64_t left = level.end - level.position;
  uint32_t header = 0;
  if (!fetch(0, 1, &header)) return memory_fault("fetch");
  if (pm4::type(header) == 2) {  // filler of one dword
    advance(1);
    return Outcome::kProgress;
  }
  if (pm4::type(header) != 3) {
    return fail(fmt::format("invalid header {:#010x}: packet type {} is not supported on compute queues",
                            header, pm4::type(header)));
  }
  if (pm4::opcode(header) == pm4::kNop && pm4::count(header) == pm4::kNopAlone) {
    advance(1);
    return Outcome::kProgress;
  }
  const uint32_t words = pm4::count(header) + 1;
  if (uint64_t{words} + 1 > left) {
    const bool is_ring = depth_ == 0 && level.ring_mask != 0;
    // Waits for the rest of the packet. One that exceeds the whole ring fails: the queue would wait forever.
    if (is_ring && words <= level.ring_mask) return Outcome::kIdle;
    return fail(fmt::format("{} of {} dwords extends past the end of its buffer",
                            packet_name(PacketSet::kPm4, pm4::opcode(header)), words + 1));
  }
  body_.resize(words);
  if (!fetch(1, words, body_.data())) return memory_fault("fetch");
  const uint32_t depth = depth_;
  skip_ = 0;
  // Otherwise, the program may have overwritten a DMA_DATA that was partly executed.
  if (pm4::opcode(header) != pm4::kDmaData) copied_ = 0;
  fidelity_field_ = {};
  const Outcome outcome = execute(header, body_);
  if (outcome != Outcome::kProgress) return outcome;
  // In a ring, all dwords to be skipped must have been written first; until then, the packet is executed
  // again. In an indirect buffer, advance() ends a skip at the end of the buffer.
  if (depth_ == 0 && levels_[0].ring_mask != 0 && uint64_t{words} + 1 + skip_ > left) {
    if (words + 1 + skip_ > levels_[0].ring_mask + 1) return fail("the skipped dwords exceed the ring");
    return Outcome::kIdle;
  }
  if (queue_.tracing(TraceTopic::kPm4)) {
    queue_.trace(TraceTopic::kPm4, "{}{} {:#x}", std::string(depth * 2, ' '),
                 packet_name(PacketSet::kPm4, pm4::opcode(header)), fmt::join(body_, " "));
  }
  if (copied_ == 0) count_packet(PacketSet::kPm4, pm4::opcode(header), fidelity_field_);
  if (copied_ == 0 && pm4::opcode(header) != pm4::kIndirectBuffer) advance(uint64_t{words} + 1 + skip_);
  return outcome;
}

Outcome Pm4Interpreter::execute(uint32_t header, std::span<const uint32_t> body) {
  const uint32_t op = pm4::opcode(header);
  const auto takes = [&](size_t min_dwords, size_t max_dwords) {
    return body.size() >= min_dwords && body.size() <= max_dwords;
  };
  const auto wrong_size = [&] {
    return fail(
        fmt::format("{}: invalid size of {} dwords", packet_name(PacketSet::kPm4, op), body.size() + 1));
  };
  const Dialect& dialect = queue_.dialect();
  switch (op) {
    case pm4::kNop:
    case pm4::kPfpSyncMe:
      return Outcome::kProgress;
    case pm4::kWriteData:
      return takes(4, 0x4000) ? write_data(body) : wrong_size();
    case pm4::kCopyData:
      return takes(5, 5) ? copy_data(body) : wrong_size();
    case pm4::kWaitRegMem:
      return takes(6, 6) ? wait_reg_mem(body, false) : wrong_size();
    case pm4::kWaitRegMem64:
      if (!dialect.has_wait_reg_mem64) break;
      return takes(8, 8) ? wait_reg_mem(body, true) : wrong_size();
    case pm4::kIndirectBuffer:
      return takes(3, 3) ? indirect_buffer(body) : wrong_size();
    case pm4::kAcquireMem: {
      // Memory is coherent, so an acquire only orders: later accesses of this queue come after it.
      if (!takes(dialect.acquire_mem_dwords, dialect.acquire_mem_dwords)) return wrong_size();
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Outcome::kProgress;
    }
    case pm4::kEventWrite:
      return takes(1, 3) ? event_write(body) : wrong_size();
    case pm4::kEventWriteEop:
      if (!dialect.has_event_write_eop) break;
      return takes(5, 5) ? event_write_eop(body) : wrong_size();
    case pm4::kReleaseMem:
      return takes(dialect.release_mem_dwords, dialect.release_mem_dwords) ? release_mem(body) : wrong_size();
    case pm4::kDmaData:
      return takes(6, 6) ? dma_data(body) : wrong_size();
    case pm4::kAtomicMem:
      return takes(8, 8) ? atomic_mem(body) : wrong_size();
    case pm4::kCondExec:
      return takes(4, 4) ? cond_exec(body) : wrong_size();
    case pm4::kPredExec:
      if (!dialect.has_pred_exec) break;
      if (!takes(1, 1)) return wrong_size();
      return pred_exec(body[0]);
    case pm4::kSetShRegIndex:
      if (!dialect.has_set_sh_reg_index) break;
      [[fallthrough]];
    case pm4::kSetShReg:
      if (!takes(2, 0x400)) return wrong_size();
      return set_sh_registers(body);
    case pm4::kSetUconfigReg:
      if (!takes(2, 0x4000)) return wrong_size();
      return set_uconfig_registers(body);
    case pm4::kDispatchDirect: {
      if (!takes(4, 4)) return wrong_size();
      const uint32_t dims[3] = {body[0], body[1], body[2]};
      return dispatch(dims, body[3]);
    }
    case pm4::kDispatchIndirect: {
      if (!takes(3, 3)) return wrong_size();
      uint32_t dims[3];
      if (!queue_.memory_.read(pm4::address(body[0] & ~3u, body[1]), dims, sizeof dims)) {
        return memory_fault("DISPATCH_INDIRECT");
      }
      return dispatch(dims, body[2]);
    }
    default:
      break;
  }
  return fail(fmt::format("unknown opcode {:#04x} ({}) on this GPU", op, packet_name(PacketSet::kPm4, op)));
}

Outcome Pm4Interpreter::write_data(std::span<const uint32_t> body) {
  const uint32_t select = body[0] >> 8 & 0xf;
  const bool one_address = (body[0] >> 16 & 1) != 0;
  const auto data = body.subspan(3);
  if (select == 0) {
    fidelity_field_ = "register destinations";
    for (size_t i = 0; i < data.size(); ++i) {
      const uint32_t address = (body[1] & 0x3ffff) + (one_address ? 0 : static_cast<uint32_t>(i));
      if (!write_register(address, data[i])) {
        return fail(fmt::format("WRITE_DATA: register {:#x} is not supported", address));
      }
    }
    return Outcome::kProgress;
  }
  if (select != 1 && select != 2 && select != 5) {
    return fail(fmt::format("WRITE_DATA: destination {} is not supported", select));
  }
  const uint64_t va = pm4::address(body[1] & ~3u, body[2]);
  for (size_t i = 0; i < data.size(); ++i) {
    if (!queue_.memory_.store<uint32_t>(va + (one_address ? 0 : i * 4), data[i])) {
      return memory_fault("WRITE_DATA");
    }
  }
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::copy_data(std::span<const uint32_t> body) {
  const uint32_t from = body[0] & 0xf, to = body[0] >> 8 & 0xf;
  const bool wide = (body[0] >> 16 & 1) != 0;
  uint64_t value = 0;
  switch (from) {
    case 0:
    case 4: {
      uint32_t low = 0, high = 0;
      if (!read_register(body[1], low) || (wide && !read_register(body[1] + 1, high))) {
        return fail(fmt::format("COPY_DATA: source register {:#x} is not supported", body[1]));
      }
      value = pm4::address(low, high);
      if (PerformanceCounters::has_register(body[1])) fidelity_field_ = "performance counters";
      break;
    }
    case 1:
    case 2: {
      const uint64_t va = pm4::address(body[1], body[2]);
      uint32_t narrow = 0;
      if (!(wide ? queue_.memory_.load(va, value) : queue_.memory_.load(va, narrow))) {
        return memory_fault("COPY_DATA");
      }
      if (!wide) value = narrow;
      break;
    }
    case 5:
      value = wide ? pm4::address(body[1], body[2]) : body[1];
      break;
    case 6:
      value = atomic_return_;
      break;
    case 9:
      value = queue_.context_.bus.gpu_clock();
      break;
    default:
      return fail(fmt::format("COPY_DATA: source {} is not supported", from));
  }
  switch (to) {
    case 0:
    case 4:
      if (!write_register(body[3], static_cast<uint32_t>(value)) ||
          (wide && !write_register(body[3] + 1, static_cast<uint32_t>(value >> 32)))) {
        return fail(fmt::format("COPY_DATA: destination register {:#x} is not supported", body[3]));
      }
      return Outcome::kProgress;
    case 1:
    case 2:
    case 5: {
      const uint64_t va = pm4::address(body[3], body[4]);
      const bool stored = wide ? queue_.memory_.store<uint64_t>(va, value)
                               : queue_.memory_.store<uint32_t>(va, static_cast<uint32_t>(value));
      return stored ? Outcome::kProgress : memory_fault("COPY_DATA");
    }
    default:
      return fail(fmt::format("COPY_DATA: destination {} is not supported", to));
  }
}

Outcome Pm4Interpreter::wait_reg_mem(std::span<const uint32_t> body, bool wide) {
  const std::string_view name = wide ? "WAIT_REG_MEM64" : "WAIT_REG_MEM";
  const uint32_t function = body[0] & 7, space = body[0] >> 4 & 3, operation = body[0] >> 6 & 3;
  const uint64_t reference = wide ? pm4::address(body[3], body[4]) : body[3];
  const uint64_t mask = wide ? pm4::address(body[5], body[6]) : body[4];
  if (function == 7) return fail(fmt::format("{}: invalid comparison 7", name));
  if (space == 1 && (operation == 0 || operation == 3)) {
    const uint64_t va = pm4::address(body[1], body[2]);
    uint64_t value = 0;
    uint32_t narrow = 0;
    if (!(wide ? queue_.memory_.load(va, value) : queue_.memory_.load(va, narrow))) return memory_fault(name);
    if (!wide) value = narrow;
    return pm4::compare(function, value & mask, reference) ? Outcome::kProgress : Outcome::kPolling;
  }
  if (space == 0 && operation <= 1 && !wide) {
    // Operation 1 first writes `reference` to one register, then waits for another.
    const bool writes = operation == 1;
    fidelity_field_ = writes ? "write-wait-write" : "register space";
    const uint32_t written = body[1] & 0x3ffff, waited = body[writes ? 2 : 1] & 0x3ffff;
    uint32_t value = 0;
    if (writes && !write_register(written, static_cast<uint32_t>(reference)))
      return fail(fmt::format("{}: write register {:#x} is not supported", name, written));
    if (!read_register(waited, value))
      return fail(fmt::format("{}: register {:#x} is not supported", name, waited));
    if (pm4::compare(function, value & mask, reference)) return Outcome::kProgress;
    return fail(
        fmt::format("{}: the wait for register {:#x} cannot end: only this queue changes it", name, waited));
  }
  return fail(fmt::format("{}: memory space {} with operation {} is not supported", name, space, operation));
}

Outcome Pm4Interpreter::indirect_buffer(std::span<const uint32_t> body) {
  const uint64_t va = pm4::address(body[0] & ~3u, body[1] & 0xffff);
  const uint64_t dwords = body[2] & 0xfffff;
  const bool chain = (body[2] >> 20 & 1) != 0;
  if (chain && depth_ != 0) {  // replaces the buffer that contains the packet
    levels_[depth_] = Level{false, va, 0, dwords, 0};
    advance(0);
    return Outcome::kProgress;
  }
  if (depth_ + 1 == levels_.size()) return fail("INDIRECT_BUFFER: nested too deeply");
  // Moves past this packet before the new level starts: an empty buffer ends at once, and then this level
  // continues.
  levels_[depth_].position += 4;
  levels_[++depth_] = Level{false, va, 0, dwords, 0};
  if (dwords == 0) advance(0);
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::event_write(std::span<const uint32_t> body) {
  const uint32_t event = body[0] & 0x3f;
  switch (event) {
    case pm4::kCsPartialFlush:
      return queue_.running_dispatches() == 0 ? Outcome::kProgress : Outcome::kAsleep;
    case pm4::kCacheFlush:
    case pm4::kCacheFlushAndInv:
    case pm4::kPerfcounterStart:
    case pm4::kPerfcounterStop:
    case pm4::kPerfcounterSample:
    case pm4::kThreadTraceStart:
    case pm4::kThreadTraceStop:
    case pm4::kThreadTraceMarker:
    case pm4::kThreadTraceFinish:
      if (event != pm4::kCacheFlush && event != pm4::kCacheFlushAndInv)
        fidelity_field_ = "performance and trace events";
      return Outcome::kProgress;
    default:
      return fail(fmt::format("EVENT_WRITE: event {:#04x} is not supported", event));
  }
}

Outcome Pm4Interpreter::release_mem(std::span<const uint32_t> body) {
  const uint32_t event = body[0] & 0x3f, index = body[0] >> 8 & 0xf;
  const Dialect& dialect = queue_.dialect();
  if (dialect.has_pm4_in_slots && index == pm4::kEventIndexAql) {
    if (queue_.running_dispatches() != 0) return Outcome::kAsleep;
    released_slot_ = true;
    return Outcome::kProgress;
  }
  if (index != pm4::kEventIndexEndOfPipe && index != pm4::kEventIndexShaderDone) {
    return fail(fmt::format("RELEASE_MEM: event index {} is not supported", index));
  }
  if (event != pm4::kCacheFlushTs && event != pm4::kCacheFlushAndInvTs && event != pm4::kBottomOfPipeTs &&
      event != pm4::kCsDone) {
    return fail(fmt::format("RELEASE_MEM: event {:#04x} is not supported", event));
  }
  if ((body[1] >> 16 & 3) > 1)
    return fail(fmt::format("RELEASE_MEM: destination {} is not supported", body[1] >> 16 & 3));
  const uint32_t context_id = dialect.release_mem_dwords == 7 ? body[6] : body[4] & 0x0fffffff;
  return end_of_pipe("RELEASE_MEM", pm4::address(body[2], body[3]), body[1] >> 29,
                     pm4::address(body[4], body[5]), body[1] >> 24 & 7, context_id);
}

Outcome Pm4Interpreter::event_write_eop(std::span<const uint32_t> body) {
  return end_of_pipe("EVENT_WRITE_EOP", pm4::address(body[1], body[2] & 0xffff), body[2] >> 29,
                     pm4::address(body[3], body[4]), body[2] >> 24 & 3, body[3] & 0x0fffffff);
}

Outcome Pm4Interpreter::end_of_pipe(std::string_view packet, uint64_t va, uint32_t data_select, uint64_t data,
                                    uint32_t interrupt_select, uint32_t context_id) {
  // Hardware goes on with the stream and writes when the pipe has drained. Here the stream waits for that.
  if (queue_.running_dispatches() != 0) return Outcome::kAsleep;
  if (interrupt_select > 4)
    return fail(fmt::format("{}: interrupt selection {} is not supported", packet, interrupt_select));
  bool stored = true;
  switch (data_select) {
    case 0:
      break;
    case 1:
      stored = queue_.memory_.store<uint32_t>(va, static_cast<uint32_t>(data));
      break;
    case 2:
      stored = queue_.memory_.store<uint64_t>(va, data);
      break;
    case 3:
    case 4:
      stored = queue_.memory_.store<uint64_t>(va, queue_.context_.bus.gpu_clock());
      break;
    default:
      return fail(fmt::format("{}: data selection {} is not supported", packet, data_select));
  }
  if (!stored) return memory_fault(packet);
  if (interrupt_select == 1 || interrupt_select == 2 || interrupt_select == 4) {
    queue_.interrupt(InterruptSource::kEndOfPipe, context_id);
  }
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::dma_data(std::span<const uint32_t> body) {
  const uint32_t from = body[0] >> 29 & 3, to = body[0] >> 20 & 3;
  const uint32_t command = body[5];
  const uint32_t byte_mask = queue_.dialect().dma_data_byte_mask;
  if (to != 0 && to != 3) return fail(fmt::format("DMA_DATA: destination {} is not supported", to));
  if (from == 1) return fail("DMA_DATA: GDS as source is not supported");
  // Bits 29:26 select registers instead of memory, or addresses that do not advance.
  if ((command >> 26 & 0xf) != 0)
    return fail(fmt::format("DMA_DATA: command {:#x} is not supported", command >> 26 & 0xf));
  const uint64_t bytes = command & byte_mask;
  copied_ = std::min(copied_, bytes);
  const uint64_t piece = std::min(bytes - copied_, HardwareQueue::kPieceBytes);
  const uint64_t target = pm4::address(body[3], body[4]) + copied_;
  const bool done = from == 2 ? queue_.memory_.fill(target, body[1], piece)
                              : queue_.memory_.copy(target, pm4::address(body[1], body[2]) + copied_, piece);
  if (!done) return memory_fault("DMA_DATA");
  copied_ += piece;
  if (copied_ == bytes) copied_ = 0;
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::atomic_mem(std::span<const uint32_t> body) {
  const uint32_t code = body[0] & 0x7f, command = body[0] >> 8 & 0xf;
  if (command > 1) return fail(fmt::format("ATOMIC_MEM: command {} is not supported", command));
  const AtomicResult result = do_atomic(queue_.memory_, code, pm4::address(body[1], body[2]),
                                        pm4::address(body[3], body[4]), pm4::address(body[5], body[6]));
  switch (result.status) {
    case AtomicStatus::kFault:
      return memory_fault("ATOMIC_MEM");
    case AtomicStatus::kUnknown:
      return fail(fmt::format("ATOMIC_MEM: operation {:#x} is not supported", code));
    case AtomicStatus::kCompareFailed:
      if (command == 1) return Outcome::kPolling;
      break;
    case AtomicStatus::kDone:
      break;
  }
  atomic_return_ = result.old;
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::cond_exec(std::span<const uint32_t> body) {
  uint32_t condition = 0;
  if (!queue_.memory_.load(pm4::address(body[0] & ~3u, body[1]), condition)) return memory_fault("COND_EXEC");
  if (condition == 0) skip_ = body[3] & 0x3fff;
  return Outcome::kProgress;
}

// Streams also set registers that are not compute registers: those of graphics, and others to which the
// packet gives no access. Hardware ignores these writes and continues, and so does the queue. A packet
// reports only the first register that no earlier packet has written.
Outcome Pm4Interpreter::set_sh_registers(std::span<const uint32_t> body) {
  std::optional<uint32_t> ignored;  // the register to report
  for (uint32_t i = 1; i < body.size(); ++i) {
    const uint32_t number = (body[0] + i - 1) & 0xffff, address = pm4::kShStart + number;
    if (address >= pm4::kComputeStart && address < pm4::kComputeEnd) {
      write_register(address, body[i]);
      continue;
    }
    if (!ignored_.test(number) && !ignored) ignored = address;
    ignored_.set(number);
  }
  if (ignored) {
    queue_.context_.bus.report(
        Severity::kWarning, queue_.id(),
        fmt::format("PM4 SET_SH_REG: register {:#x} is not a compute register; the write is ignored",
                    *ignored));
  }
  return Outcome::kProgress;
}

// PRED_EXEC: a mask of the dies that execute the next dwords. Here one command processor acts for all dies
// and skips the dwords only if the mask has none of them. Until the next PRED_EXEC, performance counters are
// those of the mask's first die.
Outcome Pm4Interpreter::pred_exec(uint32_t word) {
  const uint32_t dies = word >> 24 & ((1u << queue_.context_.config.xcc_count) - 1);
  if (dies == 0) {
    skip_ = word & 0x3fff;
  } else {
    die_ = static_cast<uint32_t>(__builtin_ctz(dies));
  }
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::set_uconfig_registers(std::span<const uint32_t> body) {
  const uint32_t start = pm4::kUconfigStart + (body[0] & 0xffff);
  for (uint32_t i = 1; i < body.size(); ++i) {
    const uint32_t address = start + i - 1;
    if (address >= pm4::kUconfigEnd)
      return fail(fmt::format("SET_UCONFIG_REG: register {:#x} is not supported", address));
    write_register(address, body[i]);
  }
  return Outcome::kProgress;
}

Outcome Pm4Interpreter::dispatch(const uint32_t (&dims)[3], uint32_t initiator) {
  if ((initiator & pm4::kComputeShaderEnable) == 0) return Outcome::kProgress;  // the shader is disabled
  if (queue_.running_dispatches() >= kMostDispatches) return Outcome::kAsleep;
  Dispatch launch;
  launch.queue_id = queue_.id();
  launch.packet_id = dispatches_++;
  launch.entry_va = pm4::address(compute_register(pm4::kPgmLo), compute_register(pm4::kPgmHi) & 0xff) << 8;
  launch.pgm_rsrc1 = compute_register(pm4::kPgmRsrc1);
  launch.pgm_rsrc2 = compute_register(pm4::kPgmRsrc2);
  launch.pgm_rsrc3 = queue_.dialect().has_rsrc3 ? compute_register(pm4::kPgmRsrc3) : 0;
  launch.wave_size = queue_.dialect().has_wave32 && (initiator & pm4::kWave32) != 0 ? 32 : 64;
  uint64_t work_items = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t size = compute_register(pm4::kNumThreadX + i) & 0xffff;
    if (size == 0) return fail("dispatch: COMPUTE_NUM_THREAD is 0");
    if (compute_register(pm4::kStartX + i) != 0)
      return fail("dispatch: COMPUTE_START other than 0 is not supported");
    launch.work_group_size[i] = size;
    work_items *= size;
    const uint64_t grid = (initiator & pm4::kUseThreadDimensions) != 0 ? dims[i] : uint64_t{dims[i]} * size;
    if (grid > UINT32_MAX) return fail("dispatch: more than 2^32 work-items in one dimension");
    if (grid == 0) return Outcome::kProgress;
    launch.grid_size[i] = static_cast<uint32_t>(grid);
  }
  if (work_items > queue_.context_.config.max_work_group_size) {
    return fail(fmt::format("dispatch: work-group of {} work-items exceeds the maximum", work_items));
  }
  launch.lds_bytes = (launch.pgm_rsrc2 >> 15 & 0x1ff) * kLdsGranule;
  launch.lds_requested_bytes = launch.lds_bytes;
  launch.user_sgpr_count = std::min<uint32_t>(launch.pgm_rsrc2 >> 1 & 0x1f, 16);
  for (uint32_t i = 0; i < launch.user_sgpr_count; ++i) {
    launch.user_sgprs[i] = compute_register(pm4::kUserData0 + i);
  }
  const uint32_t tmpring = compute_register(pm4::kTmpringSize);
  const TmpringLayout& layout = queue_.dialect().tmpring;
  launch.scratch_waves =
      layout.waves(tmpring, queue_.context_.config.shader_engines) * queue_.context_.config.xcc_count;
  launch.scratch_wave_bytes = layout.wave_bytes(tmpring);
  launch.scratch_bytes = uint64_t{launch.scratch_waves} * launch.scratch_wave_bytes;
  launch.private_bytes = launch.scratch_wave_bytes / launch.wave_size;
  const bool from_base = queue_.dialect().scratch_counts_from_base;
  if (from_base) launch.scratch_base = queue_.context_.scratch_base.load(std::memory_order_relaxed);
  if (launch.scratch_bytes != 0) {
    launch.scratch_va = from_base ? launch.scratch_base
                                  : pm4::address(compute_register(pm4::kScratchBaseLo),
                                                 compute_register(pm4::kScratchBaseHi) & 0xff)
                                        << 8;
  }
  launch.flat_group_base = queue_.context_.config.flat_group_base;
  launch.flat_private_base = queue_.context_.config.flat_private_base;
  launch.acquire_system = true;
  queue_.start_dispatch(launch, UINT64_MAX);  // PM4 dispatches have no packet to complete
  return Outcome::kProgress;
}

uint32_t Pm4Interpreter::compute_register(uint32_t address) const {
  return compute_[address - pm4::kComputeStart];
}

bool Pm4Interpreter::read_register(uint32_t address, uint32_t& value) const {
  if (address >= pm4::kComputeStart && address < pm4::kComputeEnd) {
    value = compute_[address - pm4::kComputeStart];
    return true;
  }
  if (PerformanceCounters::has_register(address)) {
    value = queue_.context_.counters.read(address, die_);
    return true;
  }
  if (address >= pm4::kUconfigStart && address < pm4::kUconfigEnd) {
    const auto found = uconfig_.find(address);
    value = found == uconfig_.end() ? 0 : found->second;
    return true;
  }
  if (address == queue_.dialect().hdp_flush_request + 1) {
    value = hdp_flushed_;
    return true;
  }
  return false;
}

// Once for each event, because profilers select it for each instance of a block and each kernel.
void Pm4Interpreter::report_unknown(const UnknownEvent& event) {
  if (std::find(unknown_events_.begin(), unknown_events_.end(), event) != unknown_events_.end()) return;
  unknown_events_.push_back(event);
  queue_.context_.bus.report(Severity::kWarning, queue_.id(),
                             fmt::format("performance event {} of {} is not counted; the counter reads 0",
                                         event.number, event.block));
}

bool Pm4Interpreter::write_register(uint32_t address, uint32_t value) {
  if (address >= pm4::kComputeStart && address < pm4::kComputeEnd) {
    compute_[address - pm4::kComputeStart] = value;
    if (address == pm4::kPerfcountEnable) queue_.counts_events_ = (value & 1) != 0;
    return true;
  }
  if (PerformanceCounters::has_register(address)) {
    if (const auto unknown = queue_.context_.counters.write(address, value)) report_unknown(*unknown);
    return true;
  }
  if (address >= pm4::kUconfigStart && address < pm4::kUconfigEnd) {
    uconfig_[address] = value;
    if (const auto unknown = PerformanceCounters::selected_elsewhere(address, value))
      report_unknown(*unknown);
    return true;
  }
  // The host's writes need no flush, because the virtual GPU reads the same memory.
  if (address == queue_.dialect().hdp_flush_request) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    hdp_flushed_ = value;
    return true;
  }
  return false;
}

}  // namespace rigel::vgpu
