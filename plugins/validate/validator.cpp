#include "plugins/validate/validator.hpp"

#include <cstring>

#include <fmt/core.h>

#include "api/support/mutex.hpp"

namespace validate {

const void* argument(const hsatool_call_t& call, uint32_t parameter) {
  return static_cast<const char*>(call.arguments) + call.function->parameters[parameter].offset;
}

uint64_t word(const hsatool_call_t& call, uint32_t parameter) {
  uint64_t out = 0;
  std::memcpy(&out, argument(call, parameter),
              std::min<size_t>(sizeof out, call.function->parameters[parameter].size));
  return out;
}

bool succeeded(const hsatool_call_t& call) {
  return call.result != nullptr && hsatool::result<hsa_status_t>(call) == HSA_STATUS_SUCCESS;
}

Validator::Validator(hsatool::Host tool_host, const Options& tool_options)
    : host(tool_host),
      options(tool_options),
      places(options.stack),
      reporter(host, options),
      topology(host, registry),
      in_flight([this](uint64_t signal) { return value_of_signal(signal); }) {
  plans_.resize(host.functions().size());
  for (const hsatool_function_t* const function : host.functions()) {
    Plan& plan = plans_[function->index];
    plan.handles = handle_parameters(*function);
    for (const auto hooks :
         {signal_hooks(), memory_hooks(), packet_hooks(), thread_hooks(), shutdown_hooks(), handle_hooks()}) {
      for (const Hooks& hook : hooks) {
        if (hook.function != function->id) continue;
        if (hook.enter != nullptr) plan.enter.push_back(hook.enter);
        if (hook.exit != nullptr) plan.exit.push_back(hook.exit);
      }
    }
  }
  if (reporter.applies(Rule::kEndlessWait)) {
    waits.watch(
        options.stall_seconds, [this] { return in_flight.may_progress(); }, [this] { return host.now(); },
        [this](const Waits::Wait& wait) {
          std::string text =
              fmt::format("thread {} has waited for {} s: no running thread or device can change",
                          wait.thread, (host.now() - wait.since) / 1'000'000'000);
          for (const uint64_t signal : wait.signals) text += " " + describe(Kind::kSignal, signal);
          report(Rule::kEndlessWait, wait.call, text);
        });
  }
}

void Validator::enter(hsatool_call_t& call) {
  waits.add_thread();
  const Plan& plan = plans_[call.function->index];
  const std::string_view name = hsatool::view(call.function->name);
  for (const HandleParameter& handle : plan.handles) {
    if (handle.count == UINT32_MAX) {
      check_handle(handle.kind, word(call, handle.parameter), name);
      continue;
    }
    const auto* const list = reinterpret_cast<const uint64_t*>(word(call, handle.parameter));
    const uint64_t count = list == nullptr ? 0 : word(call, handle.count);
    for (uint64_t i = 0; i < count; ++i) check_handle(handle.kind, list[i], name);
  }
  for (const Hook hook : plan.enter) hook(*this, call);
}

void Validator::exit(hsatool_call_t& call) {
  const Plan& plan = plans_[call.function->index];
  for (const Hook hook : plan.exit) hook(*this, call);
}

void Validator::report(Rule rule, const hsatool_call_t& call, std::string_view text) {
  report(rule, hsatool::view(call.function->name), text);
}

std::string Validator::describe(const Event& event, std::string_view verb) const {
  if (event.function == nullptr) return {};
  return fmt::format("\n  {} by {}\n{}", verb, hsatool::view(event.function->name),
                     places.describe(event.place, "    "));
}

std::string Validator::describe(Kind kind, uint64_t handle) {
  std::string out = fmt::format("{} {:#x}", name_of(kind), handle);
  const auto object = registry.find(kind, handle);
  if (!object) return out;
  out += describe(object->created, "created");
  if (!object->live) out += describe(object->destroyed, "destroyed");
  return out;
}

std::optional<int64_t> Validator::value_of_signal(uint64_t signal) {
  if (registry.state(Kind::kSignal, signal) != State::kLive) return std::nullopt;
  return host.tables().core_->hsa_signal_load_relaxed_fn({signal});
}

void Validator::queue_created(const hsatool_queue_t& info) {
  queues.add(info, topology.agent(info.agent.handle));
}

void Validator::stop(Queue& queue) {
  queue.stopped.store(true, std::memory_order_release);
  in_flight.drop_queue(queue.id);
}

void Validator::submit(const hsatool_queue_t& info, std::span<const hsatool::Packet> packets,
                       uint64_t index) {
  Queue* const queue = queues.of_id(info.id);
  if (queue == nullptr) return;
  for (size_t i = 0; i < packets.size(); ++i) check_packet(*this, *queue, packets[i], index + i);
  // Later checks compare the slots with these copies (check_taken).
  const rigel::MutexLock lock(queue->mutex);
  const uint64_t size = info.queue->size;
  for (uint64_t i = index; i < index + packets.size() && queue->copies.size() == size; ++i)
    queue->copies[i & (size - 1)] = queue->ring()[i & (size - 1)];
  queue->taken = std::max(queue->taken, index + packets.size());
}

void Validator::done(const hsatool_activity_t& activity) {
  if (activity.kind == HSATOOL_ACTIVITY_COPY) {
    in_flight.copy_done(activity.call);
    return;
  }
  if (const auto packet = in_flight.done(activity.queue_id, activity.index))
    report(Rule::kKernargChanged, *packet, "the kernarg segment changed between submission and completion");
}

}  // namespace validate
