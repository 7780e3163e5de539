// Code objects loaded on a device: acceptance, their kernels and agent functions, and lookup of a packet's
// kernel object.
//
// *Threads:* any thread. A queue's thread uses a separate cache of kernels, which it clears when `generation`
// has changed, so a packet's lookup takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <hsa_cpu/abi.h>
#include <hsa_backend/hsa_backend.hpp>

#include "api/support/mutex.hpp"

namespace rigel::cpu {

struct Kernel {
  uint64_t object = 0;  // address of its descriptor
  hsa_cpu_entry_t entry = nullptr;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
  uint32_t kernarg_size = 0;
  uint16_t required_size[3] = {0, 0, 0};
};

struct Image;

class CodeStore {
 public:
  explicit CodeStore(const hsabe_host_t* host);
  ~CodeStore();

  /// Returns 0 if the device cannot execute the code, otherwise a rank: code that uses more features of the
  /// CPU has a higher one.
  uint32_t accepts(const hsabe_code_target_t& target) const;
  hsabe_status_t resolve(std::string_view name, uint64_t* address) const;
  hsabe_status_t load(const hsabe_segment_t& segment, const hsabe_code_symbol_t* symbols,
                      uint64_t symbol_count, void** image);
  void unload(void* image) noexcept;

  /// Returns false if no loaded code object has a kernel descriptor at that address.
  bool find_kernel(uint64_t object, Kernel* kernel) const noexcept;
  /// Returns null if no loaded code object has a function for that type of agent dispatch packet.
  hsa_cpu_agent_function_t find_agent_function(uint16_t type) const noexcept;
  /// Changes when a kernel is unloaded.
  uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }

 private:
  hsabe_status_t read_symbols(const hsabe_segment_t& segment, const hsabe_code_symbol_t* symbols,
                              uint64_t symbol_count, Image* image) const;
  /// Adds all kernels and functions of the image, or none.
  hsabe_status_t add(const Image& image) noexcept;
  void remove(const Image& image) noexcept RIGEL_REQUIRES(mutex_);

  const hsabe_host_t* const host_;
  std::vector<void*> libraries_;  // libraries for undefined symbols
  mutable SharedMutex mutex_;
  std::unordered_map<uint64_t, Kernel> kernels_ RIGEL_GUARDED_BY(mutex_);
  std::unordered_map<uint16_t, hsa_cpu_agent_function_t> agent_functions_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> generation_{0};
};

hsabe_status_t describe_kernel(const hsabe_host_t* host, const void* descriptor, hsabe_kernel_info_t* info);

}  // namespace rigel::cpu
