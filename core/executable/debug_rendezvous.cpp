#include "core/executable/debug_rendezvous.hpp"

#include <cstddef>

#include "api/support/mutex.hpp"
#include "core/executable/fork.hpp"

static_assert(sizeof(RigelDebugRendezvous) == sizeof(r_debug));
static_assert(offsetof(RigelDebugRendezvous, map) == offsetof(r_debug, r_map));
static_assert(offsetof(RigelDebugRendezvous, breakpoint) == offsetof(r_debug, r_brk));
static_assert(offsetof(RigelDebugRendezvous, state) == offsetof(r_debug, r_state));
static_assert(offsetof(RigelDebugRendezvous, loader_base) == offsetof(r_debug, r_ldbase));

namespace rigel {
namespace {

// Version of the protocol between runtime, trap handler and debugger. Debuggers that do not support it ignore
// the process.
constexpr int32_t kProtocolVersion = 11;

constinit Mutex list_mutex;
constinit link_map* list_tail RIGEL_GUARDED_BY(list_mutex) = nullptr;

}  // namespace

extern "C" {

/// Debuggers set a breakpoint here. Must remain a separate function that is called only from this file.
__attribute__((noinline)) void _loader_debug_state() {
  asm volatile("" ::: "memory");
}

// (GCC forgets the declaration's visibility for an object that is initialised here.)
constinit __attribute__((visibility("default"))) RigelDebugRendezvous _amdgpu_r_debug{
    kProtocolVersion, nullptr, &_loader_debug_state, r_debug::RT_CONSISTENT, 0};
}

namespace {

/// Announces a change of the list, calls `change`, and announces the end of the change.
template <class Change>
void announce(int32_t kind, Change change) {
  const MutexLock lock(list_mutex);
  _amdgpu_r_debug.state = kind;
  _loader_debug_state();
  change();
  _amdgpu_r_debug.state = r_debug::RT_CONSISTENT;
  _loader_debug_state();
}

}  // namespace

Mutex& debug_list_mutex() noexcept {
  return list_mutex;
}

DebugEntry::DebugEntry(std::string uri, int64_t load_delta) : uri_(std::move(uri)) {
  map_.l_addr = static_cast<uint64_t>(load_delta);
  map_.l_name = uri_.data();
}

void DebugEntry::add() {
  announce(r_debug::RT_ADD, [this]() RIGEL_REQUIRES(list_mutex) {
    map_.l_prev = list_tail;
    (list_tail != nullptr ? list_tail->l_next : _amdgpu_r_debug.map) = &map_;
    list_tail = &map_;
    listed_ = true;
  });
}

void DebugEntry::remove() {
  if (!listed_) return;
  announce(r_debug::RT_DELETE, [this]() RIGEL_REQUIRES(list_mutex) {
    (map_.l_prev != nullptr ? map_.l_prev->l_next : _amdgpu_r_debug.map) = map_.l_next;
    (map_.l_next != nullptr ? map_.l_next->l_prev : list_tail) = map_.l_prev;
    map_.l_next = map_.l_prev = nullptr;
    listed_ = false;
  });
}

}  // namespace rigel
