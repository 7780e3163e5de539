#include "plugins/vgpu/kfd/driver_call.hpp"

#include <pthread.h>

#include <atomic>
#include <utility>

namespace rigel::vgpu {
namespace {

constinit thread_local DriverCall* outermost = nullptr;
constinit std::atomic<bool> has_handlers{false};

}  // namespace

void DriverCall::expect_handlers() noexcept {
  has_handlers.store(true, std::memory_order_relaxed);
}

void DriverCall::begin() noexcept {
  if (has_handlers.load(std::memory_order_relaxed)) signals_.emplace();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable_);
}

void DriverCall::end() noexcept {
  pthread_setcancelstate(cancelable_, nullptr);
  signals_.reset();  // handlers run here
}

DriverCall::DriverCall() noexcept : outermost_(own_calls == 0) {
  if (outermost_) {
    begin();
    outermost = this;
  }
  ++own_calls;
}

DriverCall::~DriverCall() {
  --own_calls;
  if (!outermost_) return;
  outermost = nullptr;
  end();
}

ProgramTime::ProgramTime() noexcept
    : call_(std::exchange(outermost, nullptr)), own_calls_(std::exchange(own_calls, 0)) {
  if (call_ != nullptr) call_->end();
}

ProgramTime::~ProgramTime() {
  if (call_ != nullptr) call_->begin();
  outermost = call_;
  own_calls = own_calls_;
}

}  // namespace rigel::vgpu
