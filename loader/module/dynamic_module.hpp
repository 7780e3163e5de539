// Opens shared libraries: backends, driver transports and tool plugins.
//
// *Lifetime:* an opened module stays until the process ends: other code may have a pointer into it, or the
// module may have threads or registered destructors. It is pinned and never closed.
// *Threads:* any thread.
#pragma once

#include <string>

#include "loader/text/words.hpp"

namespace rigel {

class DynamicModule {
 public:
  /// Opens the library at `path`, which must be absolute, binds all symbols at once, and keeps them private.
  /// Checks the file first (elf_check.hpp). On failure, returns the dynamic linker's message.
  static Explained<DynamicModule> open(const std::string& path);

  void* symbol(const char* name) const;

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  explicit DynamicModule(void* handle) : handle_(handle) {}

  void* handle_;  // handle of the dynamic linker; never closed
};

}  // namespace rigel
