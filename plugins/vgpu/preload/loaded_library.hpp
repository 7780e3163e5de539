// The functions that a library of this process exports, read from its tables: for what dlsym() cannot be asked, since it
// is the function asked for.
//
// Threads: any; nothing is allocated and no lock is held on return. Lifetime: until the library is closed.
#pragma once

#include <link.h>

namespace rigel::vgpu {

class LoadedLibrary {
 public:
  /// The one whose code or data `address` is in.
  static LoadedLibrary of(const void* address) noexcept;
  /// The first behind this one that exports `name`, in the order in which the dynamic linker looks.
  LoadedLibrary next_with(const char* name) const noexcept;

  /// The function or object that the library exports by this name, in its default version; null: it exports none.
  void* find(const char* name) const noexcept;

  explicit operator bool() const noexcept { return map_ != nullptr; }
  bool operator==(const LoadedLibrary&) const = default;

 private:
  explicit LoadedLibrary(const link_map* map) noexcept : map_(map) {}
  const link_map* map_;
};

}  // namespace rigel::vgpu
