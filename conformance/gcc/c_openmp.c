// OpenMP by GCC: target regions without and with device data, teams, reductions, asynchronous regions.
#include <omp.h>

#include "check.h"

enum { kCount = 5000 };

#ifdef WITH_DEVICE_DATA
#pragma omp declare target
static int offsets[4] = {1, 20, 300, 4000};
static int calls = 0;
static int offset(int i) {
  return offsets[i & 3];
}
#pragma omp end declare target

static void device_data(int* values) {
#pragma omp target teams distribute parallel for map(from : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = i + offset(i);
  const int expected[4] = {1, 20, 300, 4000};
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == i + expected[i & 3]);
  int seen = 0;
#pragma omp target map(from : seen)
  {
    ++calls;
    seen = calls;
  }
#pragma omp target map(from : seen)
  {
    ++calls;
    seen = calls;
  }
  CHECK(seen == 2 && calls == 0);
}
#endif

static void loops(int* values) {
#pragma omp target teams distribute parallel for map(tofrom : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = 2 * i;
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == 2 * i);
  long sum = 0;
  int most = 0;
#pragma omp target teams distribute parallel for simd reduction(+ : sum) reduction(max : most) \
    map(tofrom : sum, most) map(to : values[0 : kCount])
  for (int i = 0; i < kCount; ++i) {
    sum += values[i];
    if (values[i] > most) most = values[i];
  }
  CHECK(sum == (long)kCount * (kCount - 1) && most == 2 * (kCount - 1));
}

static void asynchronous(int* values) {
#pragma omp target enter data map(alloc : values [0:kCount])
#pragma omp target nowait depend(out : values[0]) map(alloc : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = i;
#pragma omp target nowait depend(inout : values[0]) map(alloc : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] += 5;
#pragma omp taskwait
#pragma omp target exit data map(from : values [0:kCount])
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == i + 5);
}

int main(void) {
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  if (on_host) {
    fprintf(stderr, "%d devices, and target regions run on the host\n", omp_get_num_devices());
    return 1;
  }
  int* values = malloc(kCount * sizeof *values);
  loops(values);
  asynchronous(values);
#ifdef WITH_DEVICE_DATA
  device_data(values);
#endif
  free(values);
  return conclude();
}
