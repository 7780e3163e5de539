// The process's one connection to amdkfd, over a transport: what the kernel has of this process (GPUs with
// their address spaces, memory objects, mappings, queues' doorbells) and the ioctls on it.
//
// The runtime opens one while it starts, adds the GPUs that it will use, and gives it up last of all.
// `add_gpu` is called by one thread, before any other thread knows the connection; everything else from any
// thread. No lock is held during an ioctl, but for the making of a GPU's doorbell page.
//
// The kernel ties some things to the process and not to the open file: which render node's address space a
// GPU has, and the page of events. So a connection to the kernel itself is kept when the runtime gives it up,
// and found again when it starts anew. A forked child makes its own.
//
// Addresses. A memory object has the same address for the host and for every GPU. So it lies where all of
// them can address it: below `address_limit`, which is 47 bits from gfx9 on and 40 bits before.
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
#include "core/base/status.hpp"
#include "core/driver/kfd_topology.hpp"
#include "core/driver/transport.hpp"

namespace rigel {

/// A GPU that this process may use: its render node is open, its address space acquired.
struct KfdGpu {
  uint32_t gpu_id = 0;
  uint32_t node = 0;
  int render_fd = -1;
  uint32_t doorbell_bytes = 8;
  kfd_apertures apertures{};
  bool host_sees_all = false;  ///< every byte of its memory can be mapped by the host
  bool has_svm = false;        ///< it takes part in shared virtual memory

  // The doorbell page and the page of registers, made when first asked for.
  Mutex mutex;
  void* doorbells RIGEL_GUARDED_BY(mutex) = nullptr;
  uint64_t doorbell_handle RIGEL_GUARDED_BY(mutex) = 0;
  void* registers RIGEL_GUARDED_BY(mutex) = nullptr;
  uint64_t registers_handle RIGEL_GUARDED_BY(mutex) = 0;

  uint64_t doorbell_slice() const { return doorbell_bytes == 4 ? 4096 : 8192; }
};

/// Why Kfd::open fails on a machine without the driver.
inline constexpr const char* kNoDriver = "the amdgpu driver is not loaded";

enum class HostAccess : uint8_t { kNone, kReadWrite };

/// A memory object with an address.
struct KfdBlock {
  void* address = nullptr;
  uint64_t size = 0;  ///< bytes
  uint64_t handle = 0;
  bool at_reserved = false;  ///< its addresses go back to a reservation, not to the system
};

struct KfdBlockRequest {
  uint32_t flags = 0;  ///< one kind of KFD_MEM_KINDS and attributes
  uint64_t size = 0;   ///< bytes, a multiple of a page
  uint64_t alignment = 4096;
  HostAccess host = HostAccess::kReadWrite;
  void* address = nullptr;  ///< where, within addresses that were reserved; null: anywhere
};

class Kfd {
 public:
  /// Opens /dev/kfd and asks for its version. On failure `why` says what is wrong, for the report.
  static Result<std::unique_ptr<Kfd>> open(std::unique_ptr<Transport> transport, std::string& why);
  /// Ends a connection, or keeps it for the next `open`. Nothing that it has made is in use any more.
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

  /// An ioctl on /dev/kfd: 0 or a negated errno.
  int call(uint32_t number, void* argument, size_t size) const;
  template <class T>
  int call(uint32_t number, T& arguments) const {
    return call(number, &arguments, sizeof arguments);
  }

  // GPUs.

  Result<KfdGpu*> add_gpu(const KfdNode& node, std::string& why);
  /// Takes back the GPU that was added last: somebody else found something wrong with it.
  void drop_last_gpu();
  const std::vector<KfdGpu*>& gpus() const { return gpus_; }
  KfdGpu* find_gpu(uint32_t gpu_id);
  KfdGpu* gpu_of_node(uint32_t node);
  const std::vector<uint32_t>& all_gpu_ids() const { return gpu_ids_; }

  /// Where the doorbell lies that CREATE_QUEUE gave an offset for. Null if the page cannot be mapped.
  void* doorbell(KfdGpu& gpu, uint64_t offset, uint32_t queue_id);
  /// How to ring it by a call. False: it is stored to.
  bool attach(void* doorbell, hsadrv_doorbell_t& bell) const { return transport_->attach(doorbell, bell); }
  /// The page of registers that user mode may write (cache flushes over PCIe): null if there is none.
  void* registers(KfdGpu& gpu);

  /// The page of the process's events, which all GPUs reach. Not before the last GPU has been added.
  Result<void*> event_page();
  /// An event that resets itself, of a type (KFD_EVENT_). After event_page, which the first one that is made gives to the
  /// kernel.
  Result<uint32_t> create_event(uint32_t type);

  /// Tells the driver, from interface 1.13 on, that a runtime is here whose loaded code a debugger finds at
  /// `r_debug`: from then on it reports errors of queues as exceptions. Before the first queue; once for each
  /// `open`.
  void enable_runtime(const void* r_debug);
  /// After the last queue.
  void disable_runtime();
  bool reports_exceptions() const { return runtime_enabled_; }

