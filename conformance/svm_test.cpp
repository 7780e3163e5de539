// Shared virtual memory: attributes of ordinary host memory, kernels that use it, prefetching.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/kernels.hpp"
#include "support/dispatch_test.hpp"

namespace conformance {
namespace {

using Pair = hsa_amd_svm_attribute_pair_t;

/// Anonymous pages of the program.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : bytes_(bytes),
        start_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Pages() { munmap(start_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  void* get() const { return start_; }
  size_t size() const { return bytes_; }

 private:
  const size_t bytes_;
  void* const start_;
};

class Svm : public DispatchTest {
 protected:
  void SetUp() override {
    DispatchTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    bool supported = false;
    hsa_system_get_info(static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED), &supported);
    if (agent_info<hsa_device_type_t>(agent(), HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU || !supported) {
      GTEST_SKIP() << "no shared virtual memory with this agent";
    }
    for (const hsa_agent_t other : all_agents()) {
      if (agent_info<hsa_device_type_t>(other, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_CPU) host_ = other;
    }
  }

  static hsa_status_t set(const Pages& pages, std::vector<Pair> list) {
    return hsa_amd_svm_attributes_set(pages.get(), pages.size(), list.data(), list.size());
  }
  static Pair get(const Pages& pages, uint64_t attribute, uint64_t value = 0) {
    Pair pair{attribute, value};
    EXPECT_HSA(hsa_amd_svm_attributes_get(pages.get(), pages.size(), &pair, 1));
    return pair;
  }

  hsa_agent_t host_{};
};

TEST_P(Svm, KernelUsesOrdinaryHostMemory) {
  constexpr uint32_t kCount = 10'000;
  const Pages from(kCount * 4), to(kCount * 4);
  auto* const in = static_cast<uint32_t*>(from.get());
  for (uint32_t i = 0; i < kCount; ++i) in[i] = i * 3;
  for (const uint64_t access :
       {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE}) {
    std::memset(to.get(), 0, to.size());
    ASSERT_HSA(set(from, {{access, agent().handle}}));
    ASSERT_HSA(set(to, {{access, agent().handle}}));
    const CopyArgs arguments{in, static_cast<uint32_t*>(to.get()), kCount, 0};
    ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("copy"), kernarg(arguments), kCount, 256)));
    EXPECT_EQ(std::memcmp(from.get(), to.get(), kCount * 4), 0);
  }
}

TEST_P(Svm, KernelUsesAnyHostMemoryWithXnack) {
  bool is_accessible = false;
  ASSERT_HSA(hsa_system_get_info(
      static_cast<hsa_system_info_t>(HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT), &is_accessible));
  if (!is_accessible) GTEST_SKIP() << "XNACK is off";
  constexpr uint32_t kCount = 10'000;
  std::vector<uint32_t> from(kCount);
  uint32_t to[kCount] = {};
  for (uint32_t i = 0; i < kCount; ++i) from[i] = i * 3;
  const CopyArgs arguments{from.data(), to, kCount, 0};
  ASSERT_TRUE(run(dispatch_packet(kernels_.kernel("copy"), kernarg(arguments), kCount, 256)));
  EXPECT_EQ(std::memcmp(from.data(), to, kCount * 4), 0);
}

TEST_P(Svm, ReadsAttributeListOfAnyLength) {
  const Pages pages(64 << 10);
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle},
                         {HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 5}}));
  std::vector<Pair> list;
  while (list.size() < 6000) {
    list.push_back({HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle});
    list.push_back({HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 0});
    list.push_back({HSA_AMD_SVM_ATTRIB_READ_ONLY, 7});
  }
  ASSERT_HSA(hsa_amd_svm_attributes_get(pages.get(), pages.size(), list.data(), list.size()));
  for (size_t i = 0; i < list.size(); i += 3) {
    ASSERT_EQ(list[i].attribute, uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE}) << i;
    ASSERT_EQ(list[i].value, agent().handle) << i;
    ASSERT_EQ(list[i + 1].value, 5u) << i;
    ASSERT_EQ(list[i + 2].value, 0u) << i;
  }
}

