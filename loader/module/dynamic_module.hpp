// Opening shared libraries: backends, driver transports and tool plugins alike.
//
// A module once opened stays for the life of the process: somebody may hold a pointer into it, have started
// a thread in it or registered a destructor of it, so it is pinned and never closed. Any thread.
#pragma once

#include <string>

#include "loader/text/words.hpp"

namespace rigel {

class DynamicModule {
 public:
  /// Opens the library at `path`, which must be absolute, with all its symbols bound now and none of them
  /// shown to others. Looks at the file first (elf_check.hpp). On failure the text is the dynamic linker's.
  static Explained<DynamicModule> open(const std::string& path);

  /// The address of an exported symbol, or null.
  void* symbol(const char* name) const;

  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }

 private:
  explicit DynamicModule(void* handle) : handle_(handle) {}

  void* handle_;  // of the dynamic linker; never closed
};

}  // namespace rigel
