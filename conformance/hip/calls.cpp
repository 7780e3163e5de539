// Function calls that are not inlined: through divergent pointers, through virtual functions, and
// recursively, with the stack in scratch memory.
#include "check.hpp"

using Function = int (*)(int);

__device__ __noinline__ int twice(int x) {
  return 2 * x;
}
__device__ __noinline__ int square(int x) {
  return x * x;
}
__device__ __noinline__ int negate(int x) {
  return -x;
}
__device__ __noinline__ int minus_seven(int x) {
  return x - 7;
}
__device__ Function functions[4] = {twice, square, negate, minus_seven};

__global__ void indirect(const int* in, const uint8_t* which, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int value = in[i];
  for (unsigned k = 0; k < 3; ++k) value = functions[(which[i] >> 2 * k) & 3](value);
  out[i] = value;
}

static int host_function(unsigned which, int x) {
  switch (which) {
    case 0:
      return 2 * x;
    case 1:
      return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(x));
    case 2:
      return -x;
    default:
      return x - 7;
  }
}

static void check_indirect() {
  constexpr unsigned kCount = 2048;
  Random random(4);
  std::vector<int> in(kCount), expected(kCount);
  std::vector<uint8_t> which(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    in[i] = static_cast<int>(random.below(60)) - 30;
    which[i] = static_cast<uint8_t>(random.bits());
    int value = in[i];
    for (unsigned k = 0; k < 3; ++k) value = host_function((which[i] >> 2 * k) & 3u, value);
    expected[i] = value;
  }
  const DeviceArray<int> din(in), out(kCount, 0xff);
  const DeviceArray<uint8_t> dwhich(which);
  indirect<<<kCount / 256, 256>>>(din.data(), dwhich.data(), out.data());
  HIP_FINISH();
  expect_equal("calls through pointers", expected, out.read());
}

__host__ __device__ __attribute__((noinline)) unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__host__ __device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__global__ void recursive(unsigned* out) {
  const unsigned i = threadIdx.x;
  out[2 * i] = fibonacci(i % 13);
  out[2 * i + 1] = ackermann(i % 3, i % 5);
}

static void check_recursion() {
  constexpr unsigned kCount = 192;
  std::vector<unsigned> expected(2 * kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    expected[2 * i] = fibonacci(i % 13);
    expected[2 * i + 1] = ackermann(i % 3, i % 5);
  }
  const DeviceArray<unsigned> out(2 * kCount, 0xff);
  recursive<<<1, kCount>>>(out.data());
  HIP_FINISH();
  expect_equal("recursion", expected, out.read());
}

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Box : Shape {
  int width, height;
  __device__ Box(int w, int h) : width(w), height(h) {}
  __device__ int area() const override { return width * height; }
};

__global__ void virtual_calls(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  Square square(i);
  Box box(i, 3);
  Shape* shape = i % 3 == 0 ? static_cast<Shape*>(&square) : &box;
  asm volatile("" : "+v"(shape));
  out[i] = shape->area();
}

static void check_virtual() {
  constexpr int kCount = 128;
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[static_cast<size_t>(i)] = i % 3 == 0 ? i * i : i * 3;
  const DeviceArray<int> out(kCount, 0xff);
  virtual_calls<<<1, kCount>>>(out.data());
  HIP_FINISH();
  expect_equal("virtual calls", expected, out.read());
}

int main() {
  check_indirect();
  check_virtual();
  check_recursion();
  return verdict("calls");
}
