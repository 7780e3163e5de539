// Ioctls about events. The semantics are in events.hpp.
#include <cerrno>
#include <vector>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kMaxWaits = 1u << 16;  // about the limit of kmalloc

}  // namespace

Errno KfdIoctls::create_event(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_create_event>(call);
  if (a.event_page_offset != 0) {
    // For GPUs with VRAM, user mode passes a buffer for the page.
    const MutexLock lock(process.memory_mutex_);
    const GpuContext* const gpu = process.gpu_by_id(static_cast<uint32_t>(a.event_page_offset >> 32));
    if (gpu == nullptr || process.event_page_handle_ != 0) return EINVAL;
    if (!gpu->acquired()) return ENODEV;
    const Buffer* const buffer = process.find_buffer(a.event_page_offset);
    if (buffer == nullptr || buffer->object->kind() > MemoryObject::Kind::kGtt) return EINVAL;
    if (const Errno error = process.events_.set_page(buffer->object); error != 0) return error;
    process.event_page_handle_ = buffer->handle;
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
  process.watch_.poll_now();
  // Nearly every wait is for a few events.
  constexpr uint32_t kFew = 16;
  kfd_event_data small_array[kFew];
  std::vector<kfd_event_data> large_array;
  kfd_event_data* events = small_array;
  if (a.num_events > kFew) {
    large_array.resize(a.num_events);
    events = large_array.data();
  }
  if (const Errno error = copy_from_program(events, a.events_ptr, a.num_events * sizeof *events);
      error != 0) {
    return error;
  }
  // Only updated entries are written: programs may keep the others in read-only memory.
  std::vector<uint32_t> updated;
  Errno error =
      process.events_.wait(events, a.num_events, a.wait_for_all != 0, a.timeout, a.wait_result, &updated);
  for (size_t i = 0; error == 0 && i < updated.size(); ++i) {
    error = copy_to_program(a.events_ptr + updated[i] * sizeof *events, &events[updated[i]], sizeof *events);
  }
  if (error != 0) a.wait_result = KFD_WAIT_FAIL;
  return error;
}

}  // namespace rigel::vgpu
