// A test's program: runs with the tool between hsa_init and hsa_shut_down, and collects the reports of broken
// rules.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/validate/testing/kernels.hpp"

namespace validate::testing {

struct Report {
  uint32_t rule;
  std::string call;
  std::string text;
};

struct TestKernel {
  uint64_t object = 0;
  uint32_t kernarg_size = 0;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
};

/// At most one exists at a time in a process.
class Program {
 public:
  /// Calls hsa_init with the tool; a failure fails the test. `options`: members of the tool's JSON object.
  /// `traced`: also loads the trace tool, before this one.
  explicit Program(const std::string& options = {}, bool traced = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Returns the status of hsa_init with these options, and shuts the runtime down. `twice`: the
  /// configuration has the tool in two entries.
  static hsa_status_t init_status(const std::string& options, bool twice = false);

  /// Calls hsa_shut_down, and returns the numbers of all broken rules.
  std::vector<uint32_t> end();
  /// Returns and clears the reports.
  static std::vector<Report> take_reports();
  static std::vector<uint32_t> take_numbers();

  hsa_agent_t agent() const { return agent_; }
  hsa_amd_memory_pool_t pool() const { return pool_; }

  hsa_signal_t signal(hsa_signal_value_t value = 1);
  hsa_queue_t* queue(uint32_t size = 64, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI);
  void* memory(size_t size);
  /// Finds a kernel. The first call loads the code object.
  TestKernel kernel(const char* name);
  hsa_executable_t executable() const { return executable_; }
  void unload_kernels();

  /// Creates a correct dispatch of a kernel with one work-group.
  hsa_kernel_dispatch_packet_t dispatch(const TestKernel& kernel, void* kernarg,
                                        hsa_signal_t completion = {0}) const;

 private:
  bool open_ = false;
  std::string config_;
  hsa_agent_t agent_{};
  hsa_amd_memory_pool_t pool_{};
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  std::vector<char> code_;
};

/// The steps of a submission.
uint64_t reserve(hsa_queue_t* queue);
void write_packet(hsa_queue_t* queue, uint64_t index, const void* packet);  // writes the header last
void ring(hsa_queue_t* queue, uint64_t index);
/// Does all three steps.
uint64_t submit(hsa_queue_t* queue, const void* packet);
template <class Packet>
uint64_t submit(hsa_queue_t* queue, const Packet& packet) {
  static_assert(sizeof packet == 64);
  return submit(queue, static_cast<const void*>(&packet));
}
hsa_barrier_and_packet_t barrier(hsa_signal_t completion,
                                 std::initializer_list<hsa_signal_t> dependencies = {},
                                 int type = HSA_PACKET_TYPE_BARRIER_AND);
/// Creates a packet that completes when the signal's value is 0.
hsa_amd_barrier_value_packet_t barrier_value(hsa_signal_t signal, hsa_signal_t completion = {0});
/// Submits a dispatch without a kernel. The queue stops and calls its error callback.
void fail(hsa_queue_t* queue);
/// Waits until the value is 0.
void wait(hsa_signal_t signal);

/// A kernel that runs until `release` is called, so that its resources stay in use.
class HeldKernel {
 public:
  HeldKernel(Program& program, hsa_queue_t* queue, hsa_signal_t completion);
  void release();
  void* args() const { return args_; }
  void* words() const { return words_; }

 private:
  uint32_t* words_;
  HoldArgs* args_;
};

}  // namespace validate::testing
