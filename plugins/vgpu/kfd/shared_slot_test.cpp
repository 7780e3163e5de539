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

std::string own_name(const char* what) {
  return std::string(what) + std::to_string(getpid());
}

TEST(SharedSlot, IsOnesAtATime) {
  const std::string name = own_name("vgpu-test-slot-");
  SharedSlot first = SharedSlot::claim(name);
  ASSERT_TRUE(first);
  EXPECT_FALSE(SharedSlot::claim(name));
  EXPECT_TRUE(SharedSlot::claim(name + "x"));
  first = SharedSlot();
  EXPECT_TRUE(SharedSlot::claim(name));
}

TEST(SharedSlot, HasANameOfAnyLength) {
  const std::string name = own_name("vgpu-test-slot-") + std::string(200, 'x');
  const SharedSlot first = SharedSlot::claim(name + "1"), second = SharedSlot::claim(name + "2");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(SharedSlot::claim(name + "2"));
}

TEST(SharedSlot, ComesBackFromAProcessThatIsKilled) {
  const std::string name = own_name("vgpu-test-killed-");
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

// One process of a machine, as far as copy engines are concerned.
class Copier {
 public:
  explicit Copier(const std::string& machine)
      : client_("vega10:vram=64M", options(machine)), pointers_(client_.share(4096)) {}
  ~Copier() {
    while (!ids_.empty()) drop();
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
  void drop() {
    kfd_destroy_queue a{ids_.back(), 0};
    client_.must(KFD_NR_DESTROY_QUEUE, a, "DESTROY_QUEUE");
    ids_.pop_back();
  }

 private:
  static ProcessOptions options(const std::string& machine) {
    ProcessOptions options;
    options.machine = machine;
    return options;
  }

  Client client_;
  Client::Memory pointers_;
  std::vector<Client::Memory> rings_;
  std::vector<uint32_t> ids_;
};

TEST(SharedMachine, HasAsManyCopyQueuesForAllAsTheBoardSays) {
  const std::string name = own_name("test-machine-");
  Copier one(name), other(name), elsewhere("");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(one.create(), 0);
  EXPECT_EQ(other.create(), 0);
  EXPECT_EQ(other.create(), -ENOMEM);
  EXPECT_EQ(one.create(), -ENOMEM);
  EXPECT_EQ(elsewhere.create(), 0) << "of a machine of its own";
  one.drop();
  EXPECT_EQ(other.create(), 0);
}

}  // namespace
}  // namespace rigel::vgpu
