// Renders a picture from a texture on the GPU and with a model on the host: a small pattern, rotated,
// repeated and blended by the texture's linear filter, with a magnifying lens in the middle. Coordinates are
// computed only with additions, multiplications, divisions and roots, which are equal on both sides. Only the
// filter may differ, by at most
// 1 of 255, because the hardware's rounding is not documented.
//
//   texture_picture [file.ppm]    writes both pictures side by side, the GPU's on the left
#include "check.hpp"

namespace {

constexpr int kTexels = 32, kPixels = 240;

struct Coordinates {
  float x, y;
};

/// The texture coordinates of a pixel, from 0 to 1 for one pattern.
__host__ __device__ Coordinates looked_at(int x, int y) {
#pragma clang fp contract(off)
  float across = (static_cast<float>(x) + 0.5f) / kPixels - 0.5f;
  float down = (static_cast<float>(y) + 0.5f) / kPixels - 0.5f;
  const float distance = across * across + down * down;
  constexpr float kLens = 0.16f;  // the square of its radius
  if (distance < kLens) {
    const float bent = 1.0f - 0.95f * sqrtf(1.0f - distance / kLens);
    across = across * bent;
    down = down * bent;
  }
  constexpr float kCosine = 0.8f, kSine = 0.6f, kZoom = 2.5f;
  return {(across * kCosine - down * kSine) * kZoom + 0.25f,
          (across * kSine + down * kCosine) * kZoom + 0.25f};
}

__host__ __device__ unsigned char byte_of(float value) {
#pragma clang fp contract(off)
  return static_cast<unsigned char>(value * 255.0f + 0.5f);
}

__global__ void draw(hipTextureObject_t pattern, uchar4* picture) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= kPixels || y >= kPixels) return;
  const Coordinates at = looked_at(x, y);
  const float4 color = tex2D<float4>(pattern, at.x, at.y);
  picture[y * kPixels + x] = make_uchar4(byte_of(color.x), byte_of(color.y), byte_of(color.z), 255);
}

std::vector<uchar4> make_pattern() {
  std::vector<uchar4> pattern;
  for (int y = 0; y < kTexels; ++y) {
    for (int x = 0; x < kTexels; ++x) {
      const int both = (x ^ y) * 255 / (kTexels - 1);
      pattern.push_back(make_uchar4(static_cast<unsigned char>(both), static_cast<unsigned char>(y * 8),
                                    static_cast<unsigned char>(255 - both / 2), 255));
    }
  }
  return pattern;
}

/// A channel of the pattern at a coordinate, blended from four texels with weights of eight bits.
float blended(const std::vector<uchar4>& pattern, Coordinates at, int channel) {
  const auto lower = [](float coordinate) {
    return static_cast<int>(std::floor(static_cast<double>(coordinate) * kTexels * 256 + 0.5)) - 128;
  };
  const int x = lower(at.x), y = lower(at.y);
  double sum = 0;
  for (int n = 0; n < 4; ++n) {
    const int right = n & 1, below = n >> 1;
    const uchar4 texel = pattern[static_cast<size_t>(((y >> 8) + below & kTexels - 1) * kTexels +
                                                     ((x >> 8) + right & kTexels - 1))];
    const unsigned char bytes[] = {texel.x, texel.y, texel.z};
    const double weight =
        (right != 0 ? x & 255 : 256 - (x & 255)) * (below != 0 ? y & 255 : 256 - (y & 255)) / 65536.0;
    sum += weight * static_cast<double>(static_cast<float>(bytes[channel]) / 255.0f);
  }
  return static_cast<float>(sum);
}

std::vector<uchar4> draw_on_host(const std::vector<uchar4>& pattern) {
  std::vector<uchar4> picture;
  for (int y = 0; y < kPixels; ++y) {
    for (int x = 0; x < kPixels; ++x) {
      const Coordinates at = looked_at(x, y);
      picture.push_back(make_uchar4(byte_of(blended(pattern, at, 0)), byte_of(blended(pattern, at, 1)),
                                    byte_of(blended(pattern, at, 2)), 255));
    }
  }
  return picture;
}

std::vector<uchar4> draw_on_gpu(const std::vector<uchar4>& pattern) {
  // HIP 5.2.3 describes uchar4 as signed bytes.
  const hipChannelFormatDesc format = hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned);
  hipArray* array = nullptr;
  HIP_OK(hipMallocArray(&array, &format, kTexels, kTexels, 0));
  constexpr size_t kRow = kTexels * sizeof(uchar4);
  HIP_OK(hipMemcpy2DToArray(array, 0, 0, pattern.data(), kRow, kRow, kTexels, hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = hipAddressModeWrap;
  how.filterMode = hipFilterModeLinear;
  how.readMode = hipReadModeNormalizedFloat;
  how.normalizedCoords = 1;
  hipTextureObject_t texture = nullptr;
  HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  DeviceArray<uchar4> picture(kPixels * kPixels);
  draw<<<dim3(kPixels / 16, kPixels / 16), dim3(16, 16)>>>(texture, picture.data());
  HIP_FINISH();
  std::vector<uchar4> pixels = picture.read();
  HIP_OK(hipDestroyTextureObject(texture));
  HIP_OK(hipFreeArray(array));
  return pixels;
}

void write_both(const char* path, const std::vector<uchar4>& left, const std::vector<uchar4>& right) {
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) {
    std::perror(path);
    std::exit(1);
  }
  constexpr int kGap = 8;
  std::fprintf(file, "P6\n%d %d\n255\n", 2 * kPixels + kGap, kPixels);
  const unsigned char white[3 * kGap] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                         255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
  for (int y = 0; y < kPixels; ++y) {
    for (const auto* picture : {&left, &right}) {
      for (int x = 0; x < kPixels; ++x) {
        const uchar4 pixel = (*picture)[static_cast<size_t>(y * kPixels + x)];
        const unsigned char bytes[] = {pixel.x, pixel.y, pixel.z};
        std::fwrite(bytes, 1, sizeof bytes, file);
      }
      if (picture == &left) std::fwrite(white, 1, sizeof white, file);
    }
  }
  std::fclose(file);
}

bool near(unsigned char a, unsigned char b) {
  return std::abs(a - b) <= 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<uchar4> pattern = make_pattern();
  const std::vector<uchar4> gpu = draw_on_gpu(pattern), host = draw_on_host(pattern);
  if (argc > 1) write_both(argv[1], gpu, host);
  int differ = 0;
  for (size_t i = 0; i < gpu.size(); ++i) {
    const bool same = gpu[i].x == host[i].x && gpu[i].y == host[i].y && gpu[i].z == host[i].z;
    differ += same ? 0 : 1;
    if (near(gpu[i].x, host[i].x) && near(gpu[i].y, host[i].y) && near(gpu[i].z, host[i].z)) continue;
    std::fprintf(stderr, "pixel %zu is %d %d %d, not %d %d %d\n", i, gpu[i].x, gpu[i].y, gpu[i].z, host[i].x,
                 host[i].y, host[i].z);
    return 1;
  }
  std::printf("texture_picture: %d of %zu pixels differ from the model, by one\n", differ, gpu.size());
  return 0;
}
