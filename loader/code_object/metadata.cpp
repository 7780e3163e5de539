#include "loader/code_object/metadata.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <msgpack.hpp>

#include "api/support/log.hpp"

namespace rigel {
namespace {

// The deepest value of a real note is in map → array → map → array → map → array.
constexpr uint32_t kMaxDepth = 16;
constexpr size_t kMaxElements = size_t{1} << 20;

// Path to the kernels: a map (1) contains a list (2) of maps (3).
constexpr uint32_t kNote = 1, kList = 2, kKernel = 3;

/// Selects values of a note during parsing: most of a note describes arguments, and a tree of them costs more
/// than the rest of loading a code object. The first of repeated values counts.
class Reader : public msgpack::null_visitor {
 public:
  explicit Reader(size_t size) : most_(static_cast<uint32_t>(std::min(size, kMaxElements))) {}

  std::vector<KernelMetadata> take() { return std::move(kernels_); }

  bool start_map(uint32_t count) {
    if (!descend(count)) return false;
    if (depth_ == kKernel && in_kernels_) kernel_ = {};
    return true;
  }
  bool end_map() {
    if (depth_ == kKernel && in_kernels_ && !kernel_.symbol.empty()) kernels_.push_back(kernel_);
    return ascend();
  }
  bool start_array(uint32_t count) {
    const bool of_kernels = depth_ == kNote && wanted_ == Key::kKernels;
    if (!descend(count)) return false;
    if (of_kernels) in_kernels_ = true;
    return true;
  }
  bool end_array() {
    if (depth_ == kList) in_kernels_ = false;
    return ascend();
  }
  bool start_map_key() {
    wanted_ = Key::kNone;
    in_key_ = true;
    return true;
  }
  bool end_map_key() {
    in_key_ = false;
    return true;
  }
  bool end_map_value() {
    wanted_ = Key::kNone;
    return true;
  }

  bool visit_str(const char* text, uint32_t size) {
    const std::string_view string(text, size);
    if (in_key_) {
      wanted_ = key(string);
    } else if (wants(Key::kSymbol) && kernel_.symbol.empty()) {
      kernel_.symbol = string;
    }
    return true;
  }
  bool visit_positive_integer(uint64_t value) {
    if (in_key_ || value > std::numeric_limits<uint32_t>::max()) return true;
    const auto set = [value](std::optional<uint32_t>& fact) {
      if (!fact) fact = static_cast<uint32_t>(value);
    };
    if (wants(Key::kKernargSize)) set(kernel_.kernarg_size);
    if (wants(Key::kKernargAlignment)) set(kernel_.kernarg_alignment);
    return true;
  }
  bool visit_boolean(bool value) {
    if (wants(Key::kDynamicStack) && !kernel_.dynamic_callstack) kernel_.dynamic_callstack = value;
    return true;
  }

 private:
  enum class Key : uint8_t { kNone, kKernels, kSymbol, kKernargSize, kKernargAlignment, kDynamicStack };

  // An element takes at least a byte, so a valid count cannot exceed the size of the note.
  bool descend(uint32_t count) {
    in_key_ = false;
    wanted_ = Key::kNone;
    return count <= most_ && ++depth_ <= kMaxDepth;
  }
  bool ascend() {
    --depth_;
    wanted_ = Key::kNone;
    return true;
  }
  bool wants(Key key) const { return wanted_ == key && depth_ == kKernel && in_kernels_ && !in_key_; }

  Key key(std::string_view name) {
    if (depth_ == kNote) {
      return name == "amdhsa.kernels" && !std::exchange(seen_kernels_, true) ? Key::kKernels : Key::kNone;
    }
    if (depth_ != kKernel || !in_kernels_) return Key::kNone;
    if (name == ".symbol") return Key::kSymbol;
    if (name == ".kernarg_segment_size") return Key::kKernargSize;
    if (name == ".kernarg_segment_align") return Key::kKernargAlignment;
    if (name == ".uses_dynamic_stack") return Key::kDynamicStack;
    return Key::kNone;
  }

  const uint32_t most_;
  uint32_t depth_ = 0;
  bool in_key_ = false;
  bool in_kernels_ = false;
  bool seen_kernels_ = false;
  Key wanted_ = Key::kNone;  // key of the next value, in the innermost map
  KernelMetadata kernel_;
  std::vector<KernelMetadata> kernels_;
};

}  // namespace

std::vector<KernelMetadata> read_kernel_metadata(std::span<const std::byte> note) {
  Reader reader(note.size());
  if (!msgpack::parse(reinterpret_cast<const char*>(note.data()), note.size(), reader)) {
    log_message(LogLevel::kDebug, LogTopic::kApi, "code object: the metadata is invalid; ignored");
    return {};
  }
  return reader.take();
}

}  // namespace rigel
