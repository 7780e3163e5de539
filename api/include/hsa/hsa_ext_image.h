// SPDX-License-Identifier: MIT

/**
 * @file
 * HSA extension "images", version 1: images and samplers that kernels access through special instructions.
 * HSA Runtime Programmer's Reference Manual 1.2, chapter 3 ("PRM"). The HSA Programmer's Reference Manual,
 * chapter 7 ("HSAIL PRM") defines formats, geometries and modes.
 *
 * The rules of hsa.h apply, and these:
 *
 *  - An image handle is an agent's view of image data. The data is memory of the application, with the size
 *    and alignment that ::hsa_ext_image_data_get_info returns. Creating, destroying or copying a handle does
 *    not change the data. The data must outlive the handles.
 *  - An image or sampler handle belongs to the agent that it was created for. Kernels receive handles in
 *    their arguments.
 *  - Copy, import, export and clear are complete when they return. They do not wait for kernels: no kernel
 *    may access the same data during the call. Coordinates outside the image are undefined behaviour; Rigel
 *    returns INVALID_ARGUMENT.
 *  - Elements are counted in x, y, z: width, height and depth. In arrays, the layer is the last dimension.
 *  - Two image descriptors match if they are equal; an sRGB channel order equals its linear counterpart.
 *    Handles with matching descriptors (and layouts, if explicit) may share data if the agent reports
 *    ::HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT for the format. Otherwise they may share data
 *    only if their access permissions are equal.
 */

#ifndef HSA_EXT_IMAGE_H
#define HSA_EXT_IMAGE_H

#include "hsa.h"

