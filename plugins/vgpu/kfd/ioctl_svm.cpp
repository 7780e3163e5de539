// The SVM ioctl: attributes of shared ranges, and the mappings that follow from them.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api/support/page_size.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

bool has_svm(const GpuContext& gpu) {
  return (gpu.gpu().board.capability & KFD_CAP_SVM) != 0;
}

}  // namespace

// Updates the page tables to the attributes of [first, end). Unchanged pages are not touched, so queues may
// use the range meanwhile.
void Process::apply_svm(uint64_t first_page, uint64_t end_page) {
  svm_.visit(first_page, end_page, [&](uint64_t first, uint64_t end, const SvmAttributes* attributes) {
    const uint64_t va = first * kPageBytes;
    const uint64_t bytes = (end - first) * kPageBytes;
    for (auto& gpu : gpus_) {
      if (!has_svm(*gpu)) continue;
      if (attributes == nullptr || !(attributes->access | attributes->in_place).test(gpu->index())) {
        if (gpu->table().any_mapped(va, bytes)) gpu->unmap(va, bytes);
        continue;
      }
      const PageTable::Rights rights{.write = (attributes->flags & KFD_SVM_FLAG_GPU_RO) == 0,
                                     .execute = (attributes->flags & KFD_SVM_FLAG_GPU_EXEC) != 0};
      const Errno error = remap_range(*gpu, va, bytes, reinterpret_cast<std::byte*>(va), rights);
      if (error != 0)
        log_(LogCategory::kWarning, "SVM range {:#x}+{:#x}: cannot map: {}", va, bytes,
             strerrorname_np(error));
    }
  });
}

// Memory does not move: every GPU accesses the program's memory in place. Management tools get the events of
// the moves that amdkfd would have made.
void Process::note_migration(SvmAttributes& range, uint64_t first_page, uint64_t end_page) {
  uint32_t to = range.prefetch;
  // Memory that another GPU can access over PCIe stays in the system.
  const auto accessors = range.access | range.in_place;
  const GpuContext* const target = gpu_by_id(to);
  for (const auto& gpu : gpus_) {
    if (gpu.get() != target && accessors.test(gpu->index()) &&
        (target == nullptr || !are_in_one_hive(gpu->gpu(), target->gpu())))
      to = KFD_SVM_LOCATION_SYSMEM;
  }
  const auto move = [&](uint32_t destination) {
    const uint32_t gpu_id = destination == KFD_SVM_LOCATION_SYSMEM ? range.place : destination;
    events_.smi().migrated_for_prefetch(
        gpu_by_id(gpu_id)->index(),
        {first_page, end_page - first_page, range.place, destination, range.prefetch, range.preferred});
    range.place = destination;
  };
  if (range.place == to) return;
  if (range.place != KFD_SVM_LOCATION_SYSMEM)
    move(KFD_SVM_LOCATION_SYSMEM);  // from GPU to GPU through system memory
  if (to != KFD_SVM_LOCATION_SYSMEM) move(to);
}

SvmAttributes Process::initial_svm_attributes() const {
  SvmAttributes attributes;
  if (!xnack_.load(std::memory_order_relaxed)) return attributes;
  for (const auto& gpu : gpus_) attributes.access.set(gpu->index(), has_svm(*gpu));
  return attributes;
}

bool Process::always_shared(const GpuContext& gpu, uint64_t va, uint64_t bytes) const {
  bool shared = true;
  svm_.visit(va / kPageBytes, (va + bytes + kPageBytes - 1) / kPageBytes,
             [&](uint64_t, uint64_t, const SvmAttributes* range) {
               shared &= range != nullptr && (range->access | range->in_place).test(gpu.index()) &&
                         (range->flags & KFD_SVM_FLAG_GPU_ALWAYS_MAPPED) != 0;
             });
  return shared;
}

