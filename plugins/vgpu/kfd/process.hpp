// What amdkfd keeps for one process: address spaces, buffers, queues, events, shared ranges; and the ioctls
// on it.
//
// Threads: ioctl() from any thread. One lock guards the memory side (buffers, handles, page tables, ranges)
// and one the queues; the memory lock may be taken while the queue lock is held, never the other way round.
// Neither is held while an ioctl waits for events. The queue lock is held while a processor creates or
// destroys a queue; processors never take either.
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

/// What the process needs to know of the files that its program has open.
class OpenFiles {
 public:
  virtual ~OpenFiles() = default;
  struct RenderNode {
    std::shared_ptr<void> file;  ///< Tells open files apart, and keeps them open.
    uint32_t gpu_index;
  };
  /// EBADF or EINVAL if `fd` is not a render node of this machine.
  virtual ErrnoOr<RenderNode> render_node(int fd) = 0;
  /// A descriptor for the program, of the same file as `fd`.
  virtual ErrnoOr<int> give_to_program(int fd, bool close_on_exec) = 0;
};

/// What a program may choose of a virtual machine.
struct ProcessOptions {
  MakeShaderCores make_shader_cores = nullptr;  ///< Null: plugins/vgpu/exec.
  bool threads = true;                          ///< False: processors run only when they are stepped.
  uint64_t seed = 0;                            ///< Order of steps without threads.
  bool signals = true;                          ///< Whether SIGSEGV and SIGBUS may be caught.
  /// And whether stores to the doorbells of sleeping processors may raise them: a thread that blocks SIGSEGV,
  /// or a handler that takes the place of ours and does not chain, would then be the program's end.
  bool stop_stores = true;
  Latecomers latecomers = Latecomers::kSleep;  ///< To events: see there.
  /// Processes that name the same machine share its copy engines' queues; empty: each has all.
  std::string machine;
  double watchdog_seconds = 0;       ///< That a kernel may run before the process is ended; 0: for ever.
  uint64_t host_bytes = UINT64_MAX;  ///< Memory of the host, of which GPUs may have a part.
};

/// A buffer that a handle names.
struct Buffer {
  uint64_t handle = 0;
  uint64_t va = 0;
  uint64_t va_bytes = 0;
  uint32_t flags = 0;
  uint32_t gpu_index = 0;    ///< Whose it is.
  uint64_t mmap_offset = 0;  ///< Of the render node; 0 if it cannot be mapped there.
  std::shared_ptr<MemoryObject> object;
  std::bitset<64> mapped;  ///< By which GPUs.
  /// By GPU index: how many queues of it need the buffer, which cannot be taken from that GPU before them.
  std::map<uint32_t, uint32_t> queue_uses;
  bool double_mapped() const;
};

class Process {
 public:
  Process(const Machine& machine, const ProcessOptions& options, OpenFiles& files, Log& log);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// An ioctl on /dev/kfd: 0 or a negated error number.
  int ioctl(uint64_t request, void* argument);

  GpuContext& gpu(size_t index) { return *gpus_[index]; }
  size_t gpu_count() const { return gpus_.size(); }
  GpuContext* gpu_by_id(uint32_t gpu_id);
  Events& events() { return events_; }
  BufferMetadataTable& metadata() { return metadata_; }
  Log& log() { return log_; }
  const Machine& machine() const { return machine_; }
  Mutex& memory_mutex() RIGEL_RETURNS_LOCK(memory_mutex_) { return memory_mutex_; }

  /// What mmap of /dev/kfd at `offset` shows. `bytes` is the length asked for.
  ErrnoOr<std::shared_ptr<MemoryObject>> kfd_mmap(uint64_t offset, uint64_t bytes);
  /// What mmap of a render node at `offset` shows, and where in the object.
  struct MmapTarget {
    std::shared_ptr<MemoryObject> object;
    uint64_t offset = 0;
  };
  ErrnoOr<MmapTarget> render_mmap(uint64_t offset, uint64_t bytes);
  /// Gives an object an offset on the render nodes.
  uint64_t make_mmap_offset(const std::shared_ptr<MemoryObject>& object) RIGEL_REQUIRES(memory_mutex_);
  void drop_mmap_offset(uint64_t offset) RIGEL_REQUIRES(memory_mutex_);

