// The performance counters of gfx10.
#pragma once

#include "backends/common/counters.hpp"

namespace rigel::gfx10 {

extern const gfx::CounterGeneration kCounters;

}  // namespace rigel::gfx10
