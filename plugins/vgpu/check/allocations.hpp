// The allocations of the program, byte by byte, as the checks need them.
//
// libvgpu_check.so is a tool of the HSA runtime (HSA_TOOLS_LIB). It wraps the allocation functions of the
// runtime's table, so it works with every runtime. The virtual GPU finds it with find_allocations().
//
// Threads: any.
// Lifetime: the record lives until the process ends.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace rigel::vgpu::check {

constexpr uint32_t kMostFrames = 16;

/// Return addresses in the program, innermost first; ends with null.
using HostStack = std::array<void*, kMostFrames>;

struct Allocation {
  uint64_t begin = 0;  ///< The first byte that the program may use
  uint64_t bytes = 0;  ///< Size that the program requested
  /// The program's bytes and the padding after them. No other allocation is there.
  uint64_t room_bytes = 0;
  bool is_freed = false;
  bool is_poisoned = false;  ///< The program has declared these bytes inaccessible (hsa_rigel/check.h).
  char name[40] = {};        ///< The program's name for it; empty: none
  /// Each dword had this value after the allocation; 0: the contents are unknown.
  uint32_t fill = 0;
  uint64_t serial = 0;    ///< Identifies the allocation, because addresses are reused.
  HostStack allocated{};  ///< If it is poisoned: the call that poisoned it
  HostStack freed{};

  /// Keeps as many bytes as fit. Null removes the name.
  void set_name(const char* text) { std::strncpy(name, text == nullptr ? "" : text, sizeof name - 1); }
};

class Allocations {
 public:
  /// Changes with each allocation and release.
  virtual uint64_t version() const noexcept = 0;

  /// Returns whether an allocation's room contains `va`. If so, sets `allocation` to it. Otherwise sets
  /// begin and room_bytes to the largest range around `va` that contains no allocation.
  virtual bool find(uint64_t va, Allocation& allocation) = 0;

  /// Returns whether the program has marked `va` as initialised. Narrows [begin, end), which contains `va`,
  /// to the addresses with the same answer.
  virtual bool is_initialized(uint64_t va, uint64_t& begin, uint64_t& end) = 0;

 protected:
  ~Allocations() = default;
};

/// Returns the record of libvgpu_check.so, or null if the program's runtime has not loaded it.
Allocations* find_allocations();

}  // namespace rigel::vgpu::check

/// Exported by libvgpu_check.so; valid if both libraries are from one build.
extern "C" rigel::vgpu::check::Allocations* vgpu_check_allocations_v1();
