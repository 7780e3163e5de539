// The cache of translated kernels. Its limit is memory, because frameworks alternate thousands of kernels.
//
// Threads: any.
// Lifetime: code that is dropped from the cache lives as long as launches use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"

namespace rigel::vgpu::exec {

class TranslatedCodes {
 public:
  static constexpr size_t kMostBytes = size_t{256} << 20;

  /// `bus` outlives it.
  explicit TranslatedCodes(DeviceBus& bus, size_t most_bytes = kMostBytes)
      : bus_(bus), most_bytes_(most_bytes) {}

  /// Returns the translation of the code that is now in memory. `kernel`: for perf maps. Opens a scope.
  std::shared_ptr<TranslatedCode> get(const CodeKey& key, const std::string& kernel);

 private:
  struct Hash {
    size_t operator()(const CodeKey& key) const { return key.entry_va * 0x9e3779b97f4a7c15u >> 20; }
  };
  struct Kept {
    std::shared_ptr<TranslatedCode> code;
    uint64_t used = 0;
  };

  void make_room() RIGEL_REQUIRES(mutex_);

  DeviceBus& bus_;
  const size_t most_bytes_;
  Mutex mutex_;
  std::unordered_map<CodeKey, Kept, Hash> kept_ RIGEL_GUARDED_BY(mutex_);
  uint64_t clock_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel::vgpu::exec
