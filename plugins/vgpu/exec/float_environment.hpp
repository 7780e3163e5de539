// MXCSR for a wave's MODE: the rounding and denormal mode of its single precision (lowering.hpp).
//
// On AArch64 these functions convert between MXCSR's layout and FPCR and FPSR. FPCR.FZ is one bit for
// denormal operands and results, so a mode that keeps only one of the two keeps neither (Arm Architecture
// Reference Manual; FEAT_AFP has a bit for each, and is not used).
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rigel::vgpu::exec {

/// Whether the host can flush denormal operands and results separately.
#if defined(__aarch64__)
constexpr bool kHasDenormalModes = false;
#else
constexpr bool kHasDenormalModes = true;
#endif

/// MXCSR of a new thread: all exceptions masked, rounding to nearest even, denormals kept.
constexpr uint32_t kDefaultMxcsr = 0x1f80;
/// As kDefaultMxcsr, with denormal operands and results flushed to zero.
constexpr uint32_t kFlushingMxcsr = kDefaultMxcsr | 1u << 6 | 1u << 15;

constexpr uint32_t mxcsr_of(uint32_t mode) {
  constexpr uint32_t kRounding[] = {0, 2, 1, 3};  // MXCSR's codes of nearest, +inf, -inf, zero
  uint32_t value = kDefaultMxcsr | kRounding[mode & 3] << 13;
  if ((mode >> 4 & 1) == 0) value |= 1u << 6;   // denormal inputs are zero
  if ((mode >> 5 & 1) == 0) value |= 1u << 15;  // denormal results are zero
  return value;
}

inline void set_mxcsr(uint32_t value) {
#if defined(__x86_64__)
  _mm_setcsr(value);
#elif defined(__aarch64__)
  constexpr uint64_t kRounding[] = {0, 2, 1, 3};  // FPCR's codes, by those of MXCSR
  uint64_t control = kRounding[value >> 13 & 3] << 22;
  if ((value & (1u << 6 | 1u << 15)) != 0) control |= 1u << 24;
  asm volatile("msr fpcr, %0" ::"r"(control));
  const uint64_t status = (value & 1) | (value >> 1 & 0x1e) | (value & 2) << 6;
  asm volatile("msr fpsr, %0" ::"r"(status));
#else
  (void)value;
#endif
}

inline uint32_t get_mxcsr() {
#if defined(__x86_64__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  constexpr uint32_t kRounding[] = {0, 2, 1, 3};
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  const uint32_t flushes = (control >> 24 & 1) != 0 ? 1u << 6 | 1u << 15 : 0;
  uint64_t status;
  asm volatile("mrs %0, fpsr" : "=r"(status));
  const auto raised = static_cast<uint32_t>((status & 1) | (status & 0x1e) << 1 | (status >> 6 & 2));
  return kDefaultMxcsr | kRounding[control >> 22 & 3] << 13 | flushes | raised;
#else
  return kDefaultMxcsr;
#endif
}

/// Sets MXCSR for an operation that does not follow the wave's MODE; restores it at the end of the scope.
class MxcsrScope {
 public:
  explicit MxcsrScope(uint32_t value) : previous_(get_mxcsr()) { set_mxcsr(value); }
  ~MxcsrScope() { set_mxcsr(previous_); }
  MxcsrScope(const MxcsrScope&) = delete;
  MxcsrScope& operator=(const MxcsrScope&) = delete;

 private:
  const uint32_t previous_;
};

/// During its lifetime its thread runs waves: MXCSR follows their MODE, and the upper halves of vector
/// registers may be in use. The destructor restores MXCSR and clears the upper halves.
class FloatEnvironment {
 public:
  /// `wide`: handlers use AVX, so the upper halves must be cleared before code that uses SSE.
  explicit FloatEnvironment(bool wide) : host_(get_mxcsr()), present_(host_), wide_(wide) {}
  ~FloatEnvironment() {
    if (present_ != host_) set_mxcsr(host_);
    clear_upper_halves();
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  /// Call before a wave with this MODE runs.
  void enter(uint32_t mode) {
    if (mode == mode_) return;
    mode_ = mode;
    if (const uint32_t value = mxcsr_of(mode); value != present_) {
      set_mxcsr(value);
      present_ = value;
    }
  }
  /// Call after waves have run. The scheduler is SSE code: with the upper halves in use, its first vector
  /// instruction may stall for longer than it takes to start a wave.
  void clear_upper_halves() {
#if defined(__x86_64__)
    if (wide_) asm volatile("vzeroupper" ::: "memory");
#endif
  }
  /// Call after a host fault in a handler, which may have changed MXCSR temporarily. `mode`: its MODE.
  void restore(uint32_t mode) {
    mode_ = mode;
    present_ = mxcsr_of(mode);
    set_mxcsr(present_);
  }
  /// Call after a wave has run. `mode`: its MODE, which it may have changed.
  void leave(uint32_t mode) {
    clear_upper_halves();
    if (mode == mode_) return;
    mode_ = mode;
    present_ = mxcsr_of(mode);
  }

 private:
  const uint32_t host_;
  uint32_t present_;
  uint32_t mode_ = ~0u;  // of the last wave; initially a value that no wave has
  const bool wide_;
};

}  // namespace rigel::vgpu::exec
