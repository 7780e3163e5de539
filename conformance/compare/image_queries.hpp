// Prints an agent's answers about images: the formats of every geometry, sizes of linear images, and the
// words of image and sampler handles that kernels read.
#pragma once

#include <hsa/hsa.h>

#include <string>

/// Prints lines that start with `prefix`. `memory` (64 KiB, aligned to 4 KiB) is the images' data. It is not
/// accessed, and its address is subtracted from the words.
void show_images(const std::string& prefix, hsa_agent_t agent, void* memory);
