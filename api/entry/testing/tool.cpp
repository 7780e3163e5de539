// A tool that records its callbacks, and misbehaves as its options specify.
#include <hsa/hsa_api_trace.h>
#include <hsa_plugin/hsa_tool.h>
#include <hsa_plugin/hsa_tool_calls.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/entry/testing/tool_notes.hpp"

namespace {

using rigel::testing::ToolNotes;

struct Tool {
  const hsatool_host_t* host;
  ToolNotes& recorder;
  std::string name;
  std::string options;
  std::atomic<uint64_t> entered{0};

  bool is(const char* option) const {
    return options.find("\"" + std::string(option) + "\":true") != std::string::npos;
  }
  const HsaApiTable& tables() const { return *static_cast<const HsaApiTable*>(host->tables); }
};

Tool& of(void* tool) {
  return *static_cast<Tool*>(tool);
}

std::string text(hsatool_str_t str) {
  return {str.data, str.size};
}

std::string ids(const hsatool_call_t& call) {
  return " " + std::to_string(call.id) + " in " + std::to_string(call.parent);
}

hsatool_status_t load(const hsatool_host_t* host, void** out) {
  auto tool = std::unique_ptr<Tool>(new Tool{host, ToolNotes::of({host->config.data, host->config.size}),
                                             text(host->name), text(host->config)});
  tool->recorder.tables = host->tables;
  tool->recorder.note(tool->name + " load");
  if (tool->is("throw_in_load")) throw std::runtime_error("out of ideas");
  if (tool->is("fail")) {
    constexpr std::string_view kWhy = "no licence";
    host->services->report(host->self, {kWhy.data(), kWhy.size()});
    return HSA_STATUS_ERROR;
  }
  if (tool->is("init_in_load")) {
    if (::hsa_init() != HSA_STATUS_SUCCESS) return HSA_STATUS_ERROR;
    if (::hsa_shut_down() != HSA_STATUS_SUCCESS) return HSA_STATUS_ERROR;
    if (::hsa_shut_down() != HSA_STATUS_ERROR_NOT_INITIALIZED)
      return HSA_STATUS_ERROR;  // caused by the program
  }
  *out = tool.release();
  return HSA_STATUS_SUCCESS;
}

void check(hsatool_str_t config, const hsatool_mistakes_t* mistakes) {
  const auto is = [&](const char* option) { return text(config).find(option) != std::string::npos; };
  if (is("\"throw_in_check\":true")) throw std::runtime_error("in check");
  if (!is("\"mistaken\":true")) return;
  for (const std::string_view mistake : {"/mistaken: is true", "they are of no use"})
    mistakes->add(mistakes->self, {mistake.data(), mistake.size()});
}

void unload(void* tool) {
  of(tool).recorder.note(of(tool).name + " unload");
  if (of(tool).is("init_in_unload"))
    of(tool).recorder.note("hsa_init " + std::to_string(::hsa_init() != HSA_STATUS_SUCCESS));
  delete &of(tool);
}

int32_t wants(void* tool, const hsatool_function_t* function) {
  return !of(tool).is("only_signals") || text(function->name).rfind("hsa_signal", 0) == 0;
}

int32_t enter(void* self, hsatool_call_t* call) {
  Tool& tool = of(self);
  if (tool.is("throw_in_enter")) throw std::runtime_error("in enter");
  tool.recorder.note(tool.name + " > " + text(call->function->name) + (tool.is("ids") ? ids(*call) : ""));
  call->data = ++tool.entered;
  if (tool.is("double") && call->function->id == HSATOOL_ID_hsa_signal_store_relaxed)
    static_cast<hsatool_hsa_signal_store_relaxed_args_t*>(call->arguments)->value *= 2;
  if (tool.is("answer") && call->function->id == HSATOOL_ID_hsa_signal_load_relaxed) {
    *static_cast<hsa_signal_value_t*>(call->result) = 4711;
    return HSATOOL_ANSWERED;
  }
  if (tool.is("call_within")) {
    hsa_signal_t signal{};
    ::hsa_signal_create(1, 0, nullptr, &signal);
    tool.tables().core_->hsa_signal_destroy_fn(signal);
  }
  return HSATOOL_GO_ON;
}

void exit(void* self, hsatool_call_t* call) {
  Tool& tool = of(self);
  if (call->data == 0) tool.recorder.note("no data");
  tool.recorder.note(tool.name + " < " + text(call->function->name));
  if (tool.is("negate") && call->function->id == HSATOOL_ID_hsa_signal_load_relaxed)
    *static_cast<hsa_signal_value_t*>(call->result) *= -1;
}

// With the runtime's own functions.
void copy_something(const HsaApiTable& tables, hsa_agent_t agent) {
  char from[100] = {};
  char to[100];
  hsa_signal_t done{};
  tables.core_->hsa_signal_create_fn(1, 0, nullptr, &done);
  tables.amd_ext_->hsa_amd_memory_async_copy_fn(to, agent, from, agent, sizeof from, 0, nullptr, done);
  while (tables.core_->hsa_signal_wait_scacquire_fn(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                                    HSA_WAIT_STATE_BLOCKED) >= 1) {
  }
  tables.core_->hsa_signal_destroy_fn(done);
}

int32_t wants_queue(void* self, const hsatool_queue_t* queue) {
  Tool& tool = of(self);
  if (tool.is("copy_in_wants")) copy_something(tool.tables(), queue->agent);
  return tool.is("packets");
}

void submit(void* self, const hsatool_queue_t* queue, const void* packets, uint64_t count, uint64_t index,
            const hsatool_writer_t* writer) {
  Tool& tool = of(self);
  const auto write = [&](uint64_t from, uint64_t how_many) {
    writer->write(writer->self, static_cast<const char*>(packets) + from * 64, how_many);
  };
  if (tool.is("throw_in_submit")) throw std::runtime_error("in submit");
  if (tool.is("throw_at_second")) {
    write(0, 1);
    throw std::runtime_error("in submit");
  }
  if (queue->agent.handle == 0 || queue->queue->id != queue->id) tool.recorder.note("no queue");
  for (uint64_t i = 0; i < count; ++i) tool.recorder.note(tool.name + " packet " + std::to_string(index + i));
  if (tool.is("one_by_one")) {
    for (uint64_t i = 0; i < count; ++i) write(i, 1);
    return;
  }
  if (tool.is("half_more")) {
    const auto* const bytes = static_cast<const char*>(packets);
    std::vector<char> more(bytes, bytes + count * 64);
    more.insert(more.end(), bytes, bytes + count / 2 * 64);
    writer->write(writer->self, more.data(), count + count / 2);
    return;
  }
  write(0, count);
}

uint32_t activities(void* tool) {
  return of(tool).is("activities")
             ? uint32_t{HSATOOL_ACTIVITY_BARRIER | HSATOOL_ACTIVITY_DISPATCH | HSATOOL_ACTIVITY_COPY}
             : 0u;
}

void done(void* self, const hsatool_activity_t* activity) {
  Tool& tool = of(self);
  if (activity->end < activity->begin || activity->end > tool.host->services->now())
    tool.recorder.note("impossible times");
  uint64_t signal = 0;  // the last eight bytes of a packet
  if (activity->packet != nullptr)
    std::memcpy(&signal, static_cast<const char*>(activity->packet) + 56, sizeof signal);
  if (activity->packet != nullptr ? activity->completion.handle != signal : activity->completion.handle == 0)
    tool.recorder.note("another signal");
  if (activity->kind == HSATOOL_ACTIVITY_COPY) {
    tool.recorder.note(tool.name + " copy of " + std::to_string(activity->bytes) +
                       (activity->end != 0 ? "" : " without times") +
                       (tool.is("ids") ? " in " + std::to_string(activity->call) : ""));
  } else {
    tool.recorder.note(tool.name + " done " + std::to_string(activity->index));
  }
}

const hsatool_packet_ops_t kPackets{sizeof kPackets, wants_queue, submit};
const hsatool_activity_ops_t kActivities{sizeof kActivities, activities, done};
const hsatool_call_ops_t kCalls{sizeof kCalls, wants, enter, exit};

}  // namespace

extern "C" __attribute__((visibility("default"))) const hsatool_plugin_t* hsa_tool_query_v1(uint32_t,
                                                                                            uint32_t) {
  static const hsatool_plugin_t plugin{
      sizeof plugin, HSATOOL_ABI_MAJOR, HSATOOL_ABI_MINOR, {"test", 4},  {"1", 1}, HSABE_SANITIZER, 0, load,
      unload,        &kCalls,           &kPackets,         &kActivities, check};
  return &plugin;
}
