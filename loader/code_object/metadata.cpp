#include "loader/code_object/metadata.hpp"

#include <algorithm>
#include <exception>
#include <limits>

#include <msgpack.hpp>

#include "core/base/log.hpp"

namespace rigel {
namespace {

// The deepest value of a real note lies in map → array → map → array → map → array.
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxElements = size_t{1} << 20;

const msgpack::object* find(const msgpack::object& map, std::string_view key) {
  if (map.type != msgpack::type::MAP) return nullptr;
  for (uint32_t i = 0; i < map.via.map.size; ++i) {
    const auto& entry = map.via.map.ptr[i];
    if (entry.key.type != msgpack::type::STR) continue;
    if (std::string_view(entry.key.via.str.ptr, entry.key.via.str.size) == key) return &entry.val;
  }
  return nullptr;
}

std::optional<uint32_t> find_number(const msgpack::object& map, std::string_view key) {
  const msgpack::object* value = find(map, key);
  if (value == nullptr || value->type != msgpack::type::POSITIVE_INTEGER) return std::nullopt;
  if (value->via.u64 > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(value->via.u64);
}

}  // namespace

std::vector<KernelMetadata> read_kernel_metadata(std::span<const std::byte> note) {
  std::vector<KernelMetadata> kernels;
  // An element takes a byte at least, so that no honest count exceeds the size of the note. Room is made as
  // soon as a count is read, hence the second bound.
  const size_t most = std::min(note.size(), kMaxElements);
  const msgpack::unpack_limit limit(most, most, note.size(), note.size(), note.size(), kMaxDepth);
  const auto keep_strings_in_place = [](msgpack::type::object_type, size_t, void*) { return true; };
  try {
    const auto unpacked = msgpack::unpack(reinterpret_cast<const char*>(note.data()), note.size(),
                                          keep_strings_in_place, nullptr, limit);
    const msgpack::object* list = find(unpacked.get(), "amdhsa.kernels");
    if (list == nullptr || list->type != msgpack::type::ARRAY) return kernels;
    kernels.reserve(list->via.array.size);
    for (uint32_t i = 0; i < list->via.array.size; ++i) {
      const msgpack::object& kernel = list->via.array.ptr[i];
      const msgpack::object* symbol = find(kernel, ".symbol");
      if (symbol == nullptr || symbol->type != msgpack::type::STR) continue;
      KernelMetadata facts{.symbol = {symbol->via.str.ptr, symbol->via.str.size}};
      facts.kernarg_size = find_number(kernel, ".kernarg_segment_size");
      facts.kernarg_alignment = find_number(kernel, ".kernarg_segment_align");
      const msgpack::object* dynamic = find(kernel, ".uses_dynamic_stack");
      if (dynamic != nullptr && dynamic->type == msgpack::type::BOOLEAN)
        facts.dynamic_callstack = dynamic->via.boolean;
      kernels.push_back(facts);
    }
  } catch (const std::exception& reason) {
    log_message(LogLevel::kDebug, LogTopic::kApi, "code object metadata is not read: {}", reason.what());
    kernels.clear();
  }
  return kernels;
}

}  // namespace rigel
