// amdkfd's state for one process: address spaces, buffers, queues, events, shared ranges; and the ioctls on
// it.
//
// Threads: ioctl() from any thread. The memory lock guards buffers, handles, page tables and ranges, the
// queue lock guards the queues. The memory lock may be taken while the queue lock is held, never the other
// way round. Both are released while an ioctl waits for events. The queue lock is held while a command
// processor creates or destroys a queue; command processors take neither.
#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/activity_reporter.hpp"
#include "plugins/vgpu/kfd/buffer_metadata.hpp"
#include "plugins/vgpu/kfd/doorbell_watch.hpp"
#include "plugins/vgpu/kfd/events.hpp"
#include "plugins/vgpu/kfd/gpu_context.hpp"
#include "plugins/vgpu/kfd/memory_object.hpp"
#include "plugins/vgpu/kfd/nearby.hpp"
#include "plugins/vgpu/kfd/shared_slot.hpp"
#include "plugins/vgpu/kfd/svm_ranges.hpp"
#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {

class OpenFiles {
 public:
  virtual ~OpenFiles() = default;
  struct RenderNode {
    std::shared_ptr<void> file;  ///< Identifies the open file and keeps it open.
    uint32_t gpu_index;
  };
  /// EBADF or EINVAL if `fd` is not a render node of this virtual system.
  virtual ErrnoOr<RenderNode> render_node(int fd) = 0;
  /// Returns a new descriptor for the program, of the same file as `fd`.
  virtual ErrnoOr<int> give_to_program(int fd, bool close_on_exec) = 0;
};

/// Options of a virtual system.
struct ProcessOptions {
  MakeShaderCores make_shader_cores = nullptr;  ///< Null: use plugins/vgpu/exec.
  bool threads = true;                          ///< False: engines run only when they are stepped.
  uint64_t seed = 0;                            ///< Seed of the order of steps without threads.
  bool signals = true;                          ///< Whether SIGSEGV and SIGBUS may be handled.
  /// Whether stores to doorbells of sleeping engines may raise SIGSEGV. If a thread blocks SIGSEGV, or the
  /// program installs a handler that does not chain, such a store ends the program.
  bool stop_stores = true;
  Latecomers latecomers = Latecomers::kSleep;  ///< See Events.
  /// Processes with the same name share the queues of the copy engines; empty: no sharing.
  std::string virtual_system;
  double watchdog_seconds = 0;  ///< The time limit of a kernel, after which the process ends; 0: unlimited.
  uint64_t host_bytes = UINT64_MAX;  ///< Memory of the host; GPUs may use a part of it.
};

struct Buffer {
  uint64_t handle = 0;
  uint64_t va = 0;
  uint64_t va_bytes = 0;
  uint32_t flags = 0;
  uint32_t gpu_index = 0;    ///< The GPU that it was allocated for.
  uint64_t mmap_offset = 0;  ///< Offset in the render node; 0 if it cannot be mapped there.
  std::shared_ptr<MemoryObject> object;
  std::bitset<64> mapped;  ///< The GPUs on which it is mapped.
  /// By GPU index: the number of queues that use the buffer. It cannot be unmapped from that GPU while they
  /// exist.
  std::map<uint32_t, uint32_t> queue_uses;
  bool double_mapped() const;
};

class Process {
 public:
  Process(const Machine& virtual_system, const ProcessOptions& options, OpenFiles& files, Log& log);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Executes an ioctl on /dev/kfd. Returns 0 or a negated error number.
  int ioctl(uint64_t request, void* argument);

