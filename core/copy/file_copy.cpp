#include "core/copy/file_copy.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

namespace rigel {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

}  // namespace

bool FileCopies::is_allocated(const void* pointer, uint64_t size) const {
  const Placement placement = memory_.locate(pointer, size);
  return placement.type != HSA_EXT_POINTER_TYPE_UNKNOWN &&
         placement.type != HSA_EXT_POINTER_TYPE_RESERVED_ADDR && placement.has(pointer, size);
}

/// Calls `move` for one piece after the other until everything is moved, the file ends, or it fails. `move`
/// transfers bytes between the buffer and the file at an offset, as the system calls do, and copies them to
/// or from memory.
template <class Move>
Status FileCopies::in_pieces(const char* name, hsa_amd_ais_file_handle_t file, void* memory, uint64_t size,
                             int64_t offset, uint64_t* copied, int32_t* problem, Move&& move) {
  if (copied != nullptr) *copied = 0;
  if (problem != nullptr) *problem = 0;
  if (file.fd < 0 || memory == nullptr || size == 0 || offset < 0 ||
      size > static_cast<uint64_t>(INT64_MAX) - static_cast<uint64_t>(offset))
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (!is_allocated(memory, size))
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "{}: {} bytes at {} are not within one allocation", name,
                size, memory);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(std::min(size, kPieceBytes));
  uint64_t done = 0;
  while (done < size) {
    const uint64_t piece = std::min(size - done, kPieceBytes);
    ssize_t moved = 0;
    const Status status = move(buffer.get(), static_cast<std::byte*>(memory) + done, piece,
                               static_cast<off_t>(offset + static_cast<int64_t>(done)), moved);
    if (status != HSA_STATUS_SUCCESS) return status;
    if (moved < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      if (problem != nullptr) *problem = error;
      const auto why = error == EBADF ? HSA_STATUS_ERROR_INVALID_ARGUMENT : HSA_STATUS_ERROR;
      return fail(why, "{}: file descriptor {}: {}", name, file.fd, std::strerror(error));
    }
    if (moved == 0) break;
    done += static_cast<uint64_t>(moved);
    if (copied != nullptr) *copied = done;
  }
  return HSA_STATUS_SUCCESS;
}

Status FileCopies::write(hsa_amd_ais_file_handle_t file, void* memory, uint64_t size, int64_t offset,
                         uint64_t* copied, int32_t* problem) {
  return in_pieces("hsa_amd_ais_file_write", file, memory, size, offset, copied, problem,
                   [&](std::byte* buffer, std::byte* from, uint64_t bytes, off_t at, ssize_t& moved) {
                     const Status status = copies_.memory_copy(buffer, from, bytes);
                     if (status == HSA_STATUS_SUCCESS) moved = ::pwrite(file.fd, buffer, bytes, at);
                     return status;
                   });
}

Status FileCopies::read(hsa_amd_ais_file_handle_t file, void* memory, uint64_t size, int64_t offset,
                        uint64_t* copied, int32_t* problem) {
  return in_pieces("hsa_amd_ais_file_read", file, memory, size, offset, copied, problem,
                   [&](std::byte* buffer, std::byte* to, uint64_t bytes, off_t at, ssize_t& moved) {
                     moved = ::pread(file.fd, buffer, bytes, at);
                     return moved > 0 ? copies_.memory_copy(to, buffer, static_cast<size_t>(moved))
                                      : HSA_STATUS_SUCCESS;
                   });
}

}  // namespace rigel
