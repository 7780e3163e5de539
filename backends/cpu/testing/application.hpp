// For benchmarks: a program on the CPU agent that uses the public API only. Not thread-safe.
#pragma once

#include <fcntl.h>
#include <hsa/hsa.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace rigel::cpu::testing {

inline void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS) return;
  const char* text = "";
  hsa_status_string(status, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}
#define CHECK_HSA(call) ::rigel::cpu::testing::check(call, #call)

/// The runtime, the first CPU agent, a queue and a completion signal, while this lives.
class Application {
  static void on_error(hsa_status_t status, hsa_queue_t*, void*) { check(status, "the queue"); }

 public:
  Application() {
    CHECK_HSA(hsa_init());
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* self) {
          hsa_device_type_t type;
          CHECK_HSA(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
          if (type != HSA_DEVICE_TYPE_CPU) return HSA_STATUS_SUCCESS;
          static_cast<Application*>(self)->agent_ = agent;
          return HSA_STATUS_INFO_BREAK;
        },
        this);
    CHECK_HSA(hsa_queue_create(agent_, 1024, HSA_QUEUE_TYPE_MULTI, on_error, nullptr, UINT32_MAX, UINT32_MAX,
                               &queue_));
    CHECK_HSA(hsa_signal_create(0, 0, nullptr, &done_));
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  ~Application() {
    hsa_signal_destroy(done_);
    hsa_queue_destroy(queue_);
    for (const hsa_executable_t executable : executables_) hsa_executable_destroy(executable);
    hsa_shut_down();
  }

  void load(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    CHECK_HSA(hsa_code_object_reader_create_from_file(file, &reader));
    CHECK_HSA(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                        &executable));
    CHECK_HSA(hsa_executable_load_agent_code_object(executable, agent_, reader, nullptr, nullptr));
    CHECK_HSA(hsa_executable_freeze(executable, nullptr));
    CHECK_HSA(hsa_code_object_reader_destroy(reader));
    close(file);
    executables_.push_back(executable);
  }

  /// Returns a dispatch of one work-item of the kernel `name` that decrements the completion signal. The
  /// caller may change fields before it submits the packet.
  hsa_kernel_dispatch_packet_t packet(const std::string& name) const {
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    packet.setup = 3u << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
    packet.completion_signal = done_;
    const hsa_executable_symbol_t symbol = find(name + ".kd");
    const auto get = [symbol](hsa_executable_symbol_info_t what, void* value) {
      CHECK_HSA(hsa_executable_symbol_get_info(symbol, what, value));
    };
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &packet.kernel_object);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &packet.group_segment_size);
    get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &packet.private_segment_size);
    return packet;
  }

  void submit(const hsa_kernel_dispatch_packet_t& packet) {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size) {
    }
    auto* const slot =
        static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + (index & (queue_->size - 1));
    hsa_kernel_dispatch_packet_t body = packet;
    body.header = HSA_PACKET_TYPE_INVALID;
    *slot = body;
    const uint32_t first = uint32_t{packet.setup} << 16 | packet.header;
    __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }

  void expect(int packets) { hsa_signal_store_relaxed(done_, packets); }
  void wait(hsa_wait_state_t how) {
    hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, how);
  }

 private:
  hsa_executable_symbol_t find(const std::string& name) const {
    hsa_executable_symbol_t symbol{};
    for (const hsa_executable_t executable : executables_) {
      if (hsa_executable_get_symbol_by_name(executable, name.c_str(), &agent_, &symbol) == HSA_STATUS_SUCCESS)
        break;
    }
    return symbol;
  }

  hsa_agent_t agent_{};
  std::vector<hsa_executable_t> executables_;
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
};

}  // namespace rigel::cpu::testing
