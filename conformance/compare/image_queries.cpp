#include "compare/image_queries.hpp"

#include <hsa/hsa_ext_image.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace {

constexpr const char* kGeometries[] = {"1D", "2D", "3D", "1DA", "2DA", "1DB", "2DDEPTH", "2DADEPTH"};
constexpr uint32_t kOrders = 20;
constexpr uint32_t kTypes = 16;

hsa_ext_image_descriptor_t image_of(uint32_t geometry, hsa_ext_image_format_t format, size_t width) {
  hsa_ext_image_descriptor_t image{};
  image.geometry = static_cast<hsa_ext_image_geometry_t>(geometry);
  image.width = width;
  image.height = 1;
  image.format = format;
  switch (geometry) {
    case HSA_EXT_IMAGE_GEOMETRY_2DA:
    case HSA_EXT_IMAGE_GEOMETRY_2DADEPTH:
      image.array_size = 3;
      [[fallthrough]];
    case HSA_EXT_IMAGE_GEOMETRY_2D:
    case HSA_EXT_IMAGE_GEOMETRY_2DDEPTH:
      image.height = 5;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_3D:
      image.height = 5;
      image.depth = 3;
      break;
    case HSA_EXT_IMAGE_GEOMETRY_1DA:
      image.array_size = 3;
      break;
    default:
      break;
  }
  return image;
}

/// Start of the lines about one image. Images of several planes with a large pitch have another name.
std::string image_name(const std::string& prefix, uint32_t geometry, hsa_ext_image_format_t format,
                       size_t width, size_t pitch, size_t minimum_pitch) {
  const bool planes = geometry == HSA_EXT_IMAGE_GEOMETRY_3D || geometry == HSA_EXT_IMAGE_GEOMETRY_1DA ||
                      geometry == HSA_EXT_IMAGE_GEOMETRY_2DA || geometry == HSA_EXT_IMAGE_GEOMETRY_2DADEPTH;
  return prefix + ".image." + kGeometries[geometry] + ".order" + std::to_string(format.channel_order) +
         ".type" + std::to_string(format.channel_type) + ".width" + std::to_string(width) +
         (planes && pitch != minimum_pitch ? ".wide_pitch" : ".pitch") + std::to_string(pitch);
}

/// Prints one digit for each channel type.
void show_capabilities(const std::string& prefix, hsa_agent_t agent, uint32_t geometry, uint32_t order) {
  std::string digits;
  for (uint32_t type = 0; type < kTypes; ++type) {
    const hsa_ext_image_format_t format{type, order};
    uint32_t mask = 0;
    const auto shape = static_cast<hsa_ext_image_geometry_t>(geometry);
    const hsa_status_t status = hsa_ext_image_get_capability(agent, shape, &format, &mask);
    digits += status == HSA_STATUS_SUCCESS ? "0123456789abcdef"[mask & 0xf] : 'x';
  }
  std::printf("%s.image.%s.order%u.capability = %s\n", prefix.c_str(), kGeometries[geometry], order,
              digits.c_str());
}

/// Prints size and alignment of a linear image, or the status.
void show_size(const std::string& name, hsa_agent_t agent, const hsa_ext_image_descriptor_t& image,
               size_t pitch) {
  hsa_ext_image_data_info_t info{};
  const hsa_status_t status = hsa_ext_image_data_get_info_with_layout(
      agent, &image, HSA_ACCESS_PERMISSION_RO, HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0, &info);
  if (status == HSA_STATUS_SUCCESS) {
    std::printf("%s.size = %zu aligned to %zu\n", name.c_str(), info.size, info.alignment);
  } else {
    std::printf("%s.size = status %#x\n", name.c_str(), static_cast<unsigned>(status));
  }
}

std::string shown(const uint32_t* words, size_t count) {
  std::string text;
  char word[16];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(word, sizeof word, "%s%08x", i == 0 ? "" : " ", words[i]);
    text += word;
  }
  return text;
}

