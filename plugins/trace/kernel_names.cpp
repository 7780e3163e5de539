#include "plugins/trace/kernel_names.hpp"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "api/support/mutex.hpp"

namespace trace {

std::string demangled(std::string_view symbol) {
  if (symbol.ends_with(".kd")) symbol.remove_suffix(3);
  std::string name(symbol);
  if (!symbol.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

void KernelNames::add(uint64_t kernel_object, std::string name, uint64_t since) {
  const rigel::MutexLock lock(mutex_);
  auto& entries = names_[kernel_object];
  if (!entries.empty() && entries.back().name == name) return;
  entries.push_back({since, std::move(name)});
}

std::string KernelNames::name(uint64_t kernel_object, uint64_t time) const {
  const rigel::MutexLock lock(mutex_);
  const auto found = names_.find(kernel_object);
  if (found != names_.end()) {
    for (size_t i = found->second.size(); i-- > 0;) {
      if (found->second[i].since <= time) return found->second[i].name;
    }
  }
  char text[32];
  std::snprintf(text, sizeof text, "kernel %#llx", static_cast<unsigned long long>(kernel_object));
  return text;
}

}  // namespace trace
