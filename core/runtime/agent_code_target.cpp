#include "core/runtime/agent_code_target.hpp"

#include <hsa/amd_hsa_kernel_code.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "api/support/backend_report.hpp"
#include "api/support/log.hpp"
#include "api/support/page_size.hpp"

namespace rigel {

struct AgentCodeTarget::Block {
  void* start = nullptr;  // start of the allocation
  size_t own_bytes = 0;   // size of pages outside the heaps
  void* image = nullptr;  // the backend's object, after loading
};

namespace {

hsabe_str_t str(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

uint32_t AgentCodeTarget::accepts(const CodeObject& object) {
  const CodeIdentity& identity = object.identity();
  const hsabe_code_target_t target{sizeof target,         static_cast<uint32_t>(identity.machine),
                                   identity.flags,        identity.os_abi,
                                   identity.abi_version,  str(identity.isa_name),
                                   object.bytes().data(), object.bytes().size()};
  const uint32_t score = agent_.backend().code.accepts(agent_.device(), &target);
  if (score == 0) {
    std::string isas;
    for (const Isa* isa : agent_.isas()) isas += (isas.empty() ? "" : ", ") + isa->name();
    log_message(LogLevel::kError, LogTopic::kApi,
                "code object for {}: cannot be loaded on an agent with {}: {}", identity.isa_name, isas,
                backend_report::take());
  }
  return score;
}

Result<CodeMemory> AgentCodeTarget::allocate(uint64_t size, uint64_t alignment) {
  auto block = std::make_unique<Block>();
  CodeMemory memory;
  memory.size = size;
  const Heap* const pool = own_pool();
  const Status status = pool != nullptr  ? allocate_pool(*pool, size, alignment, *block, memory)
                        : runs_on_host() ? allocate_pages(size, alignment, *block, memory)
                                         : allocate_host(size, alignment, *block, memory);
  if (status != HSA_STATUS_SUCCESS) return error(status);
  memory.cookie = block.release();
  return memory;
}

// Returns the pool from which a device runs code; null for CPU agents and devices without memory.
const Heap* AgentCodeTarget::own_pool() const {
  return agent_.is_cpu() ? nullptr : heaps_.find_heap_of(agent_.handle(), 0);
}

Status AgentCodeTarget::allocate_pool(const Heap& pool, uint64_t size, uint64_t alignment, Block& block,
                                      CodeMemory& memory) {
  const uint64_t granule = pool.facts().granule;
  const uint64_t slack = alignment > granule ? alignment - granule : 0;
  const Status status = heaps_.memory_pool_allocate(pool.pool(), size + slack, 0, &block.start);
  if (status != HSA_STATUS_SUCCESS) return status;
  memory.device_address = (reinterpret_cast<uint64_t>(block.start) + slack) & ~(alignment - 1);
  // The host never writes to a GPU's memory, even if it can: its stores could arrive after instructions are
  // fetched. The device copies the code from host memory.
  if (agent_.node().bus != HSABE_BUS_KFD && pool.facts().host_accessible)
    memory.host_address = reinterpret_cast<std::byte*>(memory.device_address);
  // Reused memory may contain old data.
  if (memory.host_address != nullptr) std::memset(memory.host_address, 0, size);
  return HSA_STATUS_SUCCESS;
}

// Code for the host is in separate pages, some of which become read-only after loading. Memory of
// heaps is pinned for the GPUs with all rights, and amdkfd keeps the queues of a process evicted while it
// cannot pin such a page again.
Status AgentCodeTarget::allocate_pages(uint64_t size, uint64_t alignment, Block& block, CodeMemory& memory) {
  const auto page = uint64_t{host_page_bytes()};
  const uint64_t slack = alignment > page ? alignment - page : 0;
  const uint64_t bytes = round_up(size + slack, page);
  void* const pages = bytes < size
                          ? MAP_FAILED
                          : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "code object: {} bytes cannot be mapped", size);
  block.start = pages;
  block.own_bytes = bytes;
  memory.device_address = (reinterpret_cast<uint64_t>(pages) + slack) & ~(alignment - 1);
  memory.host_address = reinterpret_cast<std::byte*>(memory.device_address);
  return HSA_STATUS_SUCCESS;
}

Status AgentCodeTarget::allocate_host(uint64_t size, uint64_t alignment, Block& block, CodeMemory& memory) {
  const uint64_t slack = alignment > kPageBytes ? alignment - kPageBytes : 0;  // memory starts at a page
  const auto allocated = heaps_.allocate_system(size + slack, agent_.node().node_id);
  if (!allocated) return allocated.error();
  block.start = *allocated;
  memory.device_address = (reinterpret_cast<uint64_t>(*allocated) + slack) & ~(alignment - 1);
  memory.host_address = reinterpret_cast<std::byte*>(memory.device_address);
  return HSA_STATUS_SUCCESS;
}

void AgentCodeTarget::release(const CodeMemory& memory) noexcept {
  const std::unique_ptr<Block> block(static_cast<Block*>(memory.cookie));
  if (block->image != nullptr) agent_.backend().code.unload(agent_.device(), block->image);
  if (block->own_bytes != 0) {
    munmap(block->start, block->own_bytes);
  } else {
    heaps_.free(block->start);
  }
}

std::optional<uint64_t> AgentCodeTarget::resolve(std::string_view name) {
  uint64_t address = 0;
  const auto operation = agent_.backend().code.resolve;
  if (operation == nullptr) return std::nullopt;
  if (operation(agent_.device(), str(name), &address) == HSA_STATUS_SUCCESS) return address;
  backend_report::drop();  // another agent may resolve the name
  return std::nullopt;
}

Status AgentCodeTarget::describe_kernel(std::span<const std::byte> descriptor, CodeKernel& kernel) {
  // Backends support descriptors of version 3 and later. A version 2 descriptor is complete and the same for
  // every chip, and the loader has read it.
  if (kernel.descriptor_size == sizeof(amd_kernel_code_t)) return HSA_STATUS_SUCCESS;
  hsabe_kernel_info_t info{};
  info.struct_size = sizeof info;
  const hsabe_status_t status =
      agent_.backend().code.describe_kernel(agent_.device(), descriptor.data(), &info);
  if (status != HSA_STATUS_SUCCESS) return backend_report::refused("kernel descriptor", status);
  if (info.kernarg_size != 0) kernel.kernarg_size = info.kernarg_size;
  // These values are in the metadata only, not in a descriptor.
  kernel.kernarg_alignment = std::max(kernel.kernarg_alignment, info.kernarg_alignment);
  kernel.dynamic_callstack |= info.dynamic_callstack != 0;
  kernel.group_size = info.group_size;
  kernel.private_size = info.private_size;
  if (info.wavefront_size != 0) kernel.wavefront_size = info.wavefront_size;
  return HSA_STATUS_SUCCESS;
}

Status AgentCodeTarget::finish(CodeMemory& memory, const FinishedCode& code) {
  if (is_for_program()) return HSA_STATUS_SUCCESS;  // variables: without kernels
  if (memory.host_address == nullptr) {
    const Status copied = copies_.memory_copy(reinterpret_cast<void*>(memory.device_address),
                                              code.contents.data(), code.contents.size());
    if (copied != HSA_STATUS_SUCCESS) return copied;
  }
  std::vector<hsabe_segment_part_t> parts;
  parts.reserve(2 * code.segments.size());
  const auto add = [&](uint64_t address, uint64_t size, uint32_t protection) {
    parts.push_back({sizeof(hsabe_segment_part_t), address - code.link_address, size, protection, 0});
  };
  for (const CodeSegment& part : code.segments) {
    const uint32_t protection = (part.readable ? uint32_t{HSABE_PROTECT_READ} : 0u) |
                                (part.writable ? uint32_t{HSABE_PROTECT_WRITE} : 0u) |
                                (part.executable ? uint32_t{HSABE_PROTECT_EXECUTE} : 0u);
    if (part.constant_size != 0)
      add(part.address, part.constant_size, protection & ~uint32_t{HSABE_PROTECT_WRITE});
    if (part.constant_size < part.memory_size) {
      add(part.address + part.constant_size, part.memory_size - part.constant_size, protection);
    }
  }
  const hsabe_segment_t segment{
      sizeof segment, memory.device_address, const_cast<std::byte*>(code.contents.data()),
      memory.size,    parts.data(),          parts.size()};
  std::vector<hsabe_code_symbol_t> symbols;
  symbols.reserve(code.exports.size());
  for (const CodeExport& symbol : code.exports) {
    symbols.push_back({str(symbol.name), symbol.device_address, symbol.size});
  }
  auto& block = *static_cast<Block*>(memory.cookie);
  const hsabe_status_t status =
      agent_.backend().code.load(agent_.device(), &segment, symbols.data(), symbols.size(), &block.image);
  if (status != HSA_STATUS_SUCCESS) {
    block.image = nullptr;
    return backend_report::refused("code object", status);
  }
  return HSA_STATUS_SUCCESS;
}

AgentCodeTargets::AgentCodeTargets(const Machine& machine, Heaps& heaps, CopyEngine& copies)
    : machine_(machine) {
  for (const Agent& agent : machine.agents()) {
    if (!agent.dispatches_kernels()) continue;
    targets_.emplace_back(heaps, copies, agent, agent.handle());
    if (agent.is_cpu() && !program_) program_.emplace(heaps, copies, agent, hsa_agent_t{});
  }
}

CodeTarget* AgentCodeTargets::target_of(hsa_agent_t agent) {
  for (AgentCodeTarget& target : targets_) {
    if (target.agent().handle == agent.handle) return &target;
  }
  return nullptr;
}

Result<hsa_isa_t> AgentCodeTargets::isa_from_name(std::string_view name) {
  const Isa* isa = machine_.find_isa(name);
  if (isa == nullptr) return fail(HSA_STATUS_ERROR_INVALID_ISA_NAME, "unknown ISA '{}'", name);
  return isa->handle();
}

}  // namespace rigel
