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
#include "api/support/mutex.hpp"
#include "core/base/log.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/signal/wait_node.hpp"

namespace rigel::shared_signals {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPlacesPerSlab = signal_pool::kSlabBytes / kPage;
constexpr size_t kMaxSlabs = 64;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

// What is in a page. Whoever attaches looks at the magic number before it takes anything for a signal.
struct SharedPage {
  static constexpr uint64_t kMagic = 0x326c616e67697352;  // "Rsignal2"
  Signal signal;
  uint64_t magic;
  ChangeBell bell;
};
static_assert(sizeof(SharedPage) <= kPage);

// Free places are in a queue, those longest empty first: late comers find them empty. It goes through the places
// themselves, so that to give one back takes no memory.
struct Books {
  Mutex mutex;
  uint32_t first_free RIGEL_GUARDED_BY(mutex) = 0;
  uint32_t last_free RIGEL_GUARDED_BY(mutex) = 0;
  size_t free_count RIGEL_GUARDED_BY(mutex) = 0;
  uint32_t epoch RIGEL_GUARDED_BY(mutex) = 0;  // of the pool's allocator, whose slabs the free places are in
  DescriptorServer* server RIGEL_GUARDED_BY(mutex) = nullptr;
};
constinit Books books;

struct Place {
  int descriptor = -1;  // of the page; -1: nothing is there
  std::optional<Ticket> ticket;
  uint32_t next_free = 0;
};

struct Slab {
  std::byte* base = nullptr;
  std::array<std::atomic<Signal*>, kPlacesPerSlab> halves{};  // made when a place is first used, and kept
  std::array<Place, kPlacesPerSlab> places RIGEL_GUARDED_BY(books.mutex){};
};

// Slabs are found without the lock: entries are only added. Leaked, as signals live to the end of the
// process.
constinit std::array<std::atomic<Slab*>, kMaxSlabs> slabs{};
constinit std::atomic<uint32_t> slab_count{0};

// The place around an address, or none.
std::optional<uint32_t> place_of(const void* address) noexcept {
  const uint32_t count = slab_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const Slab& slab = *slabs[i].load(std::memory_order_relaxed);
    const auto offset = static_cast<size_t>(static_cast<const std::byte*>(address) - slab.base);
    if (offset < signal_pool::kSlabBytes) return static_cast<uint32_t>(i * kPlacesPerSlab + offset / kPage);
  }
  return std::nullopt;
}

Slab& slab_of(uint32_t place) noexcept {
  return *slabs[place / kPlacesPerSlab].load(std::memory_order_relaxed);
}

std::byte* address_of(uint32_t place) noexcept {
  return slab_of(place).base + place % kPlacesPerSlab * kPage;
}

std::atomic<Signal*>& half_of(uint32_t place) noexcept {
  return slab_of(place).halves[place % kPlacesPerSlab];
}

Place& books_of(uint32_t place) noexcept RIGEL_REQUIRES(books.mutex) {
  return slab_of(place).places[place % kPlacesPerSlab];
}

void give_back(uint32_t place) noexcept RIGEL_REQUIRES(books.mutex) {
  (books.free_count == 0 ? books.first_free : books_of(books.last_free).next_free) = place;
  books.last_free = place;
  ++books.free_count;
}

bool add_slab() noexcept RIGEL_REQUIRES(books.mutex) {
  const uint32_t count = slab_count.load(std::memory_order_relaxed);
  if (count == kMaxSlabs) return false;
  std::unique_ptr<Slab> slab(new (std::nothrow) Slab);
  if (slab == nullptr) return false;
  slab->base = static_cast<std::byte*>(signal_pool::take_slab());
  if (slab->base == nullptr) return false;
  slabs[count].store(slab.release(), std::memory_order_relaxed);
  slab_count.store(count + 1, std::memory_order_release);
  for (uint32_t i = 0; i < kPlacesPerSlab; ++i) give_back(count * kPlacesPerSlab + i);
  return true;
}

