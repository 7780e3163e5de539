#include "backends/common/copies_underway.hpp"

#include <algorithm>
#include <atomic>

#include <hsa/amd_hsa_signal.h>

namespace rigel::gfx {
namespace {

/// A dependency is nearly always one of the last copies'.
constexpr size_t kLookedAt = 256;

amd_signal_t& signal_of(uint64_t handle) {
  return *reinterpret_cast<amd_signal_t*>(handle);
}

}  // namespace

int64_t signal_value(uint64_t handle) {
  return std::atomic_ref(const_cast<int64_t&>(signal_of(handle).value)).load(std::memory_order_acquire);
}

void CopiesUnderway::read(uint64_t index) {
  read_ = std::max(read_, index);
  const auto kept =
      std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.end + lag_ > read_; });
  copies_.erase(copies_.begin(), kept);
}

CopiesUnderway::Promise CopiesUnderway::promised(uint64_t signal) const {
  Promise promise;
  size_t left = kLookedAt;
  for (auto copy = copies_.rbegin(); copy != copies_.rend() && copy->end > read_ && left != 0;
       ++copy, --left) {
    if (copy->completion != signal) continue;
    ++promise.count;
    promise.open |= open() && copy->end > open_begin_;
  }
  return promise;
}

void CopiesUnderway::open_wait(uint64_t begin, uint64_t end, std::span<const uint64_t> signals) {
  open_begin_ = begin;
  open_end_ = end;
  open_signals_.assign(signals.begin(), signals.end());
}

bool CopiesUnderway::wait_is_lost() const {
  return open() && read_ >= open_begin_ &&
         std::any_of(open_signals_.begin(), open_signals_.end(),
                     [](uint64_t signal) { return signal_value(signal) < 0; });
}

void CopiesUnderway::fail(const hsabe_host_t* host, hsa_status_t status) {
  for (const Copy& copy : copies_) {
    // Destroyed by now, or done: of a queue of kernels nobody knows but the signal.
    if (signal_of(copy.completion).kind != AMD_SIGNAL_KIND_USER) continue;
    if (signal_life(copy.completion) != copy.life) continue;
    if (lag_ != 0 && signal_value(copy.completion) <= 0) continue;
    host->signal->store(host->self, copy.completion, -static_cast<int64_t>(status));
  }
  copies_.clear();
  open_begin_ = open_end_ = 0;
  read_ = 0;
}

}  // namespace rigel::gfx
