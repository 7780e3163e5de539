#include "core/memory/host_provider.hpp"

#include <hsa/hsa_ext_amd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/base/log.hpp"

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

/// The kernel places mappings downwards and side by side, so below the last block is usually a free, aligned
/// place; asking for it saves mapping too much and trimming. A hint of other threads is as good as ours.
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
  // Containers may forbid it. Memory from another node is slower, not wrong.
  log_message(LogLevel::kInfo, LogTopic::kMemory, "memory could not be bound to NUMA node {}: {}", node,
              std::strerror(errno));
}

}  // namespace

Result<Backing> HostProvider::map(const BlockRequest& request) {
  const bool executable = (request.flags & HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG) != 0;
  const int protection = PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0);
  void* address = map_aligned(request.size, request.alignment, protection);
  if (address == nullptr) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "{} bytes of host memory: {}", request.size,
                std::strerror(errno));
  }
  prefer_node(address, request.size, numa_node_);
  // Only whole large pages: the tail of a block that is not a multiple should not cost one.
  if (request.one_object && request.size >= kHugePage) {
    madvise(address, request.size & ~(kHugePage - 1), MADV_HUGEPAGE);
  }
  return Backing{.address = address, .size = request.size, .cookie = 0};
}

void HostProvider::unmap(const Backing& backing) noexcept {
  if (munmap(backing.address, backing.size) == 0) return;
  // Taking a piece out of a mapping needs one mapping more, and the process may have no more: keep the
  // addresses then, but not the memory.
  log_message(LogLevel::kWarn, LogTopic::kMemory, "{} bytes of host memory stay mapped: {}", backing.size,
              std::strerror(errno));
  madvise(backing.address, backing.size, MADV_DONTNEED);
}

Status HostProvider::set_access(const Backing&, const AgentSet&) {
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
