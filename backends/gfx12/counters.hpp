// The performance counters of gfx12.
#pragma once

#include "backends/common/counters.hpp"

namespace rigel::gfx12 {

extern const gfx::CounterGeneration kCounters;

}  // namespace rigel::gfx12
