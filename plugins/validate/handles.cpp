// Chapter 1 of rules.inc: handles of the wrong kind, of destroyed objects, and handles that never existed.
#include <algorithm>

#include <fmt/core.h>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

struct TypeOfKind {
  std::string_view type;
  Kind kind;
};
constexpr TypeOfKind kTypes[] = {
    {"hsa_agent_t", Kind::kAgent},
    {"hsa_region_t", Kind::kRegion},
    {"hsa_amd_memory_pool_t", Kind::kPool},
    {"hsa_isa_t", Kind::kIsa},
    {"hsa_cache_t", Kind::kCache},
    {"hsa_wavefront_t", Kind::kWavefront},
    {"hsa_signal_t", Kind::kSignal},
    {"hsa_signal_group_t", Kind::kSignalGroup},
    {"hsa_queue_t*", Kind::kQueue},
    {"const hsa_queue_t*", Kind::kQueue},
    {"hsa_executable_t", Kind::kExecutable},
    {"hsa_code_object_reader_t", Kind::kReader},
    {"hsa_executable_symbol_t", Kind::kSymbol},
    {"hsa_loaded_code_object_t", Kind::kLoadedObject},
    {"hsa_code_object_t", Kind::kCodeObject},
    {"hsa_ext_program_t", Kind::kProgram},
    {"hsa_ext_image_t", Kind::kImage},
    {"hsa_ext_sampler_t", Kind::kSampler},
    {"hsa_amd_vmem_alloc_handle_t", Kind::kVmemHandle},
    {"hsa_ven_amd_pcs_t", Kind::kPcSampling},
};

// Names of parameters that are arrays of handles, and of the parameters with their lengths.
struct ListOfHandles {
  std::string_view list, count;
  Kind kind;
};
constexpr ListOfHandles kLists[] = {
    {"dep_signals", "num_dep_signals", Kind::kSignal},
    {"signals", "signal_count", Kind::kSignal},
    {"signals", "num_signals", Kind::kSignal},
    {"consumers", "num_consumers", Kind::kAgent},
    {"agents", "num_agents", Kind::kAgent},
    {"agents", "num_agent", Kind::kAgent},
    {"mapping_agents", "num_agents", Kind::kAgent},
};

// Functions that create objects.
struct Creator {
  uint32_t function;
  uint32_t parameter;  // pointer to the returned handle
  Kind kind;
  uint32_t parent = UINT32_MAX;  // parameter with the object that destroys this one
};
constexpr Creator kCreators[] = {
    {HSATOOL_ID_hsa_signal_create, 3, Kind::kSignal},
    {HSATOOL_ID_hsa_amd_signal_create, 4, Kind::kSignal},
    {HSATOOL_ID_hsa_amd_ipc_signal_attach, 1, Kind::kSignal},
    {HSATOOL_ID_hsa_signal_group_create, 4, Kind::kSignalGroup},
    {HSATOOL_ID_hsa_queue_create, 7, Kind::kQueue},
    {HSATOOL_ID_hsa_amd_queue_intercept_create, 7, Kind::kQueue},
    {HSATOOL_ID_hsa_soft_queue_create, 5, Kind::kQueue},
    {HSATOOL_ID_hsa_amd_counted_queue_acquire, 6, Kind::kQueue},
    {HSATOOL_ID_hsa_executable_create, 3, Kind::kExecutable},
    {HSATOOL_ID_hsa_executable_create_alt, 3, Kind::kExecutable},
    {HSATOOL_ID_hsa_code_object_reader_create_from_file, 1, Kind::kReader},
    {HSATOOL_ID_hsa_code_object_reader_create_from_memory, 2, Kind::kReader},
    {HSATOOL_ID_hsa_code_object_deserialize, 3, Kind::kCodeObject},
    {HSATOOL_ID_hsa_ext_program_create, 4, Kind::kProgram},
    {HSATOOL_ID_hsa_ext_program_finalize, 6, Kind::kCodeObject},
    {HSATOOL_ID_hsa_ext_image_create, 4, Kind::kImage},
    {HSATOOL_ID_hsa_ext_image_create_with_layout, 7, Kind::kImage},
    {HSATOOL_ID_hsa_amd_image_create, 5, Kind::kImage},
    {HSATOOL_ID_hsa_ext_image_create_v2, 4, Kind::kImage},
    {HSATOOL_ID_hsa_amd_image_create_v2, 5, Kind::kImage},
    {HSATOOL_ID_hsa_ext_sampler_create, 2, Kind::kSampler},
    {HSATOOL_ID_hsa_ext_sampler_create_v2, 2, Kind::kSampler},
    {HSATOOL_ID_hsa_isa_from_name, 1, Kind::kIsa},
    {HSATOOL_ID_hsa_amd_vmem_handle_create, 4, Kind::kVmemHandle},
    {HSATOOL_ID_hsa_amd_vmem_import_shareable_handle, 1, Kind::kVmemHandle},
    {HSATOOL_ID_hsa_amd_vmem_retain_alloc_handle, 0, Kind::kVmemHandle},
    {HSATOOL_ID_hsa_ven_amd_pcs_create, 8, Kind::kPcSampling},
    {HSATOOL_ID_hsa_ven_amd_pcs_create_from_id, 9, Kind::kPcSampling},
    {HSATOOL_ID_hsa_executable_get_symbol, 5, Kind::kSymbol, 0},
    {HSATOOL_ID_hsa_executable_get_symbol_by_name, 3, Kind::kSymbol, 0},
    {HSATOOL_ID_hsa_executable_load_agent_code_object, 4, Kind::kLoadedObject, 0},
    {HSATOOL_ID_hsa_executable_load_program_code_object, 3, Kind::kLoadedObject, 0},
    {HSATOOL_ID_hsa_amd_ipc_memory_attach, 4, Kind::kAttachedMemory},
    {HSATOOL_ID_hsa_amd_interop_map_buffer, 5, Kind::kMappedBuffer},
    {HSATOOL_ID_hsa_amd_interop_map_buffer_with_size, 6, Kind::kMappedBuffer},
    {HSATOOL_ID_hsa_amd_vmem_address_reserve, 0, Kind::kAddressRange},
    {HSATOOL_ID_hsa_amd_vmem_address_reserve_align, 0, Kind::kAddressRange},
};

