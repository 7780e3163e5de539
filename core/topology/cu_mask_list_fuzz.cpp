// Parses any text as HSA_CU_MASK: the result is within its users' bounds, and an invalid set is reported.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/topology/cu_mask_list.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rigel::CuMaskList;
  const CuMaskList list = rigel::parse_cu_mask_list({reinterpret_cast<const char*>(data), size});
  std::set<uint32_t> gpus;
  for (const auto& entry : list.entries) {
    require(entry.gpu < CuMaskList::kGpusMost && gpus.insert(entry.gpu).second);
    require(list.find(entry.gpu) == &entry.units);
    require(entry.units.size() <= CuMaskList::kUnitsMost / 32);
    require(std::any_of(entry.units.begin(), entry.units.end(), [](uint32_t word) { return word != 0; }));
  }
  require(size != 0 || (list.entries.empty() && list.wrong.empty()));
  return 0;
}
