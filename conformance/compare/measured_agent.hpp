// An agent to measure, with its pools, queues and kernels. Uses only the public API. *Threads:* one.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace compare {

/// Ends the program with a message if the status is not success.
void check(hsa_status_t status, const char* what);

std::vector<char> read_file(const std::string& path);

struct LoadedKernel {
  hsa_executable_t executable{};
  uint64_t object = 0;
};

class MeasuredAgent {
 public:
  MeasuredAgent();
  ~MeasuredAgent();
  MeasuredAgent(const MeasuredAgent&) = delete;
  MeasuredAgent& operator=(const MeasuredAgent&) = delete;

  hsa_agent_t cpu{};
  hsa_agent_t agent{};  ///< the GPU, if there is one
  bool gpu = false;
  std::string target;  ///< "gfx900"
  hsa_amd_memory_pool_t host_pool{}, kernarg_pool{}, device_pool{};

  hsa_executable_t load(const std::vector<char>& code) const;
  hsa_executable_symbol_t find(hsa_executable_t executable, const char* kernel) const;
  /// Loads a code object and looks up one of its kernels.
  LoadedKernel load(const std::vector<char>& code, const char* kernel) const;

  hsa_queue_t* create_queue(uint32_t size) const;
  /// Allocates memory that both agents can access.
  void* allocate(hsa_amd_memory_pool_t pool, size_t bytes) const;
};

/// Reserves a slot, writes the packet and rings the doorbell.
void submit(hsa_queue_t* queue, const void* packet);
hsa_kernel_dispatch_packet_t dispatch_packet(uint64_t kernel, hsa_signal_t done);
hsa_barrier_and_packet_t barrier_packet(hsa_signal_t done);

}  // namespace compare
