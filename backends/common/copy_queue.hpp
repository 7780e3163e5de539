// A queue of one of the device's copy engines.
//
// *Threads:* not thread-safe; guarded by the owner's lock. A submission is written contiguously.
// *Memory order:* packets are written before the write index, and the write index before the doorbell
// (release). The read index is loaded with acquire before a part of the ring that the engine has read is
// written again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/common/doorbell.hpp"
#include "backends/common/gpu_device.hpp"
#include "backends/common/sdma.hpp"

namespace rigel::gfx {

class CopyQueue {
 public:
  static constexpr uint64_t kRingBytes = 256 * 1024;
  static constexpr size_t kDwordsMax = kRingBytes / 4 / 4;

  /// Returns null if the driver has no queue left: other processes may have them all.
  static std::unique_ptr<CopyQueue> create(Device& device, uint32_t queue_type);
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;

  const SdmaEncoder& encoder() const { return encoder_; }

  /// Returns the address for up to `dwords` dwords, or null if there is no room.
  uint32_t* begin(size_t dwords);
  /// Submits the dwords at that address. Returns the index of their start.
  uint64_t submit(size_t dwords);

  /// Copies a row of at most encoder().copy_max() bytes. Returns false if there is no room. `completion` must
  /// have a value.
  [[gnu::always_inline]] bool plain_copy(uint64_t destination, uint64_t source, uint32_t bytes,
                                         SdmaCompletion completion) {
    const SdmaPlainCopy& plain = plain_[completion.mailbox_va != 0 ? 1 : 0];
    const uint64_t length = plain.dwords() * 4;
    uint32_t* const to = room_for(length);
    if (to == nullptr) return false;
    completion.position_va = position_va();
    completion.position = static_cast<uint32_t>(written_ + length);
    plain.write(to, destination, source, bytes, completion);
    publish(length);
    return true;
  }

  /// Address to which the engine writes its position before each completion, and the position for a
  /// submission of `dwords` dwords that starts here.
  uint64_t position_va() const { return pointers_.address() + kPositionAt; }
  uint32_t position_behind(size_t dwords) const {
    return static_cast<uint32_t>(written_ + (dwords + encoder_.padding_dwords(dwords)) * 4);
  }

  /// End of the last submission, and the engine's read index. In bytes; both only grow.
  uint64_t written() const { return written_; }
  uint64_t read();
  /// End of the last submission that the engine has completed or is completing: it writes this before the
  /// completion. The read index follows some time later.
  uint64_t completed();
  /// The last known read index, without reading it: the engine writes that memory continuously.
  uint64_t known_read() const { return read_; }

  /// Stops the engine; its position can still be read. No submissions may follow.
  void stop();

  bool idle() { return read() == written_; }

 private:
  static constexpr uint64_t kPositionAt = 8;
  /// Separate from the read index: the engine and the host write one each.
  static constexpr uint64_t kWriteIndexAt = 128;

  explicit CopyQueue(Device& device);

  uint32_t* room_for(uint64_t bytes) {
    const uint64_t gap = indices_.gap(written_, bytes);
    const uint64_t end = written_ + gap + bytes;
    if (!indices_.has_room(end, read_) && !indices_.has_room(end, read())) return nullptr;
    if (gap != 0) [[unlikely]]
      skip(gap);
    return reinterpret_cast<uint32_t*>(ring_.data() + indices_.offset(written_));
  }
  void skip(uint64_t bytes);

  void publish(uint64_t bytes) {
    written_ += bytes;
    const uint64_t published = indices_.published(written_);
    std::atomic_ref(*reinterpret_cast<uint64_t*>(pointers_.data() + kWriteIndexAt))
        .store(published, std::memory_order_release);
    doorbell_.ring(published);
    // The engine accessed the next lines last; fetching them overlaps with work before the next submission.
    const std::byte* const next = ring_.data() + indices_.offset(written_);
    for (size_t line = 0; line < 2; ++line) fetch_to_write(next + line * 64);
  }

  static void fetch_to_write(const void* line) {
#if defined(__x86_64__)
    // The compiler's builtin would fetch a shared copy of the line, which must be requested again for the
    // write.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
  }

  Device& device_;
  const SdmaEncoder encoder_;
  const std::array<SdmaPlainCopy, 2> plain_;  // without and with interrupts
  const SdmaRing indices_;
  Block ring_;
  Block pointers_;  // the read index, then the position and the write index
  Doorbell doorbell_;
  uint32_t queue_id_ = 0;
  bool created_ = false;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

}  // namespace rigel::gfx
