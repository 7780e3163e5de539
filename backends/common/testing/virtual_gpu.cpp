#include "backends/common/testing/virtual_gpu.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include <hsa/hsa.h>
#include <hsa_plugin/kfd_abi.h>

#include "api/support/mutex.hpp"
#include "backends/common/generation.hpp"
#include "backends/common/save_area.hpp"

namespace rigel::gfx::testing {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kSdmaRingBytes = 64 * 1024;
constexpr uint32_t kPm4Dwords = 1024;
// Below the 2^40 limit of a discrete gfx8, above addresses that programs use.
constexpr uint64_t kFirstAddress = 0x20'0000'0000;

// Address ranges of concurrent GPUs differ. They are reset when the last GPU is destroyed.
class Addresses {
 public:
  void join() {
    const MutexLock lock(mutex_);
    if (users_++ == 0) next_ = kFirstAddress;
  }
  void leave() {
    const MutexLock lock(mutex_);
    --users_;
  }
  uint64_t take(uint64_t bytes) {
    const MutexLock lock(mutex_);
    return std::exchange(next_, next_ + bytes);
  }

 private:
  Mutex mutex_;
  uint64_t next_ = kFirstAddress;
  uint32_t users_ = 0;
};
constinit Addresses addresses;

void check(int64_t result, const char* what) {
  if (result < 0)
    throw std::runtime_error(std::string(what) + ": " + std::strerror(static_cast<int>(-result)));
}

uint64_t pages(uint64_t bytes) {
  return (bytes + kPage - 1) & ~(kPage - 1);
}

uint64_t address(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

}  // namespace

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return condition();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

uint64_t VirtualGpu::request(uint32_t number, size_t size) {
  return 3u << 30 | static_cast<uint64_t>(size) << 16 | KFD_ABI_IOCTL_TYPE << 8 | number;
}

VirtualGpu::VirtualGpu(const std::string& board, const Family& family) : family_(family) {
  library_ = dlopen(VGPU_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  const auto query = reinterpret_cast<hsa_driver_query_v1_fn>(dlsym(library_, HSADRV_ENTRY_SYMBOL));
  table_ = query(HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR);
  static constexpr hsadrv_host_t kHost{sizeof(hsadrv_host_t), HSADRV_ABI_MAJOR, HSADRV_ABI_MINOR, nullptr,
                                       [](void*, uint32_t level, hsadrv_str_t text) {
                                         if (level <= HSADRV_LOG_WARN)
                                           std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size),
                                                        text.data);
                                       }};
  const std::string config = "{\"gpus\": \"" + board + ":vram=64M\"}";
  check(table_->open_driver(&kHost, {config.data(), config.size()}, &driver_), "open_driver");
  kfd_ = ops().open(driver_, "/dev/kfd", O_RDWR | O_CLOEXEC);
  check(kfd_, "open /dev/kfd");
  render_ = ops().open(driver_, "/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
  check(render_, "open the render node");

  const std::string folder = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/";
  gpu_id_ = static_cast<uint32_t>(std::stoul(read(folder + "gpu_id")));
  std::istringstream properties(read(folder + "properties"));
  std::string name;
  uint64_t value = 0;
  node_ = std::make_unique<Node>(GfxVersion{}, std::initializer_list<Node::Property>{});
  names_.reserve(256);  // properties refer to them
  while (properties >> name >> value) node_->set(names_.emplace_back(name).c_str(), value);
  hsabe_node_t& node = node_->get();
  const auto version = static_cast<uint32_t>(hsabe::property(&node, "gfx_target_version"));
  node.gfx_major = version / 10000;
  node.gfx_minor = version / 100 % 100;
  node.gfx_stepping = version % 100;
  facts_ = read_node_facts(node);
  chip_ = find_chip(family, facts_.version);
  if (chip_ == nullptr) throw std::runtime_error("no chip of the family is " + board);

  kfd_acquire_vm acquire{static_cast<uint32_t>(render_), gpu_id_};
  check(call(KFD_NR_ACQUIRE_VM, acquire), "ACQUIRE_VM");
  addresses.join();
}

VirtualGpu::~VirtualGpu() {
  if (render_ >= 0) ops().close(driver_, render_);
  if (kfd_ >= 0) ops().close(driver_, kfd_);
  table_->close_driver(driver_);
  for (const auto& [at, bytes] : shared_) munmap(at, bytes);
  addresses.leave();
}

std::string VirtualGpu::read(const std::string& path) const {
  std::string text(16384, '\0');
  const int64_t size = ops().read_file(driver_, path.c_str(), text.data(), text.size());
  check(size, path.c_str());
  text.resize(static_cast<size_t>(size));
  return text;
}

void* VirtualGpu::reserve(uint64_t bytes) {
  constexpr uint64_t kAlignment = 64 << 10;
  auto* const at =
      reinterpret_cast<void*>((addresses.take(bytes + 2 * kAlignment) + kAlignment) & ~(kAlignment - 1));
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (mmap(at, bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0) != at) {
    // Sanitizers have their shadow there: uses any other addresses.
    void* const any = mmap(nullptr, bytes + kAlignment, PROT_NONE, kFlags, -1, 0);
    if (any == MAP_FAILED) throw std::runtime_error("no addresses left");
    keep(any, bytes + kAlignment);
    return reinterpret_cast<void*>((address(any) + kAlignment - 1) & ~(kAlignment - 1));
  }
  keep(at, bytes);
  return at;
}

void VirtualGpu::keep(void* at, uint64_t bytes) {
  const MutexLock lock(mutex_);
  shared_.emplace_back(at, bytes);
}

void* VirtualGpu::share(uint64_t mapped_bytes, uint64_t bytes, uint32_t more_flags) {
  mapped_bytes = pages(mapped_bytes);
  void* const at = reserve(mapped_bytes);
  share_at(at, mapped_bytes, bytes, more_flags);
  return at;
}

uint64_t VirtualGpu::share_at(void* at, uint64_t mapped_bytes, uint64_t bytes, uint32_t more_flags) {
  kfd_alloc_memory allocation{};
  allocation.va_addr = address(at);
  allocation.size = mapped_bytes;
  allocation.gpu_id = gpu_id_;
  allocation.flags = KFD_MEM_WRITABLE | KFD_MEM_EXECUTABLE | KFD_MEM_COHERENT | more_flags;
  // The driver's memory, because firmware that schedules queues reads write pointers nowhere else. It cannot
  // be mapped twice.
  const bool of_driver = mapped_bytes == pages(bytes);
  allocation.flags |= of_driver ? KFD_MEM_GTT : KFD_MEM_USERPTR;
  if (!of_driver) {
    check(mprotect(at, pages(bytes), PROT_READ | PROT_WRITE), "mprotect");
    allocation.mmap_offset = address(at);
  }
  check(call(KFD_NR_ALLOC_MEMORY, allocation), "ALLOC_MEMORY");
  void* mapped = at;
  if (of_driver) {
    check(ops().mmap(driver_, at, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, render_,
                     allocation.mmap_offset, &mapped),
          "mmap of the render node");
  }
  kfd_map_memory map{allocation.handle, address(&gpu_id_), 1, 0};
  check(call(KFD_NR_MAP_MEMORY, map), "MAP_MEMORY");
  return allocation.handle;
}

void VirtualGpu::take_back(uint64_t handle) {
  kfd_map_memory map{handle, address(&gpu_id_), 1, 0};
  check(call(KFD_NR_UNMAP_MEMORY, map), "UNMAP_MEMORY");
  kfd_free_memory arguments{handle};
  check(call(KFD_NR_FREE_MEMORY, arguments), "FREE_MEMORY");
}

void VirtualGpu::set_trap_handler(const void* code, const void* data) {
  kfd_set_trap_handler handler{address(code), address(data), gpu_id_, 0};
  check(call(KFD_NR_SET_TRAP_HANDLER, handler), "SET_TRAP_HANDLER");
}

std::byte* VirtualGpu::map_doorbells(uint64_t offset) {
  const MutexLock lock(mutex_);
  if (doorbells_ != nullptr) return doorbells_;
  const uint64_t slice = doorbell_slice_bytes(family_);
  void* out = nullptr;
  check(ops().mmap(driver_, nullptr, slice, PROT_READ | PROT_WRITE, MAP_SHARED, kfd_, offset & ~(slice - 1),
                   &out),
        "mmap of the doorbells");
  return doorbells_ = static_cast<std::byte*>(out);
}

std::byte* VirtualGpu::doorbell(uint64_t offset, uint32_t queue_id) {
  const uint64_t slice = doorbell_slice_bytes(family_);
  return map_doorbells(offset) +
         (family_.doorbell == HSABE_DOORBELL_INDEX64 ? offset & (slice - 1) : queue_id * 4ull);
}

hsabe_bell_t VirtualGpu::bell(void* doorbell) {
  hsadrv_doorbell_t attached{sizeof attached, nullptr, nullptr};
  check(table_->doorbell->attach(driver_, doorbell, &attached), "attach");
  return {sizeof(hsabe_bell_t), attached.ring, attached.context};
}

VirtualAqlQueue::VirtualAqlQueue(VirtualGpu& gpu, uint32_t packets)
    : gpu_(gpu),
      layout_(aql_ring(gpu.family(), gpu.quirks(), packets)),
      ring_(static_cast<std::byte*>(
          gpu.share(layout_.mapped_bytes, layout_.bytes, layout_.doubled ? KFD_MEM_AQL_QUEUE : 0))),
      queue_(gpu.share_object<amd_queue_t>()),
      inactive_(gpu, 0),
      pm4_(static_cast<uint32_t*>(gpu.share(kPm4Dwords * 4))) {
  for (uint32_t i = 0; i < layout_.packets; ++i) {
    const uint16_t invalid = HSA_PACKET_TYPE_INVALID;
    std::memcpy(ring_ + i * kAqlPacketBytes, &invalid, sizeof(invalid));
  }
  queue_->hsa_queue.type = HSA_QUEUE_TYPE_MULTI;
  queue_->hsa_queue.base_address = ring_;
  queue_->hsa_queue.size = layout_.packets;
  queue_->read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  queue_->queue_properties = AMD_QUEUE_PROPERTIES_IS_PTR64 | AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER;
  queue_->queue_inactive_signal = {inactive_.handle()};
  queue_->group_segment_aperture_base_hi = 1;
  queue_->private_segment_aperture_base_hi = 2;
  queue_->max_cu_id = gpu.facts().compute_units() - 1;

  const SaveArea area = save_area(gpu.family(), gpu.chip(), gpu.facts());
  const uint32_t eop = end_of_pipe_bytes(gpu.family(), gpu.facts());
  kfd_create_queue create{};
  create.ring_base_address = address(ring_);
  create.ring_size = static_cast<uint32_t>(layout_.announced_bytes);
  create.write_pointer_address = address(queue_) + layout_.write_index_offset;
  create.read_pointer_address = address(queue_) + offsetof(amd_queue_t, read_dispatch_id);
  create.gpu_id = gpu.gpu_id();
  create.queue_type = KFD_QUEUE_AQL;
  create.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
  create.queue_priority = 7;
  create.eop_buffer_address = address(gpu.share(eop));
  create.eop_buffer_size = eop;
  auto* const memory = static_cast<std::byte*>(gpu.share(area.allocation_bytes));
  const SaveAreaHeader header{.control_stack_offset = 0,
                              .control_stack_bytes = 0,
                              .wave_state_offset = 0,
                              .wave_state_bytes = 0,
                              .debug_offset = area.area_bytes,
                              .debug_bytes = area.debug_bytes,
                              .error_reason_va = 0,
                              .error_event_id = 0,
                              .reserved = 0};
  std::memcpy(memory, &header, sizeof(header));
  create.ctx_save_restore_address = address(memory);
  create.ctx_save_restore_size = area.area_bytes;
  create.ctl_stack_size = area.control_stack_bytes;
  check(gpu.call(KFD_NR_CREATE_QUEUE, create), "CREATE_QUEUE");
  id_ = create.queue_id;
  doorbell_ = gpu.doorbell(create.doorbell_offset, id_);
}

VirtualAqlQueue::~VirtualAqlQueue() {
  kfd_destroy_queue destroy{id_, 0};
  gpu_.call(KFD_NR_DESTROY_QUEUE, destroy);
}

uint64_t VirtualAqlQueue::read_index() const {
  return std::atomic_ref(const_cast<uint64_t&>(queue_->read_dispatch_id)).load(std::memory_order_acquire);
}

uint64_t VirtualAqlQueue::submit(const std::array<uint32_t, 16>& slot) {
  const uint64_t index = next_++;
  if (!eventually([&] { return index - read_index() < layout_.packets; }))
    throw std::runtime_error("the ring stays full");
  auto* const words = reinterpret_cast<uint32_t*>(ring_ + index % layout_.packets * kAqlPacketBytes);
  std::memcpy(words + 1, slot.data() + 1, 60);
  std::atomic_ref(const_cast<uint64_t&>(queue_->write_dispatch_id)).store(next_, std::memory_order_release);
  std::atomic_ref(words[0]).store(slot[0], std::memory_order_release);
  const uint64_t value = doorbell_value(aql_doorbell(gpu_.family(), gpu_.facts()), layout_.packets, index);
  if (gpu_.family().doorbell == HSABE_DOORBELL_INDEX64) {
    std::atomic_ref(*reinterpret_cast<uint64_t*>(doorbell_)).store(value, std::memory_order_release);
  } else {
    std::atomic_ref(const_cast<uint64_t&>(queue_->max_legacy_doorbell_dispatch_id_plus_1))
        .store(index + 1, std::memory_order_release);
    std::atomic_ref(*reinterpret_cast<uint32_t*>(doorbell_))
        .store(static_cast<uint32_t>(value), std::memory_order_release);
  }
  return index;
}

bool VirtualAqlQueue::run_pm4(const std::vector<uint32_t>& words) {
  if (words.size() > kPm4Dwords) throw std::runtime_error("too much PM4");
  std::memcpy(pm4_, words.data(), words.size() * 4);
  const auto dwords = static_cast<uint32_t>(words.size());
  const Generation& generation = *gpu_.family().generation;
  const VirtualSignal done(gpu_, 1);
  const uint64_t index = submit(generation.pm4_slot(address(pm4_), dwords, done.handle(), 0));
  return eventually([&] { return generation.pm4_completes ? done.value() == 0 : read_index() > index; });
}

void VirtualAqlQueue::launch_only(const void* descriptor, uint32_t work_items, uint32_t group_size,
                                  const void* arguments, uint64_t completion) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header =
      HSA_PACKET_TYPE_KERNEL_DISPATCH | HSA_FENCE_SCOPE_SYSTEM << 9 | HSA_FENCE_SCOPE_SYSTEM << 11;
  packet.setup = 1;
  packet.workgroup_size_x = static_cast<uint16_t>(group_size);
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = work_items;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = address(descriptor);
  packet.kernarg_address = const_cast<void*>(arguments);
  packet.completion_signal = {completion};
  std::array<uint32_t, 16> slot;
  std::memcpy(slot.data(), &packet, sizeof(packet));
  submit(slot);
}

