// The objects of the program: which handles live, of what kind they are, and where they were made.
//
// Any function, any thread. Handles are spread over shards, each with a lock of its own; a thread that asks for
// what it has asked for a moment ago takes no lock.
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
  // Addresses, as far as functions take them for handles.
  kMemory,
  kLockedMemory,
  kAttachedMemory,
  kMappedBuffer,
  kAddressRange,
};

/// "signal", "memory pool".
std::string_view name_of(Kind kind);

/// Whether the runtime gives out handles of this kind in no way that the tool does not see. Only then is an
/// unknown one wrong.
bool is_always_seen(Kind kind);

/// A call that has made or destroyed something.
struct Event {
  const hsatool_function_t* function = nullptr;
  Place place = nullptr;
};

struct Object {
  bool live = true;
  uint32_t references = 1;  ///< an object may be given out several times, and is then given back as often
  uint32_t waiters = 0;     ///< threads that wait for a signal
  uint64_t parent = 0;      ///< what it goes with: the queue of a doorbell, the executable of a symbol
  uint64_t bytes = 0;       ///< of memory
  Event made;
  Event destroyed;
};

enum class State { kUnknown, kLive, kDestroyed };

class Registry {
 public:
  Registry();

  /// Given out, perhaps once more.
  void add(Kind kind, uint64_t handle, const Event& made, uint64_t parent = 0, uint64_t bytes = 0);
  /// Given back. False: it was not there, and nothing changes.
  bool remove(Kind kind, uint64_t handle, const Event& destroyed);
  /// The call that was to give it back has failed.
  void restore(Kind kind, uint64_t handle);
  /// The same for what goes with an object.
  void remove_children(Kind kind, uint64_t parent, const Event& destroyed);
  void restore_children(Kind kind, uint64_t parent);

  State state(Kind kind, uint64_t handle);
  std::optional<Object> find(Kind kind, uint64_t handle);
  /// The kind of a live object with this handle that is not `except`; kNone: there is none.
  Kind other_kind(Kind except, uint64_t handle);

  /// A thread waits for a signal (+1) or does not any more (-1).
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
    // Differs whenever something may have ceased to live, from all values of all registries: see state().
    std::atomic<uint64_t> epoch;
    std::unordered_map<Key, Object, Hash> objects RIGEL_GUARDED_BY(mutex);
    std::deque<Key> destroyed RIGEL_GUARDED_BY(mutex);  // the oldest first; some may live again
  };
  Shard& shard_of(const Key& key) { return shards_[hash_of(key) >> 58]; }
  static void forget_oldest(Shard& shard) RIGEL_REQUIRES(shard.mutex);

  std::array<Shard, 64> shards_;
};

}  // namespace validate