  /// The program has mapped pages of doorbells, or takes [address, address + bytes) away, whatever was there.
  struct DoorbellMapping {
    uint32_t gpu_index;
    std::byte* address;
    uint64_t bytes;
    uint64_t offset;  ///< In the GPU's slice.
  };
  using DoorbellMappings = std::vector<DoorbellMapping>;
  void doorbells_mapped(const DoorbellMapping& mapping);
  /// Returns the doorbells that were there. Others of the same mapping stay.
  DoorbellMappings doorbells_unmapped(void* address, uint64_t bytes);
  /// What GPUs were given of it is taken from them. Returns the doorbells that were there.
  DoorbellMappings before_munmap(void* address, uint64_t bytes);
  /// The program has mapped something else there: shared virtual memory is forgotten. A buffer of the program's memory
  /// stays, and is what is there now.
  void memory_replaced(void* address, uint64_t bytes);

  /// See hsadrv_doorbell_ops_t. EINVAL: no queue there. ENOSPC: no bells left. What is returned may be called
  /// for as long as the process lives.
  struct DoorbellHook {
    void (*ring)(void* context, uint64_t value) = nullptr;
    void* context = nullptr;
  };
  ErrnoOr<DoorbellHook> attach_doorbell(void* address);

  /// For DeviceBus::describe_address of one of the GPUs. Takes the memory lock, and lets it go again.
  std::string describe_address(const GpuContext& gpu, uint64_t va);
  /// What runs on every GPU, in each queue: lines. Without locks, and outside of translation scopes.
  std::string describe_activity();
  const void* code_objects() const noexcept { return code_objects_.load(std::memory_order_relaxed); }