// Checks that the range is mapped in the program and does not overlap a buffer.
Errno KfdIoctls::check_svm_range(Process& process, const kfd_svm& header) {
  if (!program_has(header.start_addr, header.size)) return EFAULT;
  const uint64_t first = header.start_addr / kPageBytes;
  for (size_t i = 0; i < process.gpu_count(); ++i) {
    // A buffer and a shared range must not overlap. Existing shared ranges are allowed.
    bool has_buffer = false;
    process.svm_.visit(
        first, first + header.size / kPageBytes, [&](uint64_t from, uint64_t to, const SvmAttributes* range) {
          has_buffer |= range == nullptr &&
                        process.gpu(i).table().any_mapped(from * kPageBytes, (to - from) * kPageBytes);
        });
    if (has_buffer) return EADDRINUSE;
  }
  return 0;
}

Errno KfdIoctls::set_svm_attributes(Process& process, const kfd_svm& header,
                                    std::span<kfd_svm_attribute> attributes) {
  const uint64_t first = header.start_addr / kPageBytes;
  const uint64_t end = first + header.size / kPageBytes;
  const auto is_gpu = [&](uint32_t value) {
    const GpuContext* const gpu = process.gpu_by_id(value);
    return gpu != nullptr && has_svm(*gpu);
  };
  for (const kfd_svm_attribute& attribute : attributes) {
    switch (attribute.type) {
      case KFD_SVM_ATTR_PREFERRED_LOC:
        if (attribute.value != KFD_SVM_LOCATION_SYSMEM && attribute.value != KFD_SVM_LOCATION_UNDEFINED &&
            !is_gpu(attribute.value)) {
          return EINVAL;
        }
        break;
      case KFD_SVM_ATTR_PREFETCH_LOC:
        if (attribute.value != KFD_SVM_LOCATION_SYSMEM && !is_gpu(attribute.value)) return EINVAL;
        break;
      case KFD_SVM_ATTR_ACCESS:
      case KFD_SVM_ATTR_ACCESS_IN_PLACE:
      case KFD_SVM_ATTR_NO_ACCESS:
        if (!is_gpu(attribute.value)) return EINVAL;
        break;
      case KFD_SVM_ATTR_SET_FLAGS:
      case KFD_SVM_ATTR_CLR_FLAGS:  // unknown bits too: user mode clears all other bits
      case KFD_SVM_ATTR_GRANULARITY:
        break;
      default:
        return EINVAL;
    }
  }
  if (const Errno error = check_svm_range(process, header); error != 0) return error;
  process.svm_.update(first, end, process.initial_svm_attributes(),
                      [&](SvmAttributes& range, uint64_t range_first, uint64_t range_end) {
                        bool prefetch = false;
                        for (const kfd_svm_attribute& attribute : attributes) {
                          const GpuContext* const gpu = process.gpu_by_id(attribute.value);
                          switch (attribute.type) {
                            case KFD_SVM_ATTR_PREFERRED_LOC:
                              range.preferred = attribute.value;
                              break;
                            case KFD_SVM_ATTR_PREFETCH_LOC:
                              range.prefetch = attribute.value;
                              prefetch = true;
                              break;
                            case KFD_SVM_ATTR_ACCESS:
                              range.access.set(gpu->index());
                              range.in_place.reset(gpu->index());
                              break;
                            case KFD_SVM_ATTR_ACCESS_IN_PLACE:
                              range.in_place.set(gpu->index());
                              range.access.reset(gpu->index());
                              break;
                            case KFD_SVM_ATTR_NO_ACCESS:
                              range.access.reset(gpu->index());
                              range.in_place.reset(gpu->index());
                              break;
                            case KFD_SVM_ATTR_SET_FLAGS:
                              range.flags |= attribute.value;
                              break;
                            case KFD_SVM_ATTR_CLR_FLAGS:
                              range.flags &= ~attribute.value;
                              break;
                            case KFD_SVM_ATTR_GRANULARITY:
                              range.granularity = static_cast<uint8_t>(std::min(attribute.value, 0x3fu));
                              break;
                            default:
                              break;
                          }
                        }
                        if (prefetch) process.note_migration(range, range_first, range_end);
                      });
  process.expect_host_faults();
  process.apply_svm(first, end);
  return 0;
}

