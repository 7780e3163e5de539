#include "plugins/vgpu/exec/native/aside.hpp"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <vector>

#include "plugins/vgpu/exec/native/compiler_process.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

TEST(Aside, StartsCheapJobsFirst) {
  const unsigned threads = compilers_at_a_time();
  std::promise<void> first_may_end, others_may_end;
  const std::shared_future<void> first_end(first_may_end.get_future());
  const std::shared_future<void> others_end(others_may_end.get_future());
  std::latch busy(threads);
  for (unsigned i = 0; i < threads; ++i) {
    ASSERT_TRUE(do_aside(0, [&busy, end = i == 0 ? first_end : others_end] {
      busy.count_down();
      end.wait();
    }));
  }
  busy.wait();
  // One thread runs the following jobs.
  std::vector<int> order;
  std::promise<void> all_done;
  for (const int cost : {3, 1, 2, 1}) {
    ASSERT_TRUE(do_aside(static_cast<size_t>(cost), [&order, &all_done, cost] {
      order.push_back(cost);
      if (order.size() == 4) all_done.set_value();
    }));
  }
  first_may_end.set_value();
  all_done.get_future().wait();
  others_may_end.set_value();
  EXPECT_EQ(order, (std::vector<int>{1, 1, 2, 3}));
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