TEST_P(Svm, ReportsAttributesThatWereSet) {
  const Pages pages(64 << 10);
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle}}));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle).attribute,
            uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE});
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, agent().handle}}));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle).attribute,
            uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE});
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS, agent().handle}}));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle).attribute,
            uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS});

  for (const uint64_t model :
       {HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED}) {
    ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, model}}));
    EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG).value, model);
  }
  for (const uint64_t attribute :
       {HSA_AMD_SVM_ATTRIB_READ_ONLY, HSA_AMD_SVM_ATTRIB_HIVE_LOCAL, HSA_AMD_SVM_ATTRIB_READ_MOSTLY}) {
    EXPECT_EQ(get(pages, attribute).value, 0u) << attribute;
    ASSERT_HSA(set(pages, {{attribute, 1}}));
    EXPECT_NE(get(pages, attribute).value, 0u) << attribute;
    ASSERT_HSA(set(pages, {{attribute, 0}}));
    EXPECT_EQ(get(pages, attribute).value, 0u) << attribute;
  }
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 5}}));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY).value, 5u);
  for (const uint64_t location : {agent().handle, host_.handle, uint64_t{0}}) {
    ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, location}}));
    EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION).value, location);
  }
}

TEST_P(Svm, SetsAndReadsSeveralAttributes) {
  const Pages pages(8 << 10);
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle},
                         {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1},
                         {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED},
                         {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, agent().handle}}));
  Pair list[] = {{HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0},
                 {HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle},
                 {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0},
                 {HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, host_.handle},
                 {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 0}};
  ASSERT_HSA(hsa_amd_svm_attributes_get(pages.get(), pages.size(), list, std::size(list)));
  EXPECT_EQ(list[0].value, agent().handle);
  EXPECT_EQ(list[1].attribute, uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE});
  EXPECT_NE(list[2].value, 0u);
  EXPECT_NE(list[3].attribute, uint64_t{HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS});
  EXPECT_EQ(list[4].value, uint64_t{HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED});
}

TEST_P(Svm, MixedRangeIsIndeterminate) {
  const Pages pages(8 << 10);
  Pair fine{HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED};
  Pair coarse{HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED};
  ASSERT_HSA(hsa_amd_svm_attributes_set(pages.get(), 4096, &fine, 1));
  ASSERT_HSA(hsa_amd_svm_attributes_set(static_cast<char*>(pages.get()) + 4096, 4096, &coarse, 1));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG).value,
            uint64_t{HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE});
}

TEST_P(Svm, PrefetchWaitsForDependencies) {
  const Pages pages(64 << 10);
  ASSERT_HSA(set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle}}));
  const ScopedSignal first(1), second(1), done(1);
  const hsa_signal_t dependencies[] = {first, second};
  ASSERT_HSA(hsa_amd_svm_prefetch_async(pages.get(), pages.size(), agent(), 2, dependencies, done));
  hsa_signal_store_screlease(first, 0);
  EXPECT_EQ(done.value(), 1);
  hsa_signal_store_screlease(second, 0);
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION).value, agent().handle);
  const ScopedSignal back(1);
  ASSERT_HSA(hsa_amd_svm_prefetch_async(pages.get(), pages.size(), host_, 0, nullptr, back));
  EXPECT_TRUE(wait_for(back, HSA_SIGNAL_CONDITION_EQ, 0));
  EXPECT_EQ(get(pages, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION).value, host_.handle);
}

// Changing attributes and locations must not disturb an agent that has access before and after the change.
TEST_P(Svm, KernelsAndCopiesRunDuringAttributeChanges) {
  constexpr uint32_t kCount = 100'000;
  constexpr int kRounds = 60;
  const Pages from(kCount * 4), to(kCount * 4), copied(kCount * 4);
  for (const Pages* const pages : {&from, &to, &copied})
    ASSERT_HSA(set(*pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle}}));
  const auto* const in = static_cast<const uint32_t*>(from.get());
  void* const arguments = kernarg(CopyArgs{in, static_cast<uint32_t*>(to.get()), kCount, 0});

  std::atomic<bool> stop{false};
  std::thread changer([&] {
    const std::vector<Pair> changes = {
        {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, agent().handle},
        {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED},
        {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE, agent().handle},
        {HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY, 5},
        {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1},
        {HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, host_.handle},
        {HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED},
        {HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle},
        {HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0},
    };
    for (size_t i = 0; !stop.load(); ++i) {
      for (const Pages* const pages : {&from, &to, &copied}) {
        EXPECT_HSA(set(*pages, {changes[i % changes.size()]}));
        const ScopedSignal done(1);
        EXPECT_HSA(hsa_amd_svm_prefetch_async(pages->get(), pages->size(), i % 2 == 0 ? agent() : host_, 0,
                                              nullptr, done));
        EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
      }
    }
  });
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    std::fill_n(static_cast<uint32_t*>(from.get()), kCount, 7u + static_cast<uint32_t>(round));
    EXPECT_TRUE(run(dispatch_packet(kernels_.kernel("copy"), arguments, kCount, 256)));
    EXPECT_EQ(std::memcmp(from.get(), to.get(), kCount * 4), 0);
    const ScopedSignal done(1);
    EXPECT_HSA(
        hsa_amd_memory_async_copy(copied.get(), agent(), to.get(), agent(), kCount * 4, 0, nullptr, done));
    EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_EQ, 0));
    EXPECT_EQ(std::memcmp(from.get(), copied.get(), kCount * 4), 0);
  }
  stop = true;
  changer.join();
}

