// A queue of one of the device's copy engines.
//
// Not safe for threads: its owner's lock guards it. A submission is written in one piece. Order:
// packets before the write index, the write index before the doorbell (release); the engine's read index is
// loaded with acquire before its part of the ring is written again.
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
  /// What one submission can have.
  static constexpr size_t kDwordsMax = kRingBytes / 4 / 4;

  /// Null if the driver has none to give: other processes may have them all.
  static std::unique_ptr<CopyQueue> create(Device& device);
  ~CopyQueue();
  CopyQueue(const CopyQueue&) = delete;

  const SdmaEncoder& encoder() const { return encoder_; }

  /// Where to put up to `dwords` dwords, or null if there is no room now.
  uint32_t* begin(size_t dwords);
  /// Has the engine read the dwords that were put there. Returns where they begin.
  uint64_t submit(size_t dwords);

  /// Copies a row of encoder().copy_max() bytes at most. False if there is no room now. `completion` has a value.
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

  /// Where the engine writes how far it has come, before each completion; and what it writes for a submission of
  /// `dwords` dwords that begins here.
  uint64_t position_va() const { return pointers_.address() + kPositionAt; }
  uint32_t position_behind(size_t dwords) const {
    return static_cast<uint32_t>(written_ + (dwords + encoder_.padding_dwords(dwords)) * 4);
  }

  /// Where the last submission ends, and how far the engine has read. In bytes; both only grow.
  uint64_t written() const { return written_; }
  uint64_t read();
  /// Where the last submission ends that the engine has completed, or is about to: it writes that before the
  /// completion. The read index follows some time after.
  uint64_t completed();
  /// As far as is known without looking: the engine writes that memory all the time.
  uint64_t known_read() const { return read_; }

  /// The engine does nothing more; how far it has come can still be read. Nothing may be submitted any more.
  void stop();

  /// Whether the engine has read everything.
  bool idle() { return read() == written_; }

 private:
  static constexpr uint64_t kPositionAt = 8;
  /// Apart from the read index: the engine and the host write one each.
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
    // The engine had the next lines last; fetching them overlaps with what comes before the next submission.
    const std::byte* const next = ring_.data() + indices_.offset(written_);
    for (size_t line = 0; line < 2; ++line) fetch_to_write(next + line * 64);
  }

  static void fetch_to_write(const void* line) {
#if defined(__x86_64__)
    // The compiler's own would take a copy of the line that has to be asked for again when it is written.
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
  Block pointers_;  // the read index, and so much further the position and the write index
  Doorbell doorbell_;
  uint32_t queue_id_ = 0;
  bool created_ = false;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

}  // namespace rigel::gfx
