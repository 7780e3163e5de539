#include "core/signal/asymmetric_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/support/log.hpp"

namespace rigel::asymmetric_fence {
namespace detail {

constinit std::atomic<Kernel> kernel{Kernel::kUnknown};

namespace {

long membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

bool probe() noexcept {
  // Repeated registration, also from two threads or after a fork, has no effect.
  const bool helps = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                     membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  auto expected = Kernel::kUnknown;
  kernel.compare_exchange_strong(expected, helps ? Kernel::kHelps : Kernel::kRefuses);
  if (!helps) {
    log_message(LogLevel::kInfo, LogTopic::kSignal,
                "membarrier: not available; each update of a signal uses a full fence instead");
  }
  return kernel.load(std::memory_order_relaxed) == Kernel::kHelps;
}

}  // namespace detail

bool heavy() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (available()) {
    if (detail::membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
    // The process has entered a sandbox after registration.
    detail::kernel.store(detail::Kernel::kRefuses, std::memory_order_relaxed);
    log_message(LogLevel::kWarn, LogTopic::kSignal,
                "membarrier: stopped working; waits on existing signals poll them every millisecond");
  }
  return false;
}

void reset_after_fork() noexcept {
  detail::kernel.store(detail::Kernel::kUnknown, std::memory_order_relaxed);
}

void refuse_for_tests(bool refuse) noexcept {
  detail::kernel.store(refuse ? detail::Kernel::kRefuses : detail::Kernel::kUnknown,
                       std::memory_order_relaxed);
}

}  // namespace rigel::asymmetric_fence
