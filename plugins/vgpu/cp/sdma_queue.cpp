#include "plugins/vgpu/cp/sdma_queue.hpp"

#include <algorithm>

#include "plugins/vgpu/cp/packet_atomics.hpp"
#include "plugins/vgpu/cp/packet_fidelity.hpp"
#include "plugins/vgpu/cp/pm4_packets.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kRowBytes = 256;  // minimum cost of a window's row, in bytes

uint64_t address(const std::array<uint32_t, sdma::kMaxFixedDwords>& words, size_t word) {
  return uint64_t{words[word + 1]} << 32 | words[word];
}

}  // namespace

SdmaQueue::SdmaQueue(QueueContext& context, const QueueConfig& config) : HardwareQueue(context, config) {}

void SdmaQueue::ring(uint64_t value) noexcept {
  rung_.store(value, std::memory_order_release);
}

bool SdmaQueue::read_write_pointer() {
  if (!dialect().has_wide_indices) {
    uint32_t value = 0;
    if (!memory_.load(config_.write_pointer_va, value)) return false;
    if (value != 0) ring(value);
    return true;
  }
  uint64_t value = 0;
  if (!memory_.load(config_.write_pointer_va, value)) return false;
  if (value > rung_.load(std::memory_order_relaxed)) ring(value);
  return true;
}

bool SdmaQueue::ready() const {
  if (stopped()) return false;
  if (in_buffer_ || unfinished_) return true;
  const uint64_t rung = rung_.load(std::memory_order_acquire);
  if (starved_ && rung == starved_at_) return false;
  return dialect().has_wide_indices ? rung > position_ : ((rung - position_) & (config_.ring_bytes - 1)) != 0;
}

Outcome SdmaQueue::run(uint32_t budget) {
  if (stopped()) return Outcome::kStopped;
  const uint64_t rung = rung_.load(std::memory_order_acquire);
  limit_ = dialect().has_wide_indices ? std::max(rung, position_)
                                      : position_ + ((rung - position_) & (config_.ring_bytes - 1));
  if (limit_ - position_ > config_.ring_bytes || limit_ % 4 != 0) {
    return fail(fmt::format("invalid write pointer {:#x}: read pointer {:#x}, ring of {:#x} bytes", rung,
                            position_, config_.ring_bytes));
  }
  starved_ = false;
  Outcome outcome = Outcome::kIdle;
  bool progress = false;
  for (; budget != 0 && (in_buffer_ || position_ < limit_); --budget) {
    outcome = run_packet();
    if (outcome == Outcome::kIdle) starved_ = true, starved_at_ = rung;
    if (outcome != Outcome::kProgress) break;
    progress = true;
    if (unfinished_ || has_moved_a_piece() || has_interrupts()) break;
  }
  if (!report_read_pointer()) return fault_here("the read pointer");
  if (stopped()) return Outcome::kStopped;
  return progress ? Outcome::kProgress : outcome;
}

bool SdmaQueue::report_read_pointer() {
  if (position_ == reported_ || config_.read_pointer_va == 0) return true;
  reported_ = position_;
  if (dialect().has_wide_indices) return memory_.store<uint64_t>(config_.read_pointer_va, position_);
  return memory_.store<uint32_t>(config_.read_pointer_va,
                                 static_cast<uint32_t>(position_ & (config_.ring_bytes - 1)));
}

uint64_t SdmaQueue::left_dwords() const {
  return in_buffer_ ? buffer_dwords_ - buffer_position_ : (limit_ - position_) / 4;
}

bool SdmaQueue::fetch(uint64_t offset, uint32_t count, uint32_t* to) {
  if (in_buffer_) return memory_.read(buffer_va_ + (buffer_position_ + offset) * 4, to, uint64_t{count} * 4);
  const uint64_t begin = (position_ + offset * 4) & (config_.ring_bytes - 1);
  const uint64_t first = std::min<uint64_t>(uint64_t{count} * 4, config_.ring_bytes - begin);
  return memory_.read(config_.ring_va + begin, to, first) &&
         memory_.read(config_.ring_va, to + first / 4, uint64_t{count} * 4 - first);
}

