#include "plugins/vgpu/kfd/render_node.hpp"

#include <amdgpu_drm.h>
#include <drm.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/driver_files.hpp"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

constexpr uint32_t kDriverBase = 0x40;  // first number of amdgpu's requests
constexpr int kDriverMajor = 3, kDriverMinor = 57;
constexpr uint32_t kMaxBytes = 512;
constexpr uint32_t kVmPageNoAlloc = 1u << 9;  // missing in the headers of some distributions

// Copies as much of a result as fits the program's buffer, like AMDGPU_INFO.
Errno copy_result(const drm_amdgpu_info& a, const void* result, size_t bytes) {
  return copy_to_program(a.return_pointer, result, std::min<size_t>(a.return_size, bytes));
}

// Copies as much of a DRM string as fits, and returns the full length in `capacity`.
Errno give_string(char* to, size_t& capacity, std::string_view text) {
  const size_t fits = std::min(capacity, text.size());
  capacity = text.size();
  return to == nullptr || fits == 0 ? 0 : copy_to_program(reinterpret_cast<uint64_t>(to), text.data(), fits);
}

// Returns the value of a register for READ_MMR_REG: those that programs may read and that describe the chip.
// Empty: the register cannot be read.
std::optional<uint32_t> register_value(const Board& board, uint64_t address) {
  constexpr uint64_t kBackendDisable = 0x263d, kGbAddrConfig = 0x263e;
  constexpr uint64_t kRasterConfig = 0xa0d4, kRasterConfig1 = 0xa0d5;
  constexpr uint64_t kTileModes = 0x2644, kMacroTileModes = 0x2664, kRamConfig = 0x9d8;
  if (address == kGbAddrConfig) return board.gb_addr_config;
  // There is no rasteriser, so no part is disabled.
  if (address == kBackendDisable || address == kRasterConfig || address == kRasterConfig1) return 0;
  if (!board.driver().has_tile_tables) return {};
  const auto& tiling = board.tiling;
  if (address - kTileModes < tiling.modes.size()) return tiling.modes[address - kTileModes];
  if (address - kMacroTileModes < tiling.macro_modes.size())
    return tiling.macro_modes[address - kMacroTileModes];
  if (address == kRamConfig) return tiling.banks | tiling.ranks << 2;
  return {};
}

uint32_t gpu_of(const Machine& virtual_system, uint32_t minor) {
  const auto has_minor = [&](const Gpu& gpu) { return gpu.card_minor == minor || gpu.render_minor == minor; };
  return static_cast<uint32_t>(
      std::find_if(virtual_system.gpus.begin(), virtual_system.gpus.end(), has_minor) -
      virtual_system.gpus.begin());
}

// Mode setting: requests for nodes with a display.
constexpr bool is_mode_setting(uint32_t number) {
  return number >= 0xa0 && number < 0xbf;
}

}  // namespace

struct DrmIoctls {
  static Errno version(RenderNode&, void* p) {
    auto& a = *static_cast<drm_version*>(p);
    a.version_major = kDriverMajor;
    a.version_minor = kDriverMinor;
    a.version_patchlevel = 0;
    const auto put_text = [](char* to, __kernel_size_t& length, std::string_view text) {
      size_t capacity = length;
      const Errno error = give_string(to, capacity, text);
      length = static_cast<__kernel_size_t>(capacity);
      return error;
    };
    if (const Errno error = put_text(a.name, a.name_len, "amdgpu"); error != 0) return error;
    if (const Errno error = put_text(a.date, a.date_len, "20150101"); error != 0) return error;
    return put_text(a.desc, a.desc_len, "AMD GPU");
  }

  static Errno get_cap(RenderNode&, void* p) {
    auto& a = *static_cast<drm_get_cap*>(p);
    switch (a.capability) {
      case DRM_CAP_PRIME:
        a.value = DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
        return 0;
      case DRM_CAP_SYNCOBJ:
      case DRM_CAP_SYNCOBJ_TIMELINE:
        a.value = 0;
        return 0;
      case DRM_CAP_TIMESTAMP_MONOTONIC:
        a.value = 1;
        return 0;
      default:
        return EINVAL;
    }
  }

  // Requests of cards only. Every file of a card is its master, and authenticated.
  template <Errno (*run)(RenderNode&, void*)>
  static Errno card_only(RenderNode& node, void* p) {
    return node.card_ ? run(node, p) : EACCES;
  }

  static Errno do_nothing(RenderNode&, void*) { return 0; }

  static Errno no_display(RenderNode&, void*) { return EOPNOTSUPP; }

  static Errno no_names(RenderNode&, void*) { return EINVAL; }

