// Where the loader looks, and how far it believes what it finds there: the process's environment, its rights,
// and the folders that follow from where the runtime's library is.
//
// A plain struct, so that tests and tools can make up a world of their own. Immutable once discovery has
// begun.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "loader/text/words.hpp"

namespace rigel {

class DiscoveryReport;

struct LoaderEnvironment {
  /// Looks a variable up; null if it is not set.
  std::function<const char*(const char*)> variable;
  /// The environment comes from somebody with fewer rights than the process: only `system_folder` and the
  /// install folders are searched, and only files that `owner` or root alone can have written are used.
  bool elevated = false;
  uid_t owner = 0;
  /// Absolute. Empty: there is none.
  std::string system_folder;    // /etc/hsa
  std::string library_folder;   // of libhsa-runtime64.so, symbolic links resolved
  std::string manifest_folder;  // ../share/hsa/backends.d from there
  std::string backend_folder;   // hsa/backends from there
  std::string driver_folder;    // hsa/drivers from there
  std::string plugin_folder;    // hsa/plugins from there

  /// The environment of this process. `address` is any address in the runtime's library.
  static LoaderEnvironment of_process(const void* address);

  /// The folders that follow from a library at `path`.
  void set_library(const std::string& path);

  /// The value of a variable, for what selects no code. Null if unset or empty.
  const char* get(const char* name) const;
  /// The same for what selects code or files: null in an elevated process too.
  const char* trusted(const char* name) const;

  /// $XDG_CONFIG_HOME/hsa, or $HOME/.config/hsa; empty if there is none or the process is elevated.
  std::string user_folder() const;

  /// In an elevated process: one warning that names every set variable that `trusted` hides.
  void report_ignored_variables(DiscoveryReport& report) const;

  /// The real path of the library that a file calls `library`, whose own folder (symbolic links resolved) is
  /// `folder`. A bare name is looked for in `folder`, then in `more_folders`; a relative path begins at
  /// `folder`. Without a file `folder` is empty: a bare name is looked for in `more_folders` alone, and a
  /// relative path begins at the working directory. In an elevated process the library must be trusted. Never
  /// searches the system's library path.
  Explained<std::string> find_library(const std::string& library, const std::string& folder,
                                      std::initializer_list<std::string_view> more_folders) const;

  /// Reads a file that only trusted hands may have written if this process is elevated. `path` is real.
  Explained<void> check_permitted(const std::string& path) const;
};

}  // namespace rigel
