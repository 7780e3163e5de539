#include "plugins/vgpu/exec/translated_codes.hpp"

#include <algorithm>

namespace rigel::vgpu::exec {

std::shared_ptr<TranslatedCode> TranslatedCodes::get(const CodeKey& key, const std::string& kernel) {
  const TranslationScope scope(bus_);
  const MutexLock lock(mutex_);
  const auto found = kept_.find(key);
  if (found != kept_.end() && found->second.code->is_current()) {
    found->second.used = ++clock_;
    return found->second.code;
  }
  auto code = std::make_shared<TranslatedCode>(key, bus_, kernel);
  if (found != kept_.end()) {
    found->second = {code, ++clock_};
    return code;
  }
  make_room();
  kept_.emplace(key, Kept{code, ++clock_});
  return code;
}

// Code grows while it is executed, so the sizes are computed anew each time.
void TranslatedCodes::make_room() {
  size_t bytes = 0;
  for (const auto& [key, kept] : kept_) bytes += kept.code->bytes();
  while (bytes > most_bytes_ && !kept_.empty()) {
    const auto oldest = std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
      return a.second.used < b.second.used;
    });
    bytes -= std::min(bytes, oldest->second.code->bytes());
    kept_.erase(oldest);
  }
}

}  // namespace rigel::vgpu::exec