  // Returns the bus id if SET_VERSION has selected an interface with it.
  static Errno get_unique(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_unique*>(p);
    size_t capacity = a.unique_len;
    const Gpu& gpu = node.process_.gpu(node.gpu_index_).gpu();
    char id[32] = "";
    if (node.has_bus_id_.load(std::memory_order_relaxed))
      std::snprintf(id, sizeof id, "pci:0000:%02x:00.0", gpu.location_id >> 8);
    const Errno error = give_string(a.unique, capacity, id);
    a.unique_len = capacity;
    return error;
  }

  static Errno get_client(RenderNode&, void* p) {
    auto& a = *static_cast<drm_client*>(p);
    if (a.idx != 0) return EINVAL;
    a = {};
    a.auth = 1;
    a.pid = static_cast<unsigned long>(getpid());
    a.uid = getuid();
    return 0;
  }

  static Errno get_stats(RenderNode&, void* p) {
    *static_cast<drm_stats*>(p) = {};
    return 0;
  }

  static Errno set_version(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_set_version*>(p);
    constexpr int kInterfaceMajor = 1, kInterfaceMinor = 4;
    const bool is_interface_supported =
        a.drm_di_major == -1 ||
        (a.drm_di_major == kInterfaceMajor && a.drm_di_minor >= 0 && a.drm_di_minor <= kInterfaceMinor);
    const bool is_driver_supported =
        a.drm_dd_major == -1 ||
        (a.drm_dd_major == kDriverMajor && a.drm_dd_minor >= 0 && a.drm_dd_minor <= kDriverMinor);
    if (is_interface_supported && a.drm_di_major != -1 && a.drm_di_minor >= 1)
      node.has_bus_id_.store(true, std::memory_order_relaxed);
    a = {kInterfaceMajor, kInterfaceMinor, kDriverMajor, kDriverMinor};
    return is_interface_supported && is_driver_supported ? 0 : EINVAL;
  }

  static Errno get_magic(RenderNode& node, void* p) {
    static_cast<drm_auth*>(p)->magic = static_cast<drm_magic_t>(node.file_id_);
    return 0;
  }

  // The magics of all files are accepted, because every file is authenticated.
  static Errno auth_magic(RenderNode&, void* p) { return static_cast<drm_auth*>(p)->magic == 0 ? EINVAL : 0; }

  static Errno no_command_streams(RenderNode&, void*) { return EINVAL; }

  static Errno gem_close(RenderNode& node, void* p) {
    const auto& a = *static_cast<drm_gem_close*>(p);
    const MutexLock lock(node.mutex_);
    const auto it = node.gems_.find(a.handle);
    if (it == node.gems_.end()) return EINVAL;
    node.close_gem(it->second);
    node.gems_.erase(it);
    return 0;
  }

  static Errno prime_handle_to_fd(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_prime_handle*>(p);
    if ((a.flags & ~static_cast<uint32_t>(DRM_CLOEXEC | DRM_RDWR)) != 0) return EINVAL;
    const MutexLock lock(node.mutex_);
    const auto it = node.gems_.find(a.handle);
    if (it == node.gems_.end()) return ENOENT;
    if (it->second.object->fd() < 0) return EPERM;  // the program's memory
    const auto fd = node.files_.give_to_program(it->second.object->fd(), (a.flags & DRM_CLOEXEC) != 0);
    if (!fd) return fd.error();
    a.fd = *fd;
    return 0;
  }

  static Errno prime_fd_to_handle(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_prime_handle*>(p);
    auto object = MemoryObject::import(a.fd);
    if (!object) return object.error();
    const MutexLock lock(node.mutex_);
    // A buffer has one handle per file, also if it is imported several times.
    for (const auto& [handle, gem] : node.gems_) {
      if (gem.object->inode() == (*object)->inode() && gem.object->nonce() == (*object)->nonce()) {
        a.handle = handle;
        return 0;
      }
    }
    RenderNode::Gem gem;
    gem.domains =
        (*object)->kind() == MemoryObject::Kind::kVram ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
    gem.object = std::move(*object);
    a.handle = node.add_gem(std::move(gem));
    return 0;
  }

