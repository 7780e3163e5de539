// The radix sort of rocPRIM's headers: several passes count and rank digits with LDS, DPP and ballots, and
// scatter the keys.
#include <numeric>

#include "rocprim.hpp"

template <typename K, bool kPairs>
void check_radix_sort(const char* type, unsigned count) {
  const std::vector<K> keys = random_keys<K>(count);
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
  std::vector<K> sorted(count);
  for (unsigned i = 0; i < count; ++i) sorted[i] = keys[order[i]];
  std::vector<unsigned> values(count);
  std::iota(values.begin(), values.end(), 0u);

  const DeviceArray<K> in(keys), out(count, 0xff);
  const std::string name = std::string(type) + " x " + std::to_string(count);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::radix_sort_keys(storage, bytes, in.data(), out.data(), count);
  });
  expect_equal("radix sort of " + name, sorted, out.read());
  if constexpr (kPairs) {
    const DeviceArray<unsigned> values_in(values), values_out(count, 0xff);
    with_storage([&](void* storage, size_t& bytes) {
      return rocprim::radix_sort_pairs(storage, bytes, in.data(), out.data(), values_in.data(),
                                       values_out.data(), count);
    });
    expect_equal("radix sort of pairs, " + name, sorted, out.read());
    expect_equal("radix sort of pairs, values, " + name, order, values_out.read());
  }
}

int main() {
  check_radix_sort<unsigned, true>("uint", 1'000);
  check_radix_sort<unsigned, true>("uint", 100'003);
  check_radix_sort<int64_t, false>("int64", 20'001);
  check_radix_sort<float, false>("float", 30'000);
  return verdict("rocprim_radix_sort");
}
