#include "core/signal/shared_signals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "api/support/file_signals.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel::shared_signals {
namespace {

constexpr size_t kSlotsPerSlab = signal_pool::kSlabBytes / kPageBytes;
constexpr size_t kMaxSlabs = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// Content of a page. An attaching process checks the magic number before it uses the signal.
struct SharedPage {
  static constexpr uint64_t kMagic = 0x326c616e67697352;  // "Rsignal2"
  Signal signal;
  uint64_t magic;
  ChangeNotifier notifier;
};
static_assert(sizeof(SharedPage) <= kPageBytes);

// Free slots form a first-in, first-out queue, so that a slot stays empty as long as possible and late
// accesses find it empty. The links are in the slots, so that releasing a slot allocates no memory.
struct SharedSignalTable {
  Mutex mutex;
  uint32_t first_free RIGEL_GUARDED_BY(mutex) = 0;
  uint32_t last_free RIGEL_GUARDED_BY(mutex) = 0;
  size_t free_count RIGEL_GUARDED_BY(mutex) = 0;
  // of the pool's allocator that made the slabs of the free slots
  uint32_t epoch RIGEL_GUARDED_BY(mutex) = 0;
  DescriptorServer* server RIGEL_GUARDED_BY(mutex) = nullptr;
};
constinit SharedSignalTable table;

struct Slot {
  int descriptor = -1;  // descriptor of the page; -1 if the slot is empty
  std::optional<Ticket> ticket;
  uint32_t next_free = 0;
};

struct Slab {
  std::byte* base = nullptr;
  std::array<std::atomic<Signal*>, kSlotsPerSlab> halves{};  // created at a slot's first use, and kept
  std::array<Slot, kSlotsPerSlab> slots RIGEL_GUARDED_BY(table.mutex){};
};

// Lock-free lookup: entries are only added. Never freed, because signals stay mapped until the process ends.
constinit std::array<std::atomic<Slab*>, kMaxSlabs> slabs{};
constinit std::atomic<uint32_t> slab_count{0};

// Returns the slot that contains an address.
std::optional<uint32_t> find_slot(const void* address) noexcept {
  const uint32_t count = slab_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const Slab& slab = *slabs[i].load(std::memory_order_relaxed);
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - slab.base);
    if (offset < signal_pool::kSlabBytes)
      return static_cast<uint32_t>(i * kSlotsPerSlab + offset / kPageBytes);
  }
  return std::nullopt;
}

Slab& slab_of(uint32_t slot) noexcept {
  return *slabs[slot / kSlotsPerSlab].load(std::memory_order_relaxed);
}

std::byte* address_of(uint32_t slot) noexcept {
  return slab_of(slot).base + slot % kSlotsPerSlab * kPageBytes;
}

std::atomic<Signal*>& local_half_at(uint32_t slot) noexcept {
  return slab_of(slot).halves[slot % kSlotsPerSlab];
}

Slot& slot_at(uint32_t slot) noexcept RIGEL_REQUIRES(table.mutex) {
  return slab_of(slot).slots[slot % kSlotsPerSlab];
}

void release_slot(uint32_t slot) noexcept RIGEL_REQUIRES(table.mutex) {
  (table.free_count == 0 ? table.first_free : slot_at(table.last_free).next_free) = slot;
  table.last_free = slot;
  ++table.free_count;
}

bool add_slab() noexcept RIGEL_REQUIRES(table.mutex) {
  const uint32_t count = slab_count.load(std::memory_order_relaxed);
  if (count == kMaxSlabs) return false;
  std::unique_ptr<Slab> slab(new (std::nothrow) Slab);
  if (slab == nullptr) return false;
  slab->base = static_cast<std::byte*>(signal_pool::take_slab());
  if (slab->base == nullptr) return false;
  slabs[count].store(slab.release(), std::memory_order_relaxed);
  slab_count.store(count + 1, std::memory_order_release);
  for (uint32_t i = 0; i < kSlotsPerSlab; ++i) release_slot(count * kSlotsPerSlab + i);
  return true;
}

