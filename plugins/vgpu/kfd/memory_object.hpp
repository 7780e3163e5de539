// Memory that GPUs can be given: a buffer of VRAM or GTT, a doorbell or MMIO page, or memory of the program
// itself.
//
// Everything but the program's own memory is a memfd of its own, mapped once for the device: the program's
// mappings, exports to other processes and the device share it, and when the last of them goes, a kill -9
// included, it is gone. The name of its file says what it is to the process that imports it.
//
// Threads: immutable after creation, except where said. Ownership: shared; the device's mapping and the
// descriptor go with the object.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plugins/vgpu/cp/internal_fd.hpp"

namespace rigel::vgpu {

/// A mapping that goes with the object.
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

  /// Beside the KFD_MEM_ bits of a buffer: made by GEM_CREATE with NO_CPU_ACCESS, so that programs cannot map
  /// it. amdkfd's own buffers can be, local memory that is not public too (since Linux 5.13): the kernel
  /// brings what a program touches to where the BAR shows it.
  static constexpr uint32_t kNoHostAccess = 1u << 5;

  /// What a descriptor says of itself to the process that imports it.
  struct Description {
    uint64_t bytes = 0;
    uint32_t flags = 0;      ///< KFD_MEM_
    uint32_t gpu_index = 0;  ///< Of the machine; only meaningful between processes with the same boards.
    uint64_t nonce = 0;      ///< Tells files apart when a descriptor number has been reused.
    uint32_t gpu_id = 0;
  };

  /// Zeroed memory of the device.
  static ErrnoOr<std::shared_ptr<MemoryObject>> allocate(Kind kind, uint64_t bytes, uint32_t flags,
                                                         uint32_t gpu_index, uint32_t gpu_id);
  /// The program's memory at `address`: `bytes` of it, which the caller has checked to be there.
  static std::shared_ptr<MemoryObject> of_program(std::byte* address, uint64_t bytes, uint32_t flags,
                                                  uint32_t gpu_index, uint32_t gpu_id);
  /// What another object, perhaps of another process, exported. EINVAL: not such a descriptor.
  static ErrnoOr<std::shared_ptr<MemoryObject>> import(int fd);
  /// Opens the file that descriptor `fd` of process `pid` stands for, if it is a buffer whose nonce ends so;
  /// never blocks, and opens nothing else. EINVAL: it is not.
  static ErrnoOr<InternalFd> open_of_process(uint32_t pid, uint32_t fd, uint32_t nonce);
  /// Reads what a descriptor says of itself, without importing it.
  static ErrnoOr<Description> describe(int fd);

  Kind kind() const { return kind_; }
  uint64_t bytes() const { return description_.bytes; }
  uint32_t flags() const { return description_.flags; }
  uint32_t gpu_index() const { return description_.gpu_index; }
  uint32_t gpu_id() const { return description_.gpu_id; }
  uint64_t nonce() const { return description_.nonce; }
  /// The file, or -1 for the program's own memory.
  int fd() const { return fd_.get(); }
  /// Where the device sees it.
  std::byte* host() const { return host_; }
  bool imported() const { return imported_; }
  /// Which file it is: equal for all objects of one memory within a process.
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
