// Search paths of the loader and their trustworthiness: the process's environment, its rights, and
// directories relative to the runtime's library.
//
// A plain struct, so that tests and tools can replace it. Immutable after the start of discovery.
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
  /// Whether the environment comes from a user with fewer rights than the process. Then only `system_folder`
  /// and the install directories are searched, and only files that only `owner` or root can have written are
  /// used.
  bool elevated = false;
  uid_t owner = 0;
  /// Absolute; empty if not available.
  std::string system_folder;    // /etc/hsa
  std::string library_folder;   // directory of libhsa-runtime64.so, symbolic links resolved
  std::string manifest_folder;  // ../share/hsa/backends.d relative to library_folder
  std::string backend_folder;   // hsa/backends relative to library_folder
  std::string driver_folder;    // hsa/drivers relative to library_folder
  std::string plugin_folder;    // hsa/plugins relative to library_folder

  /// Returns the environment of this process. `address` is any address in the runtime's library.
  static LoaderEnvironment of_process(const void* address);

  void set_library(const std::string& path);

  /// Returns the value of a variable that does not select code. Null if unset or empty.
  const char* get(const char* name) const;
  /// The same for variables that select code or files: also null in an elevated process.
  const char* trusted(const char* name) const;

  /// Returns $XDG_CONFIG_HOME/hsa, or $HOME/.config/hsa; empty if neither is set or the process is elevated.
  std::string user_folder() const;

  /// In an elevated process, reports one warning that names every set variable that `trusted` hides.
  void report_ignored_variables(DiscoveryReport& report) const;

  /// Returns the real path of the library that a file in `folder` (symbolic links resolved) names `library`.
  /// A bare name is searched in `folder`, then in `more_folders`; a relative path starts at `folder`. Without
  /// a file, `folder` is empty: a bare name is searched in `more_folders` only, and a relative path starts at
  /// the working directory. In an elevated process the library must be trusted. Never searches the system's
  /// library path.
  Explained<std::string> find_library(const std::string& library, const std::string& folder,
                                      std::initializer_list<std::string_view> more_folders) const;

  /// In an elevated process, checks that a file is trusted. `path` must be real.
  Explained<void> check_permitted(const std::string& path) const;
};

}  // namespace rigel