std::optional<uint32_t> take_place() noexcept RIGEL_REQUIRES(books.mutex) {
  // Devices may not see the slabs of an earlier allocator.
  if (const uint32_t epoch = signal_pool::allocator_epoch(); epoch != books.epoch) {
    books.free_count = 0;
    books.epoch = epoch;
  }
  // Half of a slab stays empty, so that a place is not used again at once.
  if (books.free_count <= kPlacesPerSlab / 2 && !add_slab() && books.free_count == 0) return std::nullopt;
  const uint32_t place = books.first_free;
  if (half_of(place).load(std::memory_order_relaxed) == nullptr) {
    Signal* const half = signal_pool::create(0, kSignalSilent);
    if (half == nullptr) return std::nullopt;
    half_of(place).store(half, std::memory_order_release);
  }
  books.first_free = books_of(place).next_free;
  --books.free_count;
  return place;
}

// Puts the page of a descriptor, which is the place's from here on, at a place. Null if it does not go.
SharedPage* put(uint32_t place, int descriptor) noexcept RIGEL_REQUIRES(books.mutex) {
  void* const page =
      mmap(address_of(place), kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (page == MAP_FAILED) {
    give_back(place);
    return nullptr;
  }
  books_of(place).descriptor = descriptor;
  return static_cast<SharedPage*>(page);
}

void clear(uint32_t place) noexcept RIGEL_REQUIRES(books.mutex) {
  // Who comes late, or wakes, may look at the signal meanwhile: there is a page throughout. ThreadSanitizer would take mmap() for a
  // write of that page, but does not see the system call. If there is no memory for the mapping that is split, the page stays and
  // is nobody's.
  constexpr long kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (syscall(SYS_mmap, address_of(place), kPage, kProtection, kFlags, -1L, 0L) != -1) give_back(place);
  Place& entry = books_of(place);
  close(entry.descriptor);
  entry.descriptor = -1;
  if (entry.ticket && books.server != nullptr) books.server->withdraw(*entry.ticket);
  entry.ticket.reset();
}

Failure no_memory(const char* what) {
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "IPC signals: {}: {}", what, std::strerror(errno));
}

}  // namespace

