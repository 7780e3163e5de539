// SPDX-License-Identifier: MIT
// The core headers seen by a C program. Built as C99, so that they need no later C.
#include <hsa/hsa.h>
#include <hsa/hsa_ven_amd_loader.h>

#include "api/tests/abi_facts.h"

#define ABI_ALIGNOF(type) __alignof__(type)
#define ABI_NEW_VALUE ABI_VALUE
#define ABI_NEW_FIELD ABI_FIELD

static const AbiFact facts[] = {
#include "api/tests/abi_hsa_facts.inc"
};

AbiFacts abi_hsa_facts_in_c(void) {
  AbiFacts table = {facts, sizeof facts / sizeof facts[0]};
  return table;
}
