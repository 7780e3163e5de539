#include "plugins/vgpu/compiler/loader.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <string>

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr const char* kModule = "libhsa_vgpu_compiler.so";

struct Found {
  Compile compile = nullptr;
  std::string why;
};

// The module lies beside the library that this is part of, or in the folder of libraries beside a program's.
Found find() {
  Found found;
  if (getauxval(AT_SECURE) != 0) {
    found.why = "an elevated process loads no compiler";
    return found;
  }
  const char* const wish = std::getenv("VGPU_COMPILER");
  if (wish != nullptr && std::string(wish) == "off") {
    found.why = "VGPU_COMPILER=off";
    return found;
  }
  Dl_info self{};
  if (dladdr(reinterpret_cast<const void*>(&find_compiler), &self) == 0 || self.dli_fname == nullptr) {
    found.why = "it is not known where this library lies";
    return found;
  }
  std::string folder = self.dli_fname;
  folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/') + 1);
  for (const char* const where : {"", "../", "../lib/"}) {
    const std::string path = folder + where + kModule;
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == nullptr) {
      if (found.why.empty()) found.why = dlerror();
      continue;
    }
    found.compile = reinterpret_cast<Compile>(dlsym(module, "rigel_vgpu_compile"));
    if (found.compile != nullptr) {
      found.why.clear();
      return found;
    }
    found.why = path + " exports no compiler";
  }
  return found;
}

const Found& found() {
  static const Found* const once = new Found(find());  // for threads that outlive static objects
  return *once;
}

}  // namespace

Compile find_compiler() {
  return found().compile;
}

Compilation asked_for() {
  const char* const wish = std::getenv("VGPU_COMPILER");
  const bool beforehand = wish != nullptr && std::string(wish) == "beforehand";
  return beforehand && find_compiler() != nullptr ? Compilation::kBeforehand : Compilation::kNone;
}

const char* why_no_compiler() {
  return found().why.c_str();
}

}  // namespace rigel::vgpu::exec::compiler