bool is_shared(const Signal& signal) noexcept {
  // Every signal that ends is asked: what place_of returns goes through memory in pieces, which takes longer
  // than all else here.
  if (slab_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return false;
  return place_of(&signal).has_value();
}

Signal& local_half(Signal& signal) noexcept {
  if (slab_count.load(std::memory_order_relaxed) == 0) [[likely]]
    return signal;
  const auto place = place_of(&signal);
  if (!place) return signal;
  Signal* const half = half_of(*place).load(std::memory_order_acquire);
  return half == nullptr ? signal : *half;
}

ChangeBell* bell_of(Signal& signal) noexcept {
  if (slab_count.load(std::memory_order_relaxed) == 0 || !place_of(&signal)) [[likely]]
    return nullptr;
  return &reinterpret_cast<SharedPage*>(&signal)->bell;
}

namespace {

// By which backends tell a signal from another that lay in its place before (amd_hsa_signal.h). Signals of several processes come to
// lie in one place, so each process counts from somewhere else.
uint32_t next_life() noexcept {
  static constinit std::atomic<uint32_t> lives{0};
  const auto of_process = static_cast<uint32_t>(static_cast<uint64_t>(getpid()) * 0x9e3779b97f4a7c15 >> 32);
  return lives.fetch_add(1, std::memory_order_relaxed) + of_process;
}

}  // namespace

Signal* create(int64_t initial_value, uint32_t attributes) noexcept {
  const int descriptor = memfd_create("hsa-signal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0 || without_file_signals([&] { return ftruncate(descriptor, kPage); }) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, kSeals) != 0) {
    static_cast<void>(no_memory("the memory file cannot be created"));
    if (descriptor >= 0) close(descriptor);
    return nullptr;
  }
  const MutexLock lock(books.mutex);
  const auto place = take_place();
  SharedPage* const page = place ? put(*place, descriptor) : nullptr;
  if (page == nullptr) {
    static_cast<void>(no_memory("the memory cannot be mapped"));
    close(descriptor);
    return nullptr;
  }
  // New memory: all else is zero.
  Signal& signal = page->signal;
  std::atomic_ref(const_cast<int64_t&>(signal.abi.value)).store(initial_value, std::memory_order_relaxed);
  signal.attributes.store(attributes | kSignalIpc | kSignalSilent, std::memory_order_relaxed);
  signal.attention.store(Signal::kFence, std::memory_order_relaxed);
  signal.abi.reserved3[0] = next_life();
  std::atomic_ref(signal.abi.kind).store(AMD_SIGNAL_KIND_USER, std::memory_order_relaxed);
  page->magic = SharedPage::kMagic;
  signal.generation.store(1, std::memory_order_release);
  return &signal;
}

bool destroy(Signal& signal) noexcept {
  const auto place = place_of(&signal);
  if (!place) return false;
  const MutexLock lock(books.mutex);
  if (books_of(*place).descriptor < 0) return false;
  Signal& half = local_half(signal);
  // Handlers whose condition holds are told of the last value.
  std::atomic_ref(const_cast<int64_t&>(half.abi.value)).store(signal.load<std::memory_order_acquire>());
  clear(*place);
  release_waiters(half);
  return true;
}

void use_server(DescriptorServer* server) noexcept {
  const MutexLock lock(books.mutex);
  books.server = server;
}

Result<hsa_amd_ipc_signal_t> name_of(Signal& signal) {
  const auto place = place_of(&signal);
  const MutexLock lock(books.mutex);
  if (!place || books_of(*place).descriptor < 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "signal {:#x}: not created with HSA_AMD_SIGNAL_IPC",
                signal.handle().handle);
  }
  if (books.server == nullptr) return error(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  Place& entry = books_of(*place);
  if (!entry.ticket || !books.server->offers(*entry.ticket)) {
    const int copy = fcntl(entry.descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return no_memory("the file descriptor cannot be duplicated");
    const auto ticket = books.server->offer(copy, {});
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
  const auto refuse = [&](Status status) {
    close(descriptor);
    return error(status);
  };
  struct stat about {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &about) != 0 ||
      about.st_size != static_cast<off_t>(kPage)) {
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  uint64_t magic = 0;
  if (pread(descriptor, &magic, sizeof magic, offsetof(SharedPage, magic)) != sizeof magic ||
      magic != SharedPage::kMagic) {
    return refuse(HSA_STATUS_ERROR_INVALID_ARGUMENT);
  }
  const MutexLock lock(books.mutex);
  const auto place = take_place();
  SharedPage* const page = place ? put(*place, descriptor) : nullptr;
  if (page == nullptr) return refuse(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
  return &page->signal;
}

// Unchecked: the locks are held from one function to the other.

void before_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  books.mutex.lock();
  if (books.server != nullptr) books.server->before_fork();
}

void after_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  if (books.server != nullptr) books.server->after_fork();
  books.mutex.unlock();
}

void reset_after_fork() noexcept RIGEL_UNCHECKED_LOCKS {
  // The pages stay where they are; the descriptors are the child's to close.
  for (uint32_t i = 0; i < slab_count.load(std::memory_order_relaxed) * kPlacesPerSlab; ++i) {
    if (books_of(i).descriptor >= 0) close(books_of(i).descriptor);
    books_of(i) = {};
  }
  books.free_count = 0;
  if (books.server == nullptr) return;
  books.server->reset_after_fork();
  books.server->after_fork();
  books.server = nullptr;
}

}  // namespace rigel::shared_signals