  static Errno gem_create(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_amdgpu_gem_create*>(p);
    const auto in = a.in;
    constexpr uint64_t kDomains = AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT;
    if (in.bo_size == 0 || in.bo_size > (uint64_t{1} << 44) || (in.domains & kDomains) == 0 ||
        (in.domains & ~kDomains) != 0) {
      return EINVAL;
    }
    const uint64_t bytes = page_up(in.bo_size);
    const bool vram = (in.domains & AMDGPU_GEM_DOMAIN_VRAM) != 0;
    GpuContext& gpu = node.process_.gpu(node.gpu_index_);
    RenderNode::Gem gem;
    gem.domains = in.domains;
    gem.domain_flags = in.domain_flags;
    gem.alignment = in.alignment;
    const MutexLock lock(node.mutex_);
    const MutexLock memory_lock(node.process_.memory_mutex());
    if (vram && !Process::vram_has_room(gpu, bytes)) return ENOMEM;
    gem.counted = vram;
    const uint32_t flags =
        (vram ? KFD_MEM_VRAM : KFD_MEM_GTT) | KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE |
        ((in.domain_flags & AMDGPU_GEM_CREATE_NO_CPU_ACCESS) != 0 ? MemoryObject::kNoHostAccess
                                                                  : KFD_MEM_PUBLIC);
    auto object = MemoryObject::allocate(vram ? MemoryObject::Kind::kVram : MemoryObject::Kind::kGtt, bytes,
                                         flags, node.gpu_index_, gpu.gpu().gpu_id);
    if (!object) return object.error();
    gem.object = std::move(*object);
    a = {};
    a.out.handle = node.add_gem(std::move(gem));
    if (vram) gpu.vram_used += bytes;
    return 0;
  }

  static Errno gem_userptr(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_amdgpu_gem_userptr*>(p);
    constexpr uint32_t kKnownFlags = AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_ANONONLY |
                                     AMDGPU_GEM_USERPTR_VALIDATE | AMDGPU_GEM_USERPTR_REGISTER;
    if (a.addr % kPageBytes != 0 || a.size % kPageBytes != 0 || a.size == 0 || (a.flags & ~kKnownFlags) != 0)
      return EINVAL;
    if ((a.flags & (AMDGPU_GEM_USERPTR_READONLY | AMDGPU_GEM_USERPTR_REGISTER)) == 0) return EACCES;
    if (!program_has(a.addr, a.size)) return EFAULT;
    node.process_.expect_host_faults();
    RenderNode::Gem gem;
    gem.domains = AMDGPU_GEM_DOMAIN_GTT;
    gem.object = MemoryObject::of_program(reinterpret_cast<std::byte*>(a.addr), a.size,
                                          KFD_MEM_USERPTR | KFD_MEM_WRITABLE, node.gpu_index_, 0);
    const MutexLock lock(node.mutex_);
    a.handle = node.add_gem(std::move(gem));
    return 0;
  }

  static Errno gem_mmap(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_amdgpu_gem_mmap*>(p);
    const MutexLock lock(node.mutex_);
    const auto it = node.gems_.find(a.in.handle);
    if (it == node.gems_.end()) return ENOENT;
    RenderNode::Gem& gem = it->second;
    if (gem.object->fd() < 0 || (gem.object->flags() & MemoryObject::kNoHostAccess) != 0) return EPERM;
    if (gem.mmap_offset == 0) {
      const MutexLock memory_lock(node.process_.memory_mutex());
      gem.mmap_offset = node.process_.make_mmap_offset(gem.object);
    }
    a = {};
    a.out.addr_ptr = gem.mmap_offset;
    return 0;
  }

  static Errno gem_wait_idle(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_amdgpu_gem_wait_idle*>(p);
    const MutexLock lock(node.mutex_);
    if (!node.gems_.contains(a.in.handle)) return ENOENT;
    a = {};  // this interface has no command streams, so buffers are always idle
    return 0;
  }

  static Errno gem_metadata(RenderNode& node, void* p) {
    auto& a = *static_cast<drm_amdgpu_gem_metadata*>(p);
    const MutexLock lock(node.mutex_);
    const auto it = node.gems_.find(a.handle);
    if (it == node.gems_.end()) return ENOENT;
    BufferMetadataTable::Entry& metadata = *it->second.metadata;
    if (a.op == AMDGPU_GEM_METADATA_OP_GET_METADATA) {
      const BufferMetadata current = metadata.get();
      a.data.flags = current.flags;
      a.data.tiling_info = current.tiling;
      a.data.data_size_bytes = static_cast<uint32_t>(current.bytes.size());
      std::copy(current.bytes.begin(), current.bytes.end(), reinterpret_cast<std::byte*>(a.data.data));
      return 0;
    }
    if (a.op != AMDGPU_GEM_METADATA_OP_SET_METADATA) return EINVAL;
    if (a.data.data_size_bytes > sizeof a.data.data) return EINVAL;
    const auto bytes = std::as_bytes(std::span(a.data.data)).first(a.data.data_size_bytes);
    // As in amdgpu_bo_set_metadata: without bytes, the metadata is deleted and the flags remain.
    const uint64_t flags = bytes.empty() ? metadata.get().flags : a.data.flags;
    metadata.set({flags, a.data.tiling_info, {bytes.begin(), bytes.end()}});
    return 0;
  }

