// Chapter 4 of rules.inc: memory freed too early, copies beyond the end of a block, and agents without
// access. Memory that packets use is checked in packets.cpp.
#include "plugins/validate/memory.hpp"

#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

void allocated(Validator& validator, const hsatool_call_t& call, uint64_t pool, uint64_t size,
               void** pointer) {
  if (!succeeded(call) || pointer == nullptr || *pointer == nullptr) return;
  const auto base = reinterpret_cast<uint64_t>(*pointer);
  Block block;
  block.base = base;
  block.size = size;
  block.pool = validator.topology.pool(pool);
  block.allocated = validator.event(call);
  validator.registry.add(Kind::kMemory, base, block.allocated, 0, size);
  validator.memory.add(std::move(block));
}

void region_allocated(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_memory_allocate_args_t>(call);
  allocated(validator, call, arguments.region.handle, arguments.size, arguments.ptr);
}

void pool_allocated(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_memory_pool_allocate_args_t>(call);
  allocated(validator, call, arguments.memory_pool.handle, arguments.size, arguments.ptr);
}

void freeing(Validator& validator, hsatool_call_t& call) {
  const uint64_t base = word(call, 0);
  const auto block = validator.memory.find(base);
  if (!block || block->base != base) return;
  if (const std::string user = validator.in_flight.user_of_block(base, block->size); !user.empty()) {
    validator.report(Rule::kFreedInUse, call,
                     fmt::format("{:#x} of {} bytes is in use by {}{}", base, block->size, user,
                                 validator.describe(block->allocated, "created")));
  }
  validator.in_flight.forget_block(base);
}

void allowed(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_agents_allow_access_args_t>(call);
  if (succeeded(call) && arguments.agents != nullptr)
    validator.memory.allow(reinterpret_cast<uint64_t>(arguments.ptr),
                           {arguments.agents, arguments.num_agents});
}

void locked(Validator& validator, hsatool_call_t& call) {
  // Locks nest: the registry counts them, and each needs its unlock.
  if (succeeded(call)) validator.registry.add(Kind::kLockedMemory, word(call, 0), validator.event(call));
}

// --- Copies ------------------------------------------------------------------------------------------------

void check_range(Validator& validator, const hsatool_call_t& call, const void* pointer, uint64_t size,
                 std::string_view which) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const auto block = validator.memory.find(address);
  if (!block || size <= block->base + block->size - address) return;
  validator.report(
      Rule::kCopyBounds, call,
      fmt::format("{} bytes at the {} {:#x} extend past the allocation {:#x} of {} bytes{}", size, which,
                  address, block->base, block->size, validator.describe(block->allocated, "created")));
}

void copying(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_memory_copy_args_t>(call);
  check_range(validator, call, arguments.dst, arguments.size, "destination");
  check_range(validator, call, arguments.src, arguments.size, "source");
}

void filling(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_memory_fill_args_t>(call);
  check_range(validator, call, arguments.ptr, arguments.count * sizeof(uint32_t), "destination");
}

// One of the two agents must have access to both blocks.
void check_access(Validator& validator, const hsatool_call_t& call, const void* destination,
                  const void* source, hsa_agent_t first_agent, hsa_agent_t second_agent) {
  const auto to = validator.memory.find(reinterpret_cast<uint64_t>(destination));
  const auto from = validator.memory.find(reinterpret_cast<uint64_t>(source));
  const Agent* const agents[] = {validator.topology.agent(first_agent.handle),
                                 validator.topology.agent(second_agent.handle)};
  if (!to || !from || agents[0] == nullptr || agents[1] == nullptr) return;
  for (const Agent* const agent : agents) {
    if (validator.topology.may_access(*agent, *to) && validator.topology.may_access(*agent, *from)) return;
  }
  validator.report(
      Rule::kNoAccess, call,
      fmt::format("neither {} nor {} has access to both {:#x} and {:#x}{}{}", agents[0]->name,
                  agents[1]->name, to->base, from->base, validator.describe(to->allocated, "created"),
                  validator.describe(from->allocated, "created")));
}

std::pair<uint64_t, uint64_t> address_pair(const void* destination, const void* source) {
  return {reinterpret_cast<uint64_t>(destination), reinterpret_cast<uint64_t>(source)};
}

void begin_copies(Validator& validator, const hsatool_call_t& call,
                  std::vector<std::pair<uint64_t, uint64_t>> address_pairs, uint32_t count,
                  const hsa_signal_t* signals, hsa_signal_t completion) {
  Copies copies{call.function, std::move(address_pairs), {completion.handle}};
  for (uint32_t i = 0; signals != nullptr && i < count; ++i) copies.signals.push_back(signals[i].handle);
  validator.in_flight.add_copies(call.id, std::move(copies));
}

template <class Arguments>
void copying_later(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<Arguments>(call);
  check_range(validator, call, arguments.dst, arguments.size, "destination");
  check_range(validator, call, arguments.src, arguments.size, "source");
  check_access(validator, call, arguments.dst, arguments.src, arguments.dst_agent, arguments.src_agent);
  if (arguments.size == 0) return;  // no completion is reported
  begin_copies(validator, call, {address_pair(arguments.dst, arguments.src)}, arguments.num_dep_signals,
               arguments.dep_signals, arguments.completion_signal);
}