std::optional<uint32_t> take_slot() noexcept RIGEL_REQUIRES(table.mutex) {
  // Devices may be unable to access the slabs of an earlier allocator.
  if (const uint32_t epoch = signal_pool::allocator_epoch(); epoch != table.epoch) {
    table.free_count = 0;
    table.epoch = epoch;
  }
  // Half of a slab stays empty, so that slots are not reused immediately.
  if (table.free_count <= kSlotsPerSlab / 2 && !add_slab() && table.free_count == 0) return std::nullopt;
  const uint32_t slot = table.first_free;
  if (local_half_at(slot).load(std::memory_order_relaxed) == nullptr) {
    Signal* const half = signal_pool::create(0, kSignalSilent);
    if (half == nullptr) return std::nullopt;
    local_half_at(slot).store(half, std::memory_order_release);
  }
  table.first_free = slot_at(slot).next_free;
  --table.free_count;
  return slot;
}

// Maps the page of `descriptor` into `slot`, which takes ownership of the descriptor. Returns null on
// failure.
SharedPage* map_page(uint32_t slot, int descriptor) noexcept RIGEL_REQUIRES(table.mutex) {
  void* const page =
      mmap(address_of(slot), kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (page == MAP_FAILED) {
    release_slot(slot);
    return nullptr;
  }
  slot_at(slot).descriptor = descriptor;
  return static_cast<SharedPage*>(page);
}

void clear(uint32_t slot) noexcept RIGEL_REQUIRES(table.mutex) {
  // A page stays mapped throughout, because late callers and woken waiters may read the signal.
  // ThreadSanitizer treats mmap() as a write of that page, but does not see the system call. If there is no
  // memory to split the mapping, the page stays and its slot is never reused.
  constexpr long kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (syscall(SYS_mmap, address_of(slot), kPageBytes, kProtection, kFlags, -1L, 0L) != -1) release_slot(slot);
  Slot& entry = slot_at(slot);
  close(entry.descriptor);
  entry.descriptor = -1;
  if (entry.ticket && table.server != nullptr) table.server->withdraw(*entry.ticket);
  entry.ticket.reset();
}

Failure no_memory(const char* what) {
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "IPC signals: {}: {}", what, std::strerror(errno));
}

}  // namespace

