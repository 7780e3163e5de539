// Textures of arrays, by object and by reference: one, two and three dimensions, layers, coordinates in
// texels and from 0 to 1, every address mode, nearest and linear filters, normalised values; and surfaces.
// Results are compared with a model on the host, whose filters have weights of eight bits like the hardware.
#include "check.hpp"
#include "one_row_images.hpp"

// HIP looks up the reference by name in the code object, so the symbol must be visible.
texture<float, hipTextureType2D, hipReadModeElementType> by_reference;

namespace {

constexpr int kWidth = 13, kHeight = 7, kDepth = 5, kSamples = 4096;

__global__ void sample_1d(hipTextureObject_t texture, const float4* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex1D<float4>(texture, at[i].x);
}
__global__ void sample_2d(hipTextureObject_t texture, const float4* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex2D<float4>(texture, at[i].x, at[i].y);
}
__global__ void sample_3d(hipTextureObject_t texture, const float4* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex3D<float4>(texture, at[i].x, at[i].y, at[i].z);
}
__global__ void sample_layers(hipTextureObject_t texture, const float4* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = tex2DLayered<float4>(texture, at[i].x, at[i].y, static_cast<int>(at[i].w));
}
__global__ void sample_by_reference(const float4* at, float4* out, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = make_float4(tex2D(by_reference, at[i].x, at[i].y), 0, 0, 0);
}
__global__ void turn_over(hipSurfaceObject_t from, hipSurfaceObject_t to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  float4 texel;
  surf2Dread(&texel, from, x * static_cast<int>(sizeof texel), y);
  surf2Dwrite(texel, to, (width - 1 - x) * static_cast<int>(sizeof texel), height - 1 - y);
}

/// An image on the host, with texels as kernels read them.
struct Image {
  int width = 1, height = 1, depth = 1;
  bool layered = false;
  std::vector<float4> texels;

