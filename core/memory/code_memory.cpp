#include "core/memory/code_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rigel {

CodeMemory::~CodeMemory() {
  if (address_ != nullptr) munmap(address_, size_);
}

Result<CodeMemory> CodeMemory::allocate(size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = (size + page - 1) / page * page;
  if (size == 0) return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "code memory of no bytes");
  void* address = bytes < size
                      ? MAP_FAILED
                      : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "{} bytes of code memory: {}", size, std::strerror(errno));
  }
  CodeMemory memory;
  memory.address_ = static_cast<std::byte*>(address);
  memory.size_ = bytes;
  return memory;
}

Status CodeMemory::protect(int protection) noexcept {
  if (mprotect(address_, size_, protection) == 0) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "protecting {} bytes of code: {}", size_,
              std::strerror(errno));
}

Status CodeMemory::seal() noexcept {
  const Status status = protect(PROT_READ | PROT_EXEC);
  // Nothing to do on x86; elsewhere instruction caches do not see stores by themselves.
  if (status == HSA_STATUS_SUCCESS) {
    __builtin___clear_cache(reinterpret_cast<char*>(address_), reinterpret_cast<char*>(address_ + size_));
  }
  return status;
}

Status CodeMemory::unseal() noexcept {
  return protect(PROT_READ | PROT_WRITE);
}

}  // namespace rigel
