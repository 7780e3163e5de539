// Ioctls about queues.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "hsa_plugin/kfd_abi.h"

#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kMaxQueues = 1024;  // maximum of one process

// Doorbell layout of amdkfd for gfx9 and later. SDMA engines have fixed doorbells, those of odd-numbered
// queues half a slice higher. Compute queues get the lowest free doorbell outside of the reserved range.
constexpr uint32_t kSdmaDoorbells = 0xf0;
constexpr uint32_t kDoorbellsOfSdmaEngine = 0x0a;
constexpr uint32_t kReservedStart = 0xe0;
constexpr uint32_t kReservedEnd = 0x200;
constexpr uint32_t kHalfSlice = 512;

bool is_sdma(uint32_t type) {
  return type == KFD_QUEUE_SDMA || type == KFD_QUEUE_SDMA_XGMI || type == KFD_QUEUE_SDMA_BY_ENGINE;
}

bool is_compute(uint32_t type) {
  return type == KFD_QUEUE_PM4 || type == KFD_QUEUE_AQL;
}

Errno errno_of(QueueRequestError error) {
  switch (error) {
    case QueueRequestError::kNone:
      return 0;
    case QueueRequestError::kNoSuchQueue:
      return EINVAL;
    case QueueRequestError::kIdInUse:
      return EBUSY;
    case QueueRequestError::kBadRing:
      return EINVAL;
    case QueueRequestError::kNoSuchEngine:
      return EINVAL;
    case QueueRequestError::kBadValue:
      return EINVAL;
    case QueueRequestError::kNoThread:
      return ENOMEM;  // user mode would repeat the call for ever after EAGAIN
  }
  return EINVAL;
}

// Sets a doorbell to all ones: it has not been rung.
void clear_doorbell(std::byte* slot, uint32_t bytes) {
  if (bytes == 4) {
    reinterpret_cast<std::atomic<uint32_t>*>(slot)->store(~0u, std::memory_order_relaxed);
  } else {
    reinterpret_cast<std::atomic<uint64_t>*>(slot)->store(~uint64_t{0}, std::memory_order_relaxed);
  }
}

// The kernel's access_ok(): checks only that the range is in the user half of the address space.
bool is_user_range(uint64_t address, uint64_t bytes) {
  return address < (uint64_t{1} << 47) - bytes;
}

Errno check_arguments(const kfd_create_queue& a) {
  if ((a.queue_percentage & 0xff) > KFD_QUEUE_PERCENTAGE_MAX || a.queue_priority > KFD_QUEUE_PRIORITY_MAX)
    return EINVAL;
  // Whether the addresses are mapped is checked later, when their buffers are searched.
  if (!is_user_range(a.ring_base_address, 8)) return EFAULT;
  if (a.ring_size != 0 && !std::has_single_bit(a.ring_size)) return EINVAL;
  if (!is_user_range(a.read_pointer_address, 4) || !is_user_range(a.write_pointer_address, 4) ||
      !is_user_range(a.eop_buffer_address, 4) || !is_user_range(a.ctx_save_restore_address, 4)) {
    return EFAULT;
  }
  constexpr Errno kNotSupported = 524;  // the kernel's ENOTSUPP, which reaches user mode
  return a.queue_type <= KFD_QUEUE_SDMA_BY_ENGINE ? 0 : kNotSupported;
}

}  // namespace

/// The buffers that hardware accesses directly. They must exist and stay mapped.
struct KfdIoctls::QueueMemory {
  std::vector<Buffer*> pinned;
  Buffer* ring = nullptr;
  Buffer* write_pointer = nullptr;
};

Errno KfdIoctls::reject_queue(Process& process, const char* problem) {
  process.log_(LogCategory::kWarning, "CREATE_QUEUE: {}", problem);
  return EINVAL;
}

