// The performance counters of gfx9.
#pragma once

#include "backends/common/counters.hpp"

namespace rigel::gfx9 {

extern const gfx::CounterGeneration kCounters;

}  // namespace rigel::gfx9
