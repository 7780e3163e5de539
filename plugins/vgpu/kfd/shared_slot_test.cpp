#include "plugins/vgpu/kfd/shared_slot.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/kfd/client.hpp"

namespace rigel::vgpu {
namespace {

std::string name_of_process(const char* prefix) {
  return std::string(prefix) + std::to_string(getpid());
}

TEST(SharedSlot, ClaimFailsWhileClaimed) {
  const std::string name = name_of_process("vgpu-test-slot-");
  SharedSlot first = SharedSlot::claim(name);
  ASSERT_TRUE(first);
  EXPECT_FALSE(SharedSlot::claim(name));
  EXPECT_TRUE(SharedSlot::claim(name + "x"));
  first = SharedSlot();
  EXPECT_TRUE(SharedSlot::claim(name));
}

TEST(SharedSlot, LongNamesDiffer) {
  const std::string name = name_of_process("vgpu-test-slot-") + std::string(200, 'x');
  const SharedSlot first = SharedSlot::claim(name + "1"), second = SharedSlot::claim(name + "2");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(SharedSlot::claim(name + "2"));
}

TEST(SharedSlot, IsReleasedWhenProcessIsKilled) {
  const std::string name = name_of_process("vgpu-test-killed-");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const SharedSlot slot = SharedSlot::claim(name);
    const char word = slot ? 'y' : 'n';
    if (write(ready[1], &word, 1) != 1) _exit(1);
    pause();
  }
  char word = 0;
  ASSERT_EQ(read(ready[0], &word, 1), 1);
  EXPECT_EQ(word, 'y');
  EXPECT_FALSE(SharedSlot::claim(name));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(SharedSlot::claim(name));
  close(ready[0]);
  close(ready[1]);
}

// A process of a virtual system that creates SDMA queues.
class Copier {
 public:
  explicit Copier(const std::string& virtual_system)
      : client_("vega10:vram=64M", options(virtual_system)), pointers_(client_.share(4096)) {}
  ~Copier() {
    while (!ids_.empty()) destroy();
    for (const Client::Memory& ring : rings_) client_.release(ring);
    client_.release(pointers_);
  }

  int create() {
    rings_.push_back(client_.share(65536));
    kfd_create_queue a{};
    a.ring_base_address = rings_.back().va();
    a.write_pointer_address = pointers_.va();
    a.read_pointer_address = pointers_.va() + 8;
    a.ring_size = 65536;
    a.gpu_id = client_.gpu_id(0);
    a.queue_type = KFD_QUEUE_SDMA;
    a.queue_percentage = 100;
    const int problem = client_.call(KFD_NR_CREATE_QUEUE, a);
    if (problem == 0) ids_.push_back(a.queue_id);
    return problem;
  }
  void destroy() {
    kfd_destroy_queue a{ids_.back(), 0};
    client_.must(KFD_NR_DESTROY_QUEUE, a, "DESTROY_QUEUE");
    ids_.pop_back();
  }

 private:
  static ProcessOptions options(const std::string& virtual_system) {
    ProcessOptions options;
    options.virtual_system = virtual_system;
    return options;
  }

  Client client_;
  Client::Memory pointers_;
  std::vector<Client::Memory> rings_;
  std::vector<uint32_t> ids_;
};

TEST(SharedSlot, LimitsSdmaQueuesOfAllProcesses) {
  const std::string name = name_of_process("test-machine-");
  Copier first(name), second(name), unshared("");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(first.create(), 0);
  EXPECT_EQ(second.create(), 0);
  EXPECT_EQ(second.create(), -ENOMEM);
  EXPECT_EQ(first.create(), -ENOMEM);
  EXPECT_EQ(unshared.create(), 0) << "of a machine of its own";
  first.destroy();
  EXPECT_EQ(second.create(), 0);
}

}  // namespace
}  // namespace rigel::vgpu
