#include "plugins/validate/object_registry.hpp"

#include "api/support/mutex.hpp"

namespace validate {
namespace {

// Number of destroyed objects that a shard keeps, to distinguish destroyed handles from unknown ones.
constexpr size_t kMaxDestroyed = 512;

constinit std::atomic<uint64_t> next_epoch{1};

uint64_t new_epoch() {
  return next_epoch.fetch_add(1, std::memory_order_relaxed);
}

// A live object that this thread looked up. Valid while its shard's epoch is unchanged.
struct Recent {
  Kind kind;
  uint64_t handle;
  uint64_t epoch;
};
constexpr size_t kRecents = 16;
thread_local std::array<Recent, kRecents> recents{};

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      break;
    case Kind::kAgent:
      return "agent";
    case Kind::kRegion:
      return "region";
    case Kind::kPool:
      return "memory pool";
    case Kind::kIsa:
      return "instruction set";
    case Kind::kCache:
      return "cache";
    case Kind::kWavefront:
      return "wavefront";
    case Kind::kSignal:
      return "signal";
    case Kind::kSignalGroup:
      return "signal group";
    case Kind::kQueue:
      return "queue";
    case Kind::kExecutable:
      return "executable";
    case Kind::kReader:
      return "code object reader";
    case Kind::kSymbol:
      return "symbol";
    case Kind::kLoadedObject:
      return "loaded code object";
    case Kind::kCodeObject:
      return "code object";
    case Kind::kProgram:
      return "program";
    case Kind::kImage:
      return "image";
    case Kind::kSampler:
      return "sampler";
    case Kind::kVmemHandle:
      return "physical memory handle";
    case Kind::kPcSampling:
      return "sampling session";
    case Kind::kMemory:
      return "allocation";
    case Kind::kLockedMemory:
      return "locked memory";
    case Kind::kAttachedMemory:
      return "attached memory";
    case Kind::kMappedBuffer:
      return "mapped buffer";
    case Kind::kAddressRange:
      return "address range";
  }
  return "unknown object";
}

bool is_always_seen(Kind kind) {
  switch (kind) {
    case Kind::kWavefront:     // also from instruction sets that no agent supports
    case Kind::kReader:        // also from the loader extension
    case Kind::kSymbol:        // also from iteration callbacks
    case Kind::kLoadedObject:  // also from the loader extension
    case Kind::kCodeObject:
    case Kind::kVmemHandle:
    case Kind::kPcSampling:
      return false;
    default:
      return true;
  }
}

Registry::Registry() {
  for (Shard& shard : shards_) shard.epoch.store(new_epoch(), std::memory_order_relaxed);
}

uint64_t Registry::hash_of(const Key& key) {
  uint64_t hash = (key.handle + static_cast<uint64_t>(key.kind)) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 29;
}

void Registry::add(Kind kind, uint64_t handle, const Event& created, uint64_t parent, uint64_t bytes) {
  const Key key{kind, handle};
  Shard& shard = shard_of(key);
  const rigel::MutexLock lock(shard.mutex);
  const auto [entry, is_new] = shard.objects.try_emplace(key);
  Entry& object = entry->second;
  if (!is_new && object.live) {
    ++object.references;
    return;
  }
  if (!is_new) mark_live(shard, object);
  object = {};
  object.parent = parent;
  object.bytes = bytes;
  object.created = created;
}

bool Registry::remove(Kind kind, uint64_t handle, const Event& destroyed) {
  const Key key{kind, handle};
  Shard& shard = shard_of(key);
  const rigel::MutexLock lock(shard.mutex);
  const auto found = shard.objects.find(key);
  if (found == shard.objects.end() || !found->second.live) return false;
  Entry& object = found->second;
  object.destroyed = destroyed;
  if (--object.references > 0) return true;
  mark_destroyed(shard, key, object, destroyed);
  shard.epoch.store(new_epoch(), std::memory_order_release);
  forget_oldest(shard);
  return true;
}

