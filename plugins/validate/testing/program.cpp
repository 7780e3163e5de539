#include "plugins/validate/testing/program.hpp"

#include <gtest/gtest.h>
#include <hsa_plugin/hsa_validate.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "api/support/mutex.hpp"

namespace validate::testing {
namespace {

rigel::Mutex mutex;
std::vector<Report> reports;

void expect_success(hsa_status_t status, const char* action) {
  EXPECT_EQ(status, HSA_STATUS_SUCCESS) << action;
}

std::string text(hsatool_str_t str) {
  return {str.data, str.size};
}

constexpr const char* kTrace =
    R"({"name": "trace", "library": ")" TRACE_LIBRARY
    R"(", "on_error": "fail", "config": {"file": "/dev/null", "summary": "none"}}, )";
constexpr const char* kValidateBefore =
    R"({"name": "before", "library": ")" VALIDATE_LIBRARY R"(", "on_error": "fail"}, )";

// Writes a configuration file with the tool after the entry `other`. Adds the callback and the log file if
// the options do not have them. Returns the path.
std::string write_configuration(const std::string& options, const char* earlier_entry) {
  const auto path =
      std::filesystem::temp_directory_path() / ("rigel-validate-" + std::to_string(::getpid()) + ".json");
  const auto unless_given = [&](const std::string& name, const std::string& value) {
    return options.find('"' + name + '"') == std::string::npos ? '"' + name + "\": \"" + value + "\", "
                                                               : std::string();
  };
  std::ofstream(path) << R"({"config_version": "1.0", "plugins": [)" << earlier_entry
                      << R"({"name": "validate", "library": ")" << VALIDATE_LIBRARY
                      << R"(", "on_error": "fail", "config": {)" << unless_given("callback", "note_report")
                      << unless_given("file", "/dev/null") << options
                      << (options.empty() ? R"("limit": 10)" : "") << "}}]}";
  ::setenv("HSA_PLUGIN_CONFIG", path.c_str(), 1);
  return path;
}

}  // namespace

hsa_status_t Program::init_status(const std::string& options, bool twice) {
  const std::string path = write_configuration(options, twice ? kValidateBefore : "");
  const hsa_status_t status = hsa_init();
  if (status == HSA_STATUS_SUCCESS) hsa_shut_down();
  ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  std::filesystem::remove(path);
  return status;
}

Program::Program(const std::string& options, bool traced)
    : config_(write_configuration(options, traced ? kTrace : "")) {
  take_reports();
  const hsa_status_t status = hsa_init();
  expect_success(status, "hsa_init");
  open_ = status == HSA_STATUS_SUCCESS;
  if (!open_) return;
  hsa_iterate_agents(
      [](hsa_agent_t agent, void* found) {
        hsa_device_type_t device = HSA_DEVICE_TYPE_GPU;
        hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &device);
        if (device == HSA_DEVICE_TYPE_CPU) *static_cast<hsa_agent_t*>(found) = agent;
        return HSA_STATUS_SUCCESS;
      },
      &agent_);
  hsa_amd_agent_iterate_memory_pools(
      agent_,
      [](hsa_amd_memory_pool_t pool, void* found) {
        hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GROUP;
        uint32_t flags = 0;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
        if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0)
          *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
        return HSA_STATUS_SUCCESS;
      },
      &pool_);
}

Program::~Program() {
  if (open_) hsa_shut_down();
  ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  std::filesystem::remove(config_);
}

std::vector<uint32_t> Program::end() {
  if (executable_.handle != 0) unload_kernels();
  if (open_) expect_success(hsa_shut_down(), "hsa_shut_down");
  open_ = false;
  return take_numbers();
}

std::vector<Report> Program::take_reports() {
  const rigel::MutexLock lock(mutex);
  return std::exchange(reports, {});
}

std::vector<uint32_t> Program::take_numbers() {
  std::vector<uint32_t> out;
  for (const Report& report : take_reports()) out.push_back(report.rule);
  return out;
}

hsa_signal_t Program::signal(hsa_signal_value_t value) {
  hsa_signal_t signal{};
  expect_success(hsa_signal_create(value, 0, nullptr, &signal), "hsa_signal_create");
  return signal;
}

hsa_queue_t* Program::queue(uint32_t size, hsa_queue_type32_t type) {
  hsa_queue_t* queue = nullptr;
  expect_success(hsa_queue_create(agent_, size, type, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue),
                 "hsa_queue_create");
  return queue;
}

