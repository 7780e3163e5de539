// Parses any bytes as a code object and builds its image if they are valid; also parses them as metadata.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "loader/code_object/code_image.hpp"
#include "loader/code_object/code_object.hpp"
#include "loader/code_object/metadata.hpp"
#include "loader/code_object/target_id.hpp"

namespace rigel {
namespace {

// Larger images are not built: a short file may request gigabytes of zeros.
constexpr uint64_t kLargestImage = uint64_t{1} << 20;

void require(bool promise) {
  if (!promise) std::abort();
}

void check_promises(const CodeObject& object) {
  const auto segments = object.segments();
  for (const CodeSymbol& symbol : object.symbols()) {
    if (symbol.place == CodeSymbol::Place::kSegment) {
      require(segments[symbol.segment].contains(symbol.value, symbol.size));
    }
  }
  for (const CodeKernel& kernel : object.kernels()) {
    const uint64_t descriptor = object.symbols()[kernel.symbol].value;
    require(object.file_bytes(descriptor, kernel.descriptor_size).size() == kernel.descriptor_size);
  }
  const auto target = parse_target_id(object.identity().isa_name);
  require(object.identity().version == 0 || object.identity().isa_name.empty() || target);
}

void load(const CodeObject& object) {
  if (object.layout().size > kLargestImage) return;
  std::vector<std::byte> staging(object.layout().size);
  const SymbolResolver resolve = [](const CodeSymbol& symbol) {
    return symbol.name.size() % 2 == 0 ? std::optional<uint64_t>(symbol.name.size()) : std::nullopt;
  };
  // Failure because of undefined symbols is fine.
  (void)build_image(object, staging, object.layout().alignment * 3, resolve);
}

}  // namespace
}  // namespace rigel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto object = rigel::CodeObject::parse(bytes)) {
    rigel::check_promises(*object);
    rigel::load(*object);
  }
  (void)rigel::read_kernel_metadata(bytes);
  return 0;
}
