// The performance counters of gfx8.
#pragma once

#include "backends/common/counters.hpp"

namespace rigel::gfx8 {

extern const gfx::CounterGeneration kCounters;

}  // namespace rigel::gfx8