struct Destroyer {
  uint32_t function;
  uint32_t parameter;
  Kind kind;
};
constexpr Destroyer kDestroyers[] = {
    {HSATOOL_ID_hsa_signal_destroy, 0, Kind::kSignal},
    {HSATOOL_ID_hsa_signal_group_destroy, 0, Kind::kSignalGroup},
    {HSATOOL_ID_hsa_queue_destroy, 0, Kind::kQueue},
    {HSATOOL_ID_hsa_amd_counted_queue_release, 0, Kind::kQueue},
    {HSATOOL_ID_hsa_executable_destroy, 0, Kind::kExecutable},
    {HSATOOL_ID_hsa_code_object_reader_destroy, 0, Kind::kReader},
    {HSATOOL_ID_hsa_code_object_destroy, 0, Kind::kCodeObject},
    {HSATOOL_ID_hsa_ext_program_destroy, 0, Kind::kProgram},
    {HSATOOL_ID_hsa_ext_image_destroy, 1, Kind::kImage},
    {HSATOOL_ID_hsa_ext_image_destroy_v2, 1, Kind::kImage},
    {HSATOOL_ID_hsa_ext_sampler_destroy, 1, Kind::kSampler},
    {HSATOOL_ID_hsa_amd_vmem_handle_release, 0, Kind::kVmemHandle},
    {HSATOOL_ID_hsa_ven_amd_pcs_destroy, 0, Kind::kPcSampling},
    {HSATOOL_ID_hsa_memory_free, 0, Kind::kMemory},
    {HSATOOL_ID_hsa_amd_memory_pool_free, 0, Kind::kMemory},
    {HSATOOL_ID_hsa_amd_memory_unlock, 0, Kind::kLockedMemory},
    {HSATOOL_ID_hsa_amd_ipc_memory_detach, 0, Kind::kAttachedMemory},
    {HSATOOL_ID_hsa_amd_interop_unmap_buffer, 0, Kind::kMappedBuffer},
    {HSATOOL_ID_hsa_amd_vmem_address_free, 0, Kind::kAddressRange},
};

template <class Entry, size_t kCount>
const Entry* entry_of(const Entry (&entries)[kCount], uint32_t function) {
  const auto found = std::find_if(std::begin(entries), std::end(entries),
                                  [&](const Entry& e) { return e.function == function; });
  return found == std::end(entries) ? nullptr : found;
}

void add_queue(Validator& validator, uint64_t handle, const Event& event) {
  validator.registry.add(Kind::kQueue, handle, event);
  const uint64_t doorbell = reinterpret_cast<const hsa_queue_t*>(handle)->doorbell_signal.handle;
  // The doorbell of a soft queue is a signal that the program created.
  if (validator.registry.state(Kind::kSignal, doorbell) != State::kLive)
    validator.registry.add(Kind::kSignal, doorbell, event, handle);
}

