// Copies between files and memory of agents, through the host.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>

#include "api/entry/functions.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

// Whether all of it lies in one allocation.
bool is_allocated(const void* pointer, uint64_t size) {
  hsa_amd_pointer_info_t about{};
  about.size = sizeof about;
  if (Runtime::current().memory().pointer_info(pointer, &about, nullptr, nullptr, nullptr) !=
      HSA_STATUS_SUCCESS)
    return false;
  if (about.type == HSA_EXT_POINTER_TYPE_UNKNOWN || about.type == HSA_EXT_POINTER_TYPE_RESERVED_ADDR)
    return false;
  // Locked memory has two addresses.
  const auto at = reinterpret_cast<uint64_t>(pointer);
  const auto lies_at = [&](const void* base) {
    const auto start = reinterpret_cast<uint64_t>(base);
    return base != nullptr && at >= start && at - start <= about.sizeInBytes &&
           size <= about.sizeInBytes - (at - start);
  };
  return lies_at(about.agentBaseAddress) || lies_at(about.hostBaseAddress);
}

/// Moves pieces until all are moved, the file ends, or `move` fails: it moves that many bytes between the buffer and the
/// file at that offset as the system's calls do, and has copied or copies those to or from memory.
template <class Move>
hsa_status_t in_pieces(const char* name, hsa_amd_ais_file_handle_t file, void* memory, uint64_t size,
                       int64_t offset, uint64_t* size_copied, int32_t* problem, Move&& move) {
  if (size_copied != nullptr) *size_copied = 0;
  if (problem != nullptr) *problem = 0;
  if (file.fd < 0 || memory == nullptr || size == 0 || offset < 0 ||
      size > static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(offset))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!is_allocated(memory, size))
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "{}: {} bytes at {} are in no allocation", name, size,
                memory);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(std::min(size, kPieceBytes));
  uint64_t done = 0;
  while (done < size) {
    const uint64_t piece = std::min(size - done, kPieceBytes);
    ssize_t moved = 0;
    const hsa_status_t status = move(buffer.get(), static_cast<std::byte*>(memory) + done, piece,
                                     static_cast<off_t>(offset + static_cast<int64_t>(done)), moved);
    if (status != HSA_STATUS_SUCCESS) return status;
    if (moved < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      if (problem != nullptr) *problem = error;
      const auto why = error == EBADF ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR;
      return fail(why, "{}: descriptor {}: error {}", name, file.fd, error);
    }
    if (moved == 0) break;
    done += static_cast<uint64_t>(moved);
    if (size_copied != nullptr) *size_copied = done;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

hsa_status_t hsa_amd_ais_file_write(hsa_amd_ais_file_handle_t handle, void* devicePtr, uint64_t size,
                                    int64_t file_offset, uint64_t* size_copied, int32_t* status) {
  return in_pieces("hsa_amd_ais_file_write", handle, devicePtr, size, file_offset, size_copied, status,
                   [&](std::byte* buffer, std::byte* memory, uint64_t bytes, off_t offset, ssize_t& moved) {
                     const hsa_status_t copied = api::hsa_memory_copy(buffer, memory, bytes);
                     if (copied == HSA_STATUS_SUCCESS) moved = ::pwrite(handle.fd, buffer, bytes, offset);
                     return copied;
                   });
}

hsa_status_t hsa_amd_ais_file_read(hsa_amd_ais_file_handle_t handle, void* devicePtr, uint64_t size,
                                   int64_t file_offset, uint64_t* size_copied, int32_t* status) {
  return in_pieces("hsa_amd_ais_file_read", handle, devicePtr, size, file_offset, size_copied, status,
                   [&](std::byte* buffer, std::byte* memory, uint64_t bytes, off_t offset, ssize_t& moved) {
                     moved = ::pread(handle.fd, buffer, bytes, offset);
                     return moved > 0 ? api::hsa_memory_copy(memory, buffer, static_cast<size_t>(moved))
                                      : HSA_STATUS_SUCCESS;
                   });
}

}  // namespace rigel::api
