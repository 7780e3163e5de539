// Handles that can be checked. A handle contains a slot and the generation of the object in it. The table can
// therefore distinguish a live handle from a destroyed, foreign or invalid one, even if the slot is used
// again.
//
// Bits of a handle: [63:56] kind (never 0, so no handle is 0), [55:32] generation, [31:0] slot.
//
// *Threads:* any thread may call all members.
// *Lifetime:* the table owns its objects by shared_ptr: `find` returns a reference that keeps the object
// alive while another thread destroys the handle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/support/mutex.hpp"

namespace rigel {

enum class HandleKind : uint8_t {
  kExecutable = 1,
  kExecutableSymbol,
  kLoadedCodeObject,
  kCodeObjectReader,
  kCodeSymbol,
  kSignalGroup,
  kVirtualMemory,
};

template <class T>
class HandleTable {
 public:
  explicit HandleTable(HandleKind kind) : kind_(kind) {}

  uint64_t insert(std::shared_ptr<T> object) {
    const WriterLock lock(mutex_);
    uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
      reserve_free();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].object = std::move(object);
    return compose(slot, slots_[slot].generation);
  }

  /// Returns the live object of `handle`, or null.
  std::shared_ptr<T> find(uint64_t handle) const {
    const ReaderLock lock(mutex_);
    const Slot* slot = live_slot(handle);
    return slot ? slot->object : nullptr;
  }

  /// Removes and returns the object, and invalidates its handle. Returns null if the handle is not live.
  /// Allocates no memory.
  std::shared_ptr<T> remove(uint64_t handle) noexcept {
    const WriterLock lock(mutex_);
    auto* slot = const_cast<Slot*>(live_slot(handle));
    if (slot == nullptr) return nullptr;
    free_.push_back(static_cast<uint32_t>(handle));
    slot->generation = (slot->generation + 1) & kGenerationMask;
    return std::move(slot->object);
  }

  /// Removes every object, and then calls `last` with it, outside the lock. For the end of the runtime.
  /// Allocates no memory.
  template <class Last>
  void clear(Last&& last) noexcept {
    for (uint32_t slot = 0;; ++slot) {
      std::shared_ptr<T> object;
      {
        const WriterLock lock(mutex_);
        if (slot >= slots_.size()) return;
        if (!slots_[slot].object) continue;
        object.swap(slots_[slot].object);
        slots_[slot].generation = (slots_[slot].generation + 1) & kGenerationMask;
        free_.push_back(slot);
      }
      last(*object);
    }
  }

  std::vector<std::shared_ptr<T>> all() const {
    const ReaderLock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (const Slot& slot : slots_) {
      if (slot.object) objects.push_back(slot.object);
    }
    return objects;
  }

 private:
  static constexpr uint32_t kGenerationMask = 0xffffff;

  struct Slot {
    std::shared_ptr<T> object;
    uint32_t generation = 0;
  };

  /// Reserves room in `free_` for every slot, so that removal allocates no memory. If that fails, removes the
  /// slot that was just added.
  void reserve_free() RIGEL_REQUIRES(mutex_) {
    if (free_.capacity() >= slots_.size()) return;
    try {
      free_.reserve(slots_.capacity());
    } catch (...) {
      slots_.pop_back();
      throw;
    }
  }

  uint64_t compose(uint32_t slot, uint32_t generation) const {
    return uint64_t{static_cast<uint8_t>(kind_)} << 56 | uint64_t{generation} << 32 | slot;
  }

  const Slot* live_slot(uint64_t handle) const RIGEL_REQUIRES_SHARED(mutex_) {
    const auto index = static_cast<uint32_t>(handle);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.object && compose(index, slot.generation) == handle ? &slot : nullptr;
  }

  const HandleKind kind_;
  mutable SharedMutex mutex_;
  std::vector<Slot> slots_ RIGEL_GUARDED_BY(mutex_);
  std::vector<uint32_t> free_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
