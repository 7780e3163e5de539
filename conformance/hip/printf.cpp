// printf in a kernel: every line arrives once, with arguments of all kinds.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "check.hpp"

__global__ void talk(const char* word) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 3 == 0) {
    printf("item %u of block %d: %s, %5.2f, %lld, %c, 0x%08x, %%\n", i, static_cast<int>(blockIdx.x), word,
           i * 0.25, static_cast<long long>(i) * -10000000000ll, 'a' + static_cast<int>(i % 26),
           i * 0x01010101u);
  } else {
    printf("item %u\n", i);
  }
}

int main() {
  constexpr unsigned kBlocks = 3, kBlock = 70;
  char path[] = "/tmp/hip_printf_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return kSkipped;
  const DeviceArray<char> word({'h', 'e', 'l', 'l', 'o', '\0'});

  std::fflush(stdout);
  const int terminal = dup(STDOUT_FILENO);
  dup2(file, STDOUT_FILENO);
  talk<<<kBlocks, kBlock>>>(word.data());
  const hipError_t launched = hipGetLastError(), finished = hipDeviceSynchronize();
  std::fflush(stdout);
  dup2(terminal, STDOUT_FILENO);
  HIP_OK(launched);
  HIP_OK(finished);

  std::vector<std::string> expected, actual;
  for (unsigned i = 0; i < kBlocks * kBlock; ++i) {
    char line[160];
    if (i % 3 == 0) {
      std::snprintf(line, sizeof line, "item %u of block %d: %s, %5.2f, %lld, %c, 0x%08x, %%", i,
                    static_cast<int>(i / kBlock), "hello", i * 0.25,
                    static_cast<long long>(i) * -10000000000ll, 'a' + static_cast<int>(i % 26),
                    i * 0x01010101u);
    } else {
      std::snprintf(line, sizeof line, "item %u", i);
    }
    expected.emplace_back(line);
  }
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) actual.push_back(line);
  unlink(path);
  std::sort(expected.begin(), expected.end());
  std::sort(actual.begin(), actual.end());
  expect_equal("lines", expected.size(), actual.size());
  for (size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    if (expected[i] != actual[i]) {
      fail("line '" + actual[i] + "' instead of '" + expected[i] + "'");
      break;
    }
  }
  return verdict("printf");
}
