// Where the loader searches, and which variables and files it trusts. Depends on the process's environment
// and rights, and on the place of the runtime's library.
//
// A struct with public members, so that tests and tools can construct other environments.
// *Threads:* constant after the start of discovery; any thread reads it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "loader/text/words.hpp"

namespace rigel {

class DiscoveryReport;

struct LoaderEnvironment {
  /// Returns the value of an environment variable, or null if it is not set.
  std::function<const char*(const char*)> variable;
  /// Whether the process has more rights than the user who set its environment variables. The loader then
  /// searches only `system_folder` and the install directories. It rejects a file if any user except
  /// `owner` and root can write to it or replace it.
  bool elevated = false;
  uid_t owner = 0;
  // Absolute paths of directories; empty if not available.
  std::string system_folder;    // /etc/hsa
  std::string library_folder;   // directory of libhsa-runtime64.so, symbolic links resolved
  std::string manifest_folder;  // ../share/hsa/backends.d relative to library_folder
  std::string backend_folder;   // hsa/backends relative to library_folder
  std::string driver_folder;    // hsa/drivers relative to library_folder
  std::string plugin_folder;    // hsa/plugins relative to library_folder

  /// Returns the environment of this process. `address` is any address in the runtime's library.
  static LoaderEnvironment of_process(const void* address);

  /// Sets `library_folder` and the directories relative to it. `path` is that of the runtime's library. Has
  /// no effect if the file does not exist.
  void set_library(const std::string& path);

  /// Returns the value of a variable, or null if it is not set or empty. For variables that do not select
  /// code.
  const char* get(const char* name) const;
  /// Returns the value of a variable that selects code or files. Returns null if the process is elevated, or
  /// if the variable is not set or empty.
  const char* trusted(const char* name) const;

  /// Returns $XDG_CONFIG_HOME/hsa, or $HOME/.config/hsa; empty if neither is set or the process is elevated.
  std::string user_folder() const;

  /// In an elevated process, reports one warning that names the set variables that would select backends or
  /// the configuration file. Omits HSA_DRIVER, XDG_CONFIG_HOME and HOME, which are also ignored.
  void report_ignored_variables(DiscoveryReport& report) const;

  /// Finds a library that a file or a variable names, and returns its real path.
  /// - An absolute `library` is used as it is.
  /// - A relative path with a '/' starts at `folder`.
  /// - A name without a '/' is searched in `folder`, then in `more_folders`. The dynamic linker's search path
  ///   is never used.
  ///
  /// `folder` is the directory of the file that names the library, without symbolic links. If a variable
  /// names it, `folder` is empty: a relative path then starts at the working directory, and only
  /// `more_folders` are searched. In an elevated process, fails if the library is not trusted.
  Explained<std::string> find_library(const std::string& library, const std::string& folder,
                                      std::initializer_list<std::string_view> more_folders) const;

  /// In an elevated process, fails if a file is not trusted. `path` must be a real path.
  Explained<void> check_permitted(const std::string& path) const;
};

}  // namespace rigel
