// Looking at a shared library before the dynamic linker does: dlopen reports a wrong architecture in words
// that help nobody, a truncated file kills the process with SIGBUS, and AddressSanitizer's runtime ends a process that
// was not started with it.
#pragma once

#include <string>
#include <string_view>

#include "loader/text/words.hpp"

namespace rigel {

/// What this process runs on, as manifests say it: "x86_64", "aarch64".
std::string_view host_arch();

/// Whether the file is a shared library for this process, as far as its headers and the libraries that it names tell.
Explained<void> check_shared_library(const std::string& path);

}  // namespace rigel
