// Target regions with one and with many threads, and all ways to map data.
#include "on_gpu.h"

enum { kCount = 1000 };

struct Pair {
  int first;
  double second;
};

static void maps(void) {
  int in[kCount], out[kCount], both[kCount];
  for (int i = 0; i < kCount; ++i) in[i] = i, out[i] = -1, both[i] = 2 * i;
#pragma omp target map(to : in) map(from : out) map(tofrom : both)
  for (int i = 0; i < kCount; ++i) {
    out[i] = in[i] + 1;
    both[i] += in[i];
    in[i] = 0;  // not copied back
  }
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += in[i] != i || out[i] != i + 1 || both[i] != 3 * i;
  CHECK(wrong == 0);
}

static void scalars_and_structures(void) {
  int number = 5;
  double sum = 0;
  struct Pair pair = {3, 0.25};
#pragma omp target map(tofrom : sum, pair) firstprivate(number)
  {
    number *= 2;
    sum = number + pair.second;
    pair.first = number;
  }
  CHECK(number == 5);
  CHECK(sum == 10.25);
  CHECK(pair.first == 10 && pair.second == 0.25);
}

// Data that is mapped around several regions is copied once.
static void data_region(void) {
  int* values = malloc(kCount * sizeof *values);
  for (int i = 0; i < kCount; ++i) values[i] = i;
#pragma omp target data map(tofrom : values [0:kCount])
  {
#pragma omp target
    for (int i = 0; i < kCount; ++i) values[i] += 1;
    values[7] = -100;  // the host's copy, which the device does not see
#pragma omp target
    for (int i = 0; i < kCount; ++i) values[i] *= 2;
#pragma omp target update from(values [0:1])
    CHECK(values[0] == 2);
  }
  CHECK(values[7] == 16);
  CHECK(values[kCount - 1] == 2 * kCount);
  free(values);
}

static void enter_and_exit(void) {
  int* values = malloc(kCount * sizeof *values);
  for (int i = 0; i < kCount; ++i) values[i] = i;
#pragma omp target enter data map(to : values [0:kCount])
  values[3] = 50;
#pragma omp target update to(values [3:1])
#pragma omp target map(values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = -values[i];
  CHECK(omp_target_is_present(values, omp_get_default_device()));
#pragma omp target exit data map(from : values [0:kCount])
  CHECK(!omp_target_is_present(values, omp_get_default_device()));
  CHECK(values[3] == -50 && values[kCount - 1] == 1 - kCount);
  free(values);
}

static void memory_of_the_device(void) {
  const int device = omp_get_default_device(), host = omp_get_initial_device();
  int from[kCount], to[kCount];
  for (int i = 0; i < kCount; ++i) from[i] = i * i, to[i] = 0;
  int* there = omp_target_alloc(sizeof from, device);
  CHECK(there != NULL);
  CHECK(omp_target_memcpy(there, from, sizeof from, 0, 0, device, host) == 0);
#pragma omp target is_device_ptr(there)
  for (int i = 0; i < kCount; ++i) there[i] += 1;
  CHECK(omp_target_memcpy(to, there, sizeof to, 0, 0, host, device) == 0);
  omp_target_free(there, device);
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += to[i] != i * i + 1;
  CHECK(wrong == 0);
}

int main(void) {
  require_gpu();
  maps();
  scalars_and_structures();
  data_region();
  enter_and_exit();
  memory_of_the_device();
  // A region whose `if` is false, and an empty one.
  int where = -1;
#pragma omp target map(from : where) if (failures > 1000)
  where = omp_is_initial_device();
  CHECK(where == 1);
  for (int round = 0; round < 100; ++round) {
#pragma omp target
    {}
  }
  return conclude();
}
