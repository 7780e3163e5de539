// MXCSR for a wave's MODE: the rounding and denormal mode of its single precision. See lowering.hpp.
//
// Hosts of other kinds have a register to the same effect, and MXCSR's layout is what the rest of the executor knows. AArch64:
// FPCR has one bit for denormal operands and results, so of modes that keep only one of the two it keeps neither, and FPSR
// has what was raised (Arm Architecture Reference Manual, FPCR.FZ and FPSR; FEAT_AFP has a bit for each).
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace rigel::vgpu::exec {

/// Whether denormal operands and denormal results can be flushed each without the other, and what was raised is told apart as
/// MXCSR does it: AArch64 detects tininess before rounding, and says nothing of what it flushes but that it did.
#if defined(__aarch64__)
constexpr bool kHasDenormalModes = false;
#else
constexpr bool kHasDenormalModes = true;
#endif

/// All exceptions masked, to nearest even, denormals kept: as MXCSR is when a thread starts.
constexpr uint32_t kDefaultMxcsr = 0x1f80;
/// The same, but denormal operands and results are zero.
constexpr uint32_t kFlushingMxcsr = kDefaultMxcsr | 1u << 6 | 1u << 15;

constexpr uint32_t mxcsr_of(uint32_t mode) {
  constexpr uint32_t kRounding[] = {0, 2, 1, 3};  // nearest, +inf, -inf, zero as MXCSR counts them
  uint32_t value = kDefaultMxcsr | kRounding[mode & 3] << 13;
  if ((mode >> 4 & 1) == 0) value |= 1u << 6;   // denormal inputs are zero
  if ((mode >> 5 & 1) == 0) value |= 1u << 15;  // denormal results are zero
  return value;
}

inline void set_mxcsr(uint32_t value) {
#if defined(__x86_64__)
  _mm_setcsr(value);
#elif defined(__aarch64__)
  constexpr uint64_t kRounding[] = {0, 2, 1, 3};  // as FPCR counts what MXCSR counts
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

/// MXCSR of an operation that does not follow the wave's MODE; puts the wave's back.
class MxcsrScope {
 public:
  explicit MxcsrScope(uint32_t wanted) : before_(get_mxcsr()) { set_mxcsr(wanted); }
  ~MxcsrScope() { set_mxcsr(before_); }
  MxcsrScope(const MxcsrScope&) = delete;
  MxcsrScope& operator=(const MxcsrScope&) = delete;

 private:
  const uint32_t before_;
};

/// While one lives, its thread runs waves: MXCSR is theirs, and vector registers may be left as handlers
/// leave them. Both are put right when it goes.
class FloatEnvironment {
 public:
  /// `wide`: handlers use registers that older code has to wait for if their upper halves are not zero.
  explicit FloatEnvironment(bool wide) : host_(get_mxcsr()), present_(host_), wide_(wide) {}
  ~FloatEnvironment() {
    if (present_ != host_) set_mxcsr(host_);
    clear_upper_halves();
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  /// A wave with this MODE is about to run.
  void enter(uint32_t mode) {
    if (mode == mode_) return;
    mode_ = mode;
    if (const uint32_t wanted = mxcsr_of(mode); wanted != present_) {
      set_mxcsr(wanted);
      present_ = wanted;
    }
  }
  /// Waves have run. The scheduler's own code is for every x86-64: with the upper halves in use, its first
  /// instruction on a vector register may wait for longer than it takes to start a wave.
  void clear_upper_halves() {
#if defined(__x86_64__)
    if (wide_) asm volatile("vzeroupper" ::: "memory");
#endif
  }
  /// A wave with this MODE was left in the middle of an operation, which may have changed MXCSR for itself.
  void put_right(uint32_t mode) {
    mode_ = mode;
    present_ = mxcsr_of(mode);
    set_mxcsr(present_);
  }
  /// A wave has run, and may have changed its MODE.
  void now_is(uint32_t mode) {
    clear_upper_halves();
    if (mode == mode_) return;
    mode_ = mode;
    present_ = mxcsr_of(mode);
  }

 private:
  const uint32_t host_;
  uint32_t present_;
  uint32_t mode_ = ~0u;  // the last wave's; none has this one
  const bool wide_;
};

}  // namespace rigel::vgpu::exec
