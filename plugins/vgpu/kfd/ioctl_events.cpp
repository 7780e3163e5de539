// Ioctls about events. The semantics are in events.hpp.
#include <cerrno>
#include <vector>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kMaxWaits = 1u << 16;  // about what kmalloc gives

}  // namespace

Errno KfdIoctls::create_event(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_create_event>(call);
  if (a.event_page_offset != 0) {
    // Where GPUs have memory of their own, user mode brings the page, as a buffer they can write to.
    const MutexLock lock(process.memory_mutex_);
    const GpuContext* const gpu = process.gpu_by_id(static_cast<uint32_t>(a.event_page_offset >> 32));
    if (gpu == nullptr || process.event_page_ != 0) return EINVAL;
    if (!gpu->acquired()) return ENODEV;
    const Buffer* const buffer = process.find_buffer(a.event_page_offset);
    if (buffer == nullptr || buffer->object->kind() > MemoryObject::Kind::kGtt) return EINVAL;
    if (const Errno error = process.events_.set_page(buffer->object); error != 0) return error;
    process.event_page_ = buffer->handle;
  }
  const auto event = process.events_.create(a.event_type, a.auto_reset != 0);
  if (!event) return event.error();
  a.event_id = event->id;
  if (event->slot != 0) a.event_slot_index = event->slot;
  a.event_trigger_data = event->id;
  a.event_page_offset = event->slot == 0 ? 0 : KFD_MMAP_TYPE_EVENTS;
  return 0;
}

Errno KfdIoctls::destroy_event(Process& process, const IoctlCall& call) {
  return process.events_.destroy(args<kfd_event_ref>(call).event_id);
}

Errno KfdIoctls::set_event(Process& process, const IoctlCall& call) {
  return process.events_.set(args<kfd_event_ref>(call).event_id);
}

Errno KfdIoctls::reset_event(Process& process, const IoctlCall& call) {
  return process.events_.reset(args<kfd_event_ref>(call).event_id);
}

Errno KfdIoctls::wait_events(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_wait_events>(call);
  a.wait_result = KFD_WAIT_FAIL;
  if (a.num_events > kMaxWaits) return ENOMEM;
  process.watch_.look_now();
  // Nearly every wait is for a few events.
  constexpr uint32_t kFew = 16;
  kfd_event_data few[kFew];
  std::vector<kfd_event_data> many;
  kfd_event_data* events = few;
  if (a.num_events > kFew) {
    many.resize(a.num_events);
    events = many.data();
  }
  if (const Errno error = copy_from_program(events, a.events_ptr, a.num_events * sizeof *events);
      error != 0) {
    return error;
  }
  // Only what has something to tell is written: programs may keep the rest in memory that is read-only.
  std::vector<uint32_t> told;
  Errno error =
      process.events_.wait(events, a.num_events, a.wait_for_all != 0, a.timeout, a.wait_result, &told);
  for (size_t i = 0; error == 0 && i < told.size(); ++i) {
    error = copy_to_program(a.events_ptr + told[i] * sizeof *events, &events[told[i]], sizeof *events);
  }
  if (error != 0) a.wait_result = KFD_WAIT_FAIL;
  return error;
}

}  // namespace rigel::vgpu
