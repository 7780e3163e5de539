#ifndef ON_GPU_H_
#define ON_GPU_H_

#include "check.h"

// Exits with an error if target regions fall back to the host.
static void require_gpu(void) {
  int on_host = 1;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  if (on_host || omp_get_num_devices() < 1) {
    fprintf(stderr, "%d devices, and target regions run on the host\n", omp_get_num_devices());
    exit(1);
  }
}

#endif  // ON_GPU_H_
