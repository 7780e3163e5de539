// The process's connection to amdkfd over a transport: the kernel's objects for this process (GPUs with their
// address spaces, memory objects, mappings, doorbells) and the ioctls on them.
//
// *Threads:* one thread calls `add_gpu` before any other thread has access to the connection. Everything else
// may be called from any thread. No lock is held during an ioctl, except while a GPU's doorbell page is
// created.
// *Lifetime:* the runtime opens a connection at start, adds the GPUs that it uses, and gives it up last. The
// kernel ties some objects to the process instead of the open file: the render node that has a GPU's address
// space, and the page of events. A connection to the kernel itself is therefore kept after `give_up` and
// reused by the next `open`. A forked child creates a new one.
// *Addresses:* a memory object has the same address for the host and every GPU. It is therefore below
// `address_limit`: 47 bits if all GPUs are gfx9 or newer, 40 bits for older ones.
#pragma once

#include <hsa_plugin/kfd_abi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/driver/kfd_topology.hpp"
#include "core/driver/transport.hpp"

namespace rigel {

/// A GPU that this process may use: its render node is open and its address space acquired.
struct KfdGpu {
  uint32_t gpu_id = 0;
  uint32_t node = 0;
  int render_fd = -1;
  uint32_t doorbell_bytes = 8;
  kfd_apertures apertures{};
  bool host_sees_all = false;  ///< whether the host can map all of its memory
  bool has_svm = false;        ///< whether it supports shared virtual memory

  // The doorbell page and the page of registers, created on first use.
  Mutex mutex;
  void* doorbells RIGEL_GUARDED_BY(mutex) = nullptr;
  uint64_t doorbell_handle RIGEL_GUARDED_BY(mutex) = 0;
  void* registers RIGEL_GUARDED_BY(mutex) = nullptr;
  uint64_t registers_handle RIGEL_GUARDED_BY(mutex) = 0;

  uint64_t doorbell_slice() const { return doorbell_bytes == 4 ? 4096 : 8192; }
};

/// Error of Kfd::open on a machine without the driver.
inline constexpr const char* kNoDriver = "the amdgpu driver is not loaded";

enum class HostAccess : uint8_t { kNone, kReadWrite };

struct KfdBlock {
  void* address = nullptr;
  uint64_t size = 0;  ///< bytes
  uint64_t handle = 0;
  bool at_reserved = false;  ///< whether its addresses return to a reservation instead of the system
};

struct KfdBlockRequest {
  uint32_t flags = 0;  ///< one kind of KFD_MEM_KINDS and attributes
  uint64_t size = 0;   ///< bytes, a multiple of a page
  uint64_t alignment = 4096;
  HostAccess host = HostAccess::kReadWrite;
  void* address = nullptr;  ///< address within a reservation; null: any
};

class Kfd {
 public:
  /// Opens /dev/kfd and reads its version. On failure, `why` is the reason, for the report.
  static Result<std::unique_ptr<Kfd>> open(std::unique_ptr<Transport> transport, std::string& why);
  /// Closes a connection, or keeps it for the next `open`. None of its objects may be in use.
  static void give_up(std::unique_ptr<Kfd> kfd);
  /// In a forked child, while it has one thread.
  static void reset_after_fork() noexcept;
  ~Kfd();
  Kfd(const Kfd&) = delete;
  Kfd& operator=(const Kfd&) = delete;

  const Transport& transport() const { return *transport_; }
  const kfd_get_version& version() const { return version_; }
  bool at_least(uint32_t major, uint32_t minor) const {
    return version_.major > major || (version_.major == major && version_.minor >= minor);
  }

  /// Calls an ioctl on /dev/kfd. Returns 0 or a negated errno.
  int call(uint32_t number, void* argument, size_t size) const;
  template <class T>
  int call(uint32_t number, T& arguments) const {
    return call(number, &arguments, sizeof arguments);
  }

  // GPUs.

  Result<KfdGpu*> add_gpu(const KfdNode& node, std::string& why);
  /// Removes the GPU that was added last, because a later step of its start failed.
  void drop_last_gpu();
  const std::vector<KfdGpu*>& gpus() const { return gpus_; }
  KfdGpu* find_gpu(uint32_t gpu_id);
  KfdGpu* gpu_of_node(uint32_t node);
  const std::vector<uint32_t>& all_gpu_ids() const { return gpu_ids_; }

  /// Returns the address of the doorbell for which CREATE_QUEUE returned `offset`. Null if the page cannot be
  /// mapped.
  void* doorbell(KfdGpu& gpu, uint64_t offset, uint32_t queue_id);
  /// Returns the doorbell's call in `doorbell_call`, or false if the doorbell is rung by stores.
  bool attach(void* doorbell, hsadrv_doorbell_t& doorbell_call) const {
    return transport_->attach(doorbell, doorbell_call);
  }
  /// Returns the page of registers that user mode may write (cache flushes over PCIe); null if there is none.
  void* registers(KfdGpu& gpu);

  /// Returns the page of the process's events, which all GPUs can access. Call after the last GPU has been
  /// added.
  Result<void*> event_page();
  /// Creates an event of a type (KFD_EVENT_) that resets itself. Call after event_page; the first event
  /// passes that page to the kernel.
  Result<uint32_t> create_event(uint32_t type);

  /// From interface 1.13 on, registers a runtime whose loaded code a debugger finds at `r_debug`; the driver
  /// then reports queue errors as exceptions. Call before the first queue, once for each `open`.
  void enable_runtime(const void* r_debug);
  /// Call after the last queue.
  void disable_runtime();
  bool reports_exceptions() const { return runtime_enabled_; }