  static Errno gem_op(RenderNode& node, void* p) {
    const auto& a = *static_cast<drm_amdgpu_gem_op*>(p);
    const MutexLock lock(node.mutex_);
    const auto it = node.gems_.find(a.handle);
    if (it == node.gems_.end()) return ENOENT;
    RenderNode::Gem& gem = it->second;
    if (a.op == AMDGPU_GEM_OP_SET_PLACEMENT) {
      gem.domains = a.value & (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT);
      return 0;
    }
    if (a.op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO) return EINVAL;
    drm_amdgpu_gem_create_in info{};
    info.bo_size = gem.object->bytes();
    info.alignment = gem.alignment;
    info.domains = gem.domains;
    info.domain_flags = gem.domain_flags;
    return copy_to_program(a.value, &info, sizeof info);
  }

  static Errno gem_va(RenderNode& node, void* p) {
    const auto& a = *static_cast<drm_amdgpu_gem_va*>(p);
    constexpr uint32_t kKnownFlags = AMDGPU_VM_DELAY_UPDATE | AMDGPU_VM_PAGE_READABLE |
                                     AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE |
                                     AMDGPU_VM_MTYPE_MASK | kVmPageNoAlloc;
    if ((a.flags & ~kKnownFlags & ~static_cast<uint32_t>(AMDGPU_VM_PAGE_PRT)) != 0) return EINVAL;
    if (a.va_address % kPageBytes != 0 || a.map_size % kPageBytes != 0 || a.offset_in_bo % kPageBytes != 0)
      return EINVAL;
    if (a.va_address >= uint64_t{1} << 48 || a.map_size > (uint64_t{1} << 48) - a.va_address) return EINVAL;
    GpuContext& gpu = node.process_.gpu(node.gpu_index_);
    const MutexLock lock(node.mutex_);
    const MutexLock memory_lock(node.process_.memory_mutex());
    // Only pages that buffers of this file have mapped can be unmapped.
    const uint64_t start = a.va_address, end = a.va_address + a.map_size;
    // Returns the parts of [start, end) that buffers of this file have mapped, in order.
    const auto mapped_ranges = [&]() RIGEL_REQUIRES(node.mutex_) {
      std::map<uint64_t, uint64_t> ranges;  // start → end
      for (const auto& [handle, gem] : node.gems_) {
        for (const RenderNode::VaMapping& m : gem.mappings) {
          const uint64_t from = std::max(start, m.va), to = std::min(end, m.va + m.bytes);
          if (from < to) ranges.emplace(from, to);
        }
      }
      return ranges;
    };
    // The recorded mappings outside of [start, end), by buffer.
    using MappingRecords = std::map<RenderNode::Gem*, std::vector<RenderNode::VaMapping>>;
    const auto records_outside = [&]() RIGEL_REQUIRES(node.mutex_) {
      MappingRecords records;
      for (auto& [handle, gem] : node.gems_) {
        std::vector<RenderNode::VaMapping>& remaining = records[&gem];
        for (const RenderNode::VaMapping& m : gem.mappings) {
          const uint64_t m_end = m.va + m.bytes;
          const uint64_t low_end = std::min(start, m_end), high_start = std::max(end, m.va);
          if (m.va < low_end) remaining.push_back({m.va, low_end - m.va});
          if (high_start < m_end) remaining.push_back({high_start, m_end - high_start});
        }
      }
      return records;
    };
    const auto set_records = [](MappingRecords& records) noexcept {
      for (auto& [gem, mappings] : records) gem->mappings.swap(mappings);
    };
    if (a.operation == AMDGPU_VA_OP_CLEAR) {
      auto records = records_outside();
      for (const auto& [from, to] : mapped_ranges()) gpu.unmap(from, to - from);
      set_records(records);
      return 0;
    }
    const auto it = node.gems_.find(a.handle);
    if (it == node.gems_.end()) return (a.flags & AMDGPU_VM_PAGE_PRT) != 0 ? EINVAL : ENOENT;
    RenderNode::Gem& gem = it->second;
    switch (a.operation) {
      case AMDGPU_VA_OP_UNMAP: {
        const auto mapping = std::find_if(gem.mappings.begin(), gem.mappings.end(),
                                          [&](const auto& m) { return m.va == start; });
        if (mapping == gem.mappings.end()) return EINVAL;
        gpu.unmap(mapping->va, mapping->bytes);
        gem.mappings.erase(mapping);
        return 0;
      }
      case AMDGPU_VA_OP_REPLACE:
      case AMDGPU_VA_OP_MAP: {
        if (a.map_size == 0 || a.offset_in_bo > gem.object->bytes() ||
            a.map_size > gem.object->bytes() - a.offset_in_bo) {
          return EINVAL;
        }
        const PageTable::Rights rights{.write = (a.flags & AMDGPU_VM_PAGE_WRITEABLE) != 0,
                                       .execute = (a.flags & AMDGPU_VM_PAGE_EXECUTABLE) != 0};
        std::byte* const host = gem.object->host() + a.offset_in_bo;
        auto records = records_outside();
        records[&gem].push_back({start, a.map_size});
        if (a.operation == AMDGPU_VA_OP_MAP) {
          if (const Errno error = node.process_.map_range(gpu, start, a.map_size, host, rights); error != 0)
            return error;
        } else {
          // Between the buffers of this file there may be others, which this file must not replace.
          uint64_t at = start;
          for (const auto& [from, to] : mapped_ranges()) {
            if (gpu.table().any_mapped(at, from - at)) return EINVAL;
            at = to;
          }
          if (gpu.table().any_mapped(at, end - at)) return EINVAL;
          if (const Errno error = node.process_.remap_range(gpu, start, a.map_size, host, rights); error != 0)
            return error;
        }
        set_records(records);
        return 0;
      }
      default:
        return EINVAL;
    }
  }