bool is_shared(const Signal& signal) noexcept {
  // Called for every destroyed signal; find_slot() would take longer than all the rest.
  if (slab_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  return find_slot(&signal).has_value();
}

Signal& local_half(Signal& signal) noexcept {
  if (slab_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return signal;
  const auto slot = find_slot(&signal);
  if (!slot) return signal;
  Signal* const half = local_half_at(*slot).load(std::memory_order_acquire);
  return half == nullptr ? signal : *half;
}

ChangeNotifier* notifier_of(Signal& signal) noexcept {
  if (slab_count.load(std::memory_order_relaxed) == 0 || !find_slot(&signal)) [[likely]]
    return nullptr;
  return &reinterpret_cast<SharedPage*>(&signal)->notifier;
}

namespace {

// Returns the generation by which backends detect that a slot holds a different signal (see
// amd_hsa_signal.h). Signals of several processes may use one slot, so each process starts from a different
// number.
uint32_t next_generation() noexcept {
  static constinit std::atomic<uint32_t> counter{0};
  const auto process_offset =
      static_cast<uint32_t>(static_cast<uint64_t>(getpid()) * 0x9e3779b97f4a7c15 >> 32);
  return counter.fetch_add(1, std::memory_order_relaxed) + process_offset;
}

}  // namespace

Signal* create(int64_t initial_value, uint32_t attributes) noexcept {
  const int descriptor = memfd_create("hsa-signal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0 || without_file_signals([&] { return ftruncate(descriptor, kPageBytes); }) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
    static_cast<void>(no_memory("the memory file cannot be created"));
    if (descriptor >= 0) close(descriptor);
    return nullptr;
  }
  const MutexLock lock(table.mutex);
  const auto slot = take_slot();
  SharedPage* const page = slot ? map_page(*slot, descriptor) : nullptr;
  if (page == nullptr) {
    static_cast<void>(no_memory("the memory cannot be mapped"));
    close(descriptor);
    return nullptr;
  }
  // New memory: all other fields are zero.
  Signal& signal = page->signal;
  std::atomic_ref(const_cast<int64_t&>(signal.abi.value)).store(initial_value, std::memory_order_relaxed);
  signal.attributes.store(attributes | kSignalIpc | kSignalSilent, std::memory_order_relaxed);
  signal.attention.store(Signal::kFence, std::memory_order_relaxed);
  signal.abi.reserved3[0] = next_generation();
  std::atomic_ref(signal.abi.kind).store(AMD_SIGNAL_KIND_USER, std::memory_order_relaxed);
  page->magic = SharedPage::kMagic;
  signal.generation.store(1, std::memory_order_release);
  return &signal;
}

bool destroy(Signal& signal) noexcept {
  const auto slot = find_slot(&signal);
  if (!slot) return false;
  const MutexLock lock(table.mutex);
  if (slot_at(*slot).descriptor < 0) return false;
  Signal& half = local_half(signal);
  // Due handlers receive the last value.
  std::atomic_ref(const_cast<int64_t&>(half.abi.value)).store(signal.load<std::memory_order_acquire>());
  clear(*slot);
  release_waiters(half);
  return true;
}

void use_server(DescriptorServer* server) noexcept {
  const MutexLock lock(table.mutex);
  table.server = server;
}

Result<hsa_amd_ipc_signal_t> name_of(Signal& signal) {
  const auto slot = find_slot(&signal);
  const MutexLock lock(table.mutex);
  if (!slot || slot_at(*slot).descriptor < 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "signal {:#x}: not created with HSA_AMD_SIGNAL_IPC",
                signal.handle().handle);
  }
  if (table.server == nullptr) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Slot& entry = slot_at(*slot);
  if (!entry.ticket || !table.server->offers(*entry.ticket)) {
    const int copy = fcntl(entry.descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return no_memory("the file descriptor cannot be duplicated");
    const auto ticket = table.server->offer(copy, {});
    if (!ticket) return error(ticket.error());
    entry.ticket = *ticket;
  }
  return ipc_name::encode(ipc_name::Kind::kSignalTicket, ipc_name::ByTicket{.ticket = *entry.ticket});
}

Result<Signal*> attach(const hsa_amd_ipc_signal_t& name) {
  const auto layout = ipc_name::decode<ipc_name::ByTicket>(ipc_name::Kind::kSignalTicket, name);
  if (!layout) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "IPC handle: does not name a signal");
  const auto parcel = DescriptorServer::fetch(layout->ticket);
  if (!parcel) return error(parcel.error());
  const int descriptor = parcel->descriptor;
  const auto reject = [&](Status status) {
    close(descriptor);
    return error(status);
  };
  struct stat about {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &about) != 0 ||
      about.st_size != static_cast<off_t>(kPageBytes)) {
    return reject(HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  uint64_t magic = 0;
  if (pread(descriptor, &magic, sizeof magic, offsetof(SharedPage, magic)) != sizeof magic ||
      magic != SharedPage::kMagic) {
    return reject(HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  const MutexLock lock(table.mutex);
  const auto slot = take_slot();
  SharedPage* const page = slot ? map_page(*slot, descriptor) : nullptr;
  if (page == nullptr) return reject(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  return &page->signal;
}

// Unchecked: the locks are held from before_fork to after_fork.

void before_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  table.mutex.lock();
  if (table.server != nullptr) table.server->before_fork();
}

void after_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  if (table.server != nullptr) table.server->after_fork();
  table.mutex.unlock();
}

void reset_after_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  // The pages stay mapped; the child closes its copies of the descriptors.
  for (uint32_t i = 0; i < slab_count.load(std::memory_order_relaxed) * kSlotsPerSlab; ++i) {
    if (slot_at(i).descriptor >= 0) close(slot_at(i).descriptor);
    slot_at(i) = {};
  }
  table.free_count = 0;
  if (table.server == nullptr) return;
  table.server->reset_after_fork();
  table.server->after_fork();
  table.server = nullptr;
}

}  // namespace rigel::shared_signals