#undef HSA_API
#ifdef HSA_EXPORT_IMAGES
#define HSA_API HSA_API_EXPORT
#else
#define HSA_API HSA_API_IMPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup images Images and samplers
 *  @{
 */

/** Statuses that the extension adds to ::hsa_status_t. */
enum {
  /** The agent does not support this combination of format, geometry and permission. */
  HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED = 0x3000,
  /** The image is larger than a limit of the agent. */
  HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED = 0x3001,
  /** A row or slice pitch is invalid, or the agent does not support it. */
  HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED = 0x3002,
  /** A sampler descriptor is invalid, or the agent does not support it. */
  HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED = 0x3003
};

/**
 * Attributes that the extension adds to ::hsa_agent_info_t. Limits are in image elements. Brackets contain
 * the minimum limit of an agent with images. ROCr and its callers use 32 bits, the manual size_t.
 */
enum {
  /** Maximum size of a 1D image [16384]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS = 0x3000,
  /** Maximum size of a layer of a 1DA image [16384]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_IMAGE_1DA_MAX_ELEMENTS = 0x3001,
  /** Maximum size of a 1DB image [65536]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_IMAGE_1DB_MAX_ELEMENTS = 0x3002,
  /** Maximum width and height of a 2D image [16384 each]. Type uint32_t[2]. */
  HSA_EXT_AGENT_INFO_IMAGE_2D_MAX_ELEMENTS = 0x3003,
  /** Maximum width and height of a 2DA image [16384 each]. Type uint32_t[2]. */
  HSA_EXT_AGENT_INFO_IMAGE_2DA_MAX_ELEMENTS = 0x3004,
  /** Maximum width and height of a 2DDEPTH image [16384 each]. Type uint32_t[2]. */
  HSA_EXT_AGENT_INFO_IMAGE_2DDEPTH_MAX_ELEMENTS = 0x3005,
  /** Maximum width and height of a 2DADEPTH image [16384 each]. Type uint32_t[2]. */
  HSA_EXT_AGENT_INFO_IMAGE_2DADEPTH_MAX_ELEMENTS = 0x3006,
  /** Maximum width, height and depth of a 3D image [2048 each]. Type uint32_t[3]. */
  HSA_EXT_AGENT_INFO_IMAGE_3D_MAX_ELEMENTS = 0x3007,
  /** Maximum number of layers of an array [2048]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS = 0x3008,
  /** Maximum number of read-only image handles [128]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES = 0x3009,
  /** Maximum number of write-only and read-write image handles together [64]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES = 0x300A,
  /** Maximum number of sampler handles [16]. Type uint32_t. */
  HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS = 0x300B,
  /** Alignment of row pitches of linear images, bytes; a power of two. Type uint32_t. */
  HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT = 0x300C,
  /** Kernels have instructions for images. Type bool. */
  HSA_EXT_AGENT_INFO_IMAGE_SUPPORT = 0x300D
};

/** An agent's view of an image. */
typedef struct hsa_ext_image_s {
  /** Opaque. */
  uint64_t handle;
} hsa_ext_image_t;

/** Shape of an image (HSAIL PRM, "Image Geometry"). Values are BRIG's. */
typedef enum {
  /** A row: x. */
  HSA_EXT_IMAGE_GEOMETRY_1D = 0,
  /** A plane: x, y. */
  HSA_EXT_IMAGE_GEOMETRY_2D = 1,
  /** A volume: x, y, z. */
  HSA_EXT_IMAGE_GEOMETRY_3D = 2,
  /** An array of rows: x, layer. */
  HSA_EXT_IMAGE_GEOMETRY_1DA = 3,
  /** An array of planes: x, y, layer. */
  HSA_EXT_IMAGE_GEOMETRY_2DA = 4,
  /** A row in a buffer: x. May be much longer than 1D; always linear. */
  HSA_EXT_IMAGE_GEOMETRY_1DB = 5,
  /** A plane of depths: x, y. */
  HSA_EXT_IMAGE_GEOMETRY_2DDEPTH = 6,
  /** An array of planes of depths: x, y, layer. */
  HSA_EXT_IMAGE_GEOMETRY_2DADEPTH = 7
} hsa_ext_image_geometry_t;

/**
 * Representation of a channel in memory and in kernels (HSAIL PRM, "Channel Type"). Values are BRIG's. SNORM
 * and UNORM are integers in memory and floats in kernels: from -1 to 1 and from 0 to 1.
 */
typedef enum {
  /** 8 bits, signed, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8 = 0,
  /** 16 bits, signed, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16 = 1,
  /** 8 bits, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8 = 2,
  /** 16 bits, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16 = 3,
  /** 24 bits in 32, normalised. For depth. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24 = 4,
  /** Three channels of 5 bits in 16, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555 = 5,
  /** Three channels of 5, 6 and 5 bits in 16, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565 = 6,
  /** Three channels of 10 bits in 32, normalised. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010 = 7,
  /** 8 bits, signed integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8 = 8,
  /** 16 bits, signed integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16 = 9,
  /** 32 bits, signed integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32 = 10,
  /** 8 bits, unsigned integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8 = 11,
  /** 16 bits, unsigned integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16 = 12,
  /** 32 bits, unsigned integer. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32 = 13,
  /** 16-bit float; 32 bits in kernels. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT = 14,
  /** 32-bit float. */
  HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT = 15
} hsa_ext_image_channel_type_t;

/** Fixed-width form of ::hsa_ext_image_channel_type_t. */
typedef uint32_t hsa_ext_image_channel_type32_t;

/**
 * Channels of an element in memory, lowest address first (HSAIL PRM, "Channel Order"). Values are BRIG's. An
 * x is a stored but unused channel. A leading S means that red, green and blue are sRGB in memory and linear
 * in kernels.
 */
typedef enum {
  /** Alpha. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_A = 0,
  /** Red. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_R = 1,
  /** Red, x. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RX = 2,
  /** Red, green. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RG = 3,
  /** Red, green, x. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RGX = 4,
  /** Red, alpha. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RA = 5,
  /** Red, green, blue. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RGB = 6,
  /** Red, green, blue, x. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RGBX = 7,
  /** Red, green, blue, alpha. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA = 8,
  /** Blue, green, red, alpha. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA = 9,
  /** Alpha, red, green, blue. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB = 10,
  /** Alpha, blue, green, red. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR = 11,
  /** sRGB of RGB. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_SRGB = 12,
  /** sRGB of RGBX. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBX = 13,
  /** sRGB of RGBA. Alpha is linear. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA = 14,
  /** sRGB of BGRA. Alpha is linear. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA = 15,
  /** One value, which kernels see in all four channels. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY = 16,
  /** One value, which kernels see in red, green and blue. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE = 17,
  /** Depth. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH = 18,
  /** Depth and stencil. */
  HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL = 19
} hsa_ext_image_channel_order_t;

/** Fixed-width form of ::hsa_ext_image_channel_order_t. */
typedef uint32_t hsa_ext_image_channel_order32_t;

/** Format of an image element. */
typedef struct hsa_ext_image_format_s {
  /** An ::hsa_ext_image_channel_type_t. */
  hsa_ext_image_channel_type32_t channel_type;
  /** An ::hsa_ext_image_channel_order_t. */
  hsa_ext_image_channel_order32_t channel_order;
} hsa_ext_image_format_t;

/** Properties of an image, independent of agents. */
typedef struct hsa_ext_image_descriptor_s {
  /** Geometry of the image. */
  hsa_ext_image_geometry_t geometry;
  /** Elements in a row. */
  size_t width;
  /** Number of rows, for planes and volumes; otherwise 0. */
  size_t height;
  /** Number of planes, for volumes; otherwise 0. */
  size_t depth;
  /** Number of layers, for arrays; otherwise 0. */
  size_t array_size;
  /** Format of the elements. */
  hsa_ext_image_format_t format;
} hsa_ext_image_descriptor_t;

/** Properties of an image with mipmap levels, independent of agents. */
typedef struct hsa_ext_image_descriptor_v2_s {
  hsa_ext_image_geometry_t geometry; /**< geometry */
  size_t width;                      /**< elements along x */
  size_t height;                     /**< elements along y; 0 if the geometry has no y */
  size_t depth;                      /**< elements along z; 0 if the geometry has no z */
  size_t array_size;                 /**< layers; 0 if the geometry has none */
  hsa_ext_image_format_t format;     /**< format */
  size_t mipmap_levels;              /**< number of levels; 0 is equal to 1 */
} hsa_ext_image_descriptor_v2_t;

/** Capabilities of an agent for a kind of image, combined with bitwise OR. */
typedef enum {
  /** No capability. */
  HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED = 0x0,
  /** Read-only images. */
  HSA_EXT_IMAGE_CAPABILITY_READ_ONLY = 0x1,
  /** Write-only images. */
  HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY = 0x2,
  /** Read-write images. */
  HSA_EXT_IMAGE_CAPABILITY_READ_WRITE = 0x4,
  /** Atomic operations on elements. @deprecated */
  HSA_EXT_IMAGE_CAPABILITY_READ_MODIFY_WRITE = 0x8,
  /** The data layout is independent of the access permission. */
  HSA_EXT_IMAGE_CAPABILITY_ACCESS_INVARIANT_DATA_LAYOUT = 0x10
} hsa_ext_image_capability_t;

/**
 * Arrangement of elements in image data. Agents that support the same explicit layout can share data, through
 * one handle per agent.
 */
typedef enum {
  /** A layout that the agent chooses. It may depend on geometry, format, size and access permission. */
  HSA_EXT_IMAGE_DATA_LAYOUT_OPAQUE = 0x0,
  /**
   * Elements of a row are adjacent. Rows start at multiples of the row pitch, planes and layers at multiples
   * of the slice pitch. Lower coordinates have lower addresses.
   */
  HSA_EXT_IMAGE_DATA_LAYOUT_LINEAR = 0x1
} hsa_ext_image_data_layout_t;

/**
 * Returns an agent's capabilities for images of opaque layout.
 *
 * @param agent [in] the agent.
 * @param geometry [in] geometry.
 * @param image_format [in] format. Not NULL.
 * @param capability_mask [out] set of ::hsa_ext_image_capability_t. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `image_format` or `capability_mask`, or an unknown geometry.
 */
hsa_status_t HSA_API hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                                  const hsa_ext_image_format_t* image_format,
                                                  uint32_t* capability_mask);

/**
 * Returns an agent's capabilities for images of an explicit layout.
 *
 * @param agent [in] the agent.
 * @param geometry [in] geometry.
 * @param image_format [in] format. Not NULL.
 * @param image_data_layout [in] layout; not OPAQUE.
 * @param capability_mask [out] set of ::hsa_ext_image_capability_t. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `image_format` or `capability_mask`, an unknown geometry, or OPAQUE layout.
 */
hsa_status_t HSA_API hsa_ext_image_get_capability_with_layout(hsa_agent_t agent,
                                                              hsa_ext_image_geometry_t geometry,
                                                              const hsa_ext_image_format_t* image_format,
                                                              hsa_ext_image_data_layout_t image_data_layout,
                                                              uint32_t* capability_mask);

/** Size and alignment of an image's data. */
typedef struct hsa_ext_image_data_info_s {
  /** Size in bytes. */
  size_t size;
  /** Alignment in bytes, a power of two. */
  size_t alignment;
} hsa_ext_image_data_info_t;

/**
 * Returns size and alignment of the data of an image of opaque layout. If the agent's layout does not depend
 * on the access permission, the result is the same for all permissions. It may differ between agents and
 * between runtimes.
 *
 * @param agent [in] the agent that will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param access_permission [in] access of kernels to the image.
 * @param image_data_info [out] size and alignment. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent.
 * @retval INVALID_ARGUMENT NULL `image_descriptor` or `image_data_info`, or an invalid permission.
 */
hsa_status_t HSA_API hsa_ext_image_data_get_info(hsa_agent_t agent,
                                                 const hsa_ext_image_descriptor_t* image_descriptor,
                                                 hsa_access_permission_t access_permission,
                                                 hsa_ext_image_data_info_t* image_data_info);

/**
 * Returns size and alignment of the data of an image of an explicit layout. The result is the same on all
 * systems.
 *
 * @param agent [in] the agent that will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param access_permission [in] access of kernels to the image.
 * @param image_data_layout [in] layout; not OPAQUE.
 * @param image_data_row_pitch [in] bytes between the starts of two rows. A multiple of the element size, and
 *   at least width * element size. For a linear layout, also a multiple of
 *   ::HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT of every agent whose kernels will access the image.
 *   0: width * element size.
 * @param image_data_slice_pitch [in] bytes between the starts of two planes or layers. A multiple of the row
 *   pitch, and at least height * row pitch (1DA: at least the row pitch). 0: the minimum. Must be 0 for other
 *   geometries.
 * @param image_data_info [out] size and alignment. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images in this
 *   layout.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED a pitch breaks a rule above, or the agent does not
 *   support it.
 * @retval INVALID_ARGUMENT NULL `image_descriptor` or `image_data_info`, an invalid permission, or OPAQUE
 *   layout.
 */
hsa_status_t HSA_API hsa_ext_image_data_get_info_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_data_info_t* image_data_info);

/**
 * Creates an image of opaque layout over existing data. Does not change the data.
 *
 * @param agent [in] the agent whose kernels will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param image_data [in] data of the image, with size and alignment from ::hsa_ext_image_data_get_info,
 *   accessible to `agent`. Not NULL. The application owns the data and keeps it until the handle is
 *   destroyed.
 * @param access_permission [in] access of kernels to the image. The image type in the kernel must be the
 *   same.
 * @param image [out] the new handle; destroy it with ::hsa_ext_image_destroy. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent.
 * @retval OUT_OF_RESOURCES out of memory or handles.
 * @retval INVALID_ARGUMENT NULL `image_descriptor`, `image_data` or `image`, misaligned data, or an invalid
 *   permission.
 */
hsa_status_t HSA_API hsa_ext_image_create(hsa_agent_t agent,
                                          const hsa_ext_image_descriptor_t* image_descriptor,
                                          const void* image_data, hsa_access_permission_t access_permission,
                                          hsa_ext_image_t* image);

/**
 * Creates an image of an explicit layout over existing data. Does not change the data.
 *
 * @param agent [in] the agent whose kernels will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param image_data [in] data of the image, with size and alignment from
 *   ::hsa_ext_image_data_get_info_with_layout, accessible to `agent`. Not NULL. The application owns the data
 *   and keeps it until the handle is destroyed.
 * @param access_permission [in] access of kernels to the image. The image type in the kernel must be the
 *   same.
 * @param image_data_layout [in] layout; not OPAQUE.
 * @param image_data_row_pitch [in] as for ::hsa_ext_image_data_get_info_with_layout.
 * @param image_data_slice_pitch [in] as for ::hsa_ext_image_data_get_info_with_layout.
 * @param image [out] the new handle; destroy it with ::hsa_ext_image_destroy. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images in this
 *   layout.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED a pitch is invalid, or the agent does not support it.
 * @retval OUT_OF_RESOURCES out of memory or handles.
 * @retval INVALID_ARGUMENT NULL `image_descriptor`, `image_data` or `image`, misaligned data, an invalid
 *   permission, or OPAQUE layout.
 */
hsa_status_t HSA_API hsa_ext_image_create_with_layout(
    hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor, const void* image_data,
    hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
    size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t* image);

/**
 * Destroys an image handle. Does not change the data. No kernel or image operation may be using the handle.
 *
 * @param agent [in] the handle's agent.
 * @param image [in] the handle.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT `image` is not an image.
 */
hsa_status_t HSA_API hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t image);

/**
 * Returns size and alignment of the data of an image that may have mipmap levels, like
 * ::hsa_ext_image_data_get_info.
 *
 * @param agent [in] the agent whose kernels will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param access_permission [in] access of kernels to the image.
 * @param image_data_info [out] size and alignment of all levels. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent, or the agent does
 *   not support more than one level.
 * @retval INVALID_ARGUMENT NULL `image_descriptor` or `image_data_info`, an invalid permission, or more
 *   levels than the image's size allows.
 */
hsa_status_t HSA_API hsa_ext_image_data_get_info_v2(hsa_agent_t agent,
                                                    const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                                    hsa_access_permission_t access_permission,
                                                    hsa_ext_image_data_info_t* image_data_info);

/**
 * Creates an image that may have mipmap levels, like ::hsa_ext_image_create.
 *
 * @param agent [in] the agent whose kernels will access the image.
 * @param image_descriptor [in] the image. Not NULL.
 * @param image_data [in] data of all levels, with size and alignment from ::hsa_ext_image_data_get_info_v2.
 *   Not NULL. The application owns the data and keeps it until the handle is destroyed.
 * @param access_permission [in] access of kernels to the image.
 * @param image [out] the new handle; destroy it with ::hsa_ext_image_destroy_v2. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED the agent does not support such images.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED the image is too large for the agent, or the agent does
 *   not support more than one level.
 * @retval OUT_OF_RESOURCES out of memory or handles.
 * @retval INVALID_ARGUMENT NULL `image_descriptor`, `image_data` or `image`, misaligned data, an invalid
 *   permission, or more levels than the image's size allows.
 */
hsa_status_t HSA_API hsa_ext_image_create_v2(hsa_agent_t agent,
                                             const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                             const void* image_data,
                                             hsa_access_permission_t access_permission,
                                             hsa_ext_image_t* image);

/**
 * Destroys a handle of ::hsa_ext_image_create_v2. Does not change the data.
 *
 * @param agent [in] the handle's agent.
 * @param image [in] the handle.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT `image` is not an image.
 */
hsa_status_t HSA_API hsa_ext_image_destroy_v2(hsa_agent_t agent, hsa_ext_image_t image);

/**
 * Creates a handle for one level of an image with several levels.
 *
 * @param agent [in] the agent of both images.
 * @param mipmapped_array [in] the image with several levels. Not NULL.
 * @param mip_level [in] number of the level; 0 is the largest.
 * @param image_descriptor [in] properties of the new image; NULL: those of the level.
 * @param level_image_out [out] the new handle. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT a NULL pointer, an invalid level, or `mipmapped_array` has no levels.
 * @retval OUT_OF_RESOURCES out of memory or handles.
 */
hsa_status_t HSA_API hsa_ext_image_mipmap_array_get_level(
    hsa_agent_t agent, const hsa_ext_image_t* mipmapped_array, uint32_t mip_level,
    const hsa_ext_image_descriptor_v2_t* image_descriptor, hsa_ext_image_t* level_image_out);

/**
 * Copies a block of elements from one image to another of the same format. An sRGB format equals its linear
 * counterpart: values are copied without conversion. Geometries may differ if the block is inside both: a
 * rectangle of a 2D image can be copied to a plane of a 3D image.
 *
 * @param agent [in] the agent of both handles.
 * @param src_image [in] image to copy from.
 * @param src_offset [in] first element to copy. Not NULL.
 * @param dst_image [in] image to copy to. Its data must not overlap that of `src_image`.
 * @param dst_offset [in] destination of the first element. Not NULL.
 * @param range [in] elements in x, y, z. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `src_offset`, `dst_offset` or `range`, an invalid image, or different
 *   formats.
 */
hsa_status_t HSA_API hsa_ext_image_copy(hsa_agent_t agent, hsa_ext_image_t src_image,
                                        const hsa_dim3_t* src_offset, hsa_ext_image_t dst_image,
                                        const hsa_dim3_t* dst_offset, const hsa_dim3_t* range);

/** A block of elements. */
typedef struct hsa_ext_image_region_s {
  /** First element. */
  hsa_dim3_t offset;
  /** Number of elements in x, y, z. In arrays, the last dimension counts layers. */
  hsa_dim3_t range;
} hsa_ext_image_region_t;

/**
 * Copies a block of elements from linear memory into an image.
 *
 * @param agent [in] the handle's agent.
 * @param src_memory [in] elements in the image's format, not overlapping its data. Not NULL.
 * @param src_row_pitch [in] bytes between the starts of two rows in `src_memory`. If it is less than a row of
 *   the block, the pitch is the size of a row.
 * @param src_slice_pitch [in] bytes between the starts of two planes or layers in `src_memory`. If it is less
 *   than the rows of a plane, the pitch is their size (1DA: one row pitch). Ignored for other geometries.
 * @param dst_image [in] the image.
 * @param image_region [in] the block in the image. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `src_memory` or `image_region`, or an invalid image.
 */
