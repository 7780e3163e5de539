#include "plugins/vgpu/kfd/nearby.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>

#include <fmt/core.h>

#include "api/support/page_size.hpp"
#include "hsa/hsa_ext_amd.h"

namespace rigel::vgpu {
namespace {

constexpr uint64_t kMaxDistance = uint64_t{64} << 30;
constexpr int kMaxRuntimeCalls = 4096;  // limit of calls to the runtime

// Formats as 1,234,567.
std::string with_separators(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string size_text(uint64_t number) {
  return number == 1 ? "1 byte" : with_separators(number) + " bytes";
}

// Returns "4 bytes past ", or "directly past ".
std::string distance(uint64_t number, std::string_view relation) {
  return number == 0 ? fmt::format("directly {} ", relation)
                     : fmt::format("{} {} ", size_text(number), relation);
}

struct Allocation {
  uint64_t va = 0;
  uint64_t bytes = 0;
  const char* origin = "";
};

std::optional<Allocation> ask_runtime(uint64_t va) {
  using PointerInfo = decltype(&hsa_amd_pointer_info);
  static const auto pointer_info = reinterpret_cast<PointerInfo>(dlsym(RTLD_DEFAULT, "hsa_amd_pointer_info"));
  hsa_amd_pointer_info_t info{};
  info.size = sizeof info;
  if (pointer_info == nullptr || pointer_info(reinterpret_cast<const void*>(va), &info, nullptr, nullptr,
                                              nullptr) != HSA_STATUS_SUCCESS) {
    return std::nullopt;
  }
  const auto base = reinterpret_cast<uint64_t>(info.agentBaseAddress);
  switch (info.type) {
    case HSA_EXT_POINTER_TYPE_HSA:
      return Allocation{base, info.sizeInBytes, "from hipMalloc or hsa_amd_memory_pool_allocate"};
    case HSA_EXT_POINTER_TYPE_LOCKED:
      return Allocation{base, info.sizeInBytes, "from hipHostRegister or hsa_amd_memory_lock"};
    case HSA_EXT_POINTER_TYPE_IPC:
      return Allocation{base, info.sizeInBytes, "from hipIpcOpenMemHandle or hsa_amd_ipc_memory_attach"};
    default:
      return std::nullopt;
  }
}

// Returns the allocation in a buffer that is nearest to an address outside of it, or the whole buffer if the
// runtime knows no allocation.
Allocation nearest_allocation(const NearbyBuffer& buffer, bool from_the_end) {
  const Allocation whole{buffer.va, buffer.bytes, buffer.of_gpu ? "of GPU memory" : "of host memory"};
  if (buffer.freed) return whole;
  const uint64_t pages = buffer.bytes / kPageBytes;
  for (uint64_t i = 0; i < pages && i < kMaxRuntimeCalls; ++i) {
    const uint64_t page = from_the_end ? pages - 1 - i : i;
    if (const auto found = ask_runtime(buffer.va + page * kPageBytes);
        found && found->bytes != 0 && found->va >= buffer.va && found->va < buffer.va + buffer.bytes) {
      return *found;
    }
  }
  return whole;
}

std::string describe_allocation(const Allocation& allocation) {
  return fmt::format("the {} at {:#x} {}", size_text(allocation.bytes), allocation.va, allocation.origin);
}

// Returns the name in /proc/self/maps of the program's readable mapping at `va`.
std::optional<std::string> mapping_at(uint64_t va) {
  // A raw system call, because the preload front end hooks open().
  const auto fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (fd < 0) return std::nullopt;
  std::string text;
  char buffer[4096];
  for (ssize_t bytes_read = 0; (bytes_read = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(bytes_read));
  syscall(SYS_close, fd);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    uint64_t from = 0, to = 0;
    char rights[5] = {};
    int name = 0;
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &from, &to, rights, &name) <
            3 ||
        va < from || va >= to) {
      continue;
    }
    if (rights[0] != 'r') return std::nullopt;
    return name == 0 ? std::string() : line.substr(static_cast<size_t>(name));
  }
  return std::nullopt;
}

}  // namespace

std::string describe_address(uint64_t va, const std::vector<NearbyBuffer>& buffers) {
  const NearbyBuffer* below = nullptr;
  const NearbyBuffer* above = nullptr;
  const NearbyBuffer* freed = nullptr;
  for (const NearbyBuffer& buffer : buffers) {
    const bool inside = va - buffer.va < buffer.bytes;
    if (buffer.freed) {
      if (inside && freed == nullptr) freed = &buffer;
      continue;
    }
    if (inside) {
      const Allocation found = ask_runtime(va).value_or(nearest_allocation(buffer, false));
      return fmt::format("{:#x} is {} into {}{}", va, size_text(va - found.va), describe_allocation(found),
                         buffer.mapped ? "" : ", not accessible by this GPU");
    }
    if (buffer.va <= va && (below == nullptr || buffer.va + buffer.bytes > below->va + below->bytes)) {
      below = &buffer;
    }
    if (buffer.va > va && (above == nullptr || buffer.va < above->va)) above = &buffer;
  }
  if (freed != nullptr) {
    return fmt::format("{:#x} is {} into the freed {} at {:#x}", va, size_text(va - freed->va),
                       size_text(freed->bytes), freed->va);
  }
  if (const auto mapping = mapping_at(va); mapping && !mapping->starts_with("/memfd:")) {
    return fmt::format(
        "{:#x} is host memory{}{} that is not registered; use hipHostRegister or hipHostMalloc", va,
        mapping->empty() ? "" : ": ", *mapping);
  }
  const uint64_t distance_below = below == nullptr ? UINT64_MAX : va - (below->va + below->bytes);
  const uint64_t distance_above = above == nullptr ? UINT64_MAX : above->va - va;
  if (distance_below <= distance_above && distance_below < kMaxDistance) {
    const Allocation found = nearest_allocation(*below, true);
    return fmt::format("{:#x} is {}{}", va, distance(va - (found.va + found.bytes), "past"),
                       describe_allocation(found));
  }
  if (distance_above < kMaxDistance) {
    const Allocation found = nearest_allocation(*above, false);
    return fmt::format("{:#x} is {}{}", va, distance(found.va - va, "before"), describe_allocation(found));
  }
  return fmt::format("{:#x} is not near any memory of the GPU", va);
}

}  // namespace rigel::vgpu