  static Errno info(RenderNode& node, void* p);
  static Errno device_info(const GpuContext& gpu, const drm_amdgpu_info& a);
  static Errno video_bios(const Board& board, const drm_amdgpu_info& a);
};

Errno DrmIoctls::device_info(const GpuContext& gpu, const drm_amdgpu_info& a) {
  const Board& b = gpu.gpu().board;
  drm_amdgpu_info_device d{};
  d.device_id = b.pci.device_id;
  d.chip_rev = b.asic_revision;
  d.external_rev = b.external_revision;
  d.pci_rev = b.pci.revision;
  d.family = b.family_id;
  if (b.integrated) d.ids_flags |= AMDGPU_IDS_FLAGS_FUSION;
  d.num_shader_engines = b.shader_engines();
  d.num_shader_arrays_per_engine = b.shader.arrays_per_engine;
  d.gpu_counter_freq = b.clocks.reference_khz;
  d.max_engine_clock = b.clocks.engine_mhz * 1000;
  d.max_memory_clock = b.clocks.memory_mhz * 1000;
  d.cu_active_number = b.compute_units();
  for (uint32_t engine = 0; engine < d.num_shader_engines; ++engine) {
    for (uint32_t array = 0; array < d.num_shader_arrays_per_engine; ++array) {
      const uint32_t cus = b.compute_units_of(engine, array);
      d.cu_bitmap[engine % 4][(array + engine / 4) % 4] = cus == 32 ? ~0u : (1u << cus) - 1;
    }
  }
  d.enabled_rb_pipes_mask = (1u << d.num_shader_engines) - 1;
  d.num_rb_pipes = d.num_shader_engines;
  d.num_hw_gfx_contexts = 8;
  d.virtual_address_offset = 1 << 20;
  d.virtual_address_max = uint64_t{1} << b.driver().address_bits;
  d.virtual_address_alignment = kPageBytes;
  d.pte_fragment_size = 1 << 21;
  d.gart_page_size = kPageBytes;
  d.ce_ram_size = 32768;
  d.vram_type = b.memory.width_bits >= 2048 ? AMDGPU_VRAM_TYPE_HBM
                : b.driver().has_gddr6      ? AMDGPU_VRAM_TYPE_GDDR6
                                            : AMDGPU_VRAM_TYPE_GDDR5;
  d.vram_bit_width = b.memory.width_bits;
  d.wave_front_size = b.shader.wave_front_size;
  d.num_shader_visible_vgprs = 256;
  d.num_cu_per_sh = b.shader.cu_per_array;
  d.num_tcc_blocks = 16;
  if (b.driver().has_high_addresses) {
    d.high_va_offset = 0xffff800000000000;
    d.high_va_max = 0xffffffffffe00000;
  }
  return copy_result(a, &d, sizeof d);
}

// There is no VBIOS. Its description names the board for management tools.
Errno DrmIoctls::video_bios(const Board& board, const drm_amdgpu_info& a) {
  switch (a.vbios_info.type) {
    case AMDGPU_INFO_VBIOS_SIZE: {
      const uint32_t zero = 0;
      return copy_result(a, &zero, sizeof zero);
    }
    case AMDGPU_INFO_VBIOS_INFO: {
      drm_amdgpu_info_vbios bios{};
      const auto put_text = [](auto& to, std::string_view text) {
        std::copy_n(text.begin(), std::min(text.size(), sizeof to - 1), to);
      };
      put_text(bios.name, board.marketing_name);
      put_text(bios.vbios_pn, "virtual");
      put_text(bios.vbios_ver_str, "none");
      return copy_result(a, &bios, sizeof bios);
    }
    default:  // the image: every offset is past its end
      return EINVAL;
  }
}