void SdmaQueue::advance(uint64_t dwords) {
  if (!in_buffer_) {
    position_ = std::min(position_ + dwords * 4, limit_);
    return;
  }
  buffer_position_ += dwords;
  if (buffer_position_ >= buffer_dwords_) in_buffer_ = false;
}

Outcome SdmaQueue::fail(std::string reason) {
  count_rejected_packet(PacketSet::kSdma, reason);
  stop("SDMA: " + std::move(reason));
  return Outcome::kStopped;
}

Outcome SdmaQueue::memory_fault(uint32_t code) {
  return fault_here(fmt::format("SDMA {}", packet_name(PacketSet::kSdma, code)));
}

uint32_t SdmaQueue::packet_dwords(uint32_t header) const {
  switch (sdma::code(header)) {
    case sdma::kNop:
      return 1;
    case sdma::kCopyLinear:
      if (dialect().sdma_has_compression && (header & sdma::kCompression) != 0) return 8;
      return (header & sdma::kBroadcast) != 0 ? 9 : 7;
    case sdma::kCopySubWindow:
      return 13;
    case sdma::kWriteLinear:
      return 4;
    case sdma::kIndirect:
      return 6;
    case sdma::kFence:
      return 4;
    case sdma::kTrap:
      return 2;
    case sdma::kPollRegmem:
      return 6;
    case sdma::kCondExe:
      return 5;
    case sdma::kAtomic:
      return 8;
    case sdma::kConstFill:
      return 5;
    case sdma::kTimestampGet:
    case sdma::kTimestampGetGlobal:
      return 3;
    case sdma::kDummyTrap:
      return dialect().sdma_has_dummy_trap ? 2 : 0;
    case sdma::kGcr:
      return dialect().sdma_has_cache_policies ? 5 : 0;
    default:
      return 0;
  }
}

Outcome SdmaQueue::run_packet() {
  Words words{};
  if (!fetch(0, 1, words.data())) return memory_fault(sdma::kNop);
  const uint32_t code = sdma::code(words[0]);
  const uint32_t fixed = packet_dwords(words[0]);
  if (fixed == 0) {
    return fail(fmt::format("unknown packet {:#010x} ({}) on this GPU", words[0],
                            packet_name(PacketSet::kSdma, code)));
  }
  const uint64_t left = left_dwords();
  const auto too_short = [&] {
    if (!in_buffer_) return Outcome::kIdle;
    return fail(
        fmt::format("{} extends past the end of its indirect buffer", packet_name(PacketSet::kSdma, code)));
  };
  if (fixed > left) return too_short();
  if (!fetch(1, fixed - 1, words.data() + 1)) return memory_fault(code);
  tail_dwords_ = 0;
  if (code == sdma::kNop) tail_dwords_ = words[0] >> 16 & 0x3fff;
  if (code == sdma::kWriteLinear) {
    tail_dwords_ = dialect().sdma_counts_less_one ? (words[3] & 0xfffff) + 1 : words[3] & 0x3fffff;
  }
  if (fixed + tail_dwords_ > left) {
    // A packet that can never fit would block the queue without a report.
    if (!in_buffer_ && (fixed + tail_dwords_) * 4 > config_.ring_bytes) {
      return fail(fmt::format("{} of {} dwords exceeds the ring", packet_name(PacketSet::kSdma, code),
                              fixed + tail_dwords_));
    }
    return too_short();
  }
  unfinished_ = false;
  const bool was_in_buffer = in_buffer_;
  const Outcome outcome = execute(words, code);
  if (outcome != Outcome::kProgress || unfinished_) return outcome;
  done_ = 0;
  const bool polls_register = code == sdma::kPollRegmem && (words[0] & sdma::kMemPoll) == 0;
  count_packet(PacketSet::kSdma, code, polls_register ? "registers" : "");
  describe(words, code, fixed + tail_dwords_);
  if (code == sdma::kIndirect) {
    // The read pointer moves past the packet when the buffer is entered.
    position_ += uint64_t{fixed} * 4;
    buffer_va_ = address(words, 1) & ~uint64_t{31};
    buffer_dwords_ = words[3] & 0xfffff;
    buffer_position_ = 0;
    in_buffer_ = buffer_dwords_ != 0;
    return outcome;
  }
  if (was_in_buffer && fixed + tail_dwords_ > left)
    tail_dwords_ = left - fixed;  // a skip ends with its buffer
  advance(fixed + tail_dwords_);
  return outcome;
}

