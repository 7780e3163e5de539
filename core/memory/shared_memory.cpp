#include "core/memory/shared_memory.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "api/support/descriptor.hpp"
#include "api/support/page_size.hpp"
#include "api/support/undo.hpp"
#include "core/sharing/ipc_name.hpp"

namespace rigel {
namespace {

using ipc_name::Kind;

// Allocations are of whole pages, and some programs pass the rounded size.
bool is_all_of(size_t length, size_t allocation) {
  return length == allocation || length == page_up(allocation);
}

}  // namespace

// Dmabufs ------------------------------------------------------------------------------------------------

Status SharedMemory::portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset,
                                            uint64_t flags) {
  if (ptr == nullptr || size == 0 || dmabuf == nullptr || offset == nullptr ||
      (flags & ~uint64_t{HSA_AMD_DMABUF_MAPPING_TYPE_PCIE}) != 0) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const auto view = heaps_.view(address);
  const size_t room = view ? page_up(view->size) - (address - view->base) : 0;
  if (size > room) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                "address {}: {} bytes are not in one allocation from a memory pool", ptr, size);
  }
  if ((flags & HSA_AMD_DMABUF_MAPPING_TYPE_PCIE) != 0 && !view->heap->facts().host_accessible) {
    return fail(Status(HSA_STATUS_ERROR_NOT_SUPPORTED), "address {}: the memory is not accessible over PCIe",
                ptr);
  }
  const auto exposed = heaps_.expose(address);
  if (!exposed) return exposed.error();
  const auto descriptor = exposed->allocator->provider().export_block(exposed->backing);
  if (!descriptor) return descriptor.error();
  *dmabuf = *descriptor;
  *offset = address - reinterpret_cast<uintptr_t>(exposed->backing.address);
  return HSA_STATUS_SUCCESS;
}

Status SharedMemory::portable_close_dmabuf(int dmabuf) {
  if (close(dmabuf) == 0) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_RESOURCE_FREE, "file descriptor {}: cannot be closed: {}", dmabuf,
              std::strerror(errno));
}

const Heap* SharedMemory::heap_of(size_t owner) const noexcept {
  if (owner == ImportedBlock::kNobody) return nullptr;
  return heaps_.find_heap_of(agents_[owner].handle, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED);
}

/// Returns the agents of `wanted` that can access a block. All must be able to, unless the caller named none
/// (`all`).
Result<AgentSet> SharedMemory::with_access(const ImportedBlock& block, const AgentSet& wanted,
                                           bool all) const {
  const Heap* heap = heap_of(block.owner);
  AgentSet able;
  bool everyone = true;
  wanted.for_each([&](size_t index) {
    const bool host = agents_[index].type == HSA_DEVICE_TYPE_CPU;
    const bool reaches = host ? block.host_accessible
                              : heap == nullptr || heap->access(agents_, agents_[index]) !=
                                                       HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
    if (reaches) able.add(index);
    everyone &= reaches;
  });
  if (everyone || all) return able;
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "agents: one of them can never access this memory");
}

std::optional<Status> SharedMemory::allow_access(uintptr_t address, const hsa_agent_t* agents,
                                                 uint32_t count) {
  const auto imported = imported_.view(address);
  if (!imported || imported->base != address) return std::nullopt;
  const auto named = agents_.find(agents, count);
  if (!named) return named.error();
  ImportedBlock block;
  block.owner = imported->owner;
  block.host_accessible = imported->host_accessible;
  const auto allowed = with_access(block, *named, false);
  if (!allowed) return allowed.error();
  const MutexLock changes(access_mutex_);
  return imported_.set_access(address, *allowed);
}

