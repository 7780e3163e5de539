// Memory of one process in a kernel of another. A second process, which runs this program, gets a handle and
// writes its results to the memory.
#include <sys/wait.h>
#include <unistd.h>

#include "check.hpp"

namespace {

constexpr unsigned kCount = 100'000;

struct Shared {
  hipIpcMemHandle_t handle;
  unsigned count;
};

}  // namespace

__global__ void twice_plus(unsigned* words, unsigned count, unsigned more) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] = words[i] * 2 + more;
}

int second_process() {
  Shared shared;
  if (read(0, &shared, sizeof shared) != static_cast<ssize_t>(sizeof shared)) return 1;
  void* memory = nullptr;
  HIP_OK(hipIpcOpenMemHandle(&memory, shared.handle, hipIpcMemLazyEnablePeerAccess));
  twice_plus<<<blocks_for(shared.count, 256), 256>>>(static_cast<unsigned*>(memory), shared.count, 5);
  HIP_FINISH();
  HIP_OK(hipIpcCloseMemHandle(memory));
  return 0;
}

int main(int argc, char**) {
  if (argc > 1) return second_process();
  std::vector<unsigned> values(kCount), expected(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    values[i] = i * 3;
    expected[i] = i * 6 + 5;
  }
  const DeviceArray<unsigned> before(1000, 0x11), memory(values), behind(1000, 0x22);
  Shared shared{};
  shared.count = kCount;
  HIP_OK(hipIpcGetMemHandle(&shared.handle, memory.data()));
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    close(ends[1]);
    execl("/proc/self/exe", "ipc", "second", nullptr);
    _exit(1);
  }
  if (write(ends[1], &shared, sizeof shared) != static_cast<ssize_t>(sizeof shared)) fail("nobody listens");
  int status = 0;
  waitpid(child, &status, 0);
  expect(status == 0, "the second process succeeds");
  expect_equal("what the second process computed", expected, memory.read());
  expect_equal("the memory before", std::vector<unsigned>(1000, 0x11111111), before.read());
  expect_equal("the memory behind", std::vector<unsigned>(1000, 0x22222222), behind.read());
  return verdict("ipc");
}
