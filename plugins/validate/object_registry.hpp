// The objects of the program: their handles, kinds, state, and the calls that created and destroyed them.
//
// *Threads:* any function, any thread. Handles are distributed over shards with one lock each. A lookup that
// repeats a recent lookup of the same thread takes no lock.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
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

/// Returns whether the tool observes all handles of this kind. Only then is an unknown handle an error.
bool is_always_seen(Kind kind);

/// A call that created or destroyed an object.
struct Event {
  const hsatool_function_t* function = nullptr;
  Place place = nullptr;
};

struct Object {
  bool live = true;
  uint32_t references = 1;  ///< number of destroying calls that the object needs
  uint32_t waiters = 0;     ///< number of threads that wait for the signal
  uint64_t parent = 0;      ///< owner that destroys it: a doorbell's queue, a symbol's executable
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
  /// The same for all objects of a kind with this parent.
  void remove_children(Kind kind, uint64_t parent, const Event& destroyed);
  void restore_children(Kind kind, uint64_t parent);

  State state(Kind kind, uint64_t handle);
  std::optional<Object> find(Kind kind, uint64_t handle);
  /// Returns a kind other than `except` that has a live object with this handle, or kNone.
  Kind other_kind(Kind except, uint64_t handle);

  /// Counts a thread that begins (+1) or ends (-1) to wait for a signal.
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

  struct alignas(64) Shard {
    rigel::Mutex mutex;
    // Changes whenever an object may have been destroyed. Unique in the process: see state().
    std::atomic<uint64_t> epoch;
    std::unordered_map<Key, Object, Hash> objects RIGEL_GUARDED_BY(mutex);
    std::deque<Key> destroyed RIGEL_GUARDED_BY(mutex);  // oldest first; some may be live again
  };
  Shard& shard_of(const Key& key) { return shards_[hash_of(key) >> 58]; }
  static void forget_oldest(Shard& shard) RIGEL_REQUIRES(shard.mutex);

  std::array<Shard, 64> shards_;
};

}  // namespace validate