Outcome SdmaQueue::execute(const Words& words, uint32_t code) {
  switch (code) {
    case sdma::kNop:
    case sdma::kDummyTrap:
    case sdma::kGcr:
      return Outcome::kProgress;
    case sdma::kCopyLinear:
      return copy_linear(words);
    case sdma::kCopySubWindow:
      return copy_sub_window(words);
    case sdma::kWriteLinear:
      return write_linear(words);
    case sdma::kConstFill:
      return const_fill(words);
    case sdma::kPollRegmem:
      return poll(words);
    case sdma::kAtomic:
      return atomic(words);
    case sdma::kCondExe:
      return cond_exe(words);
    case sdma::kIndirect:
      return in_buffer_ ? fail("INDIRECT: nested in an indirect buffer") : Outcome::kProgress;
    case sdma::kFence:
      return memory_.store<uint32_t>(address(words, 1), words[3]) ? Outcome::kProgress : memory_fault(code);
    case sdma::kTrap:
      interrupt(InterruptSource::kSdmaTrap, words[1] & 0x0fffffff);
      return Outcome::kProgress;
    default:  // both TIMESTAMP_GETs
      return memory_.store<uint64_t>(address(words, 1), context_.bus.gpu_clock()) ? Outcome::kProgress
                                                                                  : memory_fault(code);
  }
}

uint64_t SdmaQueue::copied_bytes(const Words& words) const {
  return uint64_t{words[1] & dialect().sdma_count_mask} + (dialect().sdma_counts_less_one ? 1 : 0);
}

Outcome SdmaQueue::copy_linear(const Words& words) {
  if (!dialect().sdma_has_cache_policies && (words[2] & 0x03030000) != 0) {
    return fail(fmt::format("COPY_LINEAR: endian swap {:#010x} is not supported", words[2]));
  }
  if (dialect().sdma_copies_backwards && (words[0] & sdma::kBackwards) != 0) {
    return fail("COPY_LINEAR: backward copies are not supported");
  }
  if (dialect().sdma_has_compression && (words[0] & sdma::kCompression) != 0) {
    if ((words[0] & sdma::kBroadcast) != 0) return fail("COPY_LINEAR: broadcast with compression");
    if (words[7] != 0)
      return fail(fmt::format("COPY_LINEAR: compression {:#010x} is not supported", words[7]));
  }
  const uint64_t bytes = copied_bytes(words);
  const uint64_t piece = std::min(bytes - done_, kPieceBytes);
  const uint64_t from = address(words, 3) + done_;
  if (!memory_.copy(address(words, 5) + done_, from, piece)) return memory_fault(sdma::kCopyLinear);
  if ((words[0] & sdma::kBroadcast) != 0 && !memory_.copy(address(words, 7) + done_, from, piece)) {
    return memory_fault(sdma::kCopyLinear);
  }
  done_ += piece;
  unfinished_ = done_ < bytes;
  return Outcome::kProgress;
}