ErrnoOr<KfdIoctls::QueueMemory> KfdIoctls::find_queue_memory(Process& process, const GpuContext& gpu,
                                                             const kfd_create_queue& a) {
  const Board& board = gpu.gpu().board;
  QueueMemory memory;
  const auto reject = [&](const char* problem) { return tl::unexpected(reject_queue(process, problem)); };
  const auto add = [&](uint64_t va, uint64_t bytes) RIGEL_REQUIRES(process.memory_mutex_) {
    Buffer* const buffer = process.buffer_at(gpu, va, bytes);
    if (buffer != nullptr) memory.pinned.push_back(buffer);
    return buffer;
  };
  const auto add_page = [&](uint64_t va)
                            RIGEL_REQUIRES(process.memory_mutex_) { return add(page_down(va), kPageBytes); };
  const bool doubled = board.driver().maps_aql_rings_twice && a.queue_type == KFD_QUEUE_AQL;
  memory.write_pointer = add_page(a.write_pointer_address);
  if (memory.write_pointer == nullptr)
    return reject("write pointer: must be in a buffer of one page that is mapped on this GPU");
  if (add_page(a.read_pointer_address) == nullptr)
    return reject("read pointer: must be in a buffer of one page that is mapped on this GPU");
  memory.ring = add(a.ring_base_address, doubled ? a.ring_size / 2 : a.ring_size);
  if (memory.ring == nullptr)
    return reject(
        "ring buffer: must be a separate allocation of exactly ring_size bytes, mapped on this GPU");
  if (!is_compute(a.queue_type)) return memory;

  if (a.eop_buffer_address != 0) {
    if (a.eop_buffer_size != board.driver().end_of_pipe_bytes)
      return reject("end-of-pipe buffer: invalid size for this chip");
    if (add(a.eop_buffer_address, a.eop_buffer_size) == nullptr)
      return reject(
          "end-of-pipe buffer: must be a separate allocation of exactly its size, mapped on this GPU");
  }
  const Board::SaveArea area = board.save_area();
  if (a.ctl_stack_size < area.control_stack_bytes) return reject("ctl_stack_size: too small for this chip");
  // Kernels before 6.12 accept any size. tinygrad uses those and ignores the limit of gfx10.
  if (a.ctl_stack_size != area.control_stack_bytes) {
    process.log_(
        LogCategory::kWarning,
        "CREATE_QUEUE: ctl_stack_size: {:#x}, but the chip's is {:#x}; Linux 6.12 and later reject this",
        a.ctl_stack_size, area.control_stack_bytes);
  }
  if (a.ctx_save_restore_size < area.context_bytes)
    return reject("ctx_save_restore_size: too small for this chip");
  const uint64_t bytes_of_xcc = uint64_t{a.ctx_save_restore_size} + area.debug_bytes;
  const uint64_t bytes = page_up(bytes_of_xcc * board.shader.xcc_count);
  if (add(a.ctx_save_restore_address, bytes) == nullptr &&
      !process.always_shared(gpu, a.ctx_save_restore_address, bytes)) {
    return reject(
        "context save area: must be a buffer of exactly its size, or an SVM range that is always mapped");
  }
  return memory;
}

// The scheduler's firmware polls the write pointers of queues that have no slot in hardware, through a
// mapping that the driver creates: init_user_queue and amdgpu_bo_pin of Linux.
Errno KfdIoctls::check_write_pointer(Process& process, const GpuContext& gpu, const QueueMemory& memory) {
  if (!gpu.gpu().board.driver().has_scheduler_firmware) return 0;
  if (memory.write_pointer->gpu_index != gpu.index())
    return reject_queue(process, "write pointer: must be in a buffer of this GPU");
  if (memory.write_pointer->object->kind() != MemoryObject::Kind::kUserptr) return 0;
  reject_queue(process,
               "write pointer: must be in a buffer of the driver, not in the program's memory (userptr)");
  return EPERM;
}

Errno KfdIoctls::choose_slots(Process& process, const kfd_create_queue& a, Process::Queue& queue) {
  const GpuContext& gpu = *queue.gpu;
  const Board& board = gpu.gpu().board;
  const auto is_on_gpu = [&](const auto& other) { return other.second->gpu == &gpu; };
  if (std::count_if(process.queues_.begin(), process.queues_.end(), is_on_gpu) >=
      ptrdiff_t{board.driver().queues_of_process})
    return ENOSPC;
  while (queue.id < kMaxQueues && process.queues_.contains(queue.id)) ++queue.id;
  if (queue.id == kMaxQueues) return ENOMEM;
  if (is_sdma(a.queue_type)) {
    const auto slot = process.take_sdma_slot(gpu, a.queue_type, a.sdma_engine_id, queue);
    if (!slot) return slot.error();
    queue.sdma = true;
    queue.sdma_slot = *slot;
  }
  if (board.driver().doorbell_bytes == 4) {
    queue.doorbell = queue.id;  // the queue id is the index; user mode knows this
    return 0;
  }
  if (queue.sdma) {
    const uint32_t number = board.driver().reserved_sdma_queues + queue.sdma_slot / board.sdma_engines();
    queue.doorbell =
        kSdmaDoorbells + queue.sdma_engine() * kDoorbellsOfSdmaEngine + number / 2 + number % 2 * kHalfSlice;
    return 0;
  }
  const auto reserved = [](uint32_t i) {
    const uint32_t low = i % kHalfSlice;
    return low >= kReservedStart && low < kReservedEnd;
  };
  const auto& taken = process.doorbells_taken_[gpu.index()];
  while (queue.doorbell < taken.size() && (taken.test(queue.doorbell) || reserved(queue.doorbell)))
    ++queue.doorbell;
  return queue.doorbell == taken.size() ? EBUSY : 0;
}

