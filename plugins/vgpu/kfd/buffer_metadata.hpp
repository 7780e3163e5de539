// Metadata that graphics drivers attach to a shared buffer, as a rule the layout of an image's planes.
// GEM_METADATA writes it; GEM_METADATA and amdkfd's GET_DMABUF_INFO read it through any descriptor of the
// buffer.
//
// Linux keeps it with the buffer. Here a process keeps it while one of its render nodes has a handle of the
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
  uint64_t flags = 0;   ///< Defined by the writer.
  uint64_t tiling = 0;  ///< AMDGPU_TILING_
  std::vector<std::byte> bytes;
};

class BufferMetadataTable {
 public:
  /// The metadata of one buffer, shared by its handles.
  class Entry {
   public:
    BufferMetadata get() const;
    void set(BufferMetadata metadata);

   private:
    mutable Mutex mutex_;
    BufferMetadata metadata_ RIGEL_GUARDED_BY(mutex_);
  };

  /// Returns the entry of the buffer with `nonce`; creates it if there is none. 0: the buffer cannot be
  /// shared.
  std::shared_ptr<Entry> open(uint64_t nonce);
  /// Removes an unused entry. Called after a handle has released its entry.
  void forget(uint64_t nonce);
  /// Returns the metadata of the buffer with `nonce`, or empty metadata if no handle has an entry.
  BufferMetadata find(uint64_t nonce) const;

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::weak_ptr<Entry>> entries_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu
