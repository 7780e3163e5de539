// The kernels of image_kernels_test.cpp: OpenCL C, whose images and samplers are handles of the HSA image API. Arguments
// are those of ReadArgs and WriteArgs there. Work-groups of 64.

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
