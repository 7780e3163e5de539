#include "plugins/vgpu/exec/native/messages.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "plugins/vgpu/exec/native/build_identity.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

class Writer {
 public:
  template <class T>
  void value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  void bytes(const void* from, size_t size) {
    value(uint64_t{size});
    append(from, size);
  }
  std::vector<std::byte> take() { return std::move(message_); }

 private:
  void append(const void* from, size_t size) {
    const auto* const begin = static_cast<const std::byte*>(from);
    message_.insert(message_.end(), begin, begin + size);
  }
  std::vector<std::byte> message_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> message) : left_(message) {}
  template <class T>
  T value() {
    T result{};
    if (take(sizeof result)) std::memcpy(&result, taken_.data(), sizeof result);
    return result;
  }
  std::span<const std::byte> bytes() {
    return take(value<uint64_t>()) ? taken_ : std::span<const std::byte>();
  }
  bool is_whole() const { return !short_ && left_.empty(); }
  bool is_short() const { return short_; }

 private:
  bool take(uint64_t size) {
    short_ = short_ || size > left_.size();
    if (short_) return false;
    taken_ = left_.first(size);
    left_ = left_.subspan(size);
    return true;
  }
  std::span<const std::byte> left_, taken_;
  bool short_ = false;
};

// Field by field, since other byte values would be invalid for bool and enum members.
void write(Writer& writer, const isa::Target& target) {
  writer.value(target.major);
  writer.value(target.minor);
  writer.value(target.stepping);
  writer.value(uint8_t{target.wave32});
}

}  // namespace

std::vector<std::byte> to_message(const Request& request, std::span<const Image> images) {
  Writer writer;
  writer.bytes(kBuildIdentity.data(), kBuildIdentity.size());
  write(writer, request.target);
  writer.value(request.layout);
  writer.value(static_cast<uint8_t>(request.level));
  writer.value(request.variant);
  writer.value(uint8_t{request.as_large});
  writer.value(uint8_t{request.is_function});
  writer.value(uint8_t{request.is_counted});
  writer.value(uint8_t{request.checked});
  writer.value(uint8_t{request.reports_accesses});
  writer.value(uint8_t{request.tracks_undefined});
  writer.value(request.start.scalars);
  writer.value(request.start.rows);
  writer.value(static_cast<uint8_t>(request.yields));
  writer.value(request.entry_va);
  writer.value(uint8_t{request.shape != nullptr});
  if (request.shape != nullptr) {
    const GroupShape::Key& key = request.shape->key;
    for (const uint32_t size : key.size) writer.value(size);
    writer.value(key.wave_size);
    writer.value(key.id_rows);
    writer.value(uint8_t{key.packed_ids});
  }
  writer.value(uint64_t{images.size()});
  for (const Image& image : images) {
    writer.value(image.va);
    writer.bytes(image.bytes.data(), image.bytes.size());
  }
  return writer.take();
}

tl::expected<ReceivedRequest, std::string> request_from(std::span<const std::byte> message) {
  constexpr uint32_t kMostItems = 1 << 16;
  const auto invalid = tl::unexpected(std::string("invalid request"));
  Reader reader(message);
  if (!std::ranges::equal(reader.bytes(), std::as_bytes(std::span(kBuildIdentity))))
    return tl::unexpected(std::string(kOfAnotherBuild));
  ReceivedRequest received;
  Request& request = received.request;
  request.target.major = reader.value<uint8_t>();
  request.target.minor = reader.value<uint8_t>();
  request.target.stepping = reader.value<uint8_t>();
  request.target.wave32 = reader.value<uint8_t>() != 0;
  request.layout = reader.value<RegisterLayout>();
  const auto level = reader.value<uint8_t>();
  if (level > static_cast<uint8_t>(SimdLevel::kAvx512)) return invalid;
  request.level = static_cast<SimdLevel>(level);
  request.variant = reader.value<uint32_t>();
  request.as_large = reader.value<uint8_t>() != 0;
  request.is_function = reader.value<uint8_t>() != 0;
  request.is_counted = reader.value<uint8_t>() != 0;
  request.checked = reader.value<uint8_t>() != 0;
  request.reports_accesses = reader.value<uint8_t>() != 0;
  request.tracks_undefined = reader.value<uint8_t>() != 0;
  request.start.scalars = reader.value<uint32_t>();
  request.start.rows = reader.value<uint32_t>();
  const auto yields = reader.value<uint8_t>();
  if (yields > static_cast<uint8_t>(analysis::Yields::kAtWaits)) return invalid;
  request.yields = static_cast<analysis::Yields>(yields);
  request.entry_va = reader.value<uint64_t>();
  if (reader.value<uint8_t>() != 0) {
    GroupShape::Key key;
    for (uint32_t& size : key.size) size = reader.value<uint32_t>();
    key.wave_size = reader.value<uint32_t>();
    key.id_rows = reader.value<uint32_t>();
    key.packed_ids = reader.value<uint8_t>() != 0;
    uint64_t items = 1;
    for (const uint32_t size : key.size) items = std::min<uint64_t>(items * size, kMostItems + 1);
    if (items == 0 || items > kMostItems || key.id_rows == 0 || key.id_rows > 3) return invalid;
    if (key.wave_size != request.layout.wave_size) return invalid;
    request.shape = std::make_shared<const GroupShape>(key);
  }
  if (request.layout.wave_size != 32 && request.layout.wave_size != 64) return invalid;
  if (request.layout.vgprs > 256 || request.layout.agprs > 256 || request.layout.sgprs > kAllSgprs ||
      isa::chip_set(request.target).is_empty())
    return invalid;
  auto images = std::make_shared<std::vector<Image>>();
  for (uint64_t left = reader.value<uint64_t>(); left != 0 && !reader.is_short(); --left) {
    Image image{reader.value<uint64_t>(), {}};
    const std::span<const std::byte> bytes = reader.bytes();
    image.bytes.assign(bytes.begin(), bytes.end());
    images->push_back(std::move(image));
  }
  if (!reader.is_whole()) return invalid;
  request.read = [images](uint64_t va, std::span<std::byte> to) -> size_t {
    for (const Image& image : *images) {
      const uint64_t into = va - image.va;
      if (into >= image.bytes.size()) continue;
      const size_t size = std::min<size_t>(to.size(), image.bytes.size() - into);
      std::memcpy(to.data(), image.bytes.data() + into, size);
      return size;
    }
    return 0;
  };
  received.images = std::move(images);
  return received;
}

std::vector<std::byte> to_message(const Answer& answer) {
  Writer writer;
  writer.value(answer.digest);
  writer.value(answer.entry);
  writer.bytes(answer.code.data(), answer.code.size());
  writer.bytes(answer.error.data(), answer.error.size());
  return writer.take();
}

std::optional<Answer> answer_from(std::span<const std::byte> message) {
  Reader reader(message);
  Answer answer;
  answer.digest = reader.value<uint64_t>();
  answer.entry = reader.value<uint64_t>();
  const std::span<const std::byte> code = reader.bytes(), error = reader.bytes();
  if (!reader.is_whole()) return std::nullopt;
  answer.code.assign(code.begin(), code.end());
  answer.error.assign(reinterpret_cast<const char*>(error.data()), error.size());
  if (answer.error.empty() && answer.entry >= answer.code.size()) return std::nullopt;
  return answer;
}

}  // namespace rigel::vgpu::exec::compiler
