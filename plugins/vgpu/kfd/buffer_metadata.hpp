// What graphics drivers say of a buffer to those who share it: GEM_METADATA writes it, GEM_METADATA and amdkfd's
// GET_DMABUF_INFO read it, whichever descriptor of the buffer they have. It describes an image's planes, as a rule.
//
// The driver keeps it with the buffer; here a process keeps it for as long as one of its render nodes has a handle of the
// buffer, and other processes do not see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"

namespace rigel::vgpu {

struct BufferMetadata {
  uint64_t flags = 0;   ///< The writer's own.
  uint64_t tiling = 0;  ///< AMDGPU_TILING_
  std::vector<std::byte> bytes;
};

/// Thread-safe.
class BufferMetadataTable {
 public:
  /// A buffer's metadata, for those who have a handle of it.
  class Entry {
   public:
    BufferMetadata get() const;
    void set(BufferMetadata metadata);

   private:
    mutable Mutex mutex_;
    BufferMetadata metadata_ RIGEL_GUARDED_BY(mutex_);
  };

  /// The entry of the buffer with `nonce`, which is new where nobody has one. 0 is a buffer that cannot be shared.
  std::shared_ptr<Entry> open(uint64_t nonce);
  /// After an entry of the buffer has been given up: the table need not keep it if nobody else has it.
  void forget(uint64_t nonce);
  /// What is said of the buffer with `nonce`: nothing where nobody has its entry.
  BufferMetadata find(uint64_t nonce) const;

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<Entry>> entries_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
