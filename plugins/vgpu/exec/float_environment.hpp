// MXCSR for a wave's MODE: the rounding and denormal mode of its single precision. See lowering.hpp.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rigel::vgpu::exec {

/// All exceptions masked, as MXCSR is when a thread starts.
constexpr uint32_t kDefaultMxcsr = 0x1f80;

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
#else
  (void)value;
#endif
}

inline uint32_t get_mxcsr() {
#if defined(__x86_64__)
  return _mm_getcsr();
#else
  return kDefaultMxcsr;
#endif
}

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