Status SharedMemory::interop_map_buffer(uint32_t num_agents, const hsa_agent_t* agents, int interop_handle,
                                        uint32_t flags, size_t* size, void** ptr, size_t* metadata_size,
                                        const void** metadata) {
  if (num_agents == 0 || agents == nullptr || flags != 0 || size == nullptr || ptr == nullptr) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  const auto named = agents_.find(agents, num_agents);
  if (!named) return named.error();
  MemoryImporter* const importer = imported_.importer();
  if (importer == nullptr || interop_handle < 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "file descriptor {}: not memory that an agent can use",
                interop_handle);
  }
  const auto block = std::make_shared<OpenBlock>(*importer);
  auto opened = importer->open(interop_handle, *named);
  if (!opened) return opened.error();
  block->adopt(std::move(*opened));
  const auto allowed = with_access(**block, *named, false);
  if (!allowed) return allowed.error();
  ImportedMemory::Entry entry;
  entry.type = HSA_EXT_POINTER_TYPE_GRAPHICS;
  entry.base = reinterpret_cast<uintptr_t>((*block)->address);
  entry.size = (*block)->size;
  entry.agents = *allowed;
  entry.block = block;
  const auto kept = imported_.add(std::move(entry));
  if (!kept) return kept.error();
  *ptr = (*block)->address;
  *size = (*block)->size;
  if (metadata_size != nullptr) *metadata_size = (*kept)->size();
  if (metadata != nullptr) *metadata = (*kept)->empty() ? nullptr : (*kept)->data();
  return HSA_STATUS_SUCCESS;
}

Status SharedMemory::interop_unmap_buffer(void* ptr) {
  if (ptr == nullptr) return HSA_STATUS_SUCCESS;
  if (imported_.remove(reinterpret_cast<uintptr_t>(ptr), HSA_EXT_POINTER_TYPE_GRAPHICS)) {
    return HSA_STATUS_SUCCESS;
  }
  return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION, "address {}: no interop buffer is mapped here", ptr);
}

// Other processes ----------------------------------------------------------------------------------------

Result<Heaps::Name> SharedMemory::make_name(const Heaps::Exposed& exposed) {
  MemoryProvider& provider = exposed.allocator->provider();
  const uint64_t offset = exposed.view.base - reinterpret_cast<uintptr_t>(exposed.backing.address);
  const auto by_driver = [&]() -> Result<Heaps::Name> {
    const auto named = provider.name_block(exposed.backing);
    if (!named) return error(named.error());
    ipc_name::OfDriver name{.name = named->name, .device = named->device};
    const bool in_slab = exposed.backing.size == kUnitSize && exposed.view.size < kUnitSize;
    if (!in_slab && page_up(exposed.view.size) != exposed.backing.size)
      return error(Status(HSA_STATUS_ERROR_NOT_SUPPORTED));
    if (!name.set_place(exposed.view.size, offset, in_slab))
      return error(Status(HSA_STATUS_ERROR_NOT_SUPPORTED));
    return std::make_shared<hsa_amd_ipc_memory_t>(ipc_name::encode(Kind::kMemoryOfDriver, name));
  };
  const auto by_descriptor = [&]() -> Result<Heaps::Name> {
    const auto descriptor = provider.export_block(exposed.backing);
    if (!descriptor) return error(descriptor.error());
    const auto ticket = server_.offer(*descriptor, {offset, exposed.view.size});
    if (!ticket) return error(ticket.error());
    struct Offered {
      Offered(DescriptorServer& server, const Ticket& ticket) : server(server), ticket(ticket) {}
      ~Offered() { server.withdraw(ticket); }
      Offered(const Offered&) = delete;
      Offered& operator=(const Offered&) = delete;
      DescriptorServer& server;
      const Ticket ticket;
      hsa_amd_ipc_memory_t name{};
    };
    Undo withdraw([&] { server_.withdraw(*ticket); });
    const auto offered = std::make_shared<Offered>(server_, *ticket);
    withdraw.cancel();
    offered->name = ipc_name::encode(Kind::kMemoryTicket,
                                     ipc_name::ByTicket{.ticket = *ticket, .length = exposed.view.size});
    return Heaps::Name(offered, &offered->name);
  };
  auto name = prefer_driver_names_ ? by_driver() : by_descriptor();
  if (!name && name.error() == Status(HSA_STATUS_ERROR_NOT_SUPPORTED)) {
    name = prefer_driver_names_ ? by_descriptor() : by_driver();
  }
  if (name) return name;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
              "/dev/kfd: the driver cannot share memory between processes");
}