TEST_P(Svm, FailedPrefetchMakesSignalNegative) {
  const Pages pages(4096);
  const ScopedSignal failed(-1), done(1);
  const hsa_signal_t dependency = failed;
  ASSERT_HSA(hsa_amd_svm_prefetch_async(pages.get(), 4096, agent(), 1, &dependency, done));
  EXPECT_TRUE(wait_for(done, HSA_SIGNAL_CONDITION_LT, 0));
  const ScopedSignal unmapped(1);
  // The middle of a hole so large that mappings of other threads do not reach it.
  constexpr size_t kHole = size_t{1} << 30;
  void* const hole = mmap(nullptr, kHole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(hole, MAP_FAILED);
  munmap(hole, kHole);
  void* const unmapped_address = static_cast<char*>(hole) + kHole / 2;
  ASSERT_HSA(hsa_amd_svm_prefetch_async(unmapped_address, 4096, agent(), 0, nullptr, unmapped));
  EXPECT_TRUE(wait_for(unmapped, HSA_SIGNAL_CONDITION_NE, 1));
  EXPECT_LT(hsa_signal_load_relaxed(unmapped), 0);
}

TEST_P(Svm, RejectsRepeatedAttributes) {
  const Pages pages(4096);
  EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                set(pages, {{HSA_AMD_SVM_ATTRIB_READ_ONLY, 1}, {HSA_AMD_SVM_ATTRIB_READ_ONLY, 0}}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
                set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle},
                            {HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS, agent().handle}}));
}

TEST_P(Svm, RejectsInvalidAttributes) {
  const Pages pages(4096);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, set(pages, {{0x777, 0}}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                set(pages, {{HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, agent().handle}}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                set(pages, {{HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE}}));
  Pair pair{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, agent().handle};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_svm_attributes_get(pages.get(), 4096, &pair, 1));
  pair.attribute = 0x777;
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_svm_attributes_get(pages.get(), 4096, &pair, 1));
}

TEST_P(Svm, RejectsUnknownHandlesAndNulls) {
  const Pages pages(4096);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, 0x1234}}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, set(pages, {{HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, 0}}));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                set(pages, {{HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, 0x1234}}));
  Pair pair{HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, 0x1234};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT, hsa_amd_svm_attributes_get(pages.get(), 4096, &pair, 1));
  const ScopedSignal done(1);
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_AGENT,
                hsa_amd_svm_prefetch_async(pages.get(), 4096, {0x1234}, 0, nullptr, done));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL,
                hsa_amd_svm_prefetch_async(pages.get(), 4096, agent(), 0, nullptr, {0x1234}));
  const hsa_signal_t none{};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_SIGNAL,
                hsa_amd_svm_prefetch_async(pages.get(), 4096, agent(), 1, &none, done));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                hsa_amd_svm_prefetch_async(nullptr, 4096, agent(), 0, nullptr, done));
  pair = {HSA_AMD_SVM_ATTRIB_READ_ONLY, 1};
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_svm_attributes_set(nullptr, 4096, &pair, 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_svm_attributes_set(pages.get(), 4096, nullptr, 1));
  EXPECT_STATUS(HSA_STATUS_ERROR_INVALID_ARGUMENT, hsa_amd_svm_attributes_get(nullptr, 4096, &pair, 1));
  EXPECT_HSA(hsa_amd_svm_attributes_set(pages.get(), 4096, nullptr, 0));
  EXPECT_HSA(hsa_amd_svm_attributes_get(pages.get(), 4096, nullptr, 0));
}

INSTANTIATE_FOR_AGENTS(Svm);

}  // namespace
}  // namespace conformance