hsa_status_t HSA_API hsa_ext_image_import(hsa_agent_t agent, const void* src_memory, size_t src_row_pitch,
                                          size_t src_slice_pitch, hsa_ext_image_t dst_image,
                                          const hsa_ext_image_region_t* image_region);

/**
 * Copies a block of elements from an image into linear memory.
 *
 * @param agent [in] the handle's agent.
 * @param src_image [in] the image.
 * @param dst_memory [out] destination of the elements, in the image's format. Must not overlap its data. Not
 *   NULL.
 * @param dst_row_pitch [in] bytes between the starts of two rows in `dst_memory`. If it is less than a row of
 *   the block, the pitch is the size of a row.
 * @param dst_slice_pitch [in] bytes between the starts of two planes or layers in `dst_memory`. If it is less
 *   than the rows of a plane, the pitch is their size (1DA: one row pitch). Ignored for other geometries.
 * @param image_region [in] the block in the image. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `dst_memory` or `image_region`, or an invalid image.
 */
hsa_status_t HSA_API hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t src_image, void* dst_memory,
                                          size_t dst_row_pitch, size_t dst_slice_pitch,
                                          const hsa_ext_image_region_t* image_region);

/**
 * Sets all elements of a block to one value.
 *
 * @param agent [in] the handle's agent.
 * @param image [in] the image.
 * @param data [in] the value as a kernel stores it: an array with one element per channel that kernels see.
 *   The channel type selects 32-bit float, signed or unsigned integers. Not NULL.
 * @param image_region [in] the block. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `data` or `image_region`, or an invalid image.
 */
hsa_status_t HSA_API hsa_ext_image_clear(hsa_agent_t agent, hsa_ext_image_t image, const void* data,
                                         const hsa_ext_image_region_t* image_region);

/** A sampler of one agent. */
typedef struct hsa_ext_sampler_s {
  /** Opaque. */
  uint64_t handle;
} hsa_ext_sampler_t;

/** Meaning of a coordinate outside the image (HSAIL PRM, "Addressing Mode"). Values are BRIG's. */
typedef enum {
  /** Undefined: the kernel uses no such coordinates. */
  HSA_EXT_SAMPLER_ADDRESSING_MODE_UNDEFINED = 0,
  /** The element at the edge. */
  HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_EDGE = 1,
  /** The border colour. */
  HSA_EXT_SAMPLER_ADDRESSING_MODE_CLAMP_TO_BORDER = 2,
  /** The image repeats. */
  HSA_EXT_SAMPLER_ADDRESSING_MODE_REPEAT = 3,
  /** The image repeats, every other copy mirrored. */
  HSA_EXT_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT = 4
} hsa_ext_sampler_addressing_mode_t;

/** Fixed-width form of ::hsa_ext_sampler_addressing_mode_t. */
typedef uint32_t hsa_ext_sampler_addressing_mode32_t;

/** Scale of coordinates (HSAIL PRM, "Coordinate Normalization Mode"). Values are BRIG's. */
typedef enum {
  /** Coordinates count elements. */
  HSA_EXT_SAMPLER_COORDINATE_MODE_UNNORMALIZED = 0,
  /** Coordinates from 0 to 1 cover the whole image. */
  HSA_EXT_SAMPLER_COORDINATE_MODE_NORMALIZED = 1
} hsa_ext_sampler_coordinate_mode_t;

/** Fixed-width form of ::hsa_ext_sampler_coordinate_mode_t. */
typedef uint32_t hsa_ext_sampler_coordinate_mode32_t;

/** Calculation of the value at a coordinate (HSAIL PRM, "Filter Mode"). Values are BRIG's. */
typedef enum {
  /** Value of the nearest element. */
  HSA_EXT_SAMPLER_FILTER_MODE_NEAREST = 0,
  /** Interpolation between the 2, 4 or 8 nearest elements. */
  HSA_EXT_SAMPLER_FILTER_MODE_LINEAR = 1,
  /** No filter between levels, for images with one level. */
  HSA_EXT_SAMPLER_FILTER_MODE_NONE = 2
} hsa_ext_sampler_filter_mode_t;

/** Fixed-width form of ::hsa_ext_sampler_filter_mode_t. */
typedef uint32_t hsa_ext_sampler_filter_mode32_t;

/** Properties of a sampler, independent of agents. */
typedef struct hsa_ext_sampler_descriptor_s {
  /** An ::hsa_ext_sampler_coordinate_mode_t. */
  hsa_ext_sampler_coordinate_mode32_t coordinate_mode;
  /** An ::hsa_ext_sampler_filter_mode_t. */
  hsa_ext_sampler_filter_mode32_t filter_mode;
  /** An ::hsa_ext_sampler_addressing_mode_t, for all axes. */
  hsa_ext_sampler_addressing_mode32_t address_mode;
} hsa_ext_sampler_descriptor_t;

/** Properties of a sampler with an addressing mode for each axis, independent of agents. */
typedef struct hsa_ext_sampler_descriptor_v2_s {
  /** An ::hsa_ext_sampler_coordinate_mode_t. */
  hsa_ext_sampler_coordinate_mode32_t coordinate_mode;
  /** An ::hsa_ext_sampler_filter_mode_t. */
  hsa_ext_sampler_filter_mode32_t filter_mode;
  /** An ::hsa_ext_sampler_filter_mode_t, between mipmap levels. Interfaces before 1.12 do not have this
   * member. The values 3 and 4 are not filter modes: the runtime then reads this word and the next two as
   * `address_modes` of the older layout. */
  hsa_ext_sampler_filter_mode32_t mipmap_filter_mode;
  /** An ::hsa_ext_sampler_addressing_mode_t for each of x, y and z. */
  hsa_ext_sampler_addressing_mode32_t address_modes[3];
} hsa_ext_sampler_descriptor_v2_t;

/**
 * Creates a sampler.
 *
 * @param agent [in] the agent whose kernels will use it.
 * @param sampler_descriptor [in] properties of the sampler. Not NULL.
 * @param sampler [out] the new handle; destroy it with ::hsa_ext_sampler_destroy. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED the descriptor is invalid, or the agent does
 *   not support it.
 * @retval OUT_OF_RESOURCES out of memory or handles.
 * @retval INVALID_ARGUMENT NULL `sampler_descriptor` or `sampler`.
 */
hsa_status_t HSA_API hsa_ext_sampler_create(hsa_agent_t agent,
                                            const hsa_ext_sampler_descriptor_t* sampler_descriptor,
                                            hsa_ext_sampler_t* sampler);

/**
 * Creates a sampler with an addressing mode for each axis. An AMD addition, with parameters and statuses as
 * for ::hsa_ext_sampler_create.
 *
 * @param agent [in] the agent whose kernels will use it.
 * @param sampler_descriptor [in] properties of the sampler. Not NULL.
 * @param sampler [out] the new handle; destroy it with ::hsa_ext_sampler_destroy. Not NULL.
 */
hsa_status_t HSA_API hsa_ext_sampler_create_v2(hsa_agent_t agent,
                                               const hsa_ext_sampler_descriptor_v2_t* sampler_descriptor,
                                               hsa_ext_sampler_t* sampler);

/**
 * Destroys a sampler. No kernel may be using it.
 *
 * @param agent [in] the handle's agent.
 * @param sampler [in] the handle.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT `sampler` is not a sampler.
 */
hsa_status_t HSA_API hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler);

/** This header has the function table of version 1.00. */
#define hsa_ext_images_1_00

/**
 * Functions of version 1.00 of the extension, for hsa_system_get_extension_table. Each member is the function
 * of the same name.
 */
typedef struct hsa_ext_images_1_00_pfn_s {
  hsa_status_t (*hsa_ext_image_get_capability)(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                               const hsa_ext_image_format_t* image_format,
                                               uint32_t* capability_mask);
  hsa_status_t (*hsa_ext_image_data_get_info)(hsa_agent_t agent,
                                              const hsa_ext_image_descriptor_t* image_descriptor,
                                              hsa_access_permission_t access_permission,
                                              hsa_ext_image_data_info_t* image_data_info);
  hsa_status_t (*hsa_ext_image_create)(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                       const void* image_data, hsa_access_permission_t access_permission,
                                       hsa_ext_image_t* image);
  hsa_status_t (*hsa_ext_image_destroy)(hsa_agent_t agent, hsa_ext_image_t image);
  hsa_status_t (*hsa_ext_image_copy)(hsa_agent_t agent, hsa_ext_image_t src_image,
                                     const hsa_dim3_t* src_offset, hsa_ext_image_t dst_image,
                                     const hsa_dim3_t* dst_offset, const hsa_dim3_t* range);
  hsa_status_t (*hsa_ext_image_import)(hsa_agent_t agent, const void* src_memory, size_t src_row_pitch,
                                       size_t src_slice_pitch, hsa_ext_image_t dst_image,
                                       const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_image_export)(hsa_agent_t agent, hsa_ext_image_t src_image, void* dst_memory,
                                       size_t dst_row_pitch, size_t dst_slice_pitch,
                                       const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_image_clear)(hsa_agent_t agent, hsa_ext_image_t image, const void* data,
                                      const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_sampler_create)(hsa_agent_t agent,
                                         const hsa_ext_sampler_descriptor_t* sampler_descriptor,
                                         hsa_ext_sampler_t* sampler);
  hsa_status_t (*hsa_ext_sampler_destroy)(hsa_agent_t agent, hsa_ext_sampler_t sampler);
} hsa_ext_images_1_00_pfn_t;