void created(Validator& validator, hsatool_call_t& call) {
  if (!succeeded(call)) return;
  const Creator& creator = *entry_of(kCreators, call.function->id);
  const auto* const handle = reinterpret_cast<const uint64_t*>(word(call, creator.parameter));
  if (handle == nullptr || *handle == 0) return;
  const uint64_t parent = creator.parent == UINT32_MAX ? 0 : word(call, creator.parent);
  // The function may return an existing object.
  if (creator.parent != UINT32_MAX && validator.registry.state(creator.kind, *handle) == State::kLive) return;
  if (creator.kind == Kind::kIsa && validator.registry.state(creator.kind, *handle) == State::kLive) return;
  const Event event = validator.event(call);
  if (creator.kind == Kind::kQueue) return add_queue(validator, *handle, event);
  validator.registry.add(creator.kind, *handle, event, parent);
}

// Each descriptor has a queue or null, independent of the others.
void queues_created(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_queue_create_args_t>(call);
  for (uint32_t i = 0; arguments.descs != nullptr && i < arguments.num_descs; ++i) {
    if (const hsa_queue_t* const queue = arguments.descs[i].queue)
      add_queue(validator, reinterpret_cast<uint64_t>(queue), validator.event(call));
  }
}

constexpr Kind kWithChildren[] = {Kind::kSymbol, Kind::kLoadedObject};

// State that a destroying call keeps in hsatool_call_t.data: 0 if it destroys nothing, a Queue* if the tool
// observes the queue's packets, otherwise kRemoved. At the end of the call the handle may already belong to
// another object.
constexpr uint64_t kRemoved = 1;

Queue* queue_of(const hsatool_call_t& call) {
  return call.data <= kRemoved ? nullptr : reinterpret_cast<Queue*>(call.data);
}

void destroying_queue(Validator& validator, hsatool_call_t& call, uint64_t handle, const Event& event) {
  validator.registry.remove_children(Kind::kSignal, handle, event);
  Queue* const queue = validator.queues.of(reinterpret_cast<const hsa_queue_t*>(handle));
  if (queue == nullptr) return;
  validator.queues.hide(*queue);
  call.data = reinterpret_cast<uint64_t>(queue);
}

void destroying(Validator& validator, hsatool_call_t& call) {
  const Destroyer& destroyer = *entry_of(kDestroyers, call.function->id);
  const Kind kind = destroyer.kind;
  const uint64_t handle = word(call, destroyer.parameter);
  if (handle == 0) return;
  if (kind == Kind::kSignal) {
    const auto signal = validator.registry.find(kind, handle);
    if (signal && signal->live && signal->parent != 0)
      return validator.report(Rule::kDoorbell, call, validator.describe(kind, handle));
  }
  const auto before = validator.registry.find(kind, handle);
  const Event event = validator.event(call);
  if (validator.registry.remove(kind, handle, event)) {
    call.data = kRemoved;
    if (kind == Kind::kExecutable) {
      for (const Kind child : kWithChildren) validator.registry.remove_children(child, handle, event);
      validator.kernels.remove(handle, event);
    } else if (kind == Kind::kQueue && validator.registry.state(kind, handle) != State::kLive) {
      destroying_queue(validator, call, handle, event);
    } else if (kind == Kind::kMemory) {
      validator.memory.remove(handle, event);
    }
    return;
  }
  if (before) {
    validator.report(Rule::kDestroyedTwice, call, validator.describe(kind, handle));
  } else if (is_always_seen(kind)) {
    validator.check_handle(kind, handle, hsatool::view(call.function->name));
  }
}

void destroyed(Validator& validator, hsatool_call_t& call) {
  if (call.data == 0) return;
  const Destroyer& destroyer = *entry_of(kDestroyers, call.function->id);
  const uint64_t handle = word(call, destroyer.parameter);
  Queue* const queue = queue_of(call);
  if (succeeded(call)) {
    if (queue == nullptr) return;
    validator.stop(*queue);
    return Queues::end(*queue);
  }
  validator.registry.restore(destroyer.kind, handle);
  if (destroyer.kind == Kind::kExecutable) {
    for (const Kind child : kWithChildren) validator.registry.restore_children(child, handle);
    validator.kernels.restore(handle);
  } else if (destroyer.kind == Kind::kQueue) {
    validator.registry.restore_children(Kind::kSignal, handle);
    if (queue != nullptr) validator.queues.show(*queue);
  } else if (destroyer.kind == Kind::kMemory) {
    validator.memory.restore(handle);
  }
}

void frozen(Validator& validator, hsatool_call_t& call) {
  if (!succeeded(call)) return;
  validator.kernels.add(validator.host, validator.topology, validator.registry, {word(call, 0)},
                        validator.event(call));
}