QueueConfig KfdIoctls::config_of(const kfd_create_queue& a, const Process::Queue& queue) {
  QueueConfig config;
  config.queue_id = queue.id;
  config.kind = a.queue_type == KFD_QUEUE_AQL ? QueueKind::kAql
                : queue.sdma                  ? QueueKind::kSdma
                                              : QueueKind::kPm4;
  config.ring_va = a.ring_base_address;
  config.ring_bytes = a.ring_size;
  config.read_pointer_va = a.read_pointer_address;
  config.write_pointer_va = a.write_pointer_address;
  config.sdma_engine = queue.sdma_engine();
  config.priority = a.queue_priority;
  config.percentage = queue.percentage;
  config.doorbell = queue.doorbell_slot;
  config.doorbell_in_dwords = config.kind == QueueKind::kAql && queue.gpu->gpu().board.doorbell_in_dwords();
  return config;
}

Errno KfdIoctls::create_queue(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_create_queue>(call);
  if (const Errno error = check_arguments(a); error != 0) return error;
  a.ring_size = std::max<uint32_t>(a.ring_size, KFD_QUEUE_RING_MIN);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;

  const MutexLock lock(process.queue_mutex_);
  auto queue = std::make_unique<Process::Queue>();
  queue->type = a.queue_type;
  queue->gpu = gpu;
  queue->ring_va = a.ring_base_address;
  queue->ring_bytes = a.ring_size;
  queue->percentage = a.queue_percentage & 0xff;
  queue->priority = a.queue_priority;
  queue->save_area_va = a.ctx_save_restore_address;
  queue->context_bytes = a.ctx_save_restore_size;

  MutexLock memory_lock(process.memory_mutex_);
  if (!gpu->acquired()) return ESRCH;
  const auto memory = find_queue_memory(process, *gpu, a);
  if (!memory) return memory.error();
  if (const Errno error = choose_slots(process, a, *queue); error != 0) return error;
  if (const Errno error = check_write_pointer(process, *gpu, *memory); error != 0) return error;
  const auto slice = gpu->doorbells();
  if (!slice) return slice.error();
  const uint32_t doorbell_bytes = gpu->gpu().board.driver().doorbell_bytes;
  queue->doorbell_slot = (*slice)->host() + uint64_t{queue->doorbell} * doorbell_bytes;
  clear_doorbell(queue->doorbell_slot, doorbell_bytes);

  const QueueConfig config = config_of(a, *queue);
  Process::Queue& created = *queue;
  decltype(process.queues_) entry;
  entry.emplace(created.id, std::move(queue));
  created.ring = memory->ring->handle;
  Undo unpin([&]() RIGEL_REQUIRES(process.memory_mutex_) { process.unpin_all_buffers(created); });
  for (Buffer* buffer : memory->pinned) Process::pin_buffer(created, *buffer);
  unpin.cancel();
  memory_lock.unlock();
  Undo destroy([&]() RIGEL_REQUIRES(process.queue_mutex_) { process.destroy_queue(created); });
  gpu->note_queue(created.id, {created.save_area_va, process.runtime_enabled_, created.doorbell_index()});
  if (const Errno error = errno_of(gpu->processor().create_queue(config)); error != 0) return error;
  process.watch_.add_slot(gpu->index(), CommandProcessor::engine_of(config.kind, config.sdma_engine),
                          created.doorbell_slot, uint64_t{created.doorbell} * doorbell_bytes, doorbell_bytes);
  destroy.cancel();
  process.doorbells_taken_[gpu->index()].set(created.doorbell);
  if (created.sdma) process.sdma_taken_[gpu->index()].set(created.sdma_slot);
  process.queues_.merge(entry);

  a.queue_id = created.id;
  a.doorbell_offset = KFD_MMAP_TYPE_DOORBELL | KFD_MMAP_GPU_ID(a.gpu_id);
  if (doorbell_bytes == 8) a.doorbell_offset |= uint64_t{created.doorbell} * doorbell_bytes;
  process.reporter_->start();
  return 0;
}

