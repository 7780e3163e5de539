#include "core/driver/kfd.hpp"

#include <amdgpu_drm.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/core.h>

#include "api/support/mutex.hpp"
#include "api/support/undo.hpp"

namespace rigel {
namespace {

constexpr uint64_t kNaturalLimit = (uint64_t{1} << 47) - 1;

std::string text_of(int negated_errno) {
  return std::strerror(-negated_errno);
}

uint64_t request_word(uint32_t number, size_t size) {
  constexpr uint64_t kReadWrite = 3u << 30;
  return kReadWrite | uint64_t{size} << 16 | uint64_t{KFD_ABI_IOCTL_TYPE} << 8 | number;
}

std::string why_not_open(int problem) {
  switch (problem) {
    case -ENOENT:
    case -ENXIO:
    case -ENODEV:
      return kNoDriver;
    case -EACCES:
    case -EPERM:
      return "permission denied; add the user to the device's group (render or video), and pass the device "
             "to the container";
    default:
      return "cannot be opened: " + text_of(problem);
  }
}

}  // namespace

namespace {

// The connection that was given up last, and its process: a forked child cannot use its parent's. Usable
// until the process ends.
constinit Mutex kept_mutex;
constinit Kfd* kept RIGEL_GUARDED_BY(kept_mutex) = nullptr;
constinit pid_t kept_by RIGEL_GUARDED_BY(kept_mutex) = 0;

std::unique_ptr<Kfd> take_kept() {
  const MutexLock lock(kept_mutex);
  Kfd* const kfd = std::exchange(kept, nullptr);
  return std::unique_ptr<Kfd>(kept_by == getpid() ? kfd : nullptr);
}

}  // namespace

void Kfd::reset_after_fork() noexcept {
  new (&kept_mutex) Mutex;
}

void Kfd::give_up(std::unique_ptr<Kfd> kfd) {
  if (kfd == nullptr || !kfd->transport_->is_system()) return;
  while (!kfd->gpus_.empty()) kfd->drop_last_gpu();
  const MutexLock lock(kept_mutex);
  kept = kfd.release();
  kept_by = getpid();
}

Result<std::unique_ptr<Kfd>> Kfd::open(std::unique_ptr<Transport> transport, std::string& why) {
  if (transport->is_system()) {
    if (auto known = take_kept()) return known;
  }
  std::unique_ptr<Kfd> kfd(new Kfd(std::move(transport)));
  kfd->fd_ = kfd->transport_->open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (kfd->fd_ < 0) {
    why = why_not_open(kfd->fd_);
    return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  }
  if (const int problem = kfd->call(KFD_NR_GET_VERSION, kfd->version_); problem != 0) {
    why = "not an amdkfd device: reading its version failed: " + text_of(problem);
    return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  }
  return kfd;
}

void Kfd::enable_runtime(const void* r_debug) {
  if (runtime_enabled_ || !at_least(1, 13)) return;
  kfd_runtime_enable arguments{reinterpret_cast<uint64_t>(r_debug),
                               KFD_RUNTIME_ENABLE_MODE_ENABLE | KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE, 0};
  const int problem = call(KFD_NR_RUNTIME_ENABLE, arguments);
  runtime_enabled_ = problem == 0;
  // for example, because of another runtime in this process: errors are then reported without exceptions
  if (problem != 0) {
    log_message(LogLevel::kInfo, LogTopic::kSignal,
                "AMDKFD_IOC_RUNTIME_ENABLE: failed: {}; errors of waves are reported through the queues",
                text_of(problem));
  }
}

void Kfd::disable_runtime() {
  if (!runtime_enabled_) return;
  kfd_runtime_enable arguments{};
  call(KFD_NR_RUNTIME_ENABLE, arguments);
  runtime_enabled_ = false;
}

Kfd::~Kfd() {
  // The object is freed at process exit: the kernel rejects freeing it (EPERM).
  if (event_page_.address != nullptr) release_addresses(event_page_.address, event_page_.size);
  for (KfdGpu& gpu : acquired_) close_gpu(gpu);
  if (fd_ >= 0) transport_->close(fd_);
}

int Kfd::call(uint32_t number, void* argument, size_t size) const {
  return transport_->ioctl(fd_, request_word(number, size), argument);
}

// GPUs ---------------------------------------------------------------------------------------------------

Result<KfdGpu*> Kfd::add_gpu(const KfdNode& node, std::string& why) {
  const auto refuse = [&](std::string text) {
    why = std::move(text);
    return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  };
  const auto apertures = apertures_of(node.gpu_id);
  if (!apertures) return refuse("the driver provides no address space for this process");
  const auto known = std::find_if(acquired_.begin(), acquired_.end(),
                                  [&](const KfdGpu& one) { return one.gpu_id == node.gpu_id; });
  KfdGpu* gpu = known == acquired_.end() ? nullptr : &*known;
  if (gpu == nullptr) {
    const std::string path = fmt::format("/dev/dri/renderD{}", node.property("drm_render_minor"));
    const int fd = transport_->open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return refuse(fmt::format("{}: {}", path, why_not_open(fd)));
    Undo close([&] { transport_->close(fd); });
    kfd_acquire_vm acquire{static_cast<uint32_t>(fd), node.gpu_id};
    if (const int problem = call(KFD_NR_ACQUIRE_VM, acquire); problem != 0)
      return refuse("AMDKFD_IOC_ACQUIRE_VM failed: " + text_of(problem));
    gpu = &acquired_.emplace_back();
    gpu->render_fd = fd;
    close.cancel();
  }
  gpu->gpu_id = node.gpu_id;
  gpu->node = node.number;
  gpu->doorbell_bytes = (node.property("capability") >> KFD_CAP_DOORBELL_TYPE_SHIFT & 3) == 2 ? 8 : 4;
  gpu->apertures = *apertures;
  gpu->host_sees_all = node.local_bytes() != 0 && node.public_bytes() == node.local_bytes();
  gpu->has_svm = at_least(1, 5) && (node.property("capability") & KFD_CAP_SVM) != 0;
  gpus_.reserve(gpus_.size() + 1);
  gpu_ids_.reserve(gpu_ids_.size() + 1);
  gpus_.push_back(gpu);
  gpu_ids_.push_back(gpu->gpu_id);
  address_limit_ = std::min(address_limit_, apertures->gpuvm_limit);

  // Coarse-grained memory may be cached; memory in the alternate aperture (unused here) may not.
  kfd_set_memory_policy policy{};
  policy.gpu_id = gpu->gpu_id;
  policy.default_policy = KFD_CACHE_POLICY_NONCOHERENT;
  policy.alternate_policy = KFD_CACHE_POLICY_COHERENT;
  if (const int problem = call(KFD_NR_SET_MEMORY_POLICY, policy); problem != 0) {
    drop_last_gpu();
    return refuse("AMDKFD_IOC_SET_MEMORY_POLICY failed: " + text_of(problem));
  }
  return gpu;
}

void Kfd::close_gpu(KfdGpu& gpu) {
  const MutexLock lock(gpu.mutex);
  if (gpu.doorbells != nullptr) free({gpu.doorbells, gpu.doorbell_slice(), gpu.doorbell_handle});
  if (gpu.registers != nullptr) free({gpu.registers, 4096, gpu.registers_handle});
  transport_->close(gpu.render_fd);
}

void Kfd::drop_last_gpu() {
  gpus_.pop_back();
  gpu_ids_.pop_back();
  address_limit_ = kNaturalLimit;
  for (const KfdGpu* gpu : gpus_) address_limit_ = std::min(address_limit_, gpu->apertures.gpuvm_limit);
}

Result<kfd_apertures> Kfd::apertures_of(uint32_t gpu_id) const {
  kfd_get_process_apertures_new arguments{};
  int problem = call(KFD_NR_GET_PROCESS_APERTURES_NEW, arguments);  // the number of apertures
  std::vector<kfd_apertures> all(arguments.num_of_nodes);
  if (problem == 0 && !all.empty()) {
    arguments.apertures_ptr = reinterpret_cast<uint64_t>(all.data());
    problem = call(KFD_NR_GET_PROCESS_APERTURES_NEW, arguments);
  }
  if (problem != 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "AMDKFD_IOC_GET_PROCESS_APERTURES: failed: {}",
                text_of(problem));
  }
  for (const kfd_apertures& one : all) {
    if (one.gpu_id == gpu_id) return one;
  }
  return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}

