// The kernels of image_kernels_test.cpp in OpenCL C. Images and samplers are handles of the HSA image API.
// The arguments are ReadArgs and WriteArgs in that file. Work-groups have 64 work-items.

#ifdef ISA_VERSION  // for the device library, if it has no file with the chip's version
__constant int __oclc_ISA_version = ISA_VERSION;
#endif

#define ITEM (get_group_id(0) * 64 + get_local_id(0))

kernel void read_1d(read_only image1d_t image, sampler_t sampler, global const float4* at, global float4* texels,
                    uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, sampler, at[ITEM].x);
}

kernel void read_2d(read_only image2d_t image, sampler_t sampler, global const float4* at, global float4* texels,
                    uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, sampler, at[ITEM].xy);
}

kernel void read_3d(read_only image3d_t image, sampler_t sampler, global const float4* at, global float4* texels,
                    uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, sampler, at[ITEM]);
}

kernel void read_1da(read_only image1d_array_t image, sampler_t sampler, global const float4* at, global float4* texels,
                     uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, sampler, at[ITEM].xy);
}

kernel void read_2da(read_only image2d_array_t image, sampler_t sampler, global const float4* at,
                     global float4* texels, uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, sampler, at[ITEM]);
}

kernel void read_buffer(read_only image1d_buffer_t image, sampler_t sampler, global const float4* at,
                        global float4* texels, uint count) {
  if (ITEM < count) texels[ITEM] = read_imagef(image, convert_int(at[ITEM].x));
}

kernel void read_integers(read_only image2d_t image, sampler_t sampler, global const float4* at, global uint4* texels,
                          uint count) {
  if (ITEM < count) texels[ITEM] = read_imageui(image, sampler, at[ITEM].xy);
}

kernel void write_2d(write_only image2d_t image, global const float4* at, global const float4* texels, uint count) {
  if (ITEM < count) write_imagef(image, convert_int2(at[ITEM].xy), texels[ITEM]);
}

kernel void write_integers(write_only image2d_t image, global const float4* at, global const uint4* texels,
                           uint count) {
  if (ITEM < count) write_imageui(image, convert_int2(at[ITEM].xy), texels[ITEM]);
}

#if defined(__gfx1010__) || defined(__gfx1012__) || defined(__gfx1030__) || defined(__gfx1031__) || \
    defined(__gfx1032__) || defined(__gfx1034__) || defined(__gfx1035__) || defined(__gfx1036__)
// 16-bit coordinates with 32-bit gradients: used by compilers of graphics languages, not available in OpenCL.
kernel void read_2d_by_halves(constant uint8* image, constant uint4* sampler, global const float4* at,
                              global float4* texels, uint count) {
  if (ITEM >= count) return;
  const float gradient = at[ITEM].x * 0x1p-30f;
  const uint place = as_uint(__builtin_amdgcn_cvt_pkrtz(at[ITEM].x, at[ITEM].y));
  float4 texel;
  __asm__ volatile(
      "image_sample_d %0, [%1, %1, %1, %1, %2], %3, %4 dmask:0xf dim:SQ_RSRC_IMG_2D a16\n"
      "s_waitcnt vmcnt(0)"
      : "=&v"(texel)
      : "v"(gradient), "v"(place), "s"(*image), "s"(*sampler));
  texels[ITEM] = texel;
}
#endif