bool VirtualAqlQueue::launch(const void* descriptor, uint32_t work_items, uint32_t group_size,
                             const void* arguments) {
  const VirtualSignal done(gpu_, 1);
  launch_only(descriptor, work_items, group_size, arguments, done.handle());
  return eventually([&] { return done.value() == 0 || inactive_.value() != 0; }) && inactive_.value() == 0;
}

VirtualSdmaQueue::VirtualSdmaQueue(VirtualGpu& gpu)
    : gpu_(gpu),
      encoder_(gpu.family().sdma, gpu.chip().sdma_copy_max, gpu.quirks()),
      indices_{gpu.family().sdma, kSdmaRingBytes},
      ring_(static_cast<std::byte*>(gpu.share(kSdmaRingBytes))),
      pointers_(static_cast<uint64_t*>(gpu.share(kPage))) {
  kfd_create_queue create{};
  create.ring_base_address = address(ring_);
  create.ring_size = kSdmaRingBytes;
  create.read_pointer_address = address(&pointers_[0]);
  create.write_pointer_address = address(&pointers_[1]);
  create.gpu_id = gpu.gpu_id();
  create.queue_type = KFD_QUEUE_SDMA;
  create.queue_percentage = KFD_QUEUE_PERCENTAGE_MAX;
  create.queue_priority = 7;
  check(gpu.call(KFD_NR_CREATE_QUEUE, create), "CREATE_QUEUE of a copy engine");
  id_ = create.queue_id;
  doorbell_ = gpu.doorbell(create.doorbell_offset, id_);
}

