// Names of kernels by the addresses in dispatch packets. An address may become another kernel's when its
// executable is gone, so names have a time from which they hold. Any thread; a lock is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"

namespace trace {

/// A symbol's name as people write it: demangled, and without the ".kd" of kernel descriptors.
std::string demangled(std::string_view symbol);

class KernelNames {
 public:
  void add(uint64_t kernel_object, std::string name, uint64_t since);
  /// The name at that time; "kernel 0x…" if it is not known.
  std::string name(uint64_t kernel_object, uint64_t time) const;

 private:
  struct Named {
    uint64_t since;
    std::string name;
  };
  mutable rigel::Mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Named>> names_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace trace