KfdGpu* Kfd::find_gpu(uint32_t gpu_id) {
  for (KfdGpu* gpu : gpus_) {
    if (gpu->gpu_id == gpu_id) return gpu;
  }
  return nullptr;
}

KfdGpu* Kfd::gpu_of_node(uint32_t node) {
  for (KfdGpu* gpu : gpus_) {
    if (gpu->node == node) return gpu;
  }
  return nullptr;
}

// Maps a page that KFD offers at `offset` of /dev/kfd, for the host and, as a memory object, for the GPU.
void* Kfd::map_special(const KfdGpu& gpu, uint32_t kind, uint64_t size, uint64_t offset, uint64_t& handle) {
  void* const address = reserve(size, size);
  if (address == nullptr) return nullptr;
  kfd_alloc_memory arguments{};
  arguments.va_addr = reinterpret_cast<uint64_t>(address);
  arguments.size = size;
  arguments.gpu_id = gpu.gpu_id;
  arguments.flags = kind | KFD_MEM_WRITABLE | KFD_MEM_COHERENT | KFD_MEM_NO_SUBSTITUTE;
  const auto object = alloc_object(arguments);
  if (object) {
    const uint32_t id = gpu.gpu_id;
    // The object's offset is for the render node, and doorbells have none.
    if (map(*object, {&id, 1}) == HSA_STATUS_SUCCESS &&
        transport_->mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, offset) !=
            nullptr) {
      handle = *object;
      return address;
    }
    free_handle(*object);
  }
  release_addresses(address, size);
  return nullptr;
}