  /// Returns clocks of one moment. If `gpu` is null, the GPU's counter is 0.
  Result<kfd_get_clock_counters> clocks(const KfdGpu* gpu) const;
  /// Returns the free bytes of the GPU's memory, according to the kernel.
  Result<uint64_t> available_memory(const KfdGpu& gpu) const;
  /// Whether the GPU is on one chip with the CPU. False if the kernel does not report it.
  bool is_apu(const KfdGpu& gpu) const;
  /// Whether GPU code of this process may retry page faults. False if the kernel does not support the query.
  bool xnack_enabled() const;
  /// Enables or disables it, before the first queue. Returns 0 or a negated errno.
  int set_xnack(bool enabled) const;

  // Addresses.

  uint64_t address_limit() const { return address_limit_; }
  /// Reserves free addresses, inaccessible to the host. Returns null if none are left.
  void* reserve(uint64_t size, uint64_t alignment) const;
  void release_addresses(void* address, uint64_t size) const;

  // Memory objects.

  /// Creates an object at a new address, mapped to no GPU.
  Result<KfdBlock> allocate(const KfdGpu& gpu, const KfdBlockRequest& request) const;
  /// Creates an object over the process's memory, in pages, that GPUs see at `gpu_address`.
  Result<uint64_t> pin(const KfdGpu& gpu, void* host, uint64_t size, uint32_t flags,
                       uint64_t gpu_address) const;
  Status map(uint64_t handle, std::span<const uint32_t> gpu_ids) const;
  Status unmap(uint64_t handle, std::span<const uint32_t> gpu_ids) const;
  /// Frees an object and its addresses and unmaps it from all GPUs.
  void free(const KfdBlock& block) const;
  void free_handle(uint64_t handle) const;

  // Sharing with other processes and drivers: kfd_sharing.cpp. NOT_SUPPORTED if the driver does not implement
  // the call.

  struct DmabufInfo {
    uint64_t size = 0;    ///< bytes
    uint32_t gpu_id = 0;  ///< owner; 0: not a GPU of this process
    uint32_t flags = 0;   ///< kind of memory, and KFD_MEM_PUBLIC
    std::vector<std::byte> metadata;
  };
  bool exports_dmabufs() const { return at_least(1, 12); }
  /// Returns a new descriptor of an object's memory, owned by the caller.
  Result<int> export_dmabuf(uint64_t handle) const;
  /// Fails with INVALID_ARGUMENT if it is not a dmabuf of the driver.
  Result<DmabufInfo> dmabuf_info(int descriptor) const;
  /// Creates an object over a dmabuf's memory that GPUs see at `address`.
  Result<uint64_t> import_dmabuf(const KfdGpu& gpu, int descriptor, const void* address) const;

  /// The driver's name of an object across processes. Not supported by every driver.
  using ShareName = std::array<uint32_t, 4>;
  Result<ShareName> share(const KfdGpu& gpu, uint64_t handle) const;
  struct Shared {
    uint64_t handle = 0;
    uint64_t mmap_offset = 0;  ///< on the GPU's render node
  };
  Result<Shared> import_shared(const KfdGpu& gpu, const ShareName& name, const void* address) const;

  // Memory without an address, and its mapping in pieces: kfd_gem.cpp. Each GPU's render node has one handle
  // (GEM) for a buffer, however often it is imported.

  bool manages_virtual_memory() const { return at_least(1, 15); }
  /// Creates an object of a GPU's memory without an address; for export_dmabuf and free_handle.
  Result<uint64_t> allocate_unplaced(const KfdGpu& gpu, uint32_t flags, uint64_t size) const;
  Result<uint32_t> gem_import(const KfdGpu& gpu, int dmabuf) const;
  void gem_close(const KfdGpu& gpu, uint32_t gem) const;
  /// Returns a new descriptor of its memory, owned by the caller.
  Result<int> gem_export(const KfdGpu& gpu, uint32_t gem) const;
  /// Maps the first `size` bytes at `address` for a GPU, and replaces mappings there.
  Status gem_map(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size, bool writable) const;
  void gem_unmap(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size) const;
  /// Does the same for the host. Returns false if the host cannot access the buffer.
  bool gem_show(const KfdGpu& gpu, uint32_t gem, void* address, uint64_t size, int protection) const;

  // Shared virtual memory: attributes of pages of this process. `size` is a multiple of a page.
  // HSA_STATUS_ERROR if the driver rejects the call.

  Status svm_set(uint64_t address, uint64_t size, std::span<const kfd_svm_attribute> attributes) const;
  Status svm_get(uint64_t address, uint64_t size, std::span<kfd_svm_attribute> attributes) const;

 private:
  Status svm(uint32_t operation, uint64_t address, uint64_t size,
             std::span<kfd_svm_attribute> attributes) const;
  explicit Kfd(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}
  Result<kfd_apertures> apertures_of(uint32_t gpu_id) const;
  Result<uint64_t> alloc_object(kfd_alloc_memory& arguments) const;
  void* map_special(const KfdGpu& gpu, uint32_t kind, uint64_t size, uint64_t offset, uint64_t& handle);
  void close_gpu(KfdGpu& gpu);

  const std::unique_ptr<Transport> transport_;
  int fd_ = -1;  // constant after open()
  kfd_get_version version_{};
  std::deque<KfdGpu> acquired_;    // all acquired GPUs, never removed
  std::vector<KfdGpu*> gpus_;      // GPUs in use
  std::vector<uint32_t> gpu_ids_;  // ids of gpus_, so that callers need no memory for the list
  bool runtime_enabled_ = false;
  KfdBlock event_page_;
  bool event_page_is_known_ = false;  // passed to the kernel, until the process ends
  uint64_t address_limit_ = (uint64_t{1} << 47) - 1;
  mutable std::atomic<uint64_t> low_hint_{0};  // start of the search for addresses below 40 bits
};

}  // namespace rigel