  GpuContext& gpu(size_t index) { return *gpus_[index]; }
  size_t gpu_count() const { return gpus_.size(); }
  GpuContext* gpu_by_id(uint32_t gpu_id);
  /// hsadrv_sampling_ops_t: 0 or a negated errno.
  int32_t start_sampling(uint32_t gpu_id, const hsadrv_sampler_t* sampler);
  int32_t stop_sampling(uint32_t gpu_id);
  Events& events() { return events_; }
  BufferMetadataTable& metadata() { return metadata_; }
  Log& log() { return log_; }
  const Machine& virtual_system() const { return virtual_system_; }
  Mutex& memory_mutex() RIGEL_RETURNS_LOCK(memory_mutex_) { return memory_mutex_; }

  /// Returns the object that mmap of /dev/kfd maps at `offset`. `bytes` is the requested length.
  ErrnoOr<std::shared_ptr<MemoryObject>> kfd_mmap(uint64_t offset, uint64_t bytes);
  /// The object that mmap of a render node maps, and the offset in the object.
  struct MmapTarget {
    std::shared_ptr<MemoryObject> object;
    uint64_t offset = 0;
  };
  ErrnoOr<MmapTarget> render_mmap(uint64_t offset, uint64_t bytes);
  /// Assigns an offset in the render nodes to an object.
  uint64_t make_mmap_offset(const std::shared_ptr<MemoryObject>& object) RIGEL_REQUIRES(memory_mutex_);
  void drop_mmap_offset(uint64_t offset) RIGEL_REQUIRES(memory_mutex_);

  /// With XNACK, resolves the translation of a page that is not mapped on a GPU: the program's memory at this
  /// address, as amdkfd's svm_range_restore_pages() maps it. Memory that the program has not mapped faults at
  /// the access (cp/host_fault.hpp). Buffers that are mapped on another GPU only are not resolved.
  /// Differs from amdkfd: KFD_SVM_ATTR_NO_ACCESS has no effect with XNACK.
  Translation retry_translation(uint64_t va, uint64_t bytes, Access access) const noexcept;

  /// The program has mapped pages of doorbells.
  struct DoorbellMapping {
    uint32_t gpu_index;
    std::byte* address;
    uint64_t bytes;
    uint64_t offset;  ///< Offset in the GPU's slice.
  };
  using DoorbellMappings = std::vector<DoorbellMapping>;
  void doorbells_mapped(const DoorbellMapping& mapping);
  /// The program unmaps or replaces [address, address + bytes). Returns the doorbells that were mapped there.
  /// Doorbells outside the range stay.
  DoorbellMappings doorbells_unmapped(void* address, uint64_t bytes);
  /// Unmaps the program's memory in the range from all GPUs. Returns the doorbells that were mapped there.
  DoorbellMappings before_munmap(void* address, uint64_t bytes);
  /// The program has mapped other memory at the range. Shared virtual memory there is forgotten. Userptr
  /// buffers stay, and refer to the new memory.
  void memory_replaced(void* address, uint64_t bytes);

  /// See hsadrv_doorbell_ops_t. EINVAL: the address has no queue. ENOSPC: no doorbell calls left. The result
  /// may be called during the lifetime of the process.
  struct DoorbellHook {
    void (*ring)(void* context, uint64_t value) = nullptr;
    void* context = nullptr;
  };
  ErrnoOr<DoorbellHook> attach_doorbell(void* address);

  /// Implements DeviceBus::describe_address of a GPU. Takes the memory lock.
  std::string describe_address(const GpuContext& gpu, uint64_t va);
  /// Returns one or more lines about each queue of every GPU. Called without locks and outside of translation
  /// scopes.
  std::string describe_activity();
  const void* code_objects() const noexcept { return code_objects_.load(std::memory_order_relaxed); }

