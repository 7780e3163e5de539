// Lookup of the loaded code object at a device address. Profilers call this for every dispatch, so it takes
// one shared lock and searches all code objects, instead of iterating over executables.
//
// Device addresses are unique in a process, because agents share one address space. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "api/support/mutex.hpp"
#include "core/executable/loaded_code_object.hpp"

namespace rigel {

class LoadedRanges {
 public:
  void add(std::shared_ptr<const LoadedCodeObject> object) {
    const WriterLock lock(mutex_);
    const uint64_t address = object->device_address();
    by_address_.insert_or_assign(address, std::move(object));
  }

  void remove(const LoadedCodeObject& object) {
    const WriterLock lock(mutex_);
    by_address_.erase(object.device_address());
  }

  /// Returns null if no loaded code object contains the address.
  std::shared_ptr<const LoadedCodeObject> find(uint64_t device_address) const {
    const ReaderLock lock(mutex_);
    auto next = by_address_.upper_bound(device_address);
    if (next == by_address_.begin()) return nullptr;
    const auto& object = std::prev(next)->second;
    return device_address - object->device_address() < object->size() ? object : nullptr;
  }

 private:
  mutable SharedMutex mutex_;
  std::map<uint64_t, std::shared_ptr<const LoadedCodeObject>> by_address_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