// Slots count the engines of all kinds: slot n is queue n / engines of engine n % engines.
tl::expected<uint32_t, Errno> Process::take_sdma_slot(const GpuContext& gpu, uint32_t queue_type,
                                                      uint32_t wanted_engine, Queue& queue) {
  const Board& board = gpu.gpu().board;
  const uint32_t all = board.sdma_engines();
  uint32_t first = 0;
  uint32_t count = board.sdma.engines;
  if (queue_type == KFD_QUEUE_SDMA_XGMI) {
    first = board.sdma.engines;
    count = board.sdma.xgmi_engines;
  } else if (queue_type == KFD_QUEUE_SDMA_BY_ENGINE) {
    if (wanted_engine >= all) return tl::unexpected(EINVAL);
    first = wanted_engine;
    count = 1;
  }
  const auto& taken = sdma_taken_[gpu.index()];
  const auto is_free = [&](uint32_t slot) {
    if (taken.test(slot)) return false;
    if (options_.virtual_system.empty()) return true;
    queue.shared_slot =
        SharedSlot::claim(fmt::format("vgpu/{}/{}/sdma/{}", options_.virtual_system, gpu.index(), slot));
    return bool{queue.shared_slot};
  };
  for (uint32_t number = 0; number < board.sdma.queues_per_engine; ++number) {
    for (uint32_t engine = first; engine < first + count; ++engine) {
      const uint32_t slot = number * all + engine;
      if (is_free(slot)) return slot;
    }
  }
  return tl::unexpected(ENOMEM);
}

void Process::pin_buffer(Queue& queue, Buffer& buffer) {
  queue.buffers.reserve(queue.buffers.size() + 1);
  ++buffer.queue_uses[queue.gpu->index()];
  queue.buffers.push_back(buffer.handle);
}

void Process::unpin_buffer(Queue& queue, uint64_t handle) {
  queue.buffers.erase(std::find(queue.buffers.begin(), queue.buffers.end(), handle));
  Buffer* const buffer = find_buffer(handle);
  if (buffer == nullptr) return;
  const auto uses = buffer->queue_uses.find(queue.gpu->index());
  if (--uses->second == 0) buffer->queue_uses.erase(uses);
}

void Process::unpin_all_buffers(Queue& queue) {
  while (!queue.buffers.empty()) unpin_buffer(queue, queue.buffers.back());
}

// Takes the memory lock to unpin the queue's buffers. Erases the queue from queues_ if it is there already.
void Process::destroy_queue(Queue& queue) {
  GpuContext& gpu = *queue.gpu;
  watch_.remove_slot(gpu.index(), queue.doorbell_slot);
  gpu.processor().destroy_queue(queue.id);
  gpu.forget_queue(queue.id);
  doorbells_taken_[gpu.index()].reset(queue.doorbell);
  if (queue.sdma) sdma_taken_[gpu.index()].reset(queue.sdma_slot);
  {
    const MutexLock lock(memory_mutex_);
    unpin_all_buffers(queue);
  }
  queues_.erase(queue.id);
}

Errno KfdIoctls::destroy_queue(Process& process, const IoctlCall& call) {
  const MutexLock lock(process.queue_mutex_);
  const auto it = process.queues_.find(args<kfd_destroy_queue>(call).queue_id);
  if (it == process.queues_.end()) return EINVAL;
  process.destroy_queue(*it->second);
  return 0;
}

