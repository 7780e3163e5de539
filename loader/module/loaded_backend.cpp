#include "loader/module/loaded_backend.hpp"

#include <map>
#include <memory>

#include <fmt/core.h>

#include "api/support/mutex.hpp"

namespace rigel {
namespace {

constexpr uint64_t kMaxExtensions = 64;

auto no(std::string why) {
  return tl::unexpected(std::move(why));
}

// Returns the first missing function that a group of version 1.0 requires; null if it is complete.
const char* missing(const hsabe_device_ops_t& group) {
  if (group.select == nullptr) return "select";
  if (group.open == nullptr) return "open";
  return group.close == nullptr ? "close" : nullptr;
}

const char* missing(const hsabe_queue_ops_t& group) {
  if (group.create == nullptr) return "create";
  if (group.destroy == nullptr) return "destroy";
  return group.inactivate == nullptr ? "inactivate" : nullptr;
}

const char* missing(const hsabe_code_ops_t& group) {
  if (group.accepts == nullptr) return "accepts";
  if (group.load == nullptr) return "load";
  if (group.unload == nullptr) return "unload";
  return group.describe_kernel == nullptr ? "describe_kernel" : nullptr;
}

const char* missing(const hsabe_memory_ops_t& group) {
  if (group.allocate == nullptr) return "allocate";
  return group.release == nullptr ? "release" : nullptr;
}

const char* missing(const hsabe_copy_ops_t& group) {
  return group.submit == nullptr ? "submit" : nullptr;
}

const char* missing(const hsabe_image_ops_t& group) {
  if (group.limits == nullptr) return "limits";
  if (group.format == nullptr) return "format";
  if (group.lay_out == nullptr) return "lay_out";
  if (group.describe == nullptr) return "describe";
  return group.describe_sampler == nullptr ? "describe_sampler" : nullptr;
}

const char* missing(const hsabe_counter_ops_t& group) {
  if (group.describe_block == nullptr) return "describe_block";
  if (group.counts == nullptr) return "counts";
  if (group.write_commands == nullptr) return "write_commands";
  return group.make_packet == nullptr ? "make_packet" : nullptr;
}

template <class T>
Explained<void> copy_group(const T* from, uint64_t least, const char* what, T& to) {
  if (from == nullptr) return {};
  const auto own = copy_sized(from, least, what);
  if (!own) return no(own.error());
  if (const char* const name = missing(*own)) return no(fmt::format("{} has no function '{}'", what, name));
  to = *own;
  return {};
}

std::string_view sanitizer_name(uint32_t sanitizer) {
  switch (sanitizer) {
    case HSABE_SANITIZER_NONE:
      return "no sanitizer";
    case HSABE_SANITIZER_ADDRESS:
      return "AddressSanitizer";
    case HSABE_SANITIZER_THREAD:
      return "ThreadSanitizer";
    case HSABE_SANITIZER_MEMORY:
      return "MemorySanitizer";
    default:
      return "an unknown sanitizer";
  }
}

// Modules of this process by path. Never destroyed: a destructor that runs after those of this library may
// shut the runtime down.
struct Cache {
  Mutex mutex;
  std::map<std::string, std::unique_ptr<const LoadedBackend>, std::less<>> by_path RIGEL_GUARDED_BY(mutex);
};

Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

}  // namespace

Mutex& loaded_backends_mutex() noexcept {
  return cache().mutex;
}

Explained<LoadedBackend> read_backend_table(const hsabe_backend_t* table, std::string path) {
  const auto own = copy_sized(table, HSABE_END(hsabe_backend_t, extension_count), "the table");
  if (!own) return no(own.error());
  if (own->abi_major != HSABE_ABI_MAJOR) {
    return no(fmt::format("built for backend ABI {}.{}; this runtime has {}.{}", own->abi_major,
                          own->abi_minor, HSABE_ABI_MAJOR, HSABE_ABI_MINOR));
  }
  if (own->sanitizer != HSABE_SANITIZER_NONE && own->sanitizer != HSABE_SANITIZER) {
    return no(fmt::format("built with {}, but this runtime is built with {}", sanitizer_name(own->sanitizer),
                          sanitizer_name(HSABE_SANITIZER)));
  }

  LoadedBackend backend;
  backend.path = std::move(path);
  backend.abi_minor = own->abi_minor;
  const struct {
    hsabe_str_t from;
    const char* what;
    std::string& to;
  } texts[] = {{own->name, "name", backend.name},
               {own->version, "version", backend.version},
               {own->build_id, "build_id", backend.build_id}};
  for (const auto& text : texts) {
    auto copy = copy_text(text.from, text.what);
    if (!copy) return no(copy.error());
    text.to = std::move(*copy);
  }

  if (own->device == nullptr) return no("the device group is missing");
  for (const auto& group : {
           copy_group(own->device, HSABE_END(hsabe_device_ops_t, read_clock), "the device group",
                      backend.device),
           copy_group(own->queue, HSABE_END(hsabe_queue_ops_t, set_cu_mask), "the queue group",
                      backend.queue),
           copy_group(own->code, HSABE_END(hsabe_code_ops_t, describe_kernel), "the code group",
                      backend.code),
           copy_group(own->memory, HSABE_END(hsabe_memory_ops_t, copy), "the memory group", backend.memory),
           copy_group(own->copy, HSABE_END(hsabe_copy_ops_t, engines), "the copy group", backend.copy),
           copy_group(own->image, HSABE_END(hsabe_image_ops_t, describe_sampler), "the image group",
                      backend.image),
           copy_group(own->counters, HSABE_END(hsabe_counter_ops_t, make_packet), "the counters group",
                      backend.counters),
       }) {
    if (!group) return no(group.error());
  }

  if (own->extension_count > kMaxExtensions || (own->extension_count != 0 && own->extensions == nullptr)) {
    return no(fmt::format("invalid extensions ({} at {})", own->extension_count,
                          static_cast<const void*>(own->extensions)));
  }
  for (uint64_t i = 0; i < own->extension_count; ++i) {
    const auto& extension = own->extensions[i];
    if (auto name = copy_text(extension.name, "extension's name"); !name) return no(name.error());
    if (extension.table != nullptr) backend.extensions.push_back(extension);
  }
  return backend;
}

tl::expected<const LoadedBackend*, LoadFailure> load_backend(const std::string& path) {
  {
    const MutexLock lock(cache().mutex);
    if (const auto found = cache().by_path.find(path); found != cache().by_path.end())
      return found->second.get();
  }
  // No lock is held while code of the module runs. Two threads may both load it; one copy is kept.
  const auto table =
      query_module<hsabe_backend_t>(path, HSABE_ENTRY_SYMBOL, HSABE_ABI_MAJOR, HSABE_ABI_MINOR);
  if (!table) return tl::unexpected(table.error());
  auto backend = read_backend_table(*table, path);
  if (!backend) return tl::unexpected(LoadFailure{true, backend.error()});

  auto made = std::make_unique<const LoadedBackend>(std::move(*backend));
  const MutexLock lock(cache().mutex);
  return cache().by_path.try_emplace(path, std::move(made)).first->second.get();
}

}  // namespace rigel