VirtualSdmaQueue::~VirtualSdmaQueue() {
  kfd_destroy_queue destroy{id_, 0};
  gpu_.call(KFD_NR_DESTROY_QUEUE, destroy);
}

void VirtualSdmaQueue::submit(const std::vector<uint32_t>& words) {
  const size_t padding = encoder_.padding_dwords(words.size());
  const uint64_t bytes = (words.size() + padding) * 4;
  const uint64_t gap = indices_.gap(written_, bytes);
  if (gap != 0) {
    encoder_.nop(reinterpret_cast<uint32_t*>(ring_ + indices_.offset(written_)), gap / 4);
    written_ += gap;
  }
  auto* const to = reinterpret_cast<uint32_t*>(ring_ + indices_.offset(written_));
  std::memcpy(to, words.data(), words.size() * 4);
  encoder_.nop(to + words.size(), padding);
  written_ += bytes;
  const uint64_t index = indices_.published(written_);
  std::atomic_ref(pointers_[1]).store(index, std::memory_order_release);
  if (gpu_.family().doorbell == HSABE_DOORBELL_INDEX64) {
    std::atomic_ref(*reinterpret_cast<uint64_t*>(doorbell_)).store(index, std::memory_order_release);
  } else {
    std::atomic_ref(*reinterpret_cast<uint32_t*>(doorbell_))
        .store(static_cast<uint32_t>(index), std::memory_order_release);
  }
}

bool VirtualSdmaQueue::drained() const {
  return std::atomic_ref(pointers_[0]).load(std::memory_order_acquire) == indices_.published(written_);
}

}  // namespace rigel::gfx::testing
