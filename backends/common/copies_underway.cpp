#include "backends/common/copies_underway.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <hsa/amd_hsa_signal.h>

namespace rigel::gfx {
namespace {

/// Dependencies are nearly always among the most recent copies.
constexpr size_t kMaxSearched = 256;

amd_signal_t& signal_of(uint64_t handle) {
  return *reinterpret_cast<amd_signal_t*>(handle);
}

uint64_t signal_stamp(uint64_t handle) {
  return std::atomic_ref(signal_of(handle).end_ts).load(std::memory_order_relaxed);
}

// Whether a copy is complete that the queue does not report. A signal that is not positive shows it. But the
// program may have stored a new value, in which case only the end time in the signal shows it. Valid only if
// no other operation in progress decrements the signal: the time stamp is then the copy's.
bool is_done(const CompletionBefore& before) {
  if (signal_value(before.signal) <= 0) return true;
  return before.last && signal_stamp(before.signal) != before.stamp;
}

}  // namespace

int64_t signal_value(uint64_t handle) {
  return std::atomic_ref(const_cast<int64_t&>(signal_of(handle).value)).load(std::memory_order_acquire);
}

CompletionBefore CompletionBefore::of(uint64_t signal) {
  if (signal == 0) return {};
  return {signal, signal_generation(signal), signal_value(signal) == 1, signal_stamp(signal)};
}

void CopiesUnderway::read(uint64_t index, uint64_t completed) {
  read_ = std::max(read_, index);
  completed_ = std::max({completed_, read_, completed});
  const auto kept =
      std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.end + lag_ > read_; });
  copies_.erase(copies_.begin(), kept);
}

CopiesUnderway::Promise CopiesUnderway::promised(uint64_t signal) const {
  Promise promise;
  const uint32_t generation = signal_generation(signal);
  size_t left = kMaxSearched;
  for (auto copy = copies_.rbegin(); copy != copies_.rend() && copy->end > completed_ && left != 0;
       ++copy, --left) {
    if (copy->completion.signal != signal || copy->completion.generation != generation) continue;
    ++promise.count;
    promise.open |= open() && copy->end > open_begin_;
  }
  return promise;
}

void CopiesUnderway::open_wait(uint64_t begin, uint64_t end, std::vector<uint64_t> signals) noexcept {
  open_begin_ = begin;
  open_end_ = end;
  open_signals_ = std::move(signals);
}

bool CopiesUnderway::wait_is_lost() const {
  return open() && read_ >= open_begin_ &&
         std::any_of(open_signals_.begin(), open_signals_.end(),
                     [](uint64_t signal) { return signal_value(signal) < 0; });
}

void CopiesUnderway::fail(const hsabe_host_t* host, hsa_status_t status) {
  for (const auto& [completion, end] : copies_) {
    // destroyed or complete: only the signal shows the end of a kernel
    if (signal_of(completion.signal).kind != AMD_SIGNAL_KIND_USER) continue;
    if (signal_generation(completion.signal) != completion.generation) continue;
    if (lag_ != 0 && is_done(completion)) continue;
    host->signal->store(host->self, completion.signal, -static_cast<int64_t>(status));
  }
  copies_.clear();
  open_begin_ = open_end_ = 0;
  read_ = completed_ = 0;
}

}  // namespace rigel::gfx
