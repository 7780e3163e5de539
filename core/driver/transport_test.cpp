// Doorbell calls and lent threads, with drivers of this file.
#include "core/driver/transport.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "loader/module/loaded_driver.hpp"

namespace rigel {
namespace {

// A driver that has one doorbell, without a call for it if `out_of_calls`.
struct OneDoorbell {
  uint64_t doorbell = 0;
  uint64_t rung = 0;
  bool out_of_calls = false;
  bool forgets_the_call = false;

  static void ring(void* self, uint64_t value) { static_cast<OneDoorbell*>(self)->rung = value; }
  static int32_t attach(void* self, void* doorbell, hsadrv_doorbell_t* out) {
    auto* const driver = static_cast<OneDoorbell*>(self);
    if (doorbell != &driver->doorbell) return -EINVAL;
    if (driver->out_of_calls) {
      *out = {sizeof *out, ring, self};  // ignored, because the result is an error
      return -ENOSPC;
    }
    *out = {sizeof *out, driver->forgets_the_call ? nullptr : ring, self};
    return 0;
  }
};

// The only driver that open_driver opens; a table cannot refer to it.
OneDoorbell* to_open = nullptr;

std::unique_ptr<Transport> start(OneDoorbell& driver, uint32_t abi_minor, bool with_doorbells,
                                 hsa_driver_lend_thread_v1_fn lend_thread = nullptr) {
  static constexpr hsadrv_doorbell_ops_t kDoorbells{sizeof(hsadrv_doorbell_ops_t), OneDoorbell::attach};
  hsadrv_driver_t table{};
  table.struct_size = sizeof table;
  table.abi_major = HSADRV_ABI_MAJOR;
  table.abi_minor = abi_minor;
  table.name = {"one", 3};
  table.version = {"1", 1};
  table.open_driver = [](const hsadrv_host_t*, hsadrv_str_t, void** out) -> int32_t {
    *out = to_open;
    return 0;
  };
  table.close_driver = [](void*) {};
  table.ops = &system_transport_ops();
  table.doorbell = with_doorbells ? &kDoorbells : nullptr;
  table.lend_thread = lend_thread;
  const auto loaded = read_driver_table(&table, "one");
  EXPECT_TRUE(loaded);
  if (!loaded) return nullptr;
  to_open = &driver;
  std::vector<std::string> why;
  auto transport = Transport::start(*loaded, "", why);
  EXPECT_TRUE(transport) << ::testing::PrintToString(why);
  return transport ? std::move(*transport) : nullptr;
}

TEST(Attach, RingsDoorbellByCall) {
  OneDoorbell driver;
  const auto transport = start(driver, 1, true);
  ASSERT_NE(transport, nullptr);
  hsadrv_doorbell_t doorbell_call{};
  ASSERT_TRUE(transport->attach(&driver.doorbell, doorbell_call));
  EXPECT_EQ(doorbell_call.struct_size, sizeof doorbell_call);
  doorbell_call.ring(doorbell_call.context, 7);
  EXPECT_EQ(driver.rung, 7u);
}

TEST(Attach, RejectsAddressWithoutDoorbell) {
  OneDoorbell driver;
  const auto transport = start(driver, 1, true);
  ASSERT_NE(transport, nullptr);
  uint64_t other = 0;
  hsadrv_doorbell_t doorbell_call{};
  EXPECT_FALSE(transport->attach(&other, doorbell_call));
}

TEST(Attach, UsesStoresIfDriverHasNoCall) {
  OneDoorbell driver;
  driver.out_of_calls = true;
  const auto transport = start(driver, 1, true);
  ASSERT_NE(transport, nullptr);
  hsadrv_doorbell_t doorbell_call{};
  EXPECT_FALSE(transport->attach(&driver.doorbell, doorbell_call));
}

TEST(Attach, RejectsSuccessWithoutCall) {
  OneDoorbell driver;
  driver.forgets_the_call = true;
  const auto transport = start(driver, 1, true);
  ASSERT_NE(transport, nullptr);
  hsadrv_doorbell_t doorbell_call{};
  EXPECT_FALSE(transport->attach(&driver.doorbell, doorbell_call));
}

TEST(Attach, IsNotCalledForOldAbi) {
  OneDoorbell driver;
  const auto transport = start(driver, 0, true);
  ASSERT_NE(transport, nullptr);
  hsadrv_doorbell_t doorbell_call{};
  EXPECT_FALSE(transport->attach(&driver.doorbell, doorbell_call));
}

TEST(Attach, FailsWithoutDoorbellGroup) {
  OneDoorbell driver;
  const auto transport = start(driver, 1, false);
  ASSERT_NE(transport, nullptr);
  hsadrv_doorbell_t doorbell_call{};
  EXPECT_FALSE(transport->attach(&driver.doorbell, doorbell_call));
}

TEST(LendThread, ReturnsDriversFunction) {
  OneDoorbell driver;
  EXPECT_EQ(start(driver, 2, true)->lend_thread(), nullptr);
  const auto transport = start(driver, 2, true, []() -> int32_t { return 1; });
  ASSERT_NE(transport->lend_thread(), nullptr);
  EXPECT_EQ(transport->lend_thread()(), 1);
}

TEST(LendThread, IsNullWithoutVirtualDevice) {
  EXPECT_EQ(Transport::system()->lend_thread(), nullptr);
}

TEST(Attach, UsesStoresForKernel) {
  const auto transport = Transport::system();
  uint64_t doorbell = 0;
  hsadrv_doorbell_t doorbell_call{sizeof doorbell_call, OneDoorbell::ring, &doorbell};
  EXPECT_FALSE(transport->attach(&doorbell, doorbell_call));
  EXPECT_EQ(doorbell_call.ring, nullptr) << "nothing to ring by mistake";
}

}  // namespace
}  // namespace rigel
