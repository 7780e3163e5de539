// Parses any bytes: they are valid notes of a code object, or the result has a problem.
#include "backends/cpu/notes.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto notes = rigel::cpu::read_notes({reinterpret_cast<const std::byte*>(data), size});
  if (notes.problem != nullptr && *notes.problem == '\0') std::abort();
  return 0;
}