  /// Maps [va, va + bytes) of a GPU to host memory, for the render nodes. EINVAL if
  /// something is there or the range is not the GPU's.
  Errno map_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights)
      RIGEL_REQUIRES(memory_mutex_);
  /// The same whatever is there, in one step for each page: nothing that was allowed and stays so is ever
  /// missing (GpuContext::remap). The memory lock is held.
  Errno remap_range(GpuContext& gpu, uint64_t va, uint64_t bytes, std::byte* host, PageTable::Rights rights);

  /// The device is about to use memory of the program, which may go away without a word.
  void expect_host_faults() const;

  /// Whether `bytes` more of a GPU's memory are free.
  static bool vram_has_room(const GpuContext& gpu, uint64_t bytes);
  /// Whether GPUs may have `bytes` more of the host's memory, as buffers of the driver or as the program's
  /// own memory.
  bool host_has_room(MemoryObject::Kind kind, uint64_t bytes) const RIGEL_REQUIRES(memory_mutex_);

 private:
  friend struct KfdIoctls;  // the ioctls' functions, in the files ioctl_*.cpp

  struct Queue {
    uint32_t id = 0;
    uint32_t type = 0;
    GpuContext* gpu = nullptr;
    uint32_t doorbell = 0;   // index in the slice
    uint32_t sdma_slot = 0;  // engine + engines * queue
    SharedSlot shared_slot;  // the same, among the processes of a machine
    bool sdma = false;
    std::byte* doorbell_slot = nullptr;
    uint64_t ring_va = 0;
    uint64_t ring_bytes = 0;
    uint32_t percentage = 0;
    uint32_t priority = 0;
    uint64_t save_area_va = 0;
    uint32_t gws = 0;
    uint32_t doorbell_index() const { return doorbell * gpu->gpu().board.driver().doorbell_bytes / 8; }
    std::vector<uint64_t> buffers;  // that it holds
    uint64_t ring = 0;              // which of them the ring is in
  };
  Buffer* find_buffer(uint64_t handle) RIGEL_REQUIRES(memory_mutex_);
  /// The buffer that is mapped to `gpu` at exactly [va, va + bytes).
  Buffer* buffer_at(const GpuContext& gpu, uint64_t va, uint64_t bytes) RIGEL_REQUIRES(memory_mutex_);
  /// Gives it a handle, and an mmap offset if it is memory of the driver's. All of the books have it afterwards, or none.
  const Buffer& add_buffer(Buffer buffer) RIGEL_REQUIRES(memory_mutex_);
  /// Before the program's memory in [begin, end) goes.
  void take_from_gpus(uint64_t begin, uint64_t end);
  /// Forgets the shared virtual memory in a range of pages. Under the memory lock.
  void forget_shared(uint64_t first_page, uint64_t end_page);
  /// The same where the program can read nothing any more, before something else is put there. The C library gives memory
  /// of free() back without before_munmap, and the runtime has reserved the addresses since. Under the memory lock.
  void forget_given_back(uint64_t va, uint64_t bytes);
  Errno map_buffer(Buffer& buffer, GpuContext& gpu) RIGEL_REQUIRES(memory_mutex_);
  void unmap_buffer(Buffer& buffer, GpuContext& gpu);
  /// Takes a buffer that is mapped nowhere out of the books. Needs no memory, so that it is never left halfway.
  void release_buffer(Buffer& buffer) noexcept RIGEL_REQUIRES(memory_mutex_);
  /// How much there is of a buffer's kind; null where that is not counted.
  uint64_t* bytes_of_kind(const Buffer& buffer);
  void add_doorbells(const DoorbellMapping& mapping) RIGEL_REQUIRES(queue_mutex_);
  /// Keeps a buffer where it is for as long as a queue needs it, and lets it go. Both locks are held.
  static void hold(Queue& queue, Buffer& buffer);
  void let_go(Queue& queue, uint64_t handle) RIGEL_REQUIRES(memory_mutex_);
  void let_go_of_all(Queue& queue) RIGEL_REQUIRES(memory_mutex_);
  void destroy_queue(Queue& queue) RIGEL_REQUIRES(queue_mutex_);
  void apply_svm(uint64_t first_page, uint64_t end_page);  // under the memory lock
  void note_migration(SvmAttributes& range, uint64_t first_page, uint64_t end_page);
  /// Whether all of [va, va + bytes) is shared with `gpu`, and stays mapped to it.
  bool always_shared(const GpuContext& gpu, uint64_t va, uint64_t bytes) const;

  const Machine& machine_;
  const ProcessOptions options_;
  OpenFiles& files_;
  Log& log_;
  Events events_;
  BufferMetadataTable metadata_;
  DoorbellWatch watch_;
  std::vector<std::unique_ptr<GpuContext>> gpus_;
  std::unique_ptr<ActivityReporter> reporter_;  // looks at the GPUs, and so goes first

  Mutex memory_mutex_;
  std::unordered_map<uint64_t, Buffer> buffers_ RIGEL_GUARDED_BY(memory_mutex_);     // by handle
  std::multimap<uint64_t, uint64_t> buffers_by_va_ RIGEL_GUARDED_BY(memory_mutex_);  // va → handle
  uint32_t next_handle_ RIGEL_GUARDED_BY(memory_mutex_) = 1;
  uint64_t event_page_ RIGEL_GUARDED_BY(memory_mutex_) =
      0;  // the handle of the buffer that the program brought for events: it cannot be freed
  std::multimap<uint64_t, uint64_t> userptrs_ RIGEL_GUARDED_BY(memory_mutex_);  // program's address → handle
  uint64_t longest_userptr_ RIGEL_GUARDED_BY(memory_mutex_) = 0;
  uint64_t gtt_bytes_ = 0, userptr_bytes_ = 0;                      // of the buffers
  using Offsets = std::map<uint64_t, std::weak_ptr<MemoryObject>>;  // mmap offset → object
  /// What becomes one of `offsets_`.
  Offsets next_offset(const std::shared_ptr<MemoryObject>& object) RIGEL_REQUIRES(memory_mutex_);
  Offsets offsets_ RIGEL_GUARDED_BY(memory_mutex_);
  uint64_t next_offset_ RIGEL_GUARDED_BY(memory_mutex_) = uint64_t{1} << 32;
  SvmRanges svm_;

  Mutex queue_mutex_;
  std::map<uint32_t, std::unique_ptr<Queue>> queues_ RIGEL_GUARDED_BY(queue_mutex_);    // by id
  std::array<std::bitset<1024>, 64> doorbells_taken_ RIGEL_GUARDED_BY(queue_mutex_){};  // by GPU
  std::array<std::bitset<256>, 64> sdma_taken_
      RIGEL_GUARDED_BY(queue_mutex_){};  // by GPU: engine + engines * queue
  bool xnack_ RIGEL_GUARDED_BY(queue_mutex_) = false;
  bool runtime_enabled_ RIGEL_GUARDED_BY(queue_mutex_) = false;

  DoorbellMappings doorbell_mappings_ RIGEL_GUARDED_BY(queue_mutex_);

  static constexpr size_t kFreedRemembered = 256;
  std::vector<NearbyBuffer> freed_ RIGEL_GUARDED_BY(memory_mutex_);  // the latest first; has room for as many
  std::atomic<const void*> code_objects_{nullptr};                   // the runtime's r_debug
};

}  // namespace rigel::vgpu