  /// Maps [va, va + bytes) on a GPU to host memory, for the render nodes. EINVAL if the range is mapped
  /// already or outside the GPU's address space.
  Errno map_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights)
      RIGEL_REQUIRES(memory_mutex_);
  /// Maps as map_range() and replaces earlier mappings, each page in one step (GpuContext::remap). The memory
  /// lock is held.
  Errno remap_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights);

  /// Prepares for faults: the device is about to use the program's memory, which may be unmapped at any time.
  void expect_host_faults() const;

  /// Whether `bytes` more of a GPU's memory are free.
  static bool vram_has_room(const GpuContext& gpu, uint64_t bytes);
  /// Whether GPUs may use `bytes` more of the host's memory, as buffers of the driver or as userptr memory.
  bool host_has_room(MemoryObject::Kind kind, uint64_t bytes) const RIGEL_REQUIRES(memory_mutex_);

 private:
  friend struct KfdIoctls;  // its members are in ioctl_*.cpp

  struct Queue {
    uint32_t id = 0;
    uint32_t type = 0;
    GpuContext* gpu = nullptr;
    uint32_t doorbell = 0;   // index in the slice
    uint32_t sdma_slot = 0;  // engine + engines * queue
    SharedSlot shared_slot;  // the same among the processes of one virtual system
    bool sdma = false;
    std::byte* doorbell_slot = nullptr;
    uint64_t ring_va = 0;
    uint64_t ring_bytes = 0;
    uint32_t percentage = 0;
    uint32_t priority = 0;
    uint64_t save_area_va = 0;
    uint32_t context_bytes = 0;  // size for one XCC in the save area
    uint32_t gws = 0;
    uint32_t sdma_engine() const { return sdma ? sdma_slot % gpu->gpu().board.sdma_engines() : 0; }
    uint32_t doorbell_index() const { return doorbell * gpu->gpu().board.driver().doorbell_bytes / 8; }
    std::vector<uint64_t> buffers;  // handles of the buffers that it pins
    uint64_t ring = 0;              // handle of the pinned buffer that contains the ring
  };
  Buffer* find_buffer(uint64_t handle) RIGEL_REQUIRES(memory_mutex_);
  /// Returns the buffer that is mapped on `gpu` at exactly [va, va + bytes), or null.
  Buffer* buffer_at(const GpuContext& gpu, uint64_t va, uint64_t bytes) RIGEL_REQUIRES(memory_mutex_);
  /// Assigns a handle, and an mmap offset for memory of the driver. Strong exception guarantee.
  const Buffer& add_buffer(Buffer buffer) RIGEL_REQUIRES(memory_mutex_);
  /// Unmaps the program's memory in [begin, end) from all GPUs before it is unmapped or replaced.
  void unmap_from_gpus(uint64_t start, uint64_t end);
  /// Forgets the shared virtual memory in a range of pages. Under the memory lock.
  void forget_shared(uint64_t first_page, uint64_t end_page);
  /// Forgets the shared virtual memory that the program cannot read any more, before the range is reused.
  /// The C library's free() unmaps memory without a call of before_munmap(), and the runtime may reuse the
  /// addresses. Under the memory lock.
  void forget_unreadable(uint64_t va, uint64_t bytes);
  Errno map_buffer(Buffer& buffer, GpuContext& gpu) RIGEL_REQUIRES(memory_mutex_);
  void unmap_buffer(Buffer& buffer, GpuContext& gpu);
  /// Removes an unmapped buffer from all tables. Allocates no memory, so it cannot fail halfway.
  void release_buffer(Buffer& buffer) noexcept RIGEL_REQUIRES(memory_mutex_);
  /// Returns the counter of memory of the buffer's kind; null if that kind is not counted.
  uint64_t* bytes_of_kind(const Buffer& buffer);
  void add_doorbells(const DoorbellMapping& mapping) RIGEL_REQUIRES(queue_mutex_);
  /// Pins a buffer at its address while a queue needs it, and unpins it. Both locks are held.
  static void pin_buffer(Queue& queue, Buffer& buffer);
  void unpin_buffer(Queue& queue, uint64_t handle) RIGEL_REQUIRES(memory_mutex_);
  void unpin_all_buffers(Queue& queue) RIGEL_REQUIRES(memory_mutex_);
  void destroy_queue(Queue& queue) RIGEL_REQUIRES(queue_mutex_);
  /// Returns a free slot of an SDMA engine that fits the queue's type, or the error of CREATE_QUEUE. A slot
  /// that processes share is claimed for `queue`.
  tl::expected<uint32_t, Errno> take_sdma_slot(const GpuContext& gpu, uint32_t queue_type,
                                               uint32_t wanted_engine, Queue& queue)
      RIGEL_REQUIRES(queue_mutex_);
  void apply_svm(uint64_t first_page, uint64_t end_page);  // under the memory lock
  /// Attributes of a range without settings.
  SvmAttributes initial_svm_attributes() const;
  void note_migration(SvmAttributes& range, uint64_t first_page, uint64_t end_page);
  void pages_were_mapped();
  /// Whether all of [va, va + bytes) is shared virtual memory that stays mapped on `gpu`.
  bool always_shared(const GpuContext& gpu, uint64_t va, uint64_t bytes) const;

  const Machine& virtual_system_;
  const ProcessOptions options_;
  OpenFiles& files_;
  Log& log_;
  Events events_;
  BufferMetadataTable metadata_;
  DoorbellWatch watch_;
  std::vector<std::unique_ptr<GpuContext>> gpus_;
  std::unique_ptr<ActivityReporter> reporter_;  // uses the GPUs, so it is destroyed first

  Mutex memory_mutex_;
  std::unordered_map<uint64_t, Buffer> buffers_ RIGEL_GUARDED_BY(memory_mutex_);     // by handle
  std::multimap<uint64_t, uint64_t> buffers_by_va_ RIGEL_GUARDED_BY(memory_mutex_);  // address → handle
  uint32_t next_handle_ RIGEL_GUARDED_BY(memory_mutex_) = 1;
  /// Handle of the program's buffer that is the event page; it cannot be freed.
  uint64_t event_page_handle_ RIGEL_GUARDED_BY(memory_mutex_) = 0;
  std::multimap<uint64_t, uint64_t> userptrs_ RIGEL_GUARDED_BY(memory_mutex_);  // program's address → handle
  uint64_t longest_userptr_ RIGEL_GUARDED_BY(memory_mutex_) = 0;
  uint64_t gtt_bytes_ = 0, userptr_bytes_ = 0;                      // sums over all buffers
  using Offsets = std::map<uint64_t, std::weak_ptr<MemoryObject>>;  // mmap offset → object
  /// Creates the next entry of `offsets_`.
  Offsets next_offset(const std::shared_ptr<MemoryObject>& object) RIGEL_REQUIRES(memory_mutex_);
  Offsets offsets_ RIGEL_GUARDED_BY(memory_mutex_);
  uint64_t next_offset_ RIGEL_GUARDED_BY(memory_mutex_) = uint64_t{1} << 32;
  SvmRanges svm_;

  Mutex queue_mutex_;
  std::map<uint32_t, std::unique_ptr<Queue>> queues_ RIGEL_GUARDED_BY(queue_mutex_);    // by id
  std::array<std::bitset<1024>, 64> doorbells_taken_ RIGEL_GUARDED_BY(queue_mutex_){};  // by GPU
  std::array<std::bitset<256>, 64> sdma_taken_
      RIGEL_GUARDED_BY(queue_mutex_){};  // by GPU: engine + engines * queue
  std::atomic<bool> xnack_{false};       ///< Changes under queue_mutex_, without queues.
  bool runtime_enabled_ RIGEL_GUARDED_BY(queue_mutex_) = false;

  DoorbellMappings doorbell_mappings_ RIGEL_GUARDED_BY(queue_mutex_);

  static constexpr size_t kFreedRemembered = 256;
  std::vector<NearbyBuffer> freed_
      RIGEL_GUARDED_BY(memory_mutex_);              // newest first; capacity reserved in advance
  std::atomic<const void*> code_objects_{nullptr};  // the runtime's r_debug
};

}  // namespace rigel::vgpu