void show_words(const std::string& name, hsa_agent_t agent, const hsa_ext_image_descriptor_t& image,
                size_t pitch, void* memory) {
  hsa_ext_image_t handle{};
  if (hsa_ext_image_create_with_layout(agent, &image, memory, HSA_ACCESS_PERMISSION_RO,
                                       HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR, pitch, 0,
                                       &handle) != HSA_STATUS_SUCCESS) {
    return;
  }
  uint32_t words[12];
  std::memcpy(words, reinterpret_cast<const void*>(handle.handle), sizeof words);
  const auto address = reinterpret_cast<uint64_t>(memory);
  const bool buffer = image.geometry == HSA_EXT_IMAGE_GEOMETRY_1DB;
  words[0] -= static_cast<uint32_t>(buffer ? address : address >> 8);
  words[1] -= static_cast<uint32_t>(buffer ? address >> 32 & 0xffff : address >> 40 & 0xff);
  std::printf("%s.words = %s\n", name.c_str(), shown(words, buffer ? 4 : 8).c_str());
  std::printf("%s.behind = %s\n", name.c_str(), shown(words + 8, 3).c_str());
  hsa_ext_image_destroy(agent, handle);
}

void show_image(const std::string& prefix, hsa_agent_t agent, uint32_t geometry,
                hsa_ext_image_format_t format, size_t width, size_t pitch, size_t minimum_pitch,
                void* memory) {
  const std::string name = image_name(prefix, geometry, format, width, pitch, minimum_pitch);
  const hsa_ext_image_descriptor_t image = image_of(geometry, format, width);
  show_size(name, agent, image, pitch);
  show_words(name, agent, image, pitch, memory);
}

void show_sampler(const std::string& prefix, hsa_agent_t agent, const hsa_ext_sampler_descriptor_t& sampler) {
  hsa_ext_sampler_t handle{};
  const hsa_status_t status = hsa_ext_sampler_create(agent, &sampler, &handle);
  std::printf("%s.sampler.%u.%u.%u = ", prefix.c_str(), sampler.coordinate_mode, sampler.filter_mode,
              sampler.address_mode);
  if (status != HSA_STATUS_SUCCESS) {
    std::printf("status %#x\n", static_cast<unsigned>(status));
    return;
  }
  std::printf("%s\n", shown(reinterpret_cast<const uint32_t*>(handle.handle), 4).c_str());
  hsa_ext_sampler_destroy(agent, handle);
}

}  // namespace

void show_images(const std::string& prefix, hsa_agent_t agent, void* memory) {
  for (uint32_t geometry = 0; geometry < std::size(kGeometries); ++geometry) {
    for (uint32_t order = 0; order < kOrders; ++order) {
      show_capabilities(prefix, agent, geometry, order);
      for (uint32_t type = 0; type < kTypes; ++type) {
        const hsa_ext_image_format_t format{type, order};
        uint32_t mask = 0;
        hsa_ext_image_get_capability(agent, static_cast<hsa_ext_image_geometry_t>(geometry), &format, &mask);
        if (mask != 0) show_image(prefix, agent, geometry, format, 16, 256, 256, memory);
      }
    }
  }
  // Elements of each size, with pitches that are multiples of 256 bytes. Others end the process on ROCr.
  constexpr std::pair<hsa_ext_image_format_t, size_t> kElements[] = {
      {{HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8, HSA_EXT_IMAGE_CHANNEL_ORDER_R}, 1},
      {{HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R}, 2},
      {{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R}, 4},
      {{HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}, 8},
      {{HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA}, 16}};
  for (const uint32_t geometry :
       {HSA_EXT_IMAGE_GEOMETRY_1D, HSA_EXT_IMAGE_GEOMETRY_2D, HSA_EXT_IMAGE_GEOMETRY_3D,
        HSA_EXT_IMAGE_GEOMETRY_1DA, HSA_EXT_IMAGE_GEOMETRY_2DA, HSA_EXT_IMAGE_GEOMETRY_1DB}) {
    for (const auto& [format, element] : kElements) {
      for (const size_t width : {37, 64, 256}) {
        const size_t row = (width * element + 255) & ~size_t{255};
        for (const size_t pitch : {row, row + 256, row + 768, 2 * row}) {
          if (geometry != HSA_EXT_IMAGE_GEOMETRY_1DB || pitch == row)  // a 1DB image has no pitch
            show_image(prefix, agent, geometry, format, width, pitch, row, memory);
        }
      }
    }
  }
  for (uint32_t coordinates : {0, 1}) {
    for (uint32_t filter : {0, 1}) {
      for (uint32_t address = 0; address <= 4; ++address)
        show_sampler(prefix, agent, {coordinates, filter, address});
    }
  }
}
