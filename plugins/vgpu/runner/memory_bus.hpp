// The memory of a GPU with one program. Allocations are never freed.
//
// Threads: allocate() on one thread while no waves run; all other functions from any thread.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>
#include <vector>

#include "api/support/page_size.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/kfd/page_table.hpp"

namespace rigel::vgpu::runner {

/// Memory at GPU address `va` and host address `host`.
struct Region {
  uint64_t va = 0;
  std::byte* host = nullptr;
  uint64_t bytes = 0;
};

class MemoryBus final : public DeviceBus {
 public:
  explicit MemoryBus(uint32_t reference_khz) : reference_khz_(reference_khz) {}

  /// Allocates zeroed memory, with unmapped pages around it.
  Region allocate(uint64_t bytes) {
    bytes = page_up(bytes);
    if (bytes == 0) bytes = kPageBytes;
    memory_.push_back(map_zeros(bytes));
    std::byte* const host = memory_.back().get();
    table_.map(next_, bytes, host, {true, true});
    const Region region{next_, host, bytes};
    next_ += (bytes + 2 * kGap - 1) / kGap * kGap;
    return region;
  }

  Translation translate(uint64_t va, uint64_t bytes, Access access) noexcept override {
    return table_.translate(va, bytes, access);
  }
  uint32_t begin_translations() noexcept override { return 0; }
  void end_translations(uint32_t) noexcept override {}
  uint64_t translation_epoch() const noexcept override { return 1; }
  void report_fault(const VmFault&) noexcept override {}
  void raise_interrupt(InterruptSource, uint32_t, uint32_t) noexcept override {}
  bool take_queue_error(uint32_t, QueueError) noexcept override { return true; }
  void queue_stopped(uint32_t, std::string_view) noexcept override {}
  void report(Severity severity, std::optional<uint32_t>, std::string_view problem) noexcept override {
    std::fprintf(stderr, "%s: %s: %.*s\n", program_invocation_short_name,
                 severity == Severity::kError ? "error" : "warning", static_cast<int>(problem.size()),
                 problem.data());
  }
  uint64_t gpu_clock() noexcept override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<uint64_t>(now.tv_sec) * reference_khz_ * 1000 +
           static_cast<uint64_t>(now.tv_nsec) * reference_khz_ / 1'000'000;
  }

 private:
  static constexpr uint64_t kGap = uint64_t{1} << 20;

  struct Unmap {
    uint64_t bytes;
    void operator()(std::byte* host) const { munmap(host, bytes); }
  };
  using Zeros = std::unique_ptr<std::byte, Unmap>;
  // Without reservation: scratch is sized for all waves that a GPU can run, and a small grid touches little
  // of it.
  static Zeros map_zeros(uint64_t bytes) {
    void* const host =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) throw std::bad_alloc();
    return Zeros(static_cast<std::byte*>(host), Unmap{bytes});
  }

  const uint64_t reference_khz_;
  PageTable table_;
  uint64_t next_ = uint64_t{1} << 32;
  std::vector<Zeros> memory_;
};

}  // namespace rigel::vgpu::runner
