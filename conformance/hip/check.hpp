// Shared by the HIP programs: calls that must succeed, device memory, comparison with results of the host.
// Every program checks itself and prints differing elements with their values. Its exit status is 0
// (correct), 1 (wrong) or 77 (cannot run here).
#pragma once

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

constexpr int kSkipped = 77;

#define HIP_OK(call)                                                                                    \
  do {                                                                                                  \
    const hipError_t hip_status_ = (call);                                                              \
    if (hip_status_ != hipSuccess) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorName(hip_status_)); \
      std::exit(1);                                                                                     \
    }                                                                                                   \
  } while (false)

/// Waits for the device. Exits with a message if a launch failed.
#define HIP_FINISH()                \
  do {                              \
    HIP_OK(hipGetLastError());      \
    HIP_OK(hipDeviceSynchronize()); \
  } while (false)

/// Device memory of `size` elements, freed by the destructor.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) { HIP_OK(hipMalloc(&data_, bytes())); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) { write(values); }
  DeviceArray(size_t size, int byte) : DeviceArray(size) { HIP_OK(hipMemset(data_, byte, bytes())); }
  ~DeviceArray() { (void)hipFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return (size_ == 0 ? 1 : size_) * sizeof(T); }
  void write(const std::vector<T>& values) {
    HIP_OK(hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    HIP_OK(hipMemcpy(values.data(), data_, size_ * sizeof(T), hipMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// Generates the same numbers on every run and every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  uint32_t below(uint32_t end) { return static_cast<uint32_t>((bits() >> 32) * end >> 32); }
  double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

 private:
  uint64_t state_;
};

inline int& failures() {
  static int count = 0;
  return count;
}

inline std::string text_of(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g (%a)", value, value);
  return text;
}
template <typename T>
std::string text_of(T value) requires std::is_integral_v<T> {
  char text[64];
  std::snprintf(text, sizeof text, "%lld (0x%llx)", static_cast<long long>(value),
                static_cast<unsigned long long>(static_cast<std::make_unsigned_t<T>>(value)));
  return text;
}

/// Prints the failure. The program continues and fails at its end.
inline void fail(const std::string& what) {
  ++failures();
  std::printf("FAILED %s\n", what.c_str());
}

inline void expect(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

/// Compares bits, except that all NaNs are equal.
template <typename T>
bool same(T expected, T actual) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(expected) && std::isnan(actual)) return true;
  }
  return std::memcmp(&expected, &actual, sizeof(T)) == 0;
}

/// Compares the elements and prints the first few that differ.
template <typename T>
void expect_equal(const std::string& what, const std::vector<T>& expected, const std::vector<T>& actual) {
  constexpr size_t kShown = 5;
  if (expected.size() != actual.size()) {
    fail(what + ": " + std::to_string(actual.size()) + " elements instead of " +
         std::to_string(expected.size()));
    return;
  }
  size_t different = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (same(expected[i], actual[i])) continue;
    if (++different <= kShown) {
      std::printf("  %s: element %zu is %s, not %s\n", what.c_str(), i, text_of(actual[i]).c_str(),
                  text_of(expected[i]).c_str());
    }
  }
  if (different != 0) {
    fail(what + ": " + std::to_string(different) + " of " + std::to_string(expected.size()) +
         " elements differ");
  }
}

template <typename T>
void expect_equal(const std::string& what, T expected, T actual) {
  expect_equal(what, std::vector<T>{expected}, std::vector<T>{actual});
}

/// Returns the exit status, for the end of main().
inline int verdict(const char* program) {
  if (failures() == 0) std::printf("%s: right\n", program);
  return failures() == 0 ? 0 : 1;
}

inline unsigned blocks_for(size_t items, unsigned block) {
  return static_cast<unsigned>((items + block - 1) / block);
}