// Programs may store to a doorbell. Loading and waiting are harmless. Other operations change the value that
// the device reads.
void changed_otherwise(Validator& validator, hsatool_call_t& call) {
  const uint64_t signal = word(call, 0);
  if (validator.queues.of_doorbell(signal) != nullptr)
    validator.report(Rule::kDoorbell, call, validator.describe(Kind::kSignal, signal));
}

}  // namespace

std::vector<HandleParameter> handle_parameters(const hsatool_function_t& function) {
  std::vector<HandleParameter> out;
  const std::span parameters(function.parameters, function.parameter_count);
  const Destroyer* const destroyer = entry_of(kDestroyers, function.id);
  for (uint32_t i = 0; i < parameters.size(); ++i) {
    if (destroyer != nullptr && destroyer->parameter == i) continue;  // checked by `destroying`
    for (const TypeOfKind& type : kTypes) {
      if (hsatool::view(parameters[i].type) == type.type) out.push_back({i, type.kind});
    }
    for (const ListOfHandles& list : kLists) {
      if (hsatool::view(parameters[i].name) != list.list) continue;
      for (uint32_t j = 0; j < parameters.size(); ++j) {
        if (hsatool::view(parameters[j].name) == list.count) out.push_back({i, list.kind, j});
      }
    }
  }
  return out;
}

bool Validator::check_handle(Kind kind, uint64_t handle, std::string_view who) {
  if (handle == 0) return false;
  switch (registry.state(kind, handle)) {
    case State::kLive:
      return true;
    case State::kDestroyed:
      report(Rule::kDestroyed, who, describe(kind, handle));
      return false;
    case State::kUnknown:
      break;
  }
  if (!is_always_seen(kind)) return true;
  if (const Kind other = registry.other_kind(kind, handle); other != Kind::kNone) {
    report(Rule::kWrongKind, who, fmt::format("not a {}: {}", name_of(kind), describe(other, handle)));
  } else {
    report(Rule::kUnknownHandle, who, fmt::format("{:#x} is not a known {}", handle, name_of(kind)));
  }
  return false;
}

std::span<const Hooks> handle_hooks() {
  static const std::vector<Hooks> kHooks = [] {
    std::vector<Hooks> hooks;
    for (const Creator& creator : kCreators) hooks.push_back({creator.function, nullptr, created});
    for (const Destroyer& destroyer : kDestroyers)
      hooks.push_back({destroyer.function, destroying, destroyed});
    hooks.push_back({HSATOOL_ID_hsa_executable_freeze, nullptr, frozen});
    hooks.push_back({HSATOOL_ID_hsa_amd_queue_create, nullptr, queues_created});
    for (const uint32_t function :
         {HSATOOL_ID_hsa_signal_exchange_relaxed,   HSATOOL_ID_hsa_signal_exchange_scacquire,
          HSATOOL_ID_hsa_signal_exchange_screlease, HSATOOL_ID_hsa_signal_exchange_scacq_screl,
          HSATOOL_ID_hsa_signal_cas_relaxed,        HSATOOL_ID_hsa_signal_cas_scacquire,
          HSATOOL_ID_hsa_signal_cas_screlease,      HSATOOL_ID_hsa_signal_cas_scacq_screl,
          HSATOOL_ID_hsa_signal_add_relaxed,        HSATOOL_ID_hsa_signal_add_scacquire,
          HSATOOL_ID_hsa_signal_add_screlease,      HSATOOL_ID_hsa_signal_add_scacq_screl,
          HSATOOL_ID_hsa_signal_subtract_relaxed,   HSATOOL_ID_hsa_signal_subtract_scacquire,
          HSATOOL_ID_hsa_signal_subtract_screlease, HSATOOL_ID_hsa_signal_subtract_scacq_screl,
          HSATOOL_ID_hsa_signal_and_relaxed,        HSATOOL_ID_hsa_signal_and_scacquire,
          HSATOOL_ID_hsa_signal_and_screlease,      HSATOOL_ID_hsa_signal_and_scacq_screl,
          HSATOOL_ID_hsa_signal_or_relaxed,         HSATOOL_ID_hsa_signal_or_scacquire,
          HSATOOL_ID_hsa_signal_or_screlease,       HSATOOL_ID_hsa_signal_or_scacq_screl,
          HSATOOL_ID_hsa_signal_xor_relaxed,        HSATOOL_ID_hsa_signal_xor_scacquire,
          HSATOOL_ID_hsa_signal_xor_screlease,      HSATOOL_ID_hsa_signal_xor_scacq_screl})
      hooks.push_back({static_cast<uint32_t>(function), changed_otherwise, nullptr});
    return hooks;
  }();
  return kHooks;
}

}  // namespace validate
