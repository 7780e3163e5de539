// Asynchronous regions: ordered by dependences, concurrent with the host and with each other.
#include "on_gpu.h"

enum { kCount = 4096, kChains = 6, kSteps = 8 };

static void a_chain(void) {
  int* values = malloc(kCount * sizeof *values);
  for (int i = 0; i < kCount; ++i) values[i] = i;
#pragma omp target enter data map(to : values [0:kCount]) nowait depend(out : values[0])
#pragma omp target nowait depend(inout : values[0]) map(alloc : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] += 1;
#pragma omp target nowait depend(inout : values[0]) map(alloc : values [0:kCount])
  for (int i = 0; i < kCount; ++i) values[i] *= 3;
#pragma omp target exit data map(from : values [0:kCount]) nowait depend(inout : values[0])
#pragma omp task depend(inout : values[0]) shared(values)
  for (int i = 0; i < kCount; ++i) values[i] -= 1;
#pragma omp taskwait
  int wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += values[i] != (i + 1) * 3 - 1;
  CHECK(wrong == 0);
  free(values);
}

static void chains_beside_each_other(void) {
  int totals[kChains] = {0};
  static int data[kChains][kCount];
  for (int chain = 0; chain < kChains; ++chain) {
    int* const mine = data[chain];
    for (int step = 0; step < kSteps; ++step) {
#pragma omp target teams distribute parallel for nowait depend(inout : mine[0]) map(tofrom : mine [0:kCount])
      for (int i = 0; i < kCount; ++i) mine[i] = mine[i] * 2 + chain;
    }
#pragma omp task depend(in : mine[0]) shared(totals) firstprivate(chain, mine)
    for (int i = 0; i < kCount; ++i) totals[chain] += mine[i] == chain * ((1 << kSteps) - 1);
  }
#pragma omp taskwait
  for (int chain = 0; chain < kChains; ++chain) CHECK(totals[chain] == kCount);
}

static void threads_of_the_host(void) {
  int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    const int me = omp_get_thread_num();
    int values[64];
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 64; ++i) values[i] = me;
#pragma omp target map(tofrom : values)
      for (int i = 0; i < 64; ++i) values[i] += i * round;
      for (int i = 0; i < 64; ++i) wrong += values[i] != me + i * round;
    }
  }
  CHECK(wrong == 0);
}

int main(void) {
  require_gpu();
#pragma omp parallel num_threads(3)
#pragma omp single
  {
    a_chain();
    chains_beside_each_other();
  }
  threads_of_the_host();
  return conclude();
}
