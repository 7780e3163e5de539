// Ioctls about the driver, the GPU as a whole, and clocks.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "api/support/mutex.hpp"
#include "hsa_plugin/kfd_abi.h"
#include "plugins/vgpu/kfd/ioctl.hpp"
#include "plugins/vgpu/kfd/user_copy.hpp"

namespace rigel::vgpu {
namespace {

uint64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

kfd_apertures apertures_of(const GpuContext& gpu) {
  const GpuApertures a = gpu.apertures();
  return {a.lds_base,   a.lds_limit,   a.scratch_base,   a.scratch_limit,
          a.gpuvm_base, a.gpuvm_limit, gpu.gpu().gpu_id, 0};
}

}  // namespace

Errno KfdIoctls::get_version(Process&, const IoctlCall& call) {
  args<kfd_get_version>(call) = {KFD_ABI_VERSION_MAJOR, KFD_ABI_VERSION_MINOR};
  return 0;
}

Errno KfdIoctls::get_clock_counters(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_clock_counters>(call);
  // For an unknown GPU the counter is 0, without an error. User mode reads the CPU's clock this way.
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  a.gpu_clock_counter = gpu == nullptr ? 0 : gpu->gpu_clock();
  a.cpu_clock_counter = nanoseconds(CLOCK_MONOTONIC_RAW);
  a.system_clock_counter = nanoseconds(CLOCK_BOOTTIME);
  a.system_clock_freq = 1'000'000'000;
  return 0;
}

Errno KfdIoctls::get_process_apertures(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_process_apertures>(call);
  a.num_of_nodes = 0;
  for (size_t i = 0; i < process.gpu_count() && i < KFD_APERTURES_OLD_MAX; ++i) {
    a.apertures[a.num_of_nodes++] = apertures_of(process.gpu(i));
  }
  return 0;
}

Errno KfdIoctls::get_process_apertures_new(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_process_apertures_new>(call);
  const auto count = static_cast<uint32_t>(process.gpu_count());
  if (a.num_of_nodes == 0) {
    a.num_of_nodes = count;
    return 0;
  }
  constexpr uint32_t kMaxNodes = (4u << 20) / sizeof(kfd_apertures);  // the limit of kmalloc
  if (a.num_of_nodes > kMaxNodes) return ENOMEM;
  std::vector<kfd_apertures> out;
  for (uint32_t i = 0; i < count && i < a.num_of_nodes; ++i) out.push_back(apertures_of(process.gpu(i)));
  if (const Errno error = copy_to_program(a.apertures_ptr, out.data(), out.size() * sizeof out[0]);
      error != 0) {
    return error;
  }
  a.num_of_nodes = static_cast<uint32_t>(out.size());
  return 0;
}

Errno KfdIoctls::acquire_vm(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_acquire_vm>(call);
  const auto file = process.files_.render_node(static_cast<int>(a.drm_fd));
  if (!file) return EINVAL;
  const MutexLock lock(process.memory_mutex_);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr || file->gpu_index != gpu->index()) return EINVAL;
  if (gpu->acquired()) return gpu->drm_file() == file->file ? 0 : EBUSY;
  gpu->set_drm_file(file->file);
  process.events_.smi().process_starts(gpu->index());
  return 0;
}

Errno KfdIoctls::set_memory_policy(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_set_memory_policy>(call);
  const auto is_known_policy = [](uint32_t policy) {
    return policy == KFD_CACHE_POLICY_COHERENT || policy == KFD_CACHE_POLICY_NONCOHERENT;
  };
  if (!is_known_policy(a.default_policy) || !is_known_policy(a.alternate_policy)) return EINVAL;
  const GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  if (!gpu->acquired()) return ESRCH;
  if (!gpu->gpu().board.driver().has_alternate_aperture || a.alternate_aperture_size == 0) return 0;
  constexpr uint64_t kFixedBits = 0xffff80000000ffff, kLastBits = 0xffff;
  const uint64_t last = a.alternate_aperture_base + a.alternate_aperture_size - 1;
  const bool is_valid = last > a.alternate_aperture_base && (a.alternate_aperture_base & kFixedBits) == 0 &&
                        (last & kFixedBits) == kLastBits;
  return is_valid ? 0 : EINVAL;
}