Errno DrmIoctls::info(RenderNode& node, void* p) {
  const auto& a = *static_cast<drm_amdgpu_info*>(p);
  if (a.return_size == 0 || a.return_pointer == 0) return EINVAL;
  GpuContext& gpu = node.process_.gpu(node.gpu_index_);
  const Gpu& properties = gpu.gpu();
  const auto number = [&](uint64_t value) { return copy_result(a, &value, sizeof value); };
  const auto vram_used = [&] {
    const MutexLock lock(node.process_.memory_mutex());
    return gpu.vram_used;
  };
  switch (a.query) {
    case AMDGPU_INFO_ACCEL_WORKING: {
      const uint32_t yes = 1;
      return copy_result(a, &yes, sizeof yes);
    }
    case AMDGPU_INFO_DEV_INFO:
      return device_info(gpu, a);
    case AMDGPU_INFO_TIMESTAMP:
      return number(gpu.gpu_clock());
    case AMDGPU_INFO_VRAM_USAGE:
      return number(vram_used());
    case AMDGPU_INFO_VIS_VRAM_USAGE:
      return number(std::min(vram_used(), properties.visible_bytes()));
    case AMDGPU_INFO_GTT_USAGE:
    case AMDGPU_INFO_NUM_BYTES_MOVED:
    case AMDGPU_INFO_NUM_EVICTIONS:
    case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
      return number(0);
    case AMDGPU_INFO_VRAM_LOST_COUNTER: {
      const uint32_t zero = 0;
      return copy_result(a, &zero, sizeof zero);
    }
    case AMDGPU_INFO_VRAM_GTT: {
      drm_amdgpu_info_vram_gtt m{};
      m.vram_size = properties.vram_bytes;
      m.vram_cpu_accessible_size = properties.visible_bytes();
      m.gtt_size = kGttBytes;
      return copy_result(a, &m, sizeof m);
    }
    case AMDGPU_INFO_MEMORY: {
      drm_amdgpu_memory_info m{};
      m.vram.total_heap_size = m.vram.usable_heap_size = properties.vram_bytes;
      m.vram.heap_usage = vram_used();
      m.vram.max_allocation = properties.vram_bytes * 3 / 4;
      m.cpu_accessible_vram.total_heap_size = m.cpu_accessible_vram.usable_heap_size =
          properties.visible_bytes();
      m.cpu_accessible_vram.heap_usage = std::min<uint64_t>(m.vram.heap_usage, properties.visible_bytes());
      m.cpu_accessible_vram.max_allocation = properties.visible_bytes() * 3 / 4;
      m.gtt.total_heap_size = m.gtt.usable_heap_size = kGttBytes;
      m.gtt.max_allocation = kGttBytes * 3 / 4;
      return copy_result(a, &m, sizeof m);
    }
    case AMDGPU_INFO_FW_VERSION: {
      drm_amdgpu_info_firmware f{};
      if (a.query_fw.fw_type == AMDGPU_INFO_FW_GFX_MEC) f.ver = properties.board.firmware.mec;
      if (a.query_fw.fw_type == AMDGPU_INFO_FW_SDMA) f.ver = properties.board.firmware.sdma;
      return copy_result(a, &f, sizeof f);
    }
    case AMDGPU_INFO_VBIOS:
      return video_bios(properties.board, a);
    case AMDGPU_INFO_READ_MMR_REG: {
      const uint64_t count = a.read_mmr_reg.count;
      if (count > 128 || count * 4 > a.return_size) return EINVAL;
      std::array<uint32_t, 128> values{};
      for (uint64_t i = 0; i < count; ++i) {
        const auto value = register_value(properties.board, a.read_mmr_reg.dword_offset + i);
        if (!value) return EFAULT;
        values[i] = *value;
      }
      return copy_to_program(a.return_pointer, values.data(), count * 4);
    }
    case AMDGPU_INFO_HW_IP_COUNT: {
      const bool dma = a.query_hw_ip.type == AMDGPU_HW_IP_DMA;
      const uint32_t count = dma || a.query_hw_ip.type == AMDGPU_HW_IP_COMPUTE ? 1 : 0;
      return copy_result(a, &count, sizeof count);
    }
    case AMDGPU_INFO_HW_IP_INFO: {
      if (a.query_hw_ip.type >= AMDGPU_HW_IP_NUM) return EINVAL;
      drm_amdgpu_info_hw_ip ip{};
      if (a.query_hw_ip.type == AMDGPU_HW_IP_COMPUTE) {
        ip.hw_ip_version_major = properties.board.gfx_major();
        ip.hw_ip_version_minor = properties.board.gfx_minor();
      }
      return copy_result(a, &ip, sizeof ip);  // no rings: command streams are not supported
    }
    default:
      node.process_.log()(LogCategory::kIoctl, "AMDGPU_INFO: query {:#x} is not supported: EINVAL", a.query);
      return EINVAL;
  }
}

