#include "core/executable/loaded_code_object.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "api/support/query.hpp"

namespace rigel {

Result<StagingMemory> StagingMemory::allocate(uint64_t size) {
  void* memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "code object: {} bytes of staging memory cannot be mapped: {}", size, std::strerror(errno));
  }
  StagingMemory staging;
  staging.bytes_ = {static_cast<std::byte*>(memory), size};
  return staging;
}

StagingMemory::~StagingMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

LoadedCodeObject::LoadedCodeObject(hsa_executable_t executable, CodeTarget& target,
                                   const std::shared_ptr<const CodeObjectReader>& reader,
                                   const CodeObject& object, const CodeMemory& memory)
    : executable_(executable),
      target_(target),
      identity_(object.identity()),
      memory_(memory),
      memory_size_(object.layout().size),
      load_delta_(static_cast<int64_t>(memory.device_address - object.layout().address)),
      storage_offset_(object.segments().front().file_offset),
      reader_(reader->is_copy_of_named_file() ? nullptr : reader),
      reader_while_it_lives_(reader),
      file_(reader->file()),
      debug_entry_(reader->uri(), load_delta_) {
  segments_.assign(object.segments().begin(), object.segments().end());
  exports_.reserve(object.symbols().size());
  for (const CodeSymbol& symbol : object.symbols()) {
    if (!symbol.exported || symbol.place != CodeSymbol::Place::kSegment) continue;
    exports_.push_back({std::string(symbol.name), device_address_of(symbol.value), symbol.size});
  }
}

Result<std::shared_ptr<LoadedCodeObject>> LoadedCodeObject::load(
    hsa_executable_t executable, CodeTarget& target, const std::shared_ptr<const CodeObjectReader>& reader,
    const CodeObject& object, const SymbolResolver& resolve) {
  const CodeLayout& layout = object.layout();
  const auto memory = target.allocate(layout.size, layout.alignment);
  if (!memory) return tl::unexpected(memory.error());
  // unique_ptr first: creating a shared_ptr may fail, and this object releases the target's memory.
  std::unique_ptr<LoadedCodeObject> made;
  try {
    made.reset(new LoadedCodeObject(executable, target, reader, object, *memory));
  } catch (...) {
    target.release(*memory);
    throw;
  }
  std::shared_ptr<LoadedCodeObject> loaded(std::move(made));
  if (memory->host_address != nullptr) {
    loaded->contents_ = {memory->host_address, layout.size};
  } else {
    auto staging = StagingMemory::allocate(layout.size);
    if (!staging) return tl::unexpected(staging.error());
    loaded->staging_ = std::move(*staging);
    loaded->contents_ = loaded->staging_.bytes();
  }
  const auto built = build_image(object, loaded->contents_, memory->device_address, resolve);
  if (!built) return tl::unexpected(built.error());
  return loaded;
}

Status LoadedCodeObject::finish() {
  if (finished_) return HSA_STATUS_SUCCESS;
  std::vector<CodeExport> exports;
  exports.reserve(exports_.size());
  for (const Export& entry : exports_) exports.push_back({entry.name, entry.device_address, entry.size});
  const FinishedCode code{.contents = contents_,
                          .segments = segments_,
                          .link_address = memory_.device_address - static_cast<uint64_t>(load_delta_),
                          .exports = exports};
  const Status status = target_.finish(memory_, code);
  if (status != HSA_STATUS_SUCCESS) return status;
  finished_ = true;
  exports_ = {};
  segments_ = {};
  return HSA_STATUS_SUCCESS;
}

void LoadedCodeObject::retire() noexcept {
  if (std::exchange(retired_, true)) return;
  debug_entry_.remove();
  target_.release(memory_);
  staging_ = {};
}

LoadedCodeObject::Storage LoadedCodeObject::storage() const {
  // Files are reported as memory, as in ROCr: profilers read the bytes and cannot follow a URI.
  const auto reader = reader_while_it_lives_.lock();
  if (!reader) return {HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE, {}};
  return {HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY, reader->bytes()};
}

hsa_ven_amd_loader_segment_descriptor_t LoadedCodeObject::describe_segment() const {
  const Storage stored = storage();
  const bool known = stored.type != HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE;
  return {.agent = target_.agent(),
          .executable = executable_,
          .code_object_storage_type = stored.type,
          .code_object_storage_base = stored.bytes.data(),
          .code_object_storage_size = stored.bytes.size(),
          .code_object_storage_offset = known ? storage_offset_ : 0,
          .segment_base = reinterpret_cast<const void*>(memory_.device_address),
          .segment_size = memory_size_};
}

Status LoadedCodeObject::get_info(hsa_ven_amd_loader_loaded_code_object_info_t attribute, void* value) const {
  const bool is_program = target_.agent().handle == 0;
  switch (attribute) {
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE:
      return answer(value, executable_);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND:
      return answer(value,
                    static_cast<uint32_t>(is_program ? HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_PROGRAM
                                                     : HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT));
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT:
      if (is_program)
        return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                    "loaded code object: a program code object has no agent");
      return answer(value, target_.agent());
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE:
      return answer(value, static_cast<uint32_t>(storage().type));
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE:
      return answer(value, uint64_t{reinterpret_cast<uintptr_t>(storage().bytes.data())});
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE:
      return answer(value, uint64_t{storage().bytes.size()});
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE:
      if (!file_)
        return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "loaded code object: not loaded from a file");
      return answer(value, *file_);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA:
      return answer(value, load_delta_);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE:
      return answer(value, memory_.device_address);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE:
      return answer(value, memory_size_);
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH:
      return answer(value, static_cast<uint32_t>(debug_entry_.uri().size()));
    case HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI:
      // Without a terminating zero: callers allocate only the length.
      std::memcpy(value, debug_entry_.uri().data(), debug_entry_.uri().size());
      return HSA_STATUS_SUCCESS;
    default:
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "unknown loaded code object attribute {}",
                  static_cast<int>(attribute));
  }
}

}  // namespace rigel