void copying_rectangle_later(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_memory_async_copy_rect_args_t>(call);
  const hsa_dim3_t* const range = arguments.range;
  if (range == nullptr || arguments.dst == nullptr || arguments.src == nullptr || range->x == 0 ||
      range->y == 0 || range->z == 0)
    return;
  const auto check = [&](const hsa_pitched_ptr_t& pitched, const hsa_dim3_t* offset, std::string_view which) {
    if (offset == nullptr) return;
    const uint64_t end = (uint64_t{offset->z} + range->z - 1) * pitched.slice +
                         (uint64_t{offset->y} + range->y - 1) * pitched.pitch + offset->x + range->x;
    check_range(validator, call, pitched.base, end, which);
  };
  check(*arguments.dst, arguments.dst_offset, "destination");
  check(*arguments.src, arguments.src_offset, "source");
  begin_copies(validator, call, {address_pair(arguments.dst->base, arguments.src->base)},
               arguments.num_dep_signals, arguments.dep_signals, arguments.completion_signal);
}

// One copy of a batch operation. The runtime reports its completion separately.
struct BatchCopy {
  const void* destination;
  hsa_agent_t destination_agent;
  const void* source;
  uint64_t size;
};

// Empty: the runtime rejects the batch.
std::vector<BatchCopy> copies_of(const hsa_amd_memory_copy_op_t& op) {
  const bool broadcast = op.type == HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST;
  if (op.version != HSA_AMD_MEMORY_COPY_OP_VERSION ||
      (!broadcast && op.type != HSA_AMD_MEMORY_COPY_OP_LINEAR))
    return {};
  if (op.num_entries == 0 && !broadcast) return {{op.dst, op.dst_agent, op.src, op.size}};
  if (op.dst_list == nullptr || op.dst_agent_list == nullptr) return {};
  if (!broadcast && (op.src_list == nullptr || op.size_list == nullptr)) return {};
  std::vector<BatchCopy> out;
  for (uint32_t i = 0; i < op.num_entries; ++i) {
    out.push_back({op.dst_list[i], op.dst_agent_list[i], broadcast ? op.src : op.src_list[i],
                   broadcast ? op.size : op.size_list[i]});
  }
  return out;
}

void copying_batch_later(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_memory_async_batch_copy_args_t>(call);
  const std::string_view name = hsatool::view(call.function->name);
  if (arguments.copy_ops == nullptr || arguments.num_copy_ops == 0) return;
  const hsa_signal_t completion = arguments.copy_ops[0].completion_signal;  // the same in all operations
  validator.check_handle(Kind::kSignal, completion.handle, name);
  std::vector<std::pair<uint64_t, uint64_t>> address_pairs;
  for (const auto& op : std::span(arguments.copy_ops, arguments.num_copy_ops)) {
    const std::vector<BatchCopy> copies = copies_of(op);
    if (copies.empty()) return;
    validator.check_handle(Kind::kAgent, op.src_agent.handle, name);
    for (const BatchCopy& copy : copies) {
      validator.check_handle(Kind::kAgent, copy.destination_agent.handle, name);
      check_range(validator, call, copy.destination, copy.size, "destination");
      check_range(validator, call, copy.source, copy.size, "source");
      check_access(validator, call, copy.destination, copy.source, copy.destination_agent, op.src_agent);
      address_pairs.push_back(address_pair(copy.destination, copy.source));
    }
  }
  begin_copies(validator, call, std::move(address_pairs), arguments.num_dep_signals, arguments.dep_signals,
               completion);
}

// Copies that a batch began before it failed continue, but their number is unknown, so all are dropped.
void drop_if_failed(Validator& validator, hsatool_call_t& call) {
  if (!succeeded(call)) validator.in_flight.drop_copies(call.id);
}

}  // namespace

std::span<const Hooks> memory_hooks() {
  static constexpr Hooks kHooks[] = {
      {HSATOOL_ID_hsa_memory_allocate, nullptr, region_allocated},
      {HSATOOL_ID_hsa_amd_memory_pool_allocate, nullptr, pool_allocated},
      {HSATOOL_ID_hsa_memory_free, freeing, nullptr},
      {HSATOOL_ID_hsa_amd_memory_pool_free, freeing, nullptr},
      {HSATOOL_ID_hsa_amd_agents_allow_access, nullptr, allowed},
      {HSATOOL_ID_hsa_amd_memory_lock, nullptr, locked},
      {HSATOOL_ID_hsa_amd_memory_lock_to_pool, nullptr, locked},
      {HSATOOL_ID_hsa_memory_copy, copying, nullptr},
      {HSATOOL_ID_hsa_amd_memory_fill, filling, nullptr},
      {HSATOOL_ID_hsa_amd_memory_async_copy, copying_later<hsatool_hsa_amd_memory_async_copy_args_t>,
       drop_if_failed},
      {HSATOOL_ID_hsa_amd_memory_async_copy_on_engine,
       copying_later<hsatool_hsa_amd_memory_async_copy_on_engine_args_t>, drop_if_failed},
      {HSATOOL_ID_hsa_amd_memory_async_copy_rect, copying_rectangle_later, drop_if_failed},
      {HSATOOL_ID_hsa_amd_memory_async_batch_copy, copying_batch_later, drop_if_failed},
  };
  return kHooks;
}

}  // namespace validate
