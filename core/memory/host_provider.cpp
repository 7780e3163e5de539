#include "core/memory/host_provider.hpp"

#include <fcntl.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "api/support/file_signals.hpp"
#include "api/support/log.hpp"
#include "api/support/undo.hpp"

namespace rigel {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

void* map_pages(void* hint, size_t size, int protection) {
  void* address = mmap(hint, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

bool is_aligned(const void* address, size_t alignment) {
  return (reinterpret_cast<uintptr_t>(address) & (alignment - 1)) == 0;
}

/// The kernel places mappings downwards and adjacent, so the addresses below the last block are usually free
/// and aligned; requesting them avoids mapping too much and trimming. Hints of other threads are equally
/// good.
constinit std::atomic<uintptr_t> next_hint{0};

void* map_aligned(size_t size, size_t alignment, int protection) {
  const uintptr_t hint = next_hint.load(std::memory_order_relaxed);
  if (hint > size) {
    const uintptr_t wanted = (hint - size) & ~(alignment - 1);
    void* address = map_pages(reinterpret_cast<void*>(wanted), size, protection);
    if (address == nullptr) return nullptr;
    if (is_aligned(address, alignment)) {
      next_hint.store(reinterpret_cast<uintptr_t>(address), std::memory_order_relaxed);
      return address;
    }
    munmap(address, size);
  }

  const size_t padded = size + alignment;
  if (padded < size) return nullptr;
  auto* raw = static_cast<unsigned char*>(map_pages(nullptr, padded, protection));
  if (raw == nullptr) return nullptr;
  const size_t before = (alignment - reinterpret_cast<uintptr_t>(raw) % alignment) % alignment;
  const size_t after = padded - before - size;
  if (before != 0) munmap(raw, before);
  if (after != 0) munmap(raw + before + size, after);
  next_hint.store(reinterpret_cast<uintptr_t>(raw + before), std::memory_order_relaxed);
  return raw + before;
}

void prefer_node(void* address, size_t size, int node) {
  constexpr int kPreferred = 1;  // MPOL_PREFERRED
  constexpr size_t kMaxNodes = 1024;
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  if (node < 0 || static_cast<size_t>(node) >= kMaxNodes) return;
  unsigned long mask[kMaxNodes / kBits] = {};
  mask[static_cast<size_t>(node) / kBits] = 1ul << static_cast<size_t>(node) % kBits;
  if (syscall(SYS_mbind, address, size, kPreferred, mask, kMaxNodes, 0) == 0) return;
  // Containers may forbid it. Memory from another node is slower, but correct.
  log_message(LogLevel::kInfo, LogTopic::kMemory, "NUMA node {}: memory cannot be bound to it: {}", node,
              std::strerror(errno));
}

// Prevents shrinking the file under a mapping, which would cause a bus error at the next access.
constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

class MemoryFile final : public PhysicalMemory {
 public:
  MemoryFile(int descriptor, int numa_node) : descriptor_(descriptor), numa_node_(numa_node) {}
  ~MemoryFile() override { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  Status map(void* address, size_t size) override {
    if (mmap(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, descriptor_, 0) == MAP_FAILED) {
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "mmap: {} bytes at {} failed: {}", size, address,
                  std::strerror(errno));
    }
    prefer_node(address, size, numa_node_);
    return HSA_STATUS_SUCCESS;
  }

  // The caller maps a reservation over it, which replaces this mapping without a gap.
  void unmap(void*, size_t) noexcept override {}

  Status set_access(void* address, size_t size, const MappingAccess& access) override {
    const int protection = (access.host_reads ? PROT_READ : 0) | (access.host_writes ? PROT_WRITE : 0);
    if (mprotect(address, size, protection) == 0) return HSA_STATUS_SUCCESS;
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "mprotect: {} bytes at {} failed: {}", size, address,
                std::strerror(errno));
  }

  Result<int> export_descriptor() override {
    const int descriptor = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (descriptor >= 0) return descriptor;
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "host memory: its file descriptor cannot be duplicated: {}", std::strerror(errno));
  }

 private:
  const int descriptor_;
  const int numa_node_;
};

}  // namespace

Result<std::unique_ptr<PhysicalMemory>> HostProvider::create_physical(size_t size, uint32_t) {
  const int descriptor = memfd_create("hsa-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "memfd_create: failed: {}", std::strerror(errno));
  Undo close_it([&] { close(descriptor); });
  auto memory = std::make_unique<MemoryFile>(descriptor, numa_node_);
  close_it.cancel();
  if (without_file_signals([&] { return ftruncate(descriptor, static_cast<off_t>(size)); }) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, kFixedSize) != 0) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "memfd: cannot be resized to {} bytes: {}", size,
                std::strerror(errno));
  }
  return Result<std::unique_ptr<PhysicalMemory>>(std::move(memory));
}

Result<MemoryProvider::Imported> HostProvider::import_physical(int descriptor) {
  const int seals = fcntl(descriptor, F_GET_SEALS);
  struct stat about {};
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || fstat(descriptor, &about) != 0 || about.st_size <= 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "file descriptor {}: not a memory file of fixed size",
                descriptor);
  }
  const int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copy < 0)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "host memory: its file descriptor cannot be duplicated: {}", std::strerror(errno));
  Undo close_it([&] { close(copy); });
  Imported imported;
  imported.memory = std::make_unique<MemoryFile>(copy, numa_node_);
  close_it.cancel();
  imported.size = static_cast<size_t>(about.st_size);
  return imported;
}

void* HostProvider::place(size_t size, size_t alignment, int protection) const {
  if (reserve_ == nullptr) return map_aligned(size, alignment, protection);
  void* const address = reserve_(context_, size, alignment);
  if (address == nullptr || mprotect(address, size, protection) == 0) return address;
  munmap(address, size);
  return nullptr;
}

Result<Backing> HostProvider::map(const BlockRequest& request) {
  const bool executable = (request.flags & HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG) != 0;
  const int protection = PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0);
  void* address = place(request.size, request.alignment, protection);
  if (address == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "host memory: {} bytes cannot be allocated: {}",
                request.size, std::strerror(errno));
  }
  prefer_node(address, request.size, numa_node_);
  // Only whole large pages: the tail of a block that is not a multiple should not use one.
  if (request.one_object && request.size >= kHugePage) {
    madvise(address, request.size & ~(kHugePage - 1), MADV_HUGEPAGE);
  }
  return Backing{.address = address, .size = request.size, .cookie = 0};
}

void HostProvider::unmap(const Backing& backing) noexcept {
  if (munmap(backing.address, backing.size) == 0) return;
  // Removing a part of a mapping adds a mapping, and the process may have reached its limit: keeps the
  // addresses then, but not the memory.
  log_message(LogLevel::kWarn, LogTopic::kMemory, "host memory: {} bytes cannot be unmapped: {}",
              backing.size, std::strerror(errno));
  madvise(backing.address, backing.size, MADV_DONTNEED);
}

Status HostProvider::set_access(const Backing&, const AgentSet&) {
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
