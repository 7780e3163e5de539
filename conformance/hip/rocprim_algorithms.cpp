// Device-wide algorithms of rocPRIM's headers: scans, reductions, selection, run lengths, merge sort. They
// use DPP, LDS and look-back between blocks, and depend on the wave size.
#include <numeric>

#include "rocprim.hpp"

static void check_scans(unsigned count) {
  const std::vector<unsigned> values = random_keys<unsigned>(count);
  std::vector<unsigned> inclusive(count), exclusive(count);
  std::partial_sum(values.begin(), values.end(), inclusive.begin());
  for (unsigned i = 0; i < count; ++i) exclusive[i] = 5 + (i == 0 ? 0 : inclusive[i - 1]);
  const DeviceArray<unsigned> in(values), out(count, 0xff);
  const std::string name = std::to_string(count);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::inclusive_scan(storage, bytes, in.data(), out.data(), count, rocprim::plus<unsigned>());
  });
  expect_equal("inclusive scan of " + name, inclusive, out.read());
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::exclusive_scan(storage, bytes, in.data(), out.data(), 5u, count,
                                   rocprim::plus<unsigned>());
  });
  expect_equal("exclusive scan of " + name, exclusive, out.read());

  const DeviceArray<unsigned> one(1, 0xff);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::reduce(storage, bytes, in.data(), one.data(), 0u, count, rocprim::plus<unsigned>());
  });
  expect_equal("sum of " + name, inclusive.back(), one.read()[0]);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::reduce(storage, bytes, in.data(), one.data(), 0u, count, rocprim::maximum<unsigned>());
  });
  expect_equal("maximum of " + name, *std::max_element(values.begin(), values.end()), one.read()[0]);
}

struct IsOdd {
  __host__ __device__ bool operator()(unsigned value) const { return value % 2 == 1; }
};

static void check_selection(unsigned count) {
  const std::vector<unsigned> values = random_keys<unsigned>(count);
  std::vector<unsigned> odd;
  std::copy_if(values.begin(), values.end(), std::back_inserter(odd), IsOdd());
  const DeviceArray<unsigned> in(values), out(count, 0xff), found(1, 0xff);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::select(storage, bytes, in.data(), out.data(), found.data(), count, IsOdd());
  });
  std::vector<unsigned> selected = out.read();
  selected.resize(std::min<size_t>(found.read()[0], count));
  expect_equal("odd ones of " + std::to_string(count), odd, selected);
}

static void check_run_lengths(unsigned count) {
  Random random(count);
  std::vector<unsigned> values, unique, lengths;
  while (values.size() < count) {
    const unsigned value = random.below(10),
                   length = std::min<unsigned>(1 + random.below(200),
                                               count - static_cast<unsigned>(values.size()));
    values.insert(values.end(), length, value);
  }
  for (const unsigned value : values) {
    if (unique.empty() || unique.back() != value) {
      unique.push_back(value);
      lengths.push_back(0);
    }
    ++lengths.back();
  }
  const DeviceArray<unsigned> in(values), out(count, 0xff), counts(count, 0xff), runs(1, 0xff);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::run_length_encode(storage, bytes, in.data(), count, out.data(), counts.data(),
                                      runs.data());
  });
  std::vector<unsigned> got = out.read(), got_lengths = counts.read();
  got.resize(std::min<size_t>(runs.read()[0], count));
  got_lengths.resize(got.size());
  expect_equal("runs", unique, got);
  expect_equal("lengths of runs", lengths, got_lengths);
}

static void check_merge_sort(unsigned count) {
  const std::vector<double> keys = random_keys<double>(count);
  std::vector<double> sorted = keys;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const DeviceArray<double> in(keys), out(count, 0xff);
  with_storage([&](void* storage, size_t& bytes) {
    return rocprim::merge_sort(storage, bytes, in.data(), out.data(), count, rocprim::greater<double>());
  });
  expect_equal("merge sort of " + std::to_string(count), sorted, out.read());
}

int main() {
  check_scans(1'000);
  check_scans(100'003);
  check_selection(70'001);
  check_run_lengths(50'000);
  check_merge_sort(20'000);
  return verdict("rocprim_algorithms");
}
