// Several devices in one process: separate memory and kernels, and access to peer memory by copies and, if
// possible, by kernels. Skipped if there is only one device.
#include "check.hpp"

__global__ void add_to_all(const unsigned* in, unsigned* out, unsigned count, unsigned addend) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    out[i] = in[i] + addend;
}

constexpr unsigned kCount = 70'001;

static std::vector<unsigned> numbers(unsigned seed) {
  std::vector<unsigned> result(kCount);
  for (unsigned i = 0; i < kCount; ++i) result[i] = i * 17 + seed * 1'000'003;
  return result;
}

struct Board {
  explicit Board(int number) : device(number) {
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipMalloc(&memory, kCount * 4));
    HIP_OK(hipStreamCreate(&stream));
  }
  int device;
  unsigned* memory = nullptr;
  hipStream_t stream = nullptr;
};

static std::vector<unsigned> read(const Board& board) {
  std::vector<unsigned> result(kCount);
  HIP_OK(hipSetDevice(board.device));
  HIP_OK(hipMemcpy(result.data(), board.memory, kCount * 4, hipMemcpyDeviceToHost));
  return result;
}

static void write(const Board& board, const std::vector<unsigned>& values) {
  HIP_OK(hipSetDevice(board.device));
  HIP_OK(hipMemcpy(board.memory, values.data(), kCount * 4, hipMemcpyHostToDevice));
}

static void check_pair(const Board& from, const Board& to) {
  const std::string pair = std::to_string(from.device) + " to " + std::to_string(to.device);
  const auto seed = static_cast<unsigned>(from.device * 10 + to.device);

  write(from, numbers(seed));
  HIP_OK(hipMemcpyPeer(to.memory, to.device, from.memory, from.device, kCount * 4));
  expect_equal("a copy from " + pair, numbers(seed), read(to));

  write(from, numbers(seed + 1));
  HIP_OK(hipSetDevice(from.device));
  HIP_OK(hipMemcpyPeerAsync(to.memory, to.device, from.memory, from.device, kCount * 4, from.stream));
  HIP_OK(hipStreamSynchronize(from.stream));
  expect_equal("an asynchronous copy from " + pair, numbers(seed + 1), read(to));

  int reaches = 0;
  HIP_OK(hipDeviceCanAccessPeer(&reaches, to.device, from.device));
  if (reaches == 0) return;
  HIP_OK(hipSetDevice(to.device));
  const hipError_t enabled = hipDeviceEnablePeerAccess(from.device, 0);
  expect(enabled == hipSuccess || enabled == hipErrorPeerAccessAlreadyEnabled, "access from " + pair);
  add_to_all<<<16, 256, 0, to.stream>>>(from.memory, to.memory, kCount, 5);
  HIP_OK(hipGetLastError());
  HIP_OK(hipStreamSynchronize(to.stream));
  std::vector<unsigned> expected = numbers(seed + 1);
  for (unsigned& value : expected) value += 5;
  expect_equal("a kernel of the second, " + pair, expected, read(to));
}

int main() {
  int count = 0;
  HIP_OK(hipGetDeviceCount(&count));
  if (count < 2) {
    std::fprintf(stderr, "there is one device\n");
    return kSkipped;
  }
  std::vector<Board> boards;
  for (int i = 0; i < count; ++i) boards.emplace_back(i);

  // All devices run concurrently, each with its local memory.
  for (const Board& board : boards) write(board, numbers(static_cast<unsigned>(board.device)));
  for (int round = 0; round < 8; ++round) {
    for (const Board& board : boards) {
      HIP_OK(hipSetDevice(board.device));
      add_to_all<<<16, 256, 0, board.stream>>>(board.memory, board.memory, kCount, 3);
      HIP_OK(hipGetLastError());
    }
  }
  for (const Board& board : boards) {
    HIP_OK(hipStreamSynchronize(board.stream));
    std::vector<unsigned> expected = numbers(static_cast<unsigned>(board.device));
    for (unsigned& value : expected) value += 8 * 3;
    expect_equal("kernels of device " + std::to_string(board.device), expected, read(board));
  }

  for (const Board& from : boards) {
    for (const Board& to : boards) {
      if (from.device != to.device) check_pair(from, to);
    }
  }
  return verdict("peers");
}
