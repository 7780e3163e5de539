// A machine without a GPU: programs ask how many there are and do without.
#include <cstdio>

#include "check.hpp"

int main() {
  int count = -1;
  const hipError_t status = hipGetDeviceCount(&count);
  std::printf("%d devices: %s\n", count, hipGetErrorName(status));
  return status == hipErrorNoDevice && count == 0 ? 0 : 1;
}
