// The functions that a library of this process exports, read from its tables: for what dlsym() cannot be asked, since it
// is the function asked for.
//
// Threads: any; nothing is allocated and no lock is held on return. Lifetime: until the library is closed.
#pragma once

#include <link.h>

#include <cstdint>

namespace rigel::vgpu {

class LoadedLibrary {
 public:
  /// The one whose code or data `address` is in.
  static LoadedLibrary of(const void* address) noexcept;
  /// The first behind this one that exports `name`, in the order in which the dynamic linker looks.
  LoadedLibrary next_with(const char* name) const noexcept;

  /// The function or object that the library exports by this name, in its default version; null: it exports none.
  void* find(const char* name) const noexcept;

  LoadedLibrary() = default;  ///< None.
  explicit operator bool() const noexcept { return segments_ != nullptr; }
  bool operator==(const LoadedLibrary&) const = default;

 private:
  explicit LoadedLibrary(const dl_phdr_info& info) noexcept;
  bool holds(uint64_t address) const noexcept;

  uint64_t base_ = 0;
  const ElfW(Phdr) * segments_ = nullptr;
  uint16_t segment_count_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
};

}  // namespace rigel::vgpu