void* Kfd::doorbell(KfdGpu& gpu, uint64_t offset, uint32_t queue_id) {
  const uint64_t slice = gpu.doorbell_slice();
  const MutexLock lock(gpu.mutex);
  if (gpu.doorbells == nullptr) {
    gpu.doorbells = map_special(gpu, KFD_MEM_DOORBELL, slice, offset & ~(slice - 1), gpu.doorbell_handle);
    if (gpu.doorbells == nullptr) {
      log_message(LogLevel::kError, LogTopic::kQueue, "kfd node {}: the doorbells cannot be mapped",
                  gpu.node);
      return nullptr;
    }
  }
  // Four-byte doorbells are located by the queue's number, others by the offset.
  const uint64_t inside = gpu.doorbell_bytes == 4 ? uint64_t{queue_id} * 4 : offset & (slice - 1);
  return static_cast<std::byte*>(gpu.doorbells) + inside;
}

void* Kfd::registers(KfdGpu& gpu) {
  const MutexLock lock(gpu.mutex);
  if (gpu.registers == nullptr) {
    gpu.registers = map_special(gpu, KFD_MEM_MMIO_REMAP, 4096,
                                KFD_MMAP_TYPE_MMIO | KFD_MMAP_GPU_ID(gpu.gpu_id), gpu.registers_handle);
  }
  return gpu.registers;
}

Result<void*> Kfd::event_page() {
  if (event_page_.address == nullptr) {
    const auto page = allocate(
        *gpus_.front(), {.flags = KFD_MEM_GTT | KFD_MEM_WRITABLE | KFD_MEM_COHERENT | KFD_MEM_NO_SUBSTITUTE,
                         .size = KFD_EVENT_PAGE_BYTES});
    if (!page) return error(page.error());
    event_page_ = *page;
  }
  const Status status = map(event_page_.handle, all_gpu_ids());
  if (status != HSA_STATUS_SUCCESS) return error(status);
  return event_page_.address;
}

Result<uint32_t> Kfd::create_event(uint32_t type) {
  kfd_create_event arguments{};
  if (!event_page_is_known_) arguments.event_page_offset = event_page_.handle;
  arguments.event_type = type;
  arguments.auto_reset = 1;
  const int problem = call(KFD_NR_CREATE_EVENT, arguments);
  if (problem != 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "AMDKFD_IOC_CREATE_EVENT: type {} failed: {}", type,
                text_of(problem));
  }
  event_page_is_known_ = true;
  return arguments.event_id;
}

Result<kfd_get_clock_counters> Kfd::clocks(const KfdGpu* gpu) const {
  kfd_get_clock_counters arguments{};
  arguments.gpu_id = gpu == nullptr ? 0 : gpu->gpu_id;
  if (const int problem = call(KFD_NR_GET_CLOCK_COUNTERS, arguments); problem != 0) {
    return fail(HSA_STATUS_ERROR, "AMDKFD_IOC_GET_CLOCK_COUNTERS: failed: {}", text_of(problem));
  }
  return arguments;
}

Result<uint64_t> Kfd::available_memory(const KfdGpu& gpu) const {
  kfd_available_memory arguments{};
  arguments.gpu_id = gpu.gpu_id;
  if (const int problem = call(KFD_NR_AVAILABLE_MEMORY, arguments); problem != 0) {
    return fail(HSA_STATUS_ERROR, "AMDKFD_IOC_AVAILABLE_MEMORY: failed: {}", text_of(problem));
  }
  return arguments.available;
}

// The render node reports it; the topology does not, because the GPU of an APU has a separate node.
bool Kfd::is_apu(const KfdGpu& gpu) const {
  drm_amdgpu_info_device device{};
  drm_amdgpu_info arguments{};
  arguments.return_pointer = reinterpret_cast<uint64_t>(&device);
  arguments.return_size = sizeof device;
  arguments.query = AMDGPU_INFO_DEV_INFO;
  const int problem = transport_->ioctl(gpu.render_fd, DRM_IOCTL_AMDGPU_INFO, &arguments);
  return problem == 0 && (device.ids_flags & AMDGPU_IDS_FLAGS_FUSION) != 0;
}

bool Kfd::xnack_enabled() const {
  kfd_set_xnack_mode arguments{-1};
  return call(KFD_NR_SET_XNACK_MODE, arguments) == 0 && arguments.xnack_enabled > 0;
}

int Kfd::set_xnack(bool enabled) const {
  kfd_set_xnack_mode arguments{enabled ? 1 : 0};
  return call(KFD_NR_SET_XNACK_MODE, arguments);
}

}  // namespace rigel