Outcome SdmaQueue::copy_sub_window(const Words& words) {
  if (!dialect().sdma_has_cache_policies && (words[12] & 0x03030000) != 0) {
    return fail(fmt::format("COPY_LINEAR_SUB_WINDOW: endian swap {:#010x} is not supported", words[12]));
  }
  const uint32_t element = words[0] >> 29;
  if (element > 4) return fail(fmt::format("COPY_LINEAR_SUB_WINDOW: invalid element size {}", element));
  struct Side {
    uint64_t start, pitch, slice;
  };
  const bool is_wide = dialect().sdma_has_wide_windows;
  const uint32_t size_mask = is_wide ? 0xffff : 0x3fff;
  const uint32_t pitch_shift = !is_wide && dialect().sdma_has_wide_pitch ? 13 : 16;
  const uint32_t pitch_mask = is_wide ? 0xffff : dialect().sdma_has_wide_pitch ? 0x7ffff : 0x3fff;
  const auto side = [&](size_t at) {
    const uint64_t x = words[at + 2] & size_mask, y = words[at + 2] >> 16 & size_mask,
                   z = words[at + 3] & dialect().sdma_depth_mask;
    const uint64_t pitch = uint64_t{words[at + 3] >> pitch_shift & pitch_mask} + 1;
    const uint64_t slice = uint64_t{is_wide ? words[at + 4] : words[at + 4] & 0xfffffff} + 1;
    return Side{address(words, at) + ((z * slice + y * pitch + x) << element), pitch << element,
                slice << element};
  };
  const Side from = side(1), to = side(6);
  const uint64_t row_bytes = (uint64_t{words[11] & size_mask} + 1) << element;
  const uint64_t height = (words[11] >> 16 & size_mask) + 1,
                 depth = (words[12] & dialect().sdma_depth_mask) + 1;
  for (uint64_t copied = 0; done_ < height * depth && copied < kPieceBytes;
       ++done_, copied += std::max(row_bytes, kRowBytes)) {
    const uint64_t y = done_ % height, z = done_ / height;
    if (!memory_.copy(to.start + z * to.slice + y * to.pitch, from.start + z * from.slice + y * from.pitch,
                      row_bytes)) {
      return memory_fault(sdma::kCopySubWindow);
    }
  }
  unfinished_ = done_ < height * depth;
  return Outcome::kProgress;
}

Outcome SdmaQueue::write_linear(const Words& words) {
  if ((words[3] >> 24 & 3) != 0 && !dialect().sdma_has_cache_policies) {
    return fail(fmt::format("WRITE_LINEAR: endian swap {:#010x} is not supported", words[3]));
  }
  const uint64_t to = address(words, 1);
  const uint64_t bytes = tail_dwords_ * 4;
  if (in_buffer_) {
    return memory_.copy(to, buffer_va_ + (buffer_position_ + 4) * 4, bytes)
               ? Outcome::kProgress
               : memory_fault(sdma::kWriteLinear);
  }
  const uint64_t begin = (position_ + 16) & (config_.ring_bytes - 1);
  const uint64_t first = std::min(bytes, config_.ring_bytes - begin);
  const bool written = memory_.copy(to, config_.ring_va + begin, first) &&
                       memory_.copy(to + first, config_.ring_va, bytes - first);
  return written ? Outcome::kProgress : memory_fault(sdma::kWriteLinear);
}

Outcome SdmaQueue::const_fill(const Words& words) {
  const uint32_t size = words[0] >> 30;
  if (size == 3) return fail("CONST_FILL: invalid fill size 3");
  uint32_t pattern = words[3];
  if (size == 0) pattern = (pattern & 0xff) * 0x01010101u;
  if (size == 1) pattern = (pattern & 0xffff) * 0x00010001u;
  // Low bits that do not form a whole element are ignored on all chips.
  const uint64_t count = words[4] & dialect().sdma_count_mask;
  const uint64_t bytes = ((count >> size) + (dialect().sdma_counts_less_one ? 1 : 0)) << size;
  const uint64_t piece = std::min(bytes - done_, kPieceBytes);
  if (!memory_.fill(address(words, 1) + done_, pattern, piece)) return memory_fault(sdma::kConstFill);
  done_ += piece;
  unfinished_ = done_ < bytes;
  return Outcome::kProgress;
}