  float4 texel(int x, int y, int z) const {
    return texels[(static_cast<size_t>(z) * height + y) * width + x];
  }
};

/// The texel index that an address mode selects, or -1 for the border.
int addressed(hipTextureAddressMode mode, int at, int size) {
  switch (mode) {
    case hipAddressModeWrap:
      return (at % size + size) % size;
    case hipAddressModeMirror: {
      const int in_period = (at % (2 * size) + 2 * size) % (2 * size);
      return in_period < size ? in_period : 2 * size - 1 - in_period;
    }
    case hipAddressModeBorder:
      return at >= 0 && at < size ? at : -1;
    default:
      return at < 0 ? 0 : at >= size ? size - 1 : at;
  }
}

float4 expected(const Image& image, float4 at, const hipTextureDesc& how) {
  const int sizes[] = {image.width, image.height, image.depth};
  const float coordinates[] = {at.x, at.y, at.z};
  const bool linear = how.filterMode == hipFilterModeLinear;
  int texel[3][2] = {};
  double weight[3][2] = {{1, 0}, {1, 0}, {1, 0}};
  const int axes = image.layered ? 2 : 3;
  for (int i = 0; i < axes; ++i) {
    if (sizes[i] == 1) continue;
    // HIP's functions round to the texel's lower edge before the hardware rounds to 1/256.
    const float in_texels =
        how.normalizedCoords ? coordinates[i] * static_cast<float>(sizes[i]) : coordinates[i];
    const double texels = !linear                ? static_cast<double>(std::floor(in_texels))
                          : how.normalizedCoords ? static_cast<double>(coordinates[i]) * sizes[i]
                                                 : static_cast<double>(coordinates[i]);
    const double in_256ths = std::floor(texels * 256 + 0.5) - (linear ? 128 : 0);
    const double low = std::floor(in_256ths / 256);
    texel[i][0] = addressed(how.addressMode[i], static_cast<int>(low), sizes[i]);
    if (!linear) continue;
    texel[i][1] = addressed(how.addressMode[i], static_cast<int>(low) + 1, sizes[i]);
    weight[i][1] = in_256ths / 256 - low;
    weight[i][0] = 1 - weight[i][1];
  }
  if (image.layered) texel[2][0] = static_cast<int>(at.w);
  double sum[4] = {};
  for (int corner = 0; corner < 8; ++corner) {
    const int x = texel[0][corner & 1], y = texel[1][corner >> 1 & 1], z = texel[2][corner >> 2];
    const double share = weight[0][corner & 1] * weight[1][corner >> 1 & 1] * weight[2][corner >> 2];
    if (share == 0 || x < 0 || y < 0 || z < 0) continue;
    const float4 value = image.texel(x, y, z);
    sum[0] += share * value.x, sum[1] += share * value.y, sum[2] += share * value.z,
        sum[3] += share * value.w;
  }
  return make_float4(static_cast<float>(sum[0]), static_cast<float>(sum[1]), static_cast<float>(sum[2]),
                     static_cast<float>(sum[3]));
}

bool near(float4 a, float4 b) {
  const auto close = [](float x, float y) { return std::fabs(x - y) <= 1e-5f * (1 + std::fabs(y)); };
  return close(a.x, b.x) && close(a.y, b.y) && close(a.z, b.z) && close(a.w, b.w);
}

std::string text(float4 value) {
  return "(" + text_of(value.x) + " " + text_of(value.y) + " " + text_of(value.z) + " " + text_of(value.w) +
         ")";
}

/// Coordinates from well below to well beyond an image, some of them exactly on texels or between two.
std::vector<float4> places(const Image& image, bool normalized) {
  std::vector<float4> all(kSamples);
  uint32_t state = 12345;
  const auto draw = [&](int size) {
    state = state * 1664525 + 1013904223;
    const float texels =
        static_cast<float>(state >> 8) / (1 << 24) * static_cast<float>(3 * size) - static_cast<float>(size);
    state = state * 1664525 + 1013904223;
    const float place = state >> 30 == 0 ? std::floor(texels) + 0.5f : texels;
    return normalized ? place / static_cast<float>(size) : place;
  };
  for (float4& at : all) {
    at = make_float4(draw(image.width), draw(image.height), draw(image.depth), 0);
    at.w = static_cast<float>((state >> 20) % static_cast<uint32_t>(image.depth));
  }
  return all;
}

using Kernel = void (*)(hipTextureObject_t, const float4*, float4*, int);

void check(const std::string& what, const Image& image, hipArray_t array, Kernel kernel,
           hipTextureReadMode mode) {
  constexpr hipTextureAddressMode kModes[] = {hipAddressModeClamp, hipAddressModeBorder, hipAddressModeWrap,
                                              hipAddressModeMirror};
  constexpr const char* kNames[] = {"clamp", "border", "wrap", "mirror"};
  for (int m = 0; m < 4; ++m) {
    for (const int normalized : {0, 1}) {
      if (normalized == 0 && m >= 2) continue;  // unnormalised coordinates cannot be repeated
      for (const hipTextureFilterMode filter : {hipFilterModePoint, hipFilterModeLinear}) {
        hipResourceDesc resource{};
        resource.resType = hipResourceTypeArray;
        resource.res.array.array = array;
        hipTextureDesc how{};
        for (hipTextureAddressMode& address : how.addressMode) address = kModes[m];
        how.filterMode = filter;
        how.readMode = mode;
        how.normalizedCoords = normalized;
        hipTextureObject_t texture{};
        HIP_OK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
        const std::vector<float4> at = places(image, normalized != 0);
        const DeviceArray<float4> places_on_device(at), out(at.size());
        kernel<<<blocks_for(at.size(), 256), 256>>>(texture, places_on_device.data(), out.data(), kSamples);
        HIP_FINISH();
        const std::vector<float4> seen = out.read();
        for (size_t i = 0; i < at.size(); ++i) {
          const float4 wanted = expected(image, at[i], how);
          if (near(seen[i], wanted)) continue;
          fail(what + ", " + kNames[m] + (normalized ? ", normalised" : "") +
               (filter == hipFilterModeLinear ? ", linear" : "") + ": at " + text(at[i]) + " there is " +
               text(seen[i]) + ", expected " + text(wanted));
          break;
        }
        HIP_OK(hipDestroyTextureObject(texture));
      }
    }
  }
}

/// The format of uchar4, which HIP describes as signed.
template <typename Element>
hipChannelFormatDesc format_of() {
  if (std::is_same_v<Element, uchar4>) return hipCreateChannelDesc(8, 8, 8, 8, hipChannelFormatKindUnsigned);
  return hipCreateChannelDesc<Element>();
}

template <typename Element>
hipArray_t array_of(const Image& image, const std::vector<Element>& elements, bool layered) {
  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = format_of<Element>();
  const hipExtent extent =
      make_hipExtent(image.width, image.height == 1 && image.depth == 1 ? 0 : image.height,
                     image.depth == 1 && !layered ? 0 : image.depth);
  HIP_OK(hipMalloc3DArray(&array, &format, extent, layered ? hipArrayLayered : hipArrayDefault));
  hipMemcpy3DParms copy{};
  copy.srcPtr = make_hipPitchedPtr(const_cast<Element*>(elements.data()), image.width * sizeof(Element),
                                   image.width, image.height);
  copy.dstArray = array;
  copy.extent = make_hipExtent(image.width, image.height, image.depth);
  copy.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  return array;
}

Image image_of(int width, int height, int depth, bool layered = false) {
  Image image{width, height, depth, layered, {}};
  image.texels.resize(static_cast<size_t>(width) * height * depth);
  for (size_t i = 0; i < image.texels.size(); ++i) {
    const auto n = static_cast<float>(i);
    image.texels[i] = make_float4(n, -n * 0.5f, std::sin(n) * 100, 1000 - n);
  }
  return image;
}

void check_floats() {
  const struct {
    const char* what;
    int height, depth;
    bool layered;
    Kernel kernel;
  } kinds[] = {{"1D", 1, 1, false, sample_1d},
               {"2D", kHeight, 1, false, sample_2d},
               {"3D", kHeight, kDepth, false, sample_3d},
               {"2D layers", kHeight, kDepth, true, sample_layers}};
  for (const auto& kind : kinds) {
    if (kind.height == 1 && !has_rows()) continue;
    const Image image = image_of(kWidth, kind.height, kind.depth, kind.layered);
    const hipArray_t array = array_of(image, image.texels, kind.layered);
    check(kind.what, image, array, kind.kernel, hipReadModeElementType);
    HIP_OK(hipFreeArray(array));
  }
}

void check_normalized_bytes() {
  Image image = image_of(kWidth, kHeight, 1);
  std::vector<uchar4> bytes(image.texels.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = make_uchar4(i * 7 & 255, i * 31 & 255, 255 - (i & 255), i & 1 ? 255 : 0);
    image.texels[i] = make_float4(static_cast<float>(bytes[i].x) / 255, static_cast<float>(bytes[i].y) / 255,
                                  static_cast<float>(bytes[i].z) / 255, static_cast<float>(bytes[i].w) / 255);
  }
  const hipArray_t array = array_of(image, bytes, false);
  check("bytes", image, array, sample_2d, hipReadModeNormalizedFloat);
  HIP_OK(hipFreeArray(array));
}

#pragma clang diagnostic push  // texture references are deprecated
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
void check_reference() {
  Image image = image_of(kWidth, kHeight, 1);
  std::vector<float> elements(image.texels.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = image.texels[i].x;
    image.texels[i] = make_float4(elements[i], 0, 0, 0);
  }
  const hipArray_t array = array_of(image, elements, false);
  by_reference.addressMode[0] = by_reference.addressMode[1] = hipAddressModeClamp;
  by_reference.filterMode = hipFilterModeLinear;
  by_reference.normalized = 0;
  HIP_OK(hipBindTextureToArray(by_reference, array));
  const std::vector<float4> at = places(image, false);
  const DeviceArray<float4> places_on_device(at), out(at.size());
  sample_by_reference<<<blocks_for(at.size(), 256), 256>>>(places_on_device.data(), out.data(), kSamples);
  HIP_FINISH();
  hipTextureDesc how{};
  for (hipTextureAddressMode& address : how.addressMode) address = hipAddressModeClamp;
  how.filterMode = hipFilterModeLinear;
  const std::vector<float4> seen = out.read();
  for (size_t i = 0; i < at.size(); ++i) {
    const float4 wanted = expected(image, at[i], how);
    if (near(seen[i], wanted)) continue;
    fail("by reference: at " + text(at[i]) + " there is " + text(seen[i]) + ", expected " + text(wanted));
    break;
  }
  HIP_OK(hipUnbindTexture(by_reference));
  HIP_OK(hipFreeArray(array));
}
#pragma clang diagnostic pop

void check_surfaces() {
  const Image image = image_of(kWidth, kHeight, 1);
  const hipArray_t from = array_of(image, image.texels, false);
  const hipArray_t to = array_of(image, std::vector<float4>(image.texels.size()), false);
  const auto surface_of = [](hipArray_t array) {
    hipResourceDesc resource{};
    resource.resType = hipResourceTypeArray;
    resource.res.array.array = array;
    hipSurfaceObject_t surface{};
    HIP_OK(hipCreateSurfaceObject(&surface, &resource));
    return surface;
  };
  const hipSurfaceObject_t source = surface_of(from), target = surface_of(to);
  turn_over<<<dim3(2, 1), dim3(8, 8)>>>(source, target, kWidth, kHeight);
  HIP_FINISH();
  std::vector<float4> back(image.texels.size());
  HIP_OK(hipMemcpy2DFromArray(back.data(), kWidth * sizeof(float4), to, 0, 0, kWidth * sizeof(float4),
                              kHeight, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < back.size(); ++i) {
    const float4 wanted = image.texels[back.size() - 1 - i];
    if (near(back[i], wanted)) continue;
    fail("surface: texel " + std::to_string(i) + " is " + text(back[i]) + ", expected " + text(wanted));
    break;
  }
  HIP_OK(hipDestroySurfaceObject(source));
  HIP_OK(hipDestroySurfaceObject(target));
  HIP_OK(hipFreeArray(from));
  HIP_OK(hipFreeArray(to));
}

}  // namespace

int main() {
  check_floats();
  check_normalized_bytes();
  check_reference();
  check_surfaces();
  return verdict("textures");
}
