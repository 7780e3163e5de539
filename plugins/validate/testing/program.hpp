// A program under the tool, for a test: what it does between hsa_init and hsa_shut_down, and the rules that the tool
// says it breaks.
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

/// Only one at a time in a process.
class Program {
 public:
  /// hsa_init with the tool; `options` are members of its JSON object. A failure fails the test. `traced`: with the
  /// trace tool in front.
  explicit Program(const std::string& options = {}, bool traced = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// What hsa_init answers with these options; it is shut down again. `twice`: behind another entry for the tool.
  static hsa_status_t try_to_begin(const std::string& options, bool twice = false);

  /// hsa_shut_down, and the numbers of the rules that have been broken until then.
  std::vector<uint32_t> end();
  /// The reports so far, which are then forgotten.
  static std::vector<Report> take();
  static std::vector<uint32_t> take_numbers();

  hsa_agent_t agent() const { return agent_; }
  hsa_amd_memory_pool_t pool() const { return pool_; }

  hsa_signal_t signal(hsa_signal_value_t value = 1);
  hsa_queue_t* queue(uint32_t size = 64, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI);
  void* memory(size_t size);
  /// Loads the kernels at the first call.
  TestKernel kernel(const char* name);
  hsa_executable_t executable() const { return executable_; }
  void unload_kernels();

  /// A correct dispatch of a kernel with one work-group.
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

/// The packet at the place of `index`, in parts.
uint64_t reserve(hsa_queue_t* queue);
void write_packet(hsa_queue_t* queue, uint64_t index, const void* packet);  // with the header, last
void ring(hsa_queue_t* queue, uint64_t index);
/// All three.
uint64_t submit(hsa_queue_t* queue, const void* packet);
template <class Packet>
uint64_t submit(hsa_queue_t* queue, const Packet& packet) {
  static_assert(sizeof packet == 64);
  return submit(queue, static_cast<const void*>(&packet));
}
hsa_barrier_and_packet_t barrier(hsa_signal_t completion,
                                 std::initializer_list<hsa_signal_t> dependencies = {},
                                 int type = HSA_PACKET_TYPE_BARRIER_AND);
/// One that is over when the signal has the value 0.
hsa_amd_barrier_value_packet_t barrier_value(hsa_signal_t signal, hsa_signal_t completion = {0});
/// Has the queue stop, which calls its error callback: a dispatch of no kernel.
void fail(hsa_queue_t* queue);
/// Until the value is 0.
void wait(hsa_signal_t signal);

/// A kernel that runs until it is told to end, and so keeps what it uses in use.
class HeldKernel {
 public:
  HeldKernel(Program& program, hsa_queue_t* queue, hsa_signal_t completion);
  void let_go();
  void* args() const { return args_; }
  void* words() const { return words_; }

 private:
  uint32_t* words_;
  HoldArgs* args_;
};

}  // namespace validate::testing