Errno KfdIoctls::update_queue(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_update_queue>(call);
  if ((a.queue_percentage & 0xff) > KFD_QUEUE_PERCENTAGE_MAX || a.queue_priority > KFD_QUEUE_PRIORITY_MAX)
    return EINVAL;
  if (!is_user_range(a.ring_base_address, 8)) return EFAULT;
  if (a.ring_size != 0 && !std::has_single_bit(a.ring_size)) return EINVAL;
  const uint32_t ring_size = std::max<uint32_t>(a.ring_size, KFD_QUEUE_RING_MIN);
  const MutexLock lock(process.queue_mutex_);
  const auto it = process.queues_.find(a.queue_id);
  if (it == process.queues_.end()) return EFAULT;
  Process::Queue& queue = *it->second;
  const uint32_t percentage = a.queue_percentage & 0xff;
  // User mode stops a queue by setting a null ring; the previous ring is kept.
  const bool new_ring = a.ring_base_address != 0;
  if (new_ring && (a.ring_base_address != queue.ring_va || ring_size != queue.ring_bytes)) {
    const MutexLock memory_lock(process.memory_mutex_);
    const bool doubled = queue.gpu->gpu().board.driver().maps_aql_rings_twice && queue.type == KFD_QUEUE_AQL;
    Buffer* const ring =
        process.buffer_at(*queue.gpu, a.ring_base_address, doubled ? ring_size / 2 : ring_size);
    if (ring == nullptr) return EFAULT;
    Process::pin_buffer(queue, *ring);
    process.unpin_buffer(queue, queue.ring);
    queue.ring = ring->handle;
  }
  const auto error = queue.gpu->processor().update_queue(a.queue_id, new_ring ? a.ring_base_address : 0,
                                                         new_ring ? ring_size : 0, a.queue_priority,
                                                         new_ring ? percentage : 0);
  if (error != QueueRequestError::kNone) return errno_of(error);
  if (new_ring) {
    queue.ring_va = a.ring_base_address;
    queue.ring_bytes = ring_size;
  }
  queue.percentage = new_ring ? percentage : 0;
  queue.priority = a.queue_priority;
  return 0;
}

Errno KfdIoctls::set_cu_mask(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_set_cu_mask>(call);
  constexpr uint32_t kMaxBits = 1024;
  if (a.num_cu_mask == 0 || a.num_cu_mask % 32 != 0) return EINVAL;
  const uint32_t bits = std::min(a.num_cu_mask, kMaxBits);
  auto mask = array_from_program<uint32_t>(a.cu_mask_ptr, bits / 32);
  if (!mask) return mask.error();
  const MutexLock lock(process.queue_mutex_);
  const auto it = process.queues_.find(a.queue_id);
  if (it == process.queues_.end()) return EFAULT;
  const Board& board = it->second->gpu->gpu().board;
  if (board.driver().has_unit_pairs) {
    for (const uint32_t word : *mask) {
      if ((word & 0x55555555) != (word >> 1 & 0x55555555)) return EINVAL;
    }
  }
  bool any = false;
  for (uint32_t i = 0; i < std::min(board.compute_units(), bits); ++i)
    any |= ((*mask)[i / 32] >> i % 32 & 1) != 0;
  if (!any) {
    process.log_(LogCategory::kWarning,
                 "SET_CU_MASK: queue {}: the mask enables no compute unit of {}: physical GPUs would run no "
                 "kernels; the "
                 "virtual GPU uses all units",
                 a.queue_id, board.name);
  }
  it->second->gpu->processor().set_cu_mask(a.queue_id, std::move(*mask));
  return 0;
}

Errno KfdIoctls::get_queue_wave_state(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_queue_wave_state>(call);
  const MutexLock lock(process.queue_mutex_);
  const auto it = process.queues_.find(a.queue_id);
  if (it == process.queues_.end()) return EFAULT;
  const Board& board = it->second->gpu->gpu().board;
  if (it->second->sdma || it->second->percentage != 0 || !board.driver().saves_waves) return EINVAL;
  a.ctl_stack_used_size = 0;
  a.save_area_used_size = 0;
  if (!board.driver().has_wave_state_header) return 0;
  // Offsets and used sizes of the control stack and of the waves' state. Each one ends where the other
  // starts.
  const Board::SaveArea area = board.save_area();
  const uint32_t header[4] = {area.control_stack_bytes, 0, area.control_stack_bytes, 0};
  for (uint32_t xcc = 0; xcc < board.shader.xcc_count; ++xcc) {
    const uint64_t address = a.ctl_stack_address + uint64_t{it->second->context_bytes} * xcc;
    if (const Errno error = copy_to_program(address, header, sizeof header); error != 0) return error;
  }
  return 0;
}

Errno KfdIoctls::alloc_queue_gws(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_alloc_queue_gws>(call);
  const MutexLock lock(process.queue_mutex_);
  const auto it = process.queues_.find(a.queue_id);
  if (it == process.queues_.end()) return EINVAL;
  if (it->second->gpu->gpu().board.queues.gws == 0) return ENODEV;
  // GWS are allocated all at once, regardless of the number requested.
  if (a.num_gws == 0 && it->second->gws == 0) return EINVAL;  // nothing to release
  for (const auto& [id, other] : process.queues_) {
    // Only one queue of a process can have them, as in the driver.
    if (a.num_gws != 0 && other->gws != 0 && other->gpu == it->second->gpu) return EBUSY;
  }
  it->second->gws = a.num_gws;
  a.first_gws = 0;
  return 0;
}

}  // namespace rigel::vgpu