void Registry::restore(Kind kind, uint64_t handle) {
  const Key key{kind, handle};
  Shard& shard = shard_of(key);
  const rigel::MutexLock lock(shard.mutex);
  const auto found = shard.objects.find(key);
  if (found == shard.objects.end()) return;
  if (!found->second.live) mark_live(shard, found->second);
  ++found->second.references;
}

void Registry::remove_children(Kind kind, uint64_t parent, const Event& destroyed) {
  for (Shard& shard : shards_) {
    const rigel::MutexLock lock(shard.mutex);
    for (auto& [key, object] : shard.objects) {
      if (key.kind != kind || object.parent != parent || !object.live) continue;
      object.references = 0;
      mark_destroyed(shard, key, object, destroyed);
    }
    shard.epoch.store(new_epoch(), std::memory_order_release);
    forget_oldest(shard);
  }
}

void Registry::restore_children(Kind kind, uint64_t parent) {
  for (Shard& shard : shards_) {
    const rigel::MutexLock lock(shard.mutex);
    for (auto& [key, object] : shard.objects) {
      if (key.kind != kind || object.parent != parent || object.live) continue;
      mark_live(shard, object);
      object.references = 1;
    }
  }
}

void Registry::mark_destroyed(Shard& shard, const Key& key, Entry& object, const Event& destroyed) {
  object.destroyed = destroyed;
  object.place = shard.destroyed.insert(shard.destroyed.end(), key);
  object.live = false;
}

void Registry::mark_live(Shard& shard, Entry& object) {
  shard.destroyed.erase(object.place);
  object.live = true;
}

void Registry::forget_oldest(Shard& shard) {
  while (shard.destroyed.size() > kMaxDestroyed) {
    shard.objects.erase(shard.destroyed.front());
    shard.destroyed.pop_front();
  }
}

State Registry::state(Kind kind, uint64_t handle) {
  const Key key{kind, handle};
  const uint64_t hash = hash_of(key);
  Shard& shard = shards_[hash >> 58];
  Recent& recent = recents[hash >> 32 & (kRecents - 1)];
  const uint64_t epoch = shard.epoch.load(std::memory_order_acquire);
  if (recent.handle == handle && recent.kind == kind && recent.epoch == epoch) return State::kLive;
  const rigel::MutexLock lock(shard.mutex);
  const auto found = shard.objects.find(key);
  if (found == shard.objects.end()) return State::kUnknown;
  if (!found->second.live) return State::kDestroyed;
  recent = {kind, handle, epoch};
  return State::kLive;
}

std::optional<Object> Registry::find(Kind kind, uint64_t handle) {
  const Key key{kind, handle};
  Shard& shard = shard_of(key);
  const rigel::MutexLock lock(shard.mutex);
  const auto found = shard.objects.find(key);
  if (found == shard.objects.end()) return std::nullopt;
  return found->second;
}

Kind Registry::other_kind(Kind except, uint64_t handle) {
  for (auto kind = Kind::kAgent; kind <= Kind::kAddressRange;
       kind = static_cast<Kind>(static_cast<int>(kind) + 1)) {
    if (kind != except && state(kind, handle) == State::kLive) return kind;
  }
  return Kind::kNone;
}

void Registry::count_waiter(uint64_t signal, int32_t change) {
  const Key key{Kind::kSignal, signal};
  Shard& shard = shard_of(key);
  const rigel::MutexLock lock(shard.mutex);
  const auto found = shard.objects.find(key);
  if (found == shard.objects.end()) return;
  uint32_t& waiters = found->second.waiters;
  if (change > 0 || waiters > 0) waiters += static_cast<uint32_t>(change);
}

void Registry::for_each_live(const std::function<void(Kind, uint64_t, const Object&)>& visit) {
  for (Shard& shard : shards_) {
    const rigel::MutexLock lock(shard.mutex);
    for (const auto& [key, object] : shard.objects) {
      if (object.live) visit(key.kind, key.handle, object);
    }
  }
}

}  // namespace validate
