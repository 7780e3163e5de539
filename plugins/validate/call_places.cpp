#include "plugins/validate/call_places.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <string_view>

#include <fmt/core.h>

#include "api/support/mutex.hpp"

namespace validate {
namespace {

constexpr uint32_t kMaxToolFrames = 8;  // maximum number of frames of the tool and the runtime together

uint64_t hash_of(const Stack& stack) {
  uint64_t hash = stack.count;
  for (uint32_t i = 0; i < stack.count; ++i)
    hash = (hash ^ reinterpret_cast<uint64_t>(stack.frames[i])) * 0x9e3779b97f4a7c15ull;
  return hash ^ hash >> 32;
}

bool equal(const Stack& a, const Stack& b) {
  return a.count == b.count && std::equal(a.frames.begin(), a.frames.begin() + a.count, b.frames.begin());
}

std::string_view file_name(const char* path) {
  const std::string_view all(path == nullptr ? "" : path);
  return all.substr(all.rfind('/') + 1);
}

}  // namespace

Places::Places(uint32_t frames) : frames_(frames) {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // the first call loads the unwinder, which allocates
}

Place Places::here() {
  if (frames_ == 0) return nullptr;
  Stack stack;
  const int max_frames = static_cast<int>(std::min(Stack::kMaxFrames, frames_ + kMaxToolFrames));
  stack.count = static_cast<uint32_t>(std::max(0, ::backtrace(stack.frames.data(), max_frames)));
  const uint64_t hash = hash_of(stack);
  Shard& shard = shards_[hash % shards_.size()];
  const rigel::MutexLock lock(shard.mutex);
  const auto [begin, end] = shard.stacks.equal_range(hash);
  const auto existing =
      std::find_if(begin, end, [&](const auto& entry) { return equal(entry.second, stack); });
  if (existing != end) return &existing->second;
  return &shard.stacks.emplace(hash, stack)->second;
}

std::string Places::describe(Place place, std::string_view indent) const {
  std::string out;
  if (place == nullptr) return out;
  Dl_info self{};
  ::dladdr(reinterpret_cast<const void*>(&hash_of), &self);
  uint32_t shown = 0;
  for (uint32_t i = 0; i < place->count && shown < frames_; ++i) {
    Dl_info info{};
    // A frame is a return address, which may already belong to the next function.
    void* const address = static_cast<char*>(place->frames[i]) - 1;
    if (::dladdr(address, &info) == 0) info = {};
    const std::string_view module = file_name(info.dli_fname);
    if (shown == 0 && (info.dli_fbase == self.dli_fbase || module.starts_with("libhsa-runtime64.so")))
      continue;
    if (module.empty()) {
      out += fmt::format("{}{}\n", indent, place->frames[i]);
    } else {
      out += fmt::format("{}{}+{:#x}", indent, module,
                         reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(info.dli_fbase));
      if (info.dli_sname != nullptr) out += fmt::format(" ({})", info.dli_sname);
      out += '\n';
    }
    ++shown;
  }
  return out;
}

}  // namespace validate