namespace {

constexpr auto kExact = Faithful::kExact;
constexpr auto kApproximate = Faithful::kApproximate;
constexpr auto kAbsent = Faithful::kAbsent;
using D = DrmIoctls;

constexpr auto kTable = std::to_array<DrmIoctlEntry>({
    {0x00, "VERSION", sizeof(drm_version), kExact, "amdgpu 3.57", D::version},
    {0x02, "GET_MAGIC", sizeof(drm_auth), kExact, "EACCES on render nodes", D::card_only<D::get_magic>},
    {0x07, "SET_VERSION", sizeof(drm_set_version), kExact, "EACCES on render nodes",
     D::card_only<D::set_version>},
    {0x09, "GEM_CLOSE", sizeof(drm_gem_close), kExact, "", D::gem_close},
    {0x0c, "GET_CAP", sizeof(drm_get_cap), kApproximate, "PRIME; no sync objects", D::get_cap},
    {0x2d, "PRIME_HANDLE_TO_FD", sizeof(drm_prime_handle), kApproximate,
     "the descriptor is a memory file, not a dma-buf", D::prime_handle_to_fd},
    {0x2e, "PRIME_FD_TO_HANDLE", sizeof(drm_prime_handle), kApproximate, "buffers of the virtual GPU only",
     D::prime_fd_to_handle},
    {kDriverBase + DRM_AMDGPU_GEM_CREATE, "AMDGPU_GEM_CREATE", sizeof(drm_amdgpu_gem_create), kApproximate,
     "VRAM and GTT; EINVAL for other domains", D::gem_create},
    {kDriverBase + DRM_AMDGPU_GEM_MMAP, "AMDGPU_GEM_MMAP", sizeof(drm_amdgpu_gem_mmap), kExact, "",
     D::gem_mmap},
    {kDriverBase + DRM_AMDGPU_INFO, "AMDGPU_INFO", sizeof(drm_amdgpu_info), kApproximate,
     "queries of compute runtimes; EINVAL for others", D::info},
    {kDriverBase + DRM_AMDGPU_GEM_METADATA, "AMDGPU_GEM_METADATA", sizeof(drm_amdgpu_gem_metadata),
     kApproximate, "visible in this process while a render node has a handle; not visible in other processes",
     D::gem_metadata},
    {kDriverBase + DRM_AMDGPU_GEM_WAIT_IDLE, "AMDGPU_GEM_WAIT_IDLE", sizeof(drm_amdgpu_gem_wait_idle), kExact,
     "", D::gem_wait_idle},
    {kDriverBase + DRM_AMDGPU_GEM_VA, "AMDGPU_GEM_VA", sizeof(drm_amdgpu_gem_va), kApproximate,
     "no partially resident textures", D::gem_va},
    {kDriverBase + DRM_AMDGPU_GEM_OP, "AMDGPU_GEM_OP", sizeof(drm_amdgpu_gem_op), kApproximate,
     "placements are stored; buffers do not move", D::gem_op},
    {kDriverBase + DRM_AMDGPU_GEM_USERPTR, "AMDGPU_GEM_USERPTR", sizeof(drm_amdgpu_gem_userptr), kApproximate,
     "the memory must be present immediately, with or without VALIDATE", D::gem_userptr},
    // Rejected requests come last, because inputs of the fuzzer name entries by their index.
    {0x01, "GET_UNIQUE", sizeof(drm_unique), kExact, "EACCES on render nodes", D::card_only<D::get_unique>},
    {0x05, "GET_CLIENT", sizeof(drm_client), kExact, "EACCES on render nodes", D::card_only<D::get_client>},
    {0x06, "GET_STATS", sizeof(drm_stats), kExact, "EACCES on render nodes", D::card_only<D::get_stats>},
    {0x0a, "GEM_FLINK", 0, kAbsent, "buffer names: EINVAL on cards, EACCES on render nodes",
     D::card_only<D::no_names>},
    {0x0b, "GEM_OPEN", 0, kAbsent, "buffer names: EINVAL on cards, EACCES on render nodes",
     D::card_only<D::no_names>},
    {0x0d, "SET_CLIENT_CAP", 0, kExact, "no display: EOPNOTSUPP on cards, EACCES on render nodes",
     D::card_only<D::no_display>},
    {0x11, "AUTH_MAGIC", sizeof(drm_auth), kApproximate,
     "cards: every file is authenticated; EACCES on render nodes", D::card_only<D::auth_magic>},
    {0x1e, "SET_MASTER", 0, kApproximate, "cards: every file is a master; EACCES on render nodes",
     D::card_only<D::do_nothing>},
    {0x1f, "DROP_MASTER", 0, kApproximate, "cards: every file is a master; EACCES on render nodes",
     D::card_only<D::do_nothing>},
    {kDriverBase + DRM_AMDGPU_CTX, "AMDGPU_CTX", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_BO_LIST, "AMDGPU_BO_LIST", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_CS, "AMDGPU_CS", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_WAIT_CS, "AMDGPU_WAIT_CS", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_WAIT_FENCES, "AMDGPU_WAIT_FENCES", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_VM, "AMDGPU_VM", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_FENCE_TO_HANDLE, "AMDGPU_FENCE_TO_HANDLE", 0, kAbsent,
     "EINVAL: no command streams", D::no_command_streams},
    {kDriverBase + DRM_AMDGPU_SCHED, "AMDGPU_SCHED", 0, kAbsent, "EINVAL: no command streams",
     D::no_command_streams},
});
static_assert(std::all_of(kTable.begin(), kTable.end(),
                          [](const DrmIoctlEntry& e) { return e.bytes <= kMaxBytes; }));

}  // namespace

