// Reductions over teams and threads with every operator whose result is exact.
#include "on_gpu.h"

enum { kCount = 54321 };

int main(void) {
  require_gpu();
  int* values = malloc(kCount * sizeof *values);
  unsigned state = 12345;
  for (int i = 0; i < kCount; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = (int)(state >> 12) - (1 << 19);
  }
  long sum = 0, expected_sum = 0;
  int least = 1 << 30, most = -(1 << 30), expected_least = least, expected_most = most;
  unsigned xors = 0, expected_xors = 0, ors = 0, expected_ors = 0, ands = ~0u, expected_ands = ~0u;
  double halves = 0, expected_halves = 0;
  int any = 0, all = 1;
#pragma omp target data map(to : values [0:kCount])
  {
#pragma omp target teams distribute parallel for reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < kCount; ++i) sum += values[i];
#pragma omp target teams distribute parallel for reduction(min                                   \
                                                           : least) reduction(max                \
                                                                              : most) map(tofrom \
                                                                                          : least, most)
    for (int i = 0; i < kCount; ++i) {
      if (values[i] < least) least = values[i];
      if (values[i] > most) most = values[i];
    }
#pragma omp target teams distribute parallel for reduction(^ : xors) reduction(| : ors) reduction(& : ands) \
    map(tofrom : xors, ors, ands)
    for (int i = 0; i < kCount; ++i) {
      xors ^= (unsigned)values[i];
      ors |= (unsigned)values[i] & 0xf0f0u;
      ands &= (unsigned)values[i] | 0xff00u;
    }
    // Halves of small integers are added without rounding, in any order.
#pragma omp target teams distribute parallel for reduction(+ : halves) map(tofrom : halves)
    for (int i = 0; i < kCount; ++i) halves += 0.5 * values[i];
#pragma omp target teams distribute parallel for reduction(|| : any) reduction(&& : all) map(tofrom : any, all)
    for (int i = 0; i < kCount; ++i) {
      any = any || values[i] == values[kCount - 1];
      all = all && values[i] > -(1 << 20);
    }
  }
  for (int i = 0; i < kCount; ++i) {
    expected_sum += values[i];
    expected_least = values[i] < expected_least ? values[i] : expected_least;
    expected_most = values[i] > expected_most ? values[i] : expected_most;
    expected_xors ^= (unsigned)values[i];
    expected_ors |= (unsigned)values[i] & 0xf0f0u;
    expected_ands &= (unsigned)values[i] | 0xff00u;
    expected_halves += 0.5 * values[i];
  }
  CHECK(sum == expected_sum);
  CHECK(least == expected_least && most == expected_most);
  CHECK(xors == expected_xors && ors == expected_ors && ands == expected_ands);
  CHECK(halves == expected_halves);
  CHECK(any == 1 && all == 1);

  // No elements, a single element, and a reduction within a team.
  int none = 7, one = 7, inner = 0;
#pragma omp target teams distribute parallel for reduction(+ : none) map(tofrom : none)
  for (int i = kCount; i < kCount; ++i) none += 1;
#pragma omp target teams distribute parallel for reduction(+ : one) map(tofrom : one)
  for (int i = 0; i < 1; ++i) one += 1;
#pragma omp target teams num_teams(4) reduction(+ : inner) map(tofrom : inner)
#pragma omp parallel for reduction(+ : inner)
  for (int i = 0; i < 100; ++i) inner += i;
  CHECK(none == 7 && one == 8);
  CHECK(inner % 4950 == 0 && inner >= 4950 && inner <= 4 * 4950);
  free(values);
  return conclude();
}