void* Program::memory(size_t size) {
  void* memory = nullptr;
  expect_success(hsa_amd_memory_pool_allocate(pool_, size, 0, &memory), "hsa_amd_memory_pool_allocate");
  std::memset(memory, 0, size);
  return memory;
}

TestKernel Program::kernel(const char* name) {
  if (executable_.handle == 0) {
    std::ifstream file(VALIDATE_KERNELS, std::ios::binary);
    code_.assign(std::istreambuf_iterator<char>(file), {});
    expect_success(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader_), "reader");
    expect_success(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                             nullptr, &executable_),
                   "executable");
    expect_success(hsa_executable_load_agent_code_object(executable_, agent_, reader_, nullptr, nullptr),
                   "load");
    expect_success(hsa_executable_freeze(executable_, nullptr), "freeze");
  }
  TestKernel kernel;
  hsa_executable_symbol_t symbol{};
  expect_success(
      hsa_executable_get_symbol_by_name(executable_, (name + std::string(".kd")).c_str(), &agent_, &symbol),
      name);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                                 &kernel.kernarg_size);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                                 &kernel.group_size);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                                 &kernel.private_size);
  return kernel;
}

void Program::unload_kernels() {
  expect_success(hsa_executable_destroy(executable_), "hsa_executable_destroy");
  expect_success(hsa_code_object_reader_destroy(reader_), "hsa_code_object_reader_destroy");
  executable_ = {};
}

hsa_kernel_dispatch_packet_t Program::dispatch(const TestKernel& kernel, void* kernarg,
                                               hsa_signal_t completion) const {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                  HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  packet.setup = 1;
  packet.workgroup_size_x = kWords;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = kWords;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.private_segment_size = kernel.private_size;
  packet.group_segment_size = kernel.group_size;
  packet.kernel_object = kernel.object;
  packet.kernarg_address = kernarg;
  packet.completion_signal = completion;
  return packet;
}

uint64_t reserve(hsa_queue_t* queue) {
  return hsa_queue_add_write_index_relaxed(queue, 1);
}

void write_packet(hsa_queue_t* queue, uint64_t index, const void* packet) {
  auto* const slot = static_cast<char*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  uint32_t first = 0;
  std::memcpy(&first, packet, sizeof first);
  __atomic_store_n(reinterpret_cast<uint32_t*>(slot), first, __ATOMIC_RELEASE);
}

void ring(hsa_queue_t* queue, uint64_t index) {
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

uint64_t submit(hsa_queue_t* queue, const void* packet) {
  const uint64_t index = reserve(queue);
  write_packet(queue, index, packet);
  ring(queue, index);
  return index;
}

hsa_barrier_and_packet_t barrier(hsa_signal_t completion, std::initializer_list<hsa_signal_t> dependencies,
                                 int type) {
  hsa_barrier_and_packet_t packet{};
  packet.header = static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE);
  std::copy(dependencies.begin(), dependencies.end(), packet.dep_signal);
  packet.completion_signal = completion;
  return packet;
}

void fail(hsa_queue_t* queue) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
  submit(queue, packet);
}

void wait(hsa_signal_t signal) {
  hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
}

hsa_amd_barrier_value_packet_t barrier_value(hsa_signal_t signal, hsa_signal_t completion) {
  hsa_amd_barrier_value_packet_t packet{};
  packet.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC << HSA_PACKET_HEADER_TYPE;
  packet.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  packet.signal = signal;
  packet.cond = HSA_SIGNAL_CONDITION_EQ;
  packet.mask = -1;
  packet.completion_signal = completion;
  return packet;
}

HeldKernel::HeldKernel(Program& program, hsa_queue_t* queue, hsa_signal_t completion)
    : words_(static_cast<uint32_t*>(program.memory(8))), args_(static_cast<HoldArgs*>(program.memory(64))) {
  *args_ = {&words_[0], &words_[1]};
  auto packet = program.dispatch(program.kernel("hold"), args_, completion);
  packet.grid_size_x = packet.workgroup_size_x = 1;
  submit(queue, packet);
  while (__atomic_load_n(&words_[0], __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
}

void HeldKernel::release() {
  __atomic_store_n(&words_[1], 1, __ATOMIC_RELEASE);
}

}  // namespace validate::testing

/// The callback of the tool (option `callback`).
extern "C" __attribute__((visibility("default"))) void note_report(const hsa_validate_report_t* report) {
  using namespace validate::testing;
  const rigel::MutexLock lock(mutex);
  reports.push_back({report->rule, text(report->call), text(report->text)});
}