std::span<const DrmIoctlEntry> drm_ioctls() {
  return kTable;
}

RenderNode::RenderNode(Process& process, uint32_t minor, uint64_t file_id, OpenFiles& files)
    : process_(process),
      files_(files),
      gpu_index_(gpu_of(process.virtual_system(), minor)),
      card_(process.virtual_system().gpus[gpu_index_].card_minor == minor),
      file_id_(file_id) {}

RenderNode::~RenderNode() {
  for (auto& [handle, gem] : gems_) close_gem(gem);
}

uint32_t RenderNode::add_gem(Gem gem) {
  uint32_t handle = 1;
  while (gems_.contains(handle)) ++handle;
  Gem& added = gems_.emplace(handle, std::move(gem)).first->second;
  Undo remove([&]() RIGEL_REQUIRES(mutex_) { gems_.erase(handle); });
  added.metadata = process_.metadata().open(added.object->nonce());
  remove.cancel();
  return handle;
}

void RenderNode::close_gem(Gem& gem) {
  GpuContext& gpu = process_.gpu(gpu_index_);
  const MutexLock lock(process_.memory_mutex());
  for (const VaMapping& m : gem.mappings) gpu.unmap(m.va, m.bytes);
  if (gem.mmap_offset != 0) process_.drop_mmap_offset(gem.mmap_offset);
  if (gem.counted) gpu.vram_used -= gem.object->bytes();
  gem.metadata.reset();
  process_.metadata().forget(gem.object->nonce());
}

int RenderNode::ioctl(uint64_t request, void* argument) {
  const auto number = static_cast<uint32_t>(request & 0xff);
  const auto bytes = static_cast<uint32_t>(request >> 16 & 0x3fff);
  const auto direction = static_cast<uint32_t>(request >> 30 & 3);
  // As in the kernel, the type in the bits above the number is ignored.
  const auto it =
      std::find_if(kTable.begin(), kTable.end(), [&](const auto& e) { return e.number == number; });
  if (it == kTable.end()) {
    const Errno error = !is_mode_setting(number) ? EINVAL : card_ ? EOPNOTSUPP : EACCES;
    if (!is_mode_setting(number)) count_unknown_ioctl(fidelity::Set::kDrm, number, "EINVAL");
    process_.log()(LogCategory::kIoctl, "DRM ioctl {:#x} (number {:#x}) is not supported: {}", request,
                   number, strerrorname_np(error));
    return -error;
  }
  alignas(8) std::byte copy[kMaxBytes] = {};
  const uint32_t copied_bytes = std::min(bytes, it->bytes);
  const auto program = reinterpret_cast<uint64_t>(argument);
  if ((direction & 1) != 0 && copy_from_program(copy, program, copied_bytes) != 0) return -EFAULT;
  Errno error = 0;
  try {
    error = it->run(*this, copy);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  explain_limit(process_.log(), error);
  count_ioctl(fidelity::Set::kDrm, it->name, it->faithful, it->note);
  if ((direction & 2) != 0 && copy_to_program(program, copy, copied_bytes) != 0) error = EFAULT;
  process_.log()(LogCategory::kIoctl, "drm {} = {}{}{}", it->name, -error, error == 0 ? "" : " ",
                 error == 0 ? "" : strerrorname_np(error));
  return -error;
}

}  // namespace rigel::vgpu
