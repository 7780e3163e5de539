// The objects of the program: their handles, kinds, state, and the calls that created and destroyed them.
//
// *Threads:* any thread may call all functions. Handles are distributed over shards with one lock each. Each
// thread remembers a few handles that were live when it looked them up. state() takes no lock for them until
// an object of their shard is destroyed.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "api/support/mutex.hpp"
#include "plugins/validate/call_places.hpp"

namespace validate {

enum class Kind : uint8_t {
  kNone,
  kAgent,
  kRegion,
  kPool,
  kIsa,
  kCache,
  kWavefront,
  kSignal,
  kSignalGroup,
  kQueue,
  kExecutable,
  kReader,
  kSymbol,
  kLoadedObject,
  kCodeObject,
  kProgram,
  kImage,
  kSampler,
  kVmemHandle,
  kPcSampling,
  // Addresses that functions use as handles.
  kMemory,
  kLockedMemory,
  kAttachedMemory,
  kMappedBuffer,
  kAddressRange,
};

/// Returns for example "signal" or "memory pool".
std::string_view name_of(Kind kind);

/// Whether the tool observes the creation of all objects of this kind. If not, a handle that it does not know
/// may be valid.
bool is_always_seen(Kind kind);

/// A call that created or destroyed an object.
struct Event {
  const hsatool_function_t* function = nullptr;
  Place place = nullptr;
};

struct Object {
  bool live = true;
  uint32_t references = 1;  ///< number of calls that it takes to destroy the object
  uint32_t waiters = 0;     ///< number of threads that wait for it, if it is a signal
  uint64_t parent = 0;      ///< object that destroys it: a doorbell's queue, a symbol's executable; or 0
  uint64_t bytes = 0;       ///< size, if it is memory
  Event created;
  Event destroyed;
};

enum class State { kUnknown, kLive, kDestroyed };

class Registry {
 public:
  Registry();

  /// Adds an object, or a reference if it is live already.
  void add(Kind kind, uint64_t handle, const Event& created, uint64_t parent = 0, uint64_t bytes = 0);
  /// Removes a reference. Returns false and changes nothing if the object is not live.
  bool remove(Kind kind, uint64_t handle, const Event& destroyed);
  /// Undoes `remove` after the destroying call failed.
  void restore(Kind kind, uint64_t handle);
  /// Removes all references to all objects of a kind with this parent, or restores these objects.
  void remove_children(Kind kind, uint64_t parent, const Event& destroyed);
  void restore_children(Kind kind, uint64_t parent);

  State state(Kind kind, uint64_t handle);
  std::optional<Object> find(Kind kind, uint64_t handle);
  /// Returns a kind other than `except` that has a live object with this handle, or kNone.
  Kind other_kind(Kind except, uint64_t handle);

  /// Adds `change` to a signal's waiters: 1 when a thread starts to wait, -1 when it ends its wait.
  void count_waiter(uint64_t signal, int32_t change);

  void for_each_live(const std::function<void(Kind, uint64_t handle, const Object&)>& visit);

 private:
  struct Key {
    Kind kind;
    uint64_t handle;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const { return hash_of(key); }
  };
  static uint64_t hash_of(const Key& key);
  struct Entry : Object {
    std::list<Key>::iterator place;  ///< in Shard::destroyed, if it is not live
  };

  struct alignas(64) Shard {
    rigel::Mutex mutex;
    // A number that no shard has had before, changed whenever an object may have been destroyed. A handle
    // that a thread remembers together with this number is still live if the number is the same.
    std::atomic<uint64_t> epoch;
    std::unordered_map<Key, Entry, Hash> objects RIGEL_GUARDED_BY(mutex);
    std::list<Key> destroyed RIGEL_GUARDED_BY(mutex);  // objects that are not live, the oldest first
  };
  Shard& shard_of(const Key& key) { return shards_[hash_of(key) >> 58]; }
  static void mark_destroyed(Shard& shard, const Key& key, Entry& object, const Event& destroyed)
      RIGEL_REQUIRES(shard.mutex);
  static void mark_live(Shard& shard, Entry& object) RIGEL_REQUIRES(shard.mutex);
  static void forget_oldest(Shard& shard) RIGEL_REQUIRES(shard.mutex);

  std::array<Shard, 64> shards_;
};

}  // namespace validate
