#include "plugins/vgpu/kfd/process.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {

bool Buffer::double_mapped() const {
  return (flags & KFD_MEM_AQL_QUEUE) != 0;
}

Process::Process(const Machine& virtual_system, const ProcessOptions& options, OpenFiles& files, Log& log)
    : virtual_system_(virtual_system),
      options_(options),
      files_(files),
      log_(log),
      events_(options.latecomers),
      watch_(
          log,
          [this](uint32_t gpu, uint32_t engine) {
            CommandProcessor* const cp = gpus_[gpu]->processor_if_made();
            if (cp == nullptr) return;
            if (engine == DoorbellWatch::kAllEngines) {
              cp->wake();
            } else {
              cp->wake(engine);
            }
          },
          options.signals && options.stop_stores) {
  freed_.reserve(kFreedRemembered);
  const MakeShaderCores cores =
      options.make_shader_cores == nullptr ? exec::make_shader_cores : options.make_shader_cores;
  for (const Gpu& gpu : virtual_system.gpus) {
    gpus_.push_back(std::make_unique<GpuContext>(gpu, static_cast<uint32_t>(gpus_.size()), events_, log,
                                                 watch_, cores, options.threads, options.seed));
    gpus_.back()->set_process(this);
  }
  const auto longest_run_time = [this] {
    double seconds = 0;
    for (const auto& gpu : gpus_) {
      CommandProcessor* const processor = gpu->processor_if_made();
      if (processor != nullptr) seconds = std::max(seconds, processor->longest_running());
    }
    return seconds;
  };
  reporter_ = std::make_unique<ActivityReporter>(
      ActivityOptions{options.signals && options.stop_stores && options.threads, options.watchdog_seconds},
      log, [this] { return describe_activity(); }, longest_run_time);
}

Process::~Process() {
  reporter_.reset();
  events_.interrupt_all();
  watch_.stop();
  {
    const MutexLock lock(queue_mutex_);
    while (!queues_.empty()) destroy_queue(*queues_.begin()->second);
  }
  for (const auto& gpu : gpus_) {
    if (gpu->acquired()) events_.smi().process_ends(gpu->index());
    gpu->set_drm_file(nullptr);  // uses the GPUs while it is closed
  }
  gpus_.clear();
}

