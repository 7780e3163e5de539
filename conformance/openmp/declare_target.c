// Device variables and functions.
#include "on_gpu.h"

#pragma omp declare target
int counter = 40;
int table[4] = {2, 3, 5, 7};
static double scaled(double x, int by);
static int fibonacci(int n);
#pragma omp end declare target

#pragma omp declare target
static double scaled(double x, int by) {
  return x * table[by];
}

// Calls that cannot be inlined.
__attribute__((noinline)) static int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int twice(int x) {
  return 2 * x;
}
static int thrice(int x) {
  return 3 * x;
}
#pragma omp end declare target

int main(void) {
  require_gpu();
  int seen = 0;
#pragma omp target map(from : seen)
  {
    counter += 2;
    seen = counter;
  }
  CHECK(seen == 42);
  CHECK(counter == 40);
#pragma omp target update from(counter)
  CHECK(counter == 42);
  counter = 7;
  table[1] = 30;
#pragma omp target update to(counter, table)
  double product = 0;
#pragma omp target map(from : product, seen)
  {
    product = scaled(0.5, 1);
    seen = counter;
  }
  CHECK(seen == 7);
  CHECK(product == 15.0);

  int number = 0;
#pragma omp target map(from : number)
  number = fibonacci(12);
  CHECK(number == 144);

  int results[10];
#pragma omp target map(from : results)
  for (int i = 0; i < 10; ++i) {
    int (*const function)(int) = i % 2 == 0 ? twice : thrice;
    results[i] = function(i);
  }
  for (int i = 0; i < 10; ++i) CHECK(results[i] == (i % 2 == 0 ? 2 : 3) * i);
  return conclude();
}
