// PC sampling by the driver transport of this process's GPUs. Any thread.
#pragma once

#include <memory>

#include "core/runtime/gpus.hpp"
#include "core/sampling/pc_sampling.hpp"

namespace rigel {

/// `gpus` may be null, and outlives the result.
std::unique_ptr<SamplingDriver> make_sampling_driver(Gpus* gpus);

}  // namespace rigel
