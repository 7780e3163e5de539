// Finds the exported functions of a library in this process by its ELF tables. The hook of dlsym() uses it,
// because a hook cannot find its original function by calling itself.
//
// Threads: any thread; allocates no memory. Lifetime: valid until the library is closed.
#pragma once

#include <link.h>

#include <cstdint>

namespace rigel::vgpu {

class LoadedLibrary {
 public:
  /// Returns the library whose code or data contains `address`, or no library.
  static LoadedLibrary of(const void* address) noexcept;
  /// Returns the first library after this one, in the dynamic linker's search order, that exports `name`, or
  /// no library.
  LoadedLibrary next_with(const char* name) const noexcept;

  /// Returns the address of the exported function or object `name`, in its default version. Null: none.
  void* find(const char* name) const noexcept;

  LoadedLibrary() = default;  ///< No library.
  explicit operator bool() const noexcept { return segments_ != nullptr; }
  bool operator==(const LoadedLibrary&) const = default;

 private:
  explicit LoadedLibrary(const dl_phdr_info& info) noexcept;
  bool contains(uint64_t address) const noexcept;

  uint64_t base_ = 0;
  const ElfW(Phdr) * segments_ = nullptr;
  uint16_t segment_count_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
};

}  // namespace rigel::vgpu