/** This header has the function table of version 1. */
#define hsa_ext_images_1

/**
 * Functions of the extension, for hsa_system_get_major_extension_table, which writes as many as the caller's
 * table holds. Each member is the function of the same name.
 */
typedef struct hsa_ext_images_1_pfn_s {
  hsa_status_t (*hsa_ext_image_get_capability)(hsa_agent_t agent, hsa_ext_image_geometry_t geometry,
                                               const hsa_ext_image_format_t* image_format,
                                               uint32_t* capability_mask);
  hsa_status_t (*hsa_ext_image_data_get_info)(hsa_agent_t agent,
                                              const hsa_ext_image_descriptor_t* image_descriptor,
                                              hsa_access_permission_t access_permission,
                                              hsa_ext_image_data_info_t* image_data_info);
  hsa_status_t (*hsa_ext_image_create)(hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
                                       const void* image_data, hsa_access_permission_t access_permission,
                                       hsa_ext_image_t* image);
  hsa_status_t (*hsa_ext_image_destroy)(hsa_agent_t agent, hsa_ext_image_t image);
  hsa_status_t (*hsa_ext_image_copy)(hsa_agent_t agent, hsa_ext_image_t src_image,
                                     const hsa_dim3_t* src_offset, hsa_ext_image_t dst_image,
                                     const hsa_dim3_t* dst_offset, const hsa_dim3_t* range);
  hsa_status_t (*hsa_ext_image_import)(hsa_agent_t agent, const void* src_memory, size_t src_row_pitch,
                                       size_t src_slice_pitch, hsa_ext_image_t dst_image,
                                       const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_image_export)(hsa_agent_t agent, hsa_ext_image_t src_image, void* dst_memory,
                                       size_t dst_row_pitch, size_t dst_slice_pitch,
                                       const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_image_clear)(hsa_agent_t agent, hsa_ext_image_t image, const void* data,
                                      const hsa_ext_image_region_t* image_region);
  hsa_status_t (*hsa_ext_sampler_create)(hsa_agent_t agent,
                                         const hsa_ext_sampler_descriptor_t* sampler_descriptor,
                                         hsa_ext_sampler_t* sampler);
  hsa_status_t (*hsa_ext_sampler_destroy)(hsa_agent_t agent, hsa_ext_sampler_t sampler);
  hsa_status_t (*hsa_ext_image_get_capability_with_layout)(hsa_agent_t agent,
                                                           hsa_ext_image_geometry_t geometry,
                                                           const hsa_ext_image_format_t* image_format,
                                                           hsa_ext_image_data_layout_t image_data_layout,
                                                           uint32_t* capability_mask);
  hsa_status_t (*hsa_ext_image_data_get_info_with_layout)(
      hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor,
      hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
      size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_data_info_t* image_data_info);
  hsa_status_t (*hsa_ext_image_create_with_layout)(
      hsa_agent_t agent, const hsa_ext_image_descriptor_t* image_descriptor, const void* image_data,
      hsa_access_permission_t access_permission, hsa_ext_image_data_layout_t image_data_layout,
      size_t image_data_row_pitch, size_t image_data_slice_pitch, hsa_ext_image_t* image);
  hsa_status_t (*hsa_ext_sampler_create_v2)(hsa_agent_t agent,
                                            const hsa_ext_sampler_descriptor_v2_t* sampler_descriptor,
                                            hsa_ext_sampler_t* sampler);
} hsa_ext_images_1_pfn_t;
/** @} */

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_EXT_IMAGE_H