std::string Process::describe_activity() {
  std::string text;
  for (const auto& gpu : gpus_) {
    CommandProcessor* const processor = gpu->processor_if_made();
    if (processor == nullptr) continue;
    text += fmt::format("gpu {} (node {}), {}:\n{}", gpu->gpu().board.name, gpu->gpu().node,
                        gpu->gpu().board.gfx_name(), processor->describe());
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "no queues" : text;
}

int32_t Process::start_sampling(uint32_t gpu_id, const hsadrv_sampler_t* sampler) {
  GpuContext* const gpu = gpu_by_id(gpu_id);
  if (gpu == nullptr || sampler == nullptr || sampler->struct_size < HSADRV_END(hsadrv_sampler_t, context) ||
      sampler->interval == 0 || sampler->take == nullptr)
    return -EINVAL;
  return gpu->start_sampling(*sampler) ? 0 : -EBUSY;
}

int32_t Process::stop_sampling(uint32_t gpu_id) {
  GpuContext* const gpu = gpu_by_id(gpu_id);
  return gpu != nullptr && gpu->stop_sampling() ? 0 : -EINVAL;
}

GpuContext* Process::gpu_by_id(uint32_t gpu_id) {
  for (auto& gpu : gpus_) {
    if (gpu->gpu().gpu_id == gpu_id) return gpu.get();
  }
  return nullptr;
}

// Buffers ------------------------------------------------------------------------------------------------

Buffer* Process::find_buffer(uint64_t handle) {
  const auto it = buffers_.find(handle);
  return it == buffers_.end() ? nullptr : &it->second;
}

Buffer* Process::buffer_at(const GpuContext& gpu, uint64_t va, uint64_t bytes) {
  // Several buffers can start at one address if no GPU has two of them.
  for (auto it = buffers_by_va_.upper_bound(va); it != buffers_by_va_.begin();) {
    --it;
    Buffer* const buffer = find_buffer(it->second);
    if (!buffer->mapped.test(gpu.index())) continue;
    if (va >= buffer->va + buffer->va_bytes) return nullptr;
    // The driver compares whole pages; less than a page may be in a buffer of any size.
    const uint64_t mapped_bytes = buffer->double_mapped() ? buffer->va_bytes / 2 : buffer->va_bytes;
    const uint64_t pages = bytes / kPageBytes;
    return va / kPageBytes == buffer->va / kPageBytes && (pages == 0 || pages == mapped_bytes / kPageBytes)
               ? buffer
               : nullptr;
  }
  return nullptr;
}

void Process::expect_host_faults() const {
  if (options_.signals) catch_host_faults();
}

// Allocates before the first table is changed.
const Buffer& Process::add_buffer(Buffer buffer) {
  const uint32_t number = next_handle_++;
  const uint64_t handle = uint64_t{gpus_[buffer.gpu_index]->gpu().gpu_id} << 32 | number;
  const MemoryObject& object = *buffer.object;
  buffer.handle = handle;
  std::multimap<uint64_t, uint64_t> by_va{{buffer.va, handle}}, userptrs;
  Offsets offsets;
  if (object.kind() == MemoryObject::Kind::kUserptr) {
    expect_host_faults();
    userptrs.emplace(reinterpret_cast<uint64_t>(object.host()), handle);
  } else if (object.kind() <= MemoryObject::Kind::kGtt) {
    offsets = next_offset(buffer.object);
    buffer.mmap_offset = offsets.begin()->first;
  }
  const Buffer& added = buffers_.emplace(handle, std::move(buffer)).first->second;
  buffers_by_va_.merge(by_va);
  if (!userptrs.empty()) longest_userptr_ = std::max(longest_userptr_, object.bytes());
  userptrs_.merge(userptrs);
  offsets_.merge(offsets);
  if (uint64_t* const bytes = bytes_of_kind(added); bytes != nullptr) *bytes += object.bytes();
  return added;
}

uint64_t* Process::bytes_of_kind(const Buffer& buffer) {
  if (buffer.object->imported()) return nullptr;
  switch (buffer.object->kind()) {
    case MemoryObject::Kind::kVram:
      return &gpus_[buffer.gpu_index]->vram_used;
    case MemoryObject::Kind::kGtt:
      return &gtt_bytes_;
    case MemoryObject::Kind::kUserptr:
      return &userptr_bytes_;
    default:
      return nullptr;
  }
}

// amdkfd's limits: half of the memory for the driver's buffers; together with userptr memory all but 1/64 and
// 1.5 GiB.
bool Process::host_has_room(MemoryObject::Kind kind, uint64_t bytes) const {
  constexpr uint64_t kReserved = uint64_t{3} << 29;
  const uint64_t all = options_.host_bytes;
  uint64_t limit = all - all / 64;
  limit = limit < 2 * kReserved ? limit / 2 : limit - kReserved;
  const uint64_t used = gtt_bytes_ + userptr_bytes_;
  if (used > limit || bytes > limit - used) return false;
  return kind != MemoryObject::Kind::kGtt || (gtt_bytes_ <= all / 2 && bytes <= all / 2 - gtt_bytes_);
}

bool Process::vram_has_room(const GpuContext& gpu, uint64_t bytes) {
  return bytes <= gpu.gpu().vram_bytes - gpu.vram_used;
}

Translation Process::retry_translation(uint64_t va, uint64_t bytes, Access access) const noexcept {
  const Translation fault{nullptr, 0, FaultReason::kNotPresent};
  if (!xnack_.load(std::memory_order_relaxed) || access == Access::kExecute || va < kPageBytes ||
      va >= kProgramLimit)
    return fault;
  uint64_t run = std::min(bytes, kProgramLimit - va);
  for (const auto& gpu : gpus_) run = gpu->table().unmapped_bytes(va, run);
  return run == 0 ? fault : Translation{reinterpret_cast<std::byte*>(va), run, FaultReason::kNone};
}

// What retry_translation() has returned is stale after a page was mapped.
void Process::pages_were_mapped() {
  if (!xnack_.load(std::memory_order_relaxed)) return;
  for (const auto& gpu : gpus_) gpu->flush_translations();
}

Errno Process::map_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host,
                         PageTable::Rights rights) {
  if (!gpu.can_map(va, bytes) || gpu.table().any_mapped(va, bytes)) return EINVAL;
  try {
    gpu.table().map(va, bytes, host, rights);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  pages_were_mapped();
  return 0;
}

Errno Process::remap_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host,
                           PageTable::Rights rights) {
  if (!gpu.can_map(va, bytes)) return EINVAL;
  try {
    gpu.remap(va, bytes, host, rights);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
  pages_were_mapped();
  return 0;
}

Errno Process::map_buffer(Buffer& buffer, GpuContext& gpu) {
  if (buffer.mapped.test(gpu.index())) return 0;
  const MemoryObject& object = *buffer.object;
  if (object.kind() == MemoryObject::Kind::kVram && buffer.gpu_index != gpu.index()) {
    const GpuContext& owner = *gpus_[buffer.gpu_index];
    const bool reachable = are_in_one_hive(owner.gpu(), gpu.gpu()) ||
                           (virtual_system_.peers == PeerLink::kPcie && owner.gpu().large_bar);
    if (!reachable) return EINVAL;
  }
  const PageTable::Rights rights{.write = (buffer.flags & KFD_MEM_WRITABLE) != 0,
                                 .execute = (buffer.flags & KFD_MEM_EXECUTABLE) != 0};
  forget_unreadable(buffer.va, buffer.va_bytes);
  const uint64_t mapped_bytes = buffer.double_mapped() ? buffer.va_bytes / 2 : buffer.va_bytes;
  if (const Errno error = map_range(gpu, buffer.va, mapped_bytes, object.host(), rights); error != 0)
    return error;
  if (buffer.double_mapped()) {
    if (const Errno error = map_range(gpu, buffer.va + mapped_bytes, mapped_bytes, object.host(), rights);
        error != 0) {
      gpu.unmap(buffer.va, mapped_bytes);
      return error;
    }
  }
  buffer.mapped.set(gpu.index());
  return 0;
}

void Process::unmap_buffer(Buffer& buffer, GpuContext& gpu) {
  if (!buffer.mapped.test(gpu.index())) return;
  gpu.unmap(buffer.va, buffer.va_bytes);
  buffer.mapped.reset(gpu.index());
}

void Process::release_buffer(Buffer& buffer) noexcept {
  if (buffer.mmap_offset != 0) drop_mmap_offset(buffer.mmap_offset);
  if (uint64_t* const bytes = bytes_of_kind(buffer); bytes != nullptr) *bytes -= buffer.object->bytes();
  const MemoryObject::Kind kind = buffer.object->kind();
  if (kind != MemoryObject::Kind::kDoorbell && kind != MemoryObject::Kind::kMmio) {
    if (freed_.size() == kFreedRemembered) freed_.pop_back();
    freed_.insert(freed_.begin(),
                  {buffer.va, buffer.va_bytes, kind == MemoryObject::Kind::kVram, false, true});
  }
  const auto forget = [&](std::multimap<uint64_t, uint64_t>& index, uint64_t key) {
    auto [it, end] = index.equal_range(key);
    while (it != end && it->second != buffer.handle) ++it;
    if (it != end) index.erase(it);
  };
  forget(buffers_by_va_, buffer.va);
  if (buffer.object->kind() == MemoryObject::Kind::kUserptr) {
    forget(userptrs_, reinterpret_cast<uint64_t>(buffer.object->host()));
  }
  buffers_.erase(buffer.handle);
}

std::string Process::describe_address(const GpuContext& gpu, uint64_t va) {
  std::vector<NearbyBuffer> buffers;
  {
    const MutexLock lock(memory_mutex_);
    for (const auto& [handle, buffer] : buffers_) {
      const MemoryObject::Kind kind = buffer.object->kind();
      if (kind == MemoryObject::Kind::kDoorbell || kind == MemoryObject::Kind::kMmio) continue;
      buffers.push_back({buffer.va, buffer.va_bytes, kind == MemoryObject::Kind::kVram,
                         buffer.mapped.test(gpu.index()), false});
    }
    buffers.insert(buffers.end(), freed_.begin(), freed_.end());
  }
  return vgpu::describe_address(va, buffers);
}

// mmap ---------------------------------------------------------------------------------------------------

Process::Offsets Process::next_offset(const std::shared_ptr<MemoryObject>& object) {
  Offsets entry{{next_offset_, object}};
  next_offset_ += page_up(object->bytes()) + kPageBytes;  // a gap, so that no mapping extends into the next
  return entry;
}

uint64_t Process::make_mmap_offset(const std::shared_ptr<MemoryObject>& object) {
  Offsets entry = next_offset(object);
  const uint64_t offset = entry.begin()->first;
  offsets_.merge(entry);
  return offset;
}

void Process::drop_mmap_offset(uint64_t offset) {
  offsets_.erase(offset);
}

ErrnoOr<Process::MmapTarget> Process::render_mmap(uint64_t offset, uint64_t bytes) {
  const MutexLock lock(memory_mutex_);
  auto it = offsets_.upper_bound(offset);
  if (it == offsets_.begin()) return tl::unexpected(EINVAL);
  --it;
  const auto object = it->second.lock();
  const uint64_t inside = offset - it->first;
  if (object == nullptr || inside >= object->bytes() || bytes > object->bytes() - inside) {
    return tl::unexpected(EINVAL);
  }
  return MmapTarget{object, inside};
}

ErrnoOr<std::shared_ptr<MemoryObject>> Process::kfd_mmap(uint64_t offset, uint64_t bytes) {
  const uint64_t type = offset & (uint64_t{3} << KFD_MMAP_TYPE_SHIFT);
  if (type == KFD_MMAP_TYPE_EVENTS) return events_.page_for_mmap(bytes);
  GpuContext* const gpu = gpu_by_id(static_cast<uint32_t>(offset >> KFD_MMAP_GPU_ID_SHIFT & 0xffff));
  if (gpu == nullptr) return tl::unexpected(ENODEV);
  if (type == KFD_MMAP_TYPE_DOORBELL) {
    if (bytes != gpu->gpu().board.doorbell_slice_bytes()) return tl::unexpected(EINVAL);
    return gpu->doorbells();
  }
  if (type == KFD_MMAP_TYPE_MMIO) {
    if (bytes != kPageBytes) return tl::unexpected(EINVAL);
    return gpu->mmio_page();
  }
  return tl::unexpected(EINVAL);
}

void Process::doorbells_mapped(const DoorbellMapping& mapping) {
  const MutexLock lock(queue_mutex_);
  add_doorbells(mapping);
}

void Process::add_doorbells(const DoorbellMapping& m) {
  doorbell_mappings_.push_back(m);
  if (const auto page = gpus_[m.gpu_index]->doorbells()) {
    watch_.add_mapping(m.gpu_index, m.address, m.bytes, m.offset, (*page)->host());
  }
}

// Allocates before the first mapping is removed.
Process::DoorbellMappings Process::doorbells_unmapped(void* address, uint64_t bytes) {
  auto* const start = static_cast<std::byte*>(address);
  std::byte* const end = start + page_up(bytes);
  DoorbellMappings removed, remaining;
  const MutexLock lock(queue_mutex_);
  const auto overlaps = [&](const DoorbellMapping& m) {
    return std::max(start, m.address) < std::min(end, m.address + m.bytes);
  };
  for (const DoorbellMapping& m : doorbell_mappings_) {
    if (!overlaps(m)) continue;
    std::byte* const from = std::max(start, m.address);
    std::byte* const to = std::min(end, m.address + m.bytes);
    const auto add_part = [&](std::byte* first, std::byte* last, DoorbellMappings& parts) {
      if (first == last) return;
      parts.push_back({m.gpu_index, first, static_cast<uint64_t>(last - first),
                       m.offset + static_cast<uint64_t>(first - m.address)});
    };
    add_part(m.address, from, remaining);
    add_part(from, to, removed);
    add_part(to, m.address + m.bytes, remaining);
  }
  if (removed.empty()) return removed;
  doorbell_mappings_.reserve(doorbell_mappings_.size() + remaining.size());
  std::erase_if(doorbell_mappings_, overlaps);
  watch_.remove_mapping(address, page_up(bytes));
  for (const DoorbellMapping& m : remaining) add_doorbells(m);
  return removed;
}

Process::DoorbellMappings Process::before_munmap(void* address, uint64_t bytes) {
  DoorbellMappings removed = doorbells_unmapped(address, bytes);
  try {
    const uint64_t start = reinterpret_cast<uint64_t>(address);
    unmap_from_gpus(start, start + bytes);
  } catch (const std::bad_alloc&) {  // the program keeps its mappings
    for (const DoorbellMapping& mapping : removed) doorbells_mapped(mapping);
    throw;
  }
  return removed;
}

void Process::unmap_from_gpus(uint64_t start, uint64_t end) {
  // As the kernel's MMU notifier does. A GPU that still uses the memory faults.
  const MutexLock lock(memory_mutex_);
  const auto acquired = [&] {
    std::vector<const GpuContext*> list;
    for (const auto& gpu : gpus_) {
      if (gpu->acquired()) list.push_back(gpu.get());
    }
    return list;
  };
  if (!userptrs_.empty()) {
    bool evicted = false;
    const uint64_t from = start > longest_userptr_ ? start - longest_userptr_ : 0;
    for (auto it = userptrs_.lower_bound(from); it != userptrs_.end() && it->first < end; ++it) {
      Buffer* const buffer = find_buffer(it->second);
      const uint64_t first = std::max(start, it->first);
      const uint64_t last = std::min(end, it->first + buffer->object->bytes());
      if (first >= last) continue;
      if (buffer->mapped.any() && !std::exchange(evicted, true)) {
        for (const GpuContext* gpu : acquired())
          events_.smi().queues_evicted(gpu->index(), gpu->gpu().gpu_id, SmiEvents::Eviction::kUserptr);
      }
      for (auto& gpu : gpus_) {
        if (!buffer->mapped.test(gpu->index())) continue;
        const uint64_t va = buffer->va + (first - it->first);
        gpu->unmap(page_down(va), page_up(last - first));
        if (buffer->double_mapped())
          gpu->unmap((page_down(va)) + buffer->va_bytes / 2, page_up(last - first));
      }
    }
    if (evicted) {
      for (const GpuContext* gpu : acquired()) events_.smi().queues_restored(gpu->index(), gpu->gpu().gpu_id);
    }
  }
  forget_shared(start / kPageBytes, page_up(end) / kPageBytes);
}

void Process::memory_replaced(void* address, uint64_t bytes) {
  const uint64_t start = reinterpret_cast<uint64_t>(address);
  const MutexLock lock(memory_mutex_);
  forget_shared(start / kPageBytes, page_up(start + bytes) / kPageBytes);
}

void Process::forget_shared(uint64_t first_page, uint64_t end_page) {
  if (!svm_.overlaps(first_page, end_page)) return;
  svm_.visit(first_page, end_page, [&](uint64_t first, uint64_t last, const SvmAttributes* attributes) {
    if (attributes == nullptr) return;
    for (auto& gpu : gpus_) {
      if (!gpu->table().any_mapped(first * kPageBytes, (last - first) * kPageBytes)) continue;
      gpu->unmap(first * kPageBytes, (last - first) * kPageBytes);
      events_.smi().unmapped(gpu->index(), gpu->gpu().gpu_id, first, last - first);
    }
  });
  svm_.erase(first_page, end_page);
}

void Process::forget_unreadable(uint64_t va, uint64_t bytes) {
  if (bytes == 0 || va + bytes - 1 < va) return;
  const uint64_t first_page = va / kPageBytes, end_page = (va + bytes - 1) / kPageBytes + 1;
  if (!svm_.overlaps(first_page, end_page)) return;
  std::vector<std::pair<uint64_t, uint64_t>> removed;
  svm_.visit(first_page, end_page, [&](uint64_t first, uint64_t last, const SvmAttributes* attributes) {
    if (attributes == nullptr) return;
    for (uint64_t page = first; page < last; ++page) {
      if (program_reads(page * kPageBytes)) return;
    }
    removed.emplace_back(first, last);
  });
  for (const auto& [first, last] : removed) forget_shared(first, last);
}

ErrnoOr<Process::DoorbellHook> Process::attach_doorbell(void* address) {
  const MutexLock lock(queue_mutex_);
  auto* const at = static_cast<std::byte*>(address);
  for (const DoorbellMapping& mapping : doorbell_mappings_) {
    if (at < mapping.address || at >= mapping.address + mapping.bytes) continue;
    const uint64_t offset = mapping.offset + static_cast<uint64_t>(at - mapping.address);
    for (auto& [id, queue] : queues_) {
      const uint32_t bytes = queue->gpu->gpu().board.driver().doorbell_bytes;
      if (queue->gpu->index() != mapping.gpu_index || uint64_t{queue->doorbell} * bytes != offset) continue;
      Bell* const doorbell_call = queue->gpu->processor().bell(id);
      if (doorbell_call == nullptr) return tl::unexpected(ENOSPC);
      return DoorbellHook{Bell::ring, doorbell_call};
    }
  }
  return tl::unexpected(EINVAL);
}

}  // namespace rigel::vgpu