  /// Clocks of one moment. gpu may be null: the GPU's counter is then 0.
  Result<kfd_get_clock_counters> clocks(const KfdGpu* gpu) const;
  /// Bytes of its memory that are free, as far as the kernel tells.
  Result<uint64_t> available_memory(const KfdGpu& gpu) const;
  /// Whether it is on one chip with the CPU. False where the kernel does not say.
  bool is_apu(const KfdGpu& gpu) const;
  /// Whether this process's GPU code may fault and go on. False where the kernel does not know the question.
  bool xnack_enabled() const;
  /// Has it so, before the first queue: 0 or a negated errno.
  int set_xnack(bool enabled) const;

  // Addresses.

  uint64_t address_limit() const { return address_limit_; }
  /// Addresses that nobody uses, for the host inaccessible. Null: there are none left.
  void* reserve(uint64_t size, uint64_t alignment) const;
  void release_addresses(void* address, uint64_t size) const;

  // Memory objects.

  /// Makes one at a fresh address. It is mapped to no GPU yet.
  Result<KfdBlock> allocate(const KfdGpu& gpu, const KfdBlockRequest& request) const;
  /// An object over the process's own memory, in pages. `gpu_address` is where GPUs will see it.
  Result<uint64_t> pin(const KfdGpu& gpu, void* host, uint64_t size, uint32_t flags,
                       uint64_t gpu_address) const;
  Status map(uint64_t handle, std::span<const uint32_t> gpu_ids) const;
  Status unmap(uint64_t handle, std::span<const uint32_t> gpu_ids) const;
  /// Takes an object and its addresses away. GPUs see it no longer.
  void free(const KfdBlock& block) const;
  void free_handle(uint64_t handle) const;

  // Memory that others have or get: kfd_sharing.cpp. NOT_SUPPORTED where the driver does not know the call.

  /// What a dmabuf's descriptor says of itself.
  struct DmabufInfo {
    uint64_t size = 0;    ///< bytes
    uint32_t gpu_id = 0;  ///< whose memory it is; 0: no GPU's of this process
    uint32_t flags = 0;   ///< its kind, and KFD_MEM_PUBLIC
    std::vector<std::byte> metadata;
  };
  bool exports_dmabufs() const { return at_least(1, 12); }
  /// A new descriptor of an object's memory, the caller's to close.
  Result<int> export_dmabuf(uint64_t handle) const;
  /// INVALID_ARGUMENT if it is no dmabuf of the driver's.
  Result<DmabufInfo> dmabuf_info(int descriptor) const;
  /// An object over a dmabuf's memory; `address` is where GPUs will see it.
  Result<uint64_t> import_dmabuf(const KfdGpu& gpu, int descriptor, const void* address) const;

  /// The driver's own name of an object across processes. Not every driver has them.
  using ShareName = std::array<uint32_t, 4>;
  Result<ShareName> share(const KfdGpu& gpu, uint64_t handle) const;
  struct Shared {
    uint64_t handle = 0;
    uint64_t mmap_offset = 0;  ///< of the GPU's render node
  };
  Result<Shared> import_shared(const KfdGpu& gpu, const ShareName& name, const void* address) const;

  // Memory without an address, and its mapping in pieces: kfd_gem.cpp. A buffer is known to each GPU's render
  // node by a number of its own (GEM), once however often it is imported.

  bool manages_virtual_memory() const { return at_least(1, 15); }
  /// An object of a GPU's memory that is nowhere; for export_dmabuf and free_handle.
  Result<uint64_t> allocate_unplaced(const KfdGpu& gpu, uint32_t flags, uint64_t size) const;
  Result<uint32_t> gem_import(const KfdGpu& gpu, int dmabuf) const;
  void gem_close(const KfdGpu& gpu, uint32_t gem) const;
  /// A new descriptor of its memory, the caller's to close.
  Result<int> gem_export(const KfdGpu& gpu, uint32_t gem) const;
  /// Puts the first `size` bytes at `address` for a GPU, in the place of what was there.
  Status gem_map(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size, bool writable) const;
  void gem_unmap(const KfdGpu& gpu, uint32_t gem, const void* address, uint64_t size) const;
  /// The same for the host. False if it cannot see it.
  bool gem_show(const KfdGpu& gpu, uint32_t gem, void* address, uint64_t size, int protection) const;

  // Shared virtual memory: attributes of pages of this process. The size is of whole pages. HSA_STATUS_ERROR
  // if the driver refuses.

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
  int fd_ = -1;  // constant once open() has returned
  kfd_get_version version_{};
  std::deque<KfdGpu> acquired_;    // once and for all
  std::vector<KfdGpu*> gpus_;      // in use
  std::vector<uint32_t> gpu_ids_;  // theirs, for those who have no memory to make the list
  bool runtime_enabled_ = false;
  KfdBlock event_page_;
  bool event_page_is_known_ = false;  // to the kernel, for the life of the process
  uint64_t address_limit_ = (uint64_t{1} << 47) - 1;
  mutable std::atomic<uint64_t> low_hint_{0};  // where to look for addresses below 40 bits
};

}  // namespace rigel