Status SharedMemory::ipc_memory_create(void* ptr, size_t len, hsa_amd_ipc_memory_t* handle) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const auto view = heaps_.view(address);
  if (handle == nullptr || !view || view->base != address || !is_all_of(len, view->size)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "address {}: {} bytes are not one whole allocation from a memory pool", ptr, len);
  }
  Heaps::Name name = heaps_.name_of(address);
  if (name == nullptr) {
    const auto exposed = heaps_.expose(address);
    if (!exposed) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    auto created = make_name(*exposed);
    if (!created) return created.error();
    name = heaps_.keep_name(*exposed, std::move(*created));
  }
  if (name == nullptr)
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: freed during the call", ptr);
  *handle = *name;
  return HSA_STATUS_SUCCESS;
}

Status SharedMemory::ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t len, uint32_t num_agents,
                                       const hsa_agent_t* mapping_agents, void** mapped_ptr) {
  if (handle == nullptr || len == 0 || mapped_ptr == nullptr ||
      (num_agents != 0 && mapping_agents == nullptr)) {
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  auto wanted = agents_.find(mapping_agents, num_agents);
  if (!wanted) return wanted.error();
  if (num_agents == 0) wanted = agents_.all();
  MemoryImporter* const importer = imported_.importer();
  if (importer == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_amd_ipc_memory_attach: no device can import memory");
  }

  uint64_t offset = 0, length = 0;
  const auto block = std::make_shared<OpenBlock>(*importer);
  Result<ImportedBlock> opened = error(HSA_STATUS_ERROR_INVALID_ARGUMENT);
  if (const auto by_ticket = ipc_name::decode<ipc_name::ByTicket>(Kind::kMemoryTicket, *handle)) {
    length = by_ticket->length;
    if (!is_all_of(len, length)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    const auto parcel = DescriptorServer::fetch(by_ticket->ticket);
    if (!parcel) return parcel.error();
    const Descriptor descriptor(parcel->descriptor);
    offset = parcel->facts[0];
    opened = importer->open(descriptor.get(), *wanted);
  } else if (const auto of_driver = ipc_name::decode<ipc_name::OfDriver>(Kind::kMemoryOfDriver, *handle)) {
    length = of_driver->length();
    if (!is_all_of(len, length)) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    offset = of_driver->offset();
    opened = importer->open({of_driver->name, of_driver->device},
                            of_driver->in_slab() ? kUnitSize : page_up(length));
  } else {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "IPC handle: does not name memory");
  }
  if (!opened) return opened.error();
  block->adopt(std::move(*opened));
  const size_t size = (*block)->size;
  // The other side is not trusted.
  if (offset % kPageBytes != 0 || offset > size || length > size - offset) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "IPC handle: {} bytes at offset {} exceed the buffer, which has {} bytes", length, offset,
                size);
  }
  const auto allowed = with_access(**block, *wanted, num_agents == 0);
  if (!allowed) return allowed.error();
  ImportedMemory::Entry entry;
  entry.type = HSA_EXT_POINTER_TYPE_IPC;
  entry.base = reinterpret_cast<uintptr_t>((*block)->address) + offset;
  entry.size = length;
  entry.agents = *allowed;
  entry.block = block;
  auto* const address = reinterpret_cast<void*>(entry.base);
  const auto kept = imported_.add(std::move(entry));
  if (!kept) return kept.error();
  *mapped_ptr = address;
  return HSA_STATUS_SUCCESS;
}

Status SharedMemory::ipc_memory_detach(void* mapped_ptr) {
  if (mapped_ptr != nullptr &&
      imported_.remove(reinterpret_cast<uintptr_t>(mapped_ptr), HSA_EXT_POINTER_TYPE_IPC)) {
    return HSA_STATUS_SUCCESS;
  }
  return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "address {}: no memory of another process is attached here",
              mapped_ptr);
}

}  // namespace rigel