Errno KfdIoctls::set_scratch_backing_va(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_set_scratch_backing_va>(call);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  if (!gpu->acquired()) return ENODEV;
  // User mode passes the value of the register SH_HIDDEN_PRIVATE_BASE: the address without its low 16 bits.
  gpu->processor().set_scratch_base(a.va_addr << 16);
  return 0;
}

Errno KfdIoctls::set_trap_handler(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_set_trap_handler>(call);
  GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  if (!gpu->acquired()) return ESRCH;
  gpu->set_trap_handler({a.tba_addr, a.tma_addr});
  return 0;
}

Errno KfdIoctls::get_tile_config(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_get_tile_config>(call);
  const GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  const Board& board = gpu->gpu().board;
  a.gb_addr_config = board.gb_addr_config;
  a.num_banks = board.tiling.banks;
  a.num_ranks = board.tiling.ranks;
  const auto& tiling = board.tiling;
  a.num_tile_configs = std::min<uint32_t>(a.num_tile_configs, tiling.modes.size());
  a.num_macro_tile_configs = std::min<uint32_t>(a.num_macro_tile_configs, tiling.macro_modes.size());
  const Errno error = copy_to_program(a.tile_config_ptr, tiling.modes.data(), a.num_tile_configs * 4);
  if (error != 0) return error;
  return copy_to_program(a.macro_tile_config_ptr, tiling.macro_modes.data(), a.num_macro_tile_configs * 4);
}

// kfd_process_xnack_mode(): the driver's parameter `noretry` is set for all boards, so only chips with a
// setting for each process can retry faults.
Errno KfdIoctls::set_xnack_mode(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_set_xnack_mode>(call);
  const MutexLock lock(process.queue_mutex_);
  if (a.xnack_enabled >= 0) {
    if (!process.queues_.empty()) return EBUSY;
    const bool wanted = a.xnack_enabled != 0;
    for (const auto& gpu : process.gpus_) {
      if (wanted && !gpu->gpu().board.driver().has_xnack_per_process) return EPERM;
    }
    if (wanted) process.expect_host_faults();
    process.xnack_.store(wanted, std::memory_order_relaxed);
    for (const auto& gpu : process.gpus_) gpu->flush_translations();
  }
  a.xnack_enabled = process.xnack_.load(std::memory_order_relaxed) ? 1 : 0;
  return 0;
}

Errno KfdIoctls::runtime_enable(Process& process, const IoctlCall& call) {
  const auto& a = args<kfd_runtime_enable>(call);
  const bool enable = (a.mode_mask & KFD_RUNTIME_ENABLE_MODE_ENABLE) != 0;
  const MutexLock lock(process.queue_mutex_);
  if (enable && process.runtime_enabled_) return EBUSY;
  process.runtime_enabled_ = enable;
  process.code_objects_.store(enable ? reinterpret_cast<const void*>(a.r_debug) : nullptr,
                              std::memory_order_relaxed);
  for (auto& [id, queue] : process.queues_) {
    queue->gpu->note_queue(id, {queue->save_area_va, enable, queue->doorbell_index()});
  }
  return 0;
}

Errno KfdIoctls::smi_events(Process& process, const IoctlCall& call) {
  auto& a = args<kfd_smi_events>(call);
  const GpuContext* const gpu = process.gpu_by_id(a.gpu_id);
  if (gpu == nullptr) return EINVAL;
  const auto file = process.events_.smi().open(gpu->index());
  if (!file) return file.error();
  const auto fd = process.files_.give_to_program(file->get(), true);
  if (!fd) return fd.error();
  a.anon_fd = static_cast<uint32_t>(*fd);
  return 0;
}

Errno KfdIoctls::not_permitted(Process&, const IoctlCall&) {
  return EPERM;
}

Errno KfdIoctls::no_access(Process&, const IoctlCall&) {
  return EACCES;
}

Errno KfdIoctls::no_debugger(Process& process, const IoctlCall&) {
  process.log_(LogCategory::kIoctl, "DBG_TRAP: the debugger interface is not supported");
  return EINVAL;
}

Errno KfdIoctls::not_implemented(Process&, const IoctlCall&) {
  return ENOTTY;
}

}  // namespace rigel::vgpu
