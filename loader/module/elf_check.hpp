// Checks a shared library before dlopen opens it. dlopen reports a wrong architecture unclearly, and a
// truncated file makes it raise SIGBUS. If the library needs AddressSanitizer's runtime, dlopen loads that,
// which ends a process that was not started with it.
#pragma once

#include <string>
#include <string_view>

#include "loader/text/words.hpp"

namespace rigel {

/// Returns this process's architecture as in manifests: "x86_64", "aarch64".
std::string_view host_arch();

/// Whether the file is a shared library for this process, according to its headers and the libraries that it
/// names.
Explained<void> check_shared_library(const std::string& path);

}  // namespace rigel
