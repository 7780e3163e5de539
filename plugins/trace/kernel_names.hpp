// Kernel names by the addresses in dispatch packets. Another kernel may reuse an address after its executable
// is destroyed, so a name applies from a time on. *Threads:* any (takes a mutex).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"

namespace trace {

/// Returns a symbol's demangled name, without the ".kd" of kernel descriptors.
std::string demangled(std::string_view symbol);

class KernelNames {
 public:
  void add(uint64_t kernel_object, std::string name, uint64_t since);
  /// Returns the name at `time`; "kernel 0x…" if it is unknown.
  std::string name(uint64_t kernel_object, uint64_t time) const;

 private:
  struct Entry {
    uint64_t since;
    std::string name;
  };
  mutable rigel::Mutex mutex_;
  std::unordered_map<uint64_t, std::vector<Entry>> names_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace trace
