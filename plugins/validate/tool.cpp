#include "plugins/validate/tool.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

// Number of running callbacks, in separate counters by thread to avoid contention.
struct alignas(64) Counter {
  std::atomic<uint32_t> uses{0};
};
constinit std::array<Counter, 64> counters;
constinit std::atomic<Validator*> current{nullptr};
constinit pid_t process = 0;  // process that created `current`

hsatool_status_t load(const hsatool_host_t* raw, void** tool) noexcept {
  const hsatool::Host host(raw);
  try {
    rigel::Diagnostics mistakes;
    const Options options = parse_options(host.config(), mistakes);
    if (mistakes.has_errors())
      throw std::runtime_error(mistakes.entries().front().text);  // `check` reports all of them
    if (current.load() != nullptr && process == ::getpid())
      throw std::runtime_error("another entry of the configuration already validates this process");
    // A forked child leaks the parent's validator: its locks may have been held by other threads.
    prepare_handlers(process != 0 && process != ::getpid());
    for (Counter& counter : counters) counter.uses.store(0, std::memory_order_relaxed);
    current.store(new Validator(host, options));
    process = ::getpid();
    *tool = nullptr;
    return HSA_STATUS_SUCCESS;
  } catch (const std::exception& problem) {
    host.report(problem.what());
  } catch (...) {
    host.report("exception of unknown type");
  }
  return HSA_STATUS_ERROR;
}

void check(hsatool_str_t config, const hsatool_mistakes_t* mistakes) {
  rigel::Diagnostics found;
  parse_options(hsatool::view(config), found);
  for (const auto& mistake : found.entries()) mistakes->add(mistakes->self, hsatool::str(mistake.text));
}

void unload(void*) {
  const std::unique_ptr<Validator> validator(current.exchange(nullptr));
  for (const Counter& counter : counters) {
    while (counter.uses.load() != 0) std::this_thread::yield();
  }
  if (validator != nullptr) validator->finish();
}

int32_t wants(void*, const hsatool_function_t* function) {
  const Use use;
  return use && use->wants(*function);
}

int32_t enter(void*, hsatool_call_t* call) {
  if (const Use use; use) use->enter(*call);
  return HSATOOL_GO_ON;
}

void exit(void*, hsatool_call_t* call) {
  if (const Use use; use) use->exit(*call);
}

int32_t wants_queue(void*, const hsatool_queue_t* queue) {
  if (const Use use; use) use->queue_created(*queue);
  return 1;
}

void submit(void*, const hsatool_queue_t* queue, const void* packets, uint64_t count, uint64_t index,
            const hsatool_writer_t* writer) {
  if (const Use use; use) {
    use->submit(*queue, std::span(static_cast<const hsatool::Packet*>(packets), static_cast<size_t>(count)),
                index);
  }
  writer->write(writer->self, packets, count);
}

uint32_t activities(void*) {
  return HSATOOL_ACTIVITY_DISPATCH | HSATOOL_ACTIVITY_BARRIER | HSATOOL_ACTIVITY_COPY;
}

void done(void*, const hsatool_activity_t* activity) {
  if (const Use use; use) use->done(*activity);
}

constexpr hsatool_call_ops_t kCalls{sizeof kCalls, wants, enter, exit};
constexpr hsatool_packet_ops_t kPackets{sizeof kPackets, wants_queue, submit};
constexpr hsatool_activity_ops_t kActivities{sizeof kActivities, activities, done};
constexpr hsatool_plugin_t kPlugin{sizeof kPlugin,
                                   HSATOOL_ABI_MAJOR,
                                   HSATOOL_ABI_MINOR,
                                   hsatool::str("validate"),
                                   hsatool::str("1.0"),
                                   HSABE_SANITIZER,
                                   0,
                                   load,
                                   unload,
                                   &kCalls,
                                   &kPackets,
                                   &kActivities,
                                   check};

}  // namespace

Use::Use() noexcept : counter_(thread_number() % counters.size()) {
  counters[counter_].uses.fetch_add(1);
  validator_ = current.load();
}

Use::~Use() {
  counters[counter_].uses.fetch_sub(1);
}

}  // namespace validate

extern "C" __attribute__((visibility("default"))) const hsatool_plugin_t* hsa_tool_query_v1(
    uint32_t host_abi_major, uint32_t) {
  return host_abi_major == HSATOOL_ABI_MAJOR ? &validate::kPlugin : nullptr;
}
