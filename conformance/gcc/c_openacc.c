// OpenACC by GCC: levels of parallelism, reductions, data regions and asynchronous queues. Without device
// data, so the code object's table of variables is empty.
#include <openacc.h>

#include "check.h"

enum { kCount = 5000 };

static void levels(int* values) {
#pragma acc parallel loop gang vector copy(values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = 3 * i;
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == 3 * i);

  int table[16][32];
#pragma acc parallel loop gang copyout(table)
  for (int i = 0; i < 16; ++i) {
#pragma acc loop worker
    for (int j = 0; j < 32; ++j) table[i][j] = 100 * i + j;
  }
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 32; ++j) CHECK(table[i][j] == 100 * i + j);
  }
}

static void reductions(const int* values) {
  long sum = 0;
  int least = 1 << 30, most = -1;
#pragma acc parallel loop reduction(+ : sum) reduction(min : least) reduction(max : most) \
    copyin(values[0 : kCount])
  for (int i = 0; i < kCount; ++i) {
    sum += values[i];
    least = values[i] < least ? values[i] : least;
    most = values[i] > most ? values[i] : most;
  }
  CHECK(sum == 3L * kCount * (kCount - 1) / 2);
  CHECK(least == 0 && most == 3 * (kCount - 1));
}

static void data_regions(void) {
  double* x = malloc(kCount * sizeof *x);
  double* y = malloc(kCount * sizeof *y);
  for (int i = 0; i < kCount; ++i) {
    x[i] = i;
    y[i] = 1;
  }
#pragma acc data copyin(x [0:kCount]) copy(y [0:kCount])
  {
    CHECK(acc_is_present(x, kCount * sizeof *x));
    for (int times = 0; times < 3; ++times) {
#pragma acc parallel loop present(x [0:kCount], y [0:kCount])
      for (int i = 0; i < kCount; ++i) y[i] += 0.5 * x[i];
    }
#pragma acc update self(y [0:2])
    CHECK(y[1] == 2.5 && y[2] == 1);
  }
  for (int i = 0; i < kCount; ++i) CHECK(y[i] == 1 + 1.5 * i);
  free(x);
  free(y);
}

static void queues(int* values) {
#pragma acc enter data create(values [0:kCount])
#pragma acc parallel loop async(1) present(values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] = i;
#pragma acc parallel loop async(1) present(values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] *= 2;
#pragma acc update self(values [0:kCount]) async(1)
#pragma acc wait(1)
#pragma acc exit data delete (values [0:kCount])
  for (int i = 0; i < kCount; ++i) CHECK(values[i] == 2 * i);
}

int main(void) {
  int on_host = 1;
#pragma acc parallel copyout(on_host)
  on_host = acc_on_device(acc_device_host);
  if (on_host) {
    fprintf(stderr, "%d devices, and compute regions run on the host\n",
            acc_get_num_devices(acc_device_radeon));
    return 1;
  }
  int* values = malloc(kCount * sizeof *values);
  levels(values);
  reductions(values);
  data_regions();
  queues(values);
  free(values);
  return conclude();
}
