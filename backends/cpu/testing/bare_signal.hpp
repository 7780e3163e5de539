// Lower bound for the cost of a signal operation: an atomic operation that is called through a table of
// pointers. It is in a separate library, as the runtime is, so that a call of either costs a program the
// same.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>

extern "C" {
int64_t bare_signal_load_scacquire(hsa_signal_t signal);
void bare_signal_store_screlease(hsa_signal_t signal, int64_t value);
}
