// Memory that can be mapped on GPUs: a buffer of VRAM or GTT, a doorbell or MMIO page, or the program's
// memory.
//
// Everything except the program's memory is a separate memfd, mapped once for the device. The program's
// mappings, exports to other processes and the device share it. The kernel frees it with the last reference,
// also after kill -9. The file's name describes the buffer to an importing process.
//
// Threads: immutable after creation. Ownership: shared; the object owns the device's mapping and the
// descriptor.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugins/vgpu/cp/internal_fd.hpp"

namespace rigel::vgpu {

class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* address, uint64_t bytes) noexcept : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  static ErrnoOr<Mapping> of_file(int fd, uint64_t bytes, uint64_t offset = 0) noexcept;

  std::byte* get() const noexcept { return address_; }
  uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  uint64_t bytes_ = 0;
};

class MemoryObject {
 public:
  enum class Kind : uint8_t { kVram, kGtt, kUserptr, kDoorbell, kMmio };

  /// In addition to the KFD_MEM_ bits: created by GEM_CREATE with NO_CPU_ACCESS, so programs cannot map it.
  /// Buffers of amdkfd can be mapped, also local memory that is not public (since Linux 5.13): on access the
  /// kernel moves the page into the visible part of VRAM.
  static constexpr uint32_t kNoHostAccess = 1u << 5;

  /// The description of a buffer that an importing process reads.
  struct Description {
    uint64_t bytes = 0;
    uint32_t flags = 0;      ///< KFD_MEM_
    uint32_t gpu_index = 0;  ///< Valid only between processes with the same boards.
    uint64_t nonce = 0;      ///< Distinguishes files after a descriptor number was reused.
    uint32_t gpu_id = 0;
  };

  /// Zeroed memory of the device.
  static ErrnoOr<std::shared_ptr<MemoryObject>> allocate(Kind kind, uint64_t bytes, uint32_t flags,
                                                         uint32_t gpu_index, uint32_t gpu_id);
  /// The program's memory at `address`. The caller has checked that all `bytes` are mapped.
  static std::shared_ptr<MemoryObject> of_program(std::byte* address, uint64_t bytes, uint32_t flags,
                                                  uint32_t gpu_index, uint32_t gpu_id);
  /// Imports a buffer that this or another process has exported. EINVAL: `fd` is not a buffer.
  static ErrnoOr<std::shared_ptr<MemoryObject>> import(int fd);
  /// Opens descriptor `fd` of process `pid` if it is a buffer whose nonce ends in `nonce`. Never blocks.
  /// EINVAL: it is not; nothing is opened.
  static ErrnoOr<InternalFd> open_of_process(uint32_t pid, uint32_t fd, uint32_t nonce);
  static ErrnoOr<Description> describe(int fd);

  Kind kind() const { return kind_; }
  uint64_t bytes() const { return description_.bytes; }
  uint32_t flags() const { return description_.flags; }
  uint32_t gpu_index() const { return description_.gpu_index; }
  uint32_t gpu_id() const { return description_.gpu_id; }
  uint64_t nonce() const { return description_.nonce; }
  /// The file, or -1 for the program's own memory.
  int fd() const { return fd_.get(); }
  /// The address in the device's mapping.
  std::byte* host() const { return host_; }
  bool imported() const { return imported_; }
  /// The inode of the file: equal for all objects of one buffer within a process.
  ino_t inode() const { return inode_; }

  explicit MemoryObject(Kind kind) : kind_(kind) {}

 private:
  Kind kind_;
  bool imported_ = false;
  Description description_;
  InternalFd fd_;
  Mapping mapping_;
  std::byte* host_ = nullptr;
  ino_t inode_ = 0;
};

}  // namespace rigel::vgpu
