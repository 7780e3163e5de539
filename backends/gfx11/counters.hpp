// The performance counters of gfx11.
#pragma once

#include "backends/common/counters.hpp"

namespace rigel::gfx11 {

extern const gfx::CounterGeneration kCounters;

}  // namespace rigel::gfx11
