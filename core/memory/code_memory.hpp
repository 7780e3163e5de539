// Memory for code of the host's own instruction set: written first, executed afterwards, never both at once.
//
// Its pages are its own, not a pool's, so that changing their protection concerns nobody else. Owned by
// whoever holds the object, who also orders what threads do with it: code may run when `seal` has returned
// and the thread that runs it has synchronised with the one that sealed.
#pragma once

#include <cstddef>
#include <utility>

#include "core/base/status.hpp"

namespace rigel {

class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  CodeMemory& operator=(CodeMemory&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CodeMemory();

  /// Zeroed, page-aligned memory that can be read and written. INVALID_ARGUMENT for no bytes,
  /// OUT_OF_RESOURCES.
  static Result<CodeMemory> allocate(size_t size);

  /// Makes all of it readable and executable, no longer writable, and visible to instruction fetch.
  /// OUT_OF_RESOURCES if the system does not allow that.
  Status seal() noexcept;
  /// Back to readable and writable. Nothing may be running in it.
  Status unseal() noexcept;

  std::byte* data() const noexcept { return address_; }
  /// In bytes, a multiple of the page size.
  size_t size() const noexcept { return size_; }

 private:
  Status protect(int protection) noexcept;

  std::byte* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rigel
