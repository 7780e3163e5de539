// What an agent answers about images: the formats of every geometry, what linear images need, and the words
// that kernels read behind the handles of images and samplers.
#pragma once

#include <hsa/hsa.h>

#include <string>

/// Prints lines that begin with `where`. `memory`, aligned to 4 KiB and 64 KiB large, is the images' data: it
/// is not touched, and its address is taken out of the words.
void show_images(const std::string& where, hsa_agent_t agent, void* memory);
