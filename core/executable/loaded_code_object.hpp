// A code object in memory: the memory, its source, and the attributes of hsa_ven_amd_loader.h.
//
// *Lifetime:* created by Executable::load. Owns its memory on the agent. If the host has no access to that
// memory, also owns the staging copy: tools query the host address of a device address.
// *Threads:* immutable after creation, except for `finish` and `retire`, which the executable calls under its
// lock.
#pragma once

#include <hsa/hsa_ven_amd_loader.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/support/status.hpp"
#include "core/executable/code_object_reader.hpp"
#include "core/executable/code_target.hpp"
#include "core/executable/debug_rendezvous.hpp"
#include "loader/code_object/code_image.hpp"

namespace rigel {

/// Anonymous host memory: zeroed, and resident only after writes.
class StagingMemory {
 public:
  StagingMemory() = default;
  static Result<StagingMemory> allocate(uint64_t size);
  StagingMemory(StagingMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  StagingMemory& operator=(StagingMemory&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~StagingMemory();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

class LoadedCodeObject {
 public:
  /// Allocates memory for `object` on `target`, and builds the relocated image.
  static Result<std::shared_ptr<LoadedCodeObject>> load(hsa_executable_t executable, CodeTarget& target,
                                                        const std::shared_ptr<const CodeObjectReader>& reader,
                                                        const CodeObject& object,
                                                        const SymbolResolver& resolve);
  ~LoadedCodeObject() { retire(); }
  LoadedCodeObject(const LoadedCodeObject&) = delete;
  LoadedCodeObject& operator=(const LoadedCodeObject&) = delete;

  /// Makes the code executable. Calls after a success have no effect.
  Status finish();
  /// Adds it to the debuggers' list.
  void announce() { debug_entry_.add(); }
  /// Reverts both and frees the memory. None of its code may be running.
  void retire() noexcept;

  CodeTarget& target() const { return target_; }
  hsa_executable_t executable() const { return executable_; }
  uint64_t device_address() const { return memory_.device_address; }
  uint64_t size() const { return memory_size_; }
  const CodeIdentity& identity() const { return identity_; }

  /// Returns the agent's address of a link-time address.
  uint64_t device_address_of(uint64_t address) const { return address + static_cast<uint64_t>(load_delta_); }
  /// Returns the host's address of `device_address`, which must be in this object.
  const std::byte* host_address_of(uint64_t device_address) const {
    return contents_.data() + (device_address - memory_.device_address);
  }
  /// Returns `size` relocated bytes at a link-time address that the parser has checked.
  std::span<const std::byte> contents_at(uint64_t address, uint64_t size) const {
    return contents_.subspan(device_address_of(address) - memory_.device_address, size);
  }

  Status get_info(hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) const;
  hsa_ven_amd_loader_segment_descriptor_t describe_segment() const;

  /// Set by the executable.
  uint64_t handle = 0;

 private:
  LoadedCodeObject(hsa_executable_t executable, CodeTarget& target,
                   const std::shared_ptr<const CodeObjectReader>& reader, const CodeObject& object,
                   const CodeMemory& memory);

  /// The bytes that it was loaded from, if they still exist.
  struct Storage {
    hsa_ven_amd_loader_code_object_storage_type_t type;
    std::span<const std::byte> bytes;
  };
  Storage storage() const;

  const hsa_executable_t executable_;
  CodeTarget& target_;
  const CodeIdentity identity_;
  CodeMemory memory_;
  const uint64_t memory_size_;
  StagingMemory staging_;
  std::span<std::byte> contents_;  // in memory_ or in staging_
  const int64_t load_delta_;
  const uint64_t storage_offset_;  // offset of the first segment in the file

  // The copy of a file is freed with its reader: it can be read again, and code objects may have gigabytes.
  std::shared_ptr<const CodeObjectReader> reader_;
  const std::weak_ptr<const CodeObjectReader> reader_while_it_lives_;
  const std::optional<int> file_;

  DebugEntry debug_entry_;
  bool retired_ = false;

  // Data for `finish`, because the code object's bytes may be freed by then. Empty afterwards.
  struct Export {
    std::string name;
    uint64_t device_address;
    uint64_t size;
  };
  std::vector<Export> exports_;
  std::vector<CodeSegment> segments_;
  bool finished_ = false;
};

}  // namespace rigel
