// Requires unified shared memory, which needs GPUs with page faults (XNACK). On other GPUs, the region runs
// on the host or the program ends with a message. It never returns a wrong result.
#include "check.h"

#pragma omp requires unified_shared_memory

int main(void) {
  int* values = malloc(1000 * sizeof *values);
  for (int i = 0; i < 1000; ++i) values[i] = i;
  int on_host = -1;
#pragma omp target map(from : on_host)
  {
    for (int i = 0; i < 1000; ++i) values[i] += 1;
    on_host = omp_is_initial_device();
  }
  for (int i = 0; i < 1000; ++i) CHECK(values[i] == i + 1);
  printf("on the %s\n", on_host ? "host" : "device");
  free(values);
  return conclude();
}