Errno KfdIoctls::get_svm_attributes(Process& process, const kfd_svm& header,
                                    std::span<kfd_svm_attribute> attributes) {
  const uint64_t first = header.start_addr / kPageBytes;
  const uint64_t end = first + header.size / kPageBytes;
  if (const Errno error = check_svm_range(process, header); error != 0) return error;
  for (kfd_svm_attribute& attribute : attributes) {
    switch (attribute.type) {
      case KFD_SVM_ATTR_PREFERRED_LOC:
      case KFD_SVM_ATTR_PREFETCH_LOC:
      case KFD_SVM_ATTR_SET_FLAGS:
      case KFD_SVM_ATTR_CLR_FLAGS:
      case KFD_SVM_ATTR_GRANULARITY:
        break;
      case KFD_SVM_ATTR_ACCESS:
        if (process.gpu_by_id(attribute.value) == nullptr) return EINVAL;
        break;
      default:
        return EINVAL;
    }
  }
  // The intersection of the ranges' attributes. Pages without a range are ignored, unless there is no range.
  bool has_range = false;
  SvmAttributes all = process.initial_svm_attributes();
  uint32_t any_flags = all.flags;
  process.svm_.visit(first, end, [&](uint64_t, uint64_t, const SvmAttributes* range) {
    if (range == nullptr) return;
    if (!has_range) {
      all = *range;
      any_flags = range->flags;
      has_range = true;
      return;
    }
    if (all.preferred != range->preferred) all.preferred = KFD_SVM_LOCATION_UNDEFINED;
    if (all.prefetch != range->prefetch) all.prefetch = KFD_SVM_LOCATION_UNDEFINED;
    all.flags &= range->flags;
    any_flags |= range->flags;
    all.granularity = std::min(all.granularity, range->granularity);
    all.access &= range->access;
    all.in_place &= range->in_place;
  });
  for (kfd_svm_attribute& attribute : attributes) {
    switch (attribute.type) {
      case KFD_SVM_ATTR_PREFERRED_LOC:
        attribute.value = all.preferred;
        break;
      case KFD_SVM_ATTR_PREFETCH_LOC:
        attribute.value = all.prefetch;
        break;
      case KFD_SVM_ATTR_SET_FLAGS:
        attribute.value = all.flags;
        break;
      case KFD_SVM_ATTR_CLR_FLAGS:
        attribute.value = ~any_flags;
        break;
      case KFD_SVM_ATTR_GRANULARITY:
        attribute.value = all.granularity;
        break;
      case KFD_SVM_ATTR_ACCESS: {
        const uint32_t index = process.gpu_by_id(attribute.value)->index();
        attribute.type = all.in_place.test(index) ? KFD_SVM_ATTR_ACCESS_IN_PLACE
                         : all.access.test(index) ? KFD_SVM_ATTR_ACCESS
                                                  : KFD_SVM_ATTR_NO_ACCESS;
        break;
      }
      default:
        break;
    }
  }
  return 0;
}

Errno KfdIoctls::svm(Process& process, const IoctlCall& call) {
  auto& header = *static_cast<kfd_svm*>(call.arguments);
  const MutexLock lock(process.memory_mutex_);
  if (header.start_addr % kPageBytes != 0 || header.size % kPageBytes != 0) return EINVAL;
  if (header.start_addr == 0 || header.size == 0) return EINVAL;
  // The attributes follow the header; the request has the total size.
  const uint64_t bytes = uint64_t{header.nattr} * sizeof(kfd_svm_attribute);
  if (call.program_bytes < sizeof header + bytes) return EINVAL;
  const std::span attributes(reinterpret_cast<kfd_svm_attribute*>(&header + 1), header.nattr);
  switch (header.op) {
    case KFD_SVM_SET_ATTR:
      return set_svm_attributes(process, header, attributes);
    case KFD_SVM_GET_ATTR:
      return get_svm_attributes(process, header, attributes);
    default:
      return EINVAL;
  }
}

}  // namespace rigel::vgpu
