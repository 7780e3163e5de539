// Handles that can be checked: a handle names a slot and the generation of what lives in it, so a freed, a
// foreign and a made-up handle are all told from a live one, even after the slot has been used again.
//
// Bits of a handle: [63:56] kind (never 0, so no handle is 0), [55:32] generation, [31:0] slot.
// A HandleTable owns its objects through shared_ptr: `find` hands out a reference that keeps the object alive
// while another thread destroys the handle. All members may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace rigel {

enum class HandleKind : uint8_t {
  kExecutable = 1,
  kExecutableSymbol,
  kLoadedCodeObject,
  kCodeObjectReader,
  kCodeObject,
  kCodeSymbol,
  kSignalGroup,
  kVirtualMemory,
};

template <class T>
class HandleTable {
 public:
  explicit HandleTable(HandleKind kind) : kind_(kind) {}

  uint64_t insert(std::shared_ptr<T> object) {
    const std::unique_lock lock(mutex_);
    uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].object = std::move(object);
    return compose(slot, slots_[slot].generation);
  }

  /// The live object of `handle`, or null.
  std::shared_ptr<T> find(uint64_t handle) const {
    const std::shared_lock lock(mutex_);
    const Slot* slot = live_slot(handle);
    return slot ? slot->object : nullptr;
  }

  /// Takes the object out: its handle is dead from here on. Null if it was not live.
  std::shared_ptr<T> remove(uint64_t handle) {
    const std::unique_lock lock(mutex_);
    auto* slot = const_cast<Slot*>(live_slot(handle));
    if (slot == nullptr) return nullptr;
    free_.push_back(static_cast<uint32_t>(handle));
    slot->generation = (slot->generation + 1) & kGenerationMask;
    return std::move(slot->object);
  }

  /// Takes every object out, for the end of the runtime.
  std::vector<std::shared_ptr<T>> clear() {
    const std::unique_lock lock(mutex_);
    std::vector<std::shared_ptr<T>> objects;
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      if (!slots_[i].object) continue;
      objects.push_back(std::move(slots_[i].object));
      slots_[i].object = nullptr;
      slots_[i].generation = (slots_[i].generation + 1) & kGenerationMask;
      free_.push_back(i);
    }
    return objects;
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::shared_lock lock(mutex_);
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

  uint64_t compose(uint32_t slot, uint32_t generation) const {
    return uint64_t{static_cast<uint8_t>(kind_)} << 56 | uint64_t{generation} << 32 | slot;
  }

  const Slot* live_slot(uint64_t handle) const {
    const auto index = static_cast<uint32_t>(handle);
    if (index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[index];
    return slot.object && compose(index, slot.generation) == handle ? &slot : nullptr;
  }

  const HandleKind kind_;
  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace rigel
