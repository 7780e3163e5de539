#include "loader/module/dynamic_module.hpp"

#include <dlfcn.h>

#define BOOST_DLL_USE_STD_FS 1
#include <boost/dll/shared_library.hpp>

#include "loader/module/elf_check.hpp"

namespace rigel {
namespace {

std::string linker_error() {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "the dynamic linker reports no reason";
}

}  // namespace

Explained<DynamicModule> DynamicModule::open(const std::string& path) {
  if (!path.starts_with('/')) return tl::unexpected(path + ": not an absolute path");
  if (auto good = check_shared_library(path); !good) return tl::unexpected(path + ": " + good.error());

  namespace dll = boost::dll;
  std::error_code code;
  ::dlerror();  // clears the errors of other callers
  dll::shared_library library;
  library.load(path, code, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
  // The code is always "bad file descriptor"; the text is valid only until the next call.
  if (code) return tl::unexpected(linker_error());

  // Boost.DLL closes its handle at the end of the scope, and cannot pin a library. This second handle is
  // never closed.
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle == nullptr) return tl::unexpected(linker_error());
  return DynamicModule(handle);
}

void* DynamicModule::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace rigel
