#include "core/signal/pending_operations.hpp"

namespace rigel {

PendingOperations::~PendingOperations() {
  ends_.store(true, std::memory_order_relaxed);
  dispatcher_.stop();
  const MutexLock lock(mutex_);
  waiting_.clear_and_dispose([](PendingOperation* operation) { delete operation; });
}

Status PendingOperations::start(std::unique_ptr<PendingOperation> operation) noexcept {
  PendingOperation* const started = operation.release();
  started->owner_ = this;
  const Status status = advance(*started);  // on success, it may be gone
  if (status != HSA_STATUS_SUCCESS) {
    unlink(*started);
    delete started;
  }
  return status;
}

Status PendingOperations::post(std::unique_ptr<PendingOperation> operation) noexcept {
  operation->owner_ = this;
  link(*operation);
  const auto run = [](void* argument) {
    auto& posted = *static_cast<PendingOperation*>(argument);
    PendingOperations& owner = *posted.owner_;
    if (const Status status = owner.advance(posted); status != HSA_STATUS_SUCCESS) owner.fail(posted, status);
  };
  const Status status = dispatcher_.post(run, operation.get());
  if (status == HSA_STATUS_SUCCESS) {
    static_cast<void>(operation.release());
  } else {
    unlink(*operation);
  }
  return status;
}

/// Watches the first dependency that is not 0, or finishes the wait. On an error, the caller owns the
/// operation.
Status PendingOperations::advance(PendingOperation& operation) noexcept {
  for (; operation.next_ < operation.dependencies_.size(); ++operation.next_) {
    Signal& signal = *operation.dependencies_[operation.next_];
    const int64_t value = signal.load<std::memory_order_acquire>();
    if (value == 0) continue;
    if (value < 0) {
      finish(operation, HSA_STATUS_ERROR);
      return HSA_STATUS_SUCCESS;
    }
    link(operation);
    return dispatcher_.watch(signal, HSA_SIGNAL_CONDITION_LT, 1, on_dependency, &operation);
  }
  finish(operation, HSA_STATUS_SUCCESS);
  return HSA_STATUS_SUCCESS;
}

bool PendingOperations::on_dependency(hsa_signal_value_t value, void* argument) {
  auto& operation = *static_cast<PendingOperation*>(argument);
  PendingOperations& owner = *operation.owner_;
  if (value != 0) {
    owner.finish(operation, HSA_STATUS_ERROR);
    return false;
  }
  ++operation.next_;
  if (const Status status = owner.advance(operation); status != HSA_STATUS_SUCCESS)
    owner.fail(operation, status);
  return false;
}

void PendingOperations::finish(PendingOperation& operation, Status status) noexcept {
  unlink(operation);
  operation.ready(status);
}

void PendingOperations::fail(PendingOperation& operation, Status status) noexcept {
  if (ends_.load(std::memory_order_relaxed)) return;  // The destructor drops it.
  finish(operation, status);
}

// One thread at a time has an operation: `waits_` needs no lock, unlike the links, which neighbours change.
void PendingOperations::link(PendingOperation& operation) noexcept {
  if (std::exchange(operation.waits_, true)) return;
  const MutexLock lock(mutex_);
  waiting_.push_back(operation);
}

void PendingOperations::unlink(PendingOperation& operation) noexcept {
  if (!std::exchange(operation.waits_, false)) return;
  const MutexLock lock(mutex_);
  waiting_.erase(waiting_.iterator_to(operation));
}

}  // namespace rigel
