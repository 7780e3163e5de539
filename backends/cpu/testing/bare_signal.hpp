// Lower bound of a signal operation: an atomic operation called through a table pointer, in a separate
// library like the runtime, so that a program's calls of the two cost the same.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>

extern "C" {
int64_t bare_signal_load_scacquire(hsa_signal_t signal);
void bare_signal_store_screlease(hsa_signal_t signal, int64_t value);
}