Outcome SdmaQueue::poll(const Words& words) {
  const uint32_t function = words[0] >> 28 & 7;
  if ((words[0] & sdma::kMemPoll) == 0) {
    // Runtimes use the register form only to flush the host data path; there is nothing to flush.
    if ((words[0] & sdma::kHdpFlush) != 0 || function == 0) return Outcome::kProgress;
    return fail(fmt::format("POLL_REGMEM: register {:#x} is not supported", words[1]));
  }
  if (function == 7) return fail("POLL_REGMEM: invalid comparison 7");
  uint32_t value = 0;
  if (!memory_.load(address(words, 1), value)) return memory_fault(sdma::kPollRegmem);
  return pm4::compare(function, value & words[4], words[3]) ? Outcome::kProgress : Outcome::kPolling;
}

Outcome SdmaQueue::atomic(const Words& words) {
  const uint32_t code = words[0] >> 25;
  const AtomicResult result =
      do_atomic(memory_, code, address(words, 1), address(words, 3), address(words, 5));
  switch (result.status) {
    case AtomicStatus::kFault:
      return memory_fault(sdma::kAtomic);
    case AtomicStatus::kUnknown:
      return fail(fmt::format("ATOMIC: operation {:#x} is not supported", code));
    case AtomicStatus::kCompareFailed:
      return (words[0] & sdma::kAtomicLoop) != 0 ? Outcome::kPolling : Outcome::kProgress;
    case AtomicStatus::kDone:
      break;
  }
  return Outcome::kProgress;
}

Outcome SdmaQueue::cond_exe(const Words& words) {
  uint32_t value = 0;
  if (!memory_.load(address(words, 1), value)) return memory_fault(sdma::kCondExe);
  if (value == words[3]) return Outcome::kProgress;
  const uint64_t skip = words[4] & 0x3fff;
  const uint64_t left = left_dwords();
  if ((5 + skip) * 4 > config_.ring_bytes && !in_buffer_)
    return fail("COND_EXE: the skipped dwords exceed the ring");
  if (!in_buffer_ && 5 + skip > left) return Outcome::kIdle;  // not all skipped dwords are in the ring yet
  tail_dwords_ = skip;
  return Outcome::kProgress;
}

void SdmaQueue::describe(const Words& words, uint32_t code, uint64_t dwords) {
  if (!tracing(TraceTopic::kSdma)) return;
  const auto name = packet_name(PacketSet::kSdma, code);
  switch (code) {
    case sdma::kCopyLinear:
      trace(TraceTopic::kSdma, "{} {:#x} -> {:#x}, {:#x} bytes", name, address(words, 3), address(words, 5),
            copied_bytes(words));
      break;
    case sdma::kConstFill:
      trace(TraceTopic::kSdma, "{} {:#x} with {:#010x}, count {:#x}", name, address(words, 1), words[3],
            words[4]);
      break;
    case sdma::kWriteLinear:
      trace(TraceTopic::kSdma, "{} {} dwords to {:#x}", name, dwords - 4, address(words, 1));
      break;
    case sdma::kFence:
      trace(TraceTopic::kSdma, "{} {:#x} = {:#x}", name, address(words, 1), words[3]);
      break;
    case sdma::kTrap:
      trace(TraceTopic::kSdma, "{} {}", name, words[1] & 0x0fffffff);
      break;
    case sdma::kPollRegmem:
      trace(TraceTopic::kSdma, "{} ({:#x} & {:#x}) compared with {:#x}, function {}", name, address(words, 1),
            words[4], words[3], words[0] >> 28 & 7);
      break;
    case sdma::kAtomic:
      trace(TraceTopic::kSdma, "{} {} {:#x}, {:#x}", name, atomic_name(words[0] >> 25), address(words, 1),
            address(words, 3));
      break;
    case sdma::kIndirect:
      trace(TraceTopic::kSdma, "{} {:#x}, {} dwords", name, address(words, 1), words[3] & 0xfffff);
      break;
    default:
      trace(TraceTopic::kSdma, "{}, {} dwords", name, dwords);
      break;
  }
}

}  // namespace rigel::vgpu
