// Queries all boards with libdrm, as programs do. Exits with 1 if a result belongs to another board.
// Argument: the number of boards.
#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <set>
#include <string>
#include <vector>

#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

namespace {

std::string take_string(char* text) {
  const std::string copy = text == nullptr ? "" : text;
  std::free(text);
  return copy;
}

unsigned long read_number(const std::string& path) {
  unsigned long value = 0;
  std::ifstream(path) >> std::setbase(0) >> value;
  return value;
}

std::string bus_id(const drmDevice& device) {
  char text[32];
  std::snprintf(text, sizeof text, "pci:%04x:%02x:%02x.%d", device.businfo.pci->domain,
                device.businfo.pci->bus, device.businfo.pci->dev, device.businfo.pci->func);
  return text;
}

// Lists the boards with drmGetDevices2, with or without the revision, and checks each.
std::vector<drmDevicePtr> devices(int boards, uint32_t flags) {
  EXPECT(drmGetDevices2(flags, nullptr, 0) == boards);
  std::vector<drmDevicePtr> list(static_cast<size_t>(boards));
  EXPECT(drmGetDevices2(flags, list.data(), boards) == boards);
  std::set<std::string> buses, cards, renders;
  for (const drmDevicePtr device : list) {
    EXPECT(device->bustype == DRM_BUS_PCI);
    EXPECT(device->available_nodes == (1 << DRM_NODE_PRIMARY | 1 << DRM_NODE_RENDER));
    EXPECT(device->deviceinfo.pci->vendor_id == 0x1002);
    buses.insert(bus_id(*device));
    cards.insert(device->nodes[DRM_NODE_PRIMARY]);
    renders.insert(device->nodes[DRM_NODE_RENDER]);
  }
  EXPECT(buses.size() == list.size() && cards.size() == list.size() && renders.size() == list.size());
  return list;
}

void check_nodes(const drmDevice& device) {
  const std::string card = device.nodes[DRM_NODE_PRIMARY], render = device.nodes[DRM_NODE_RENDER];
  for (const std::string& name : {card, render}) {
    const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT(fd >= 0);
    EXPECT(drmGetNodeTypeFromFd(fd) == (name == card ? DRM_NODE_PRIMARY : DRM_NODE_RENDER));
    EXPECT(take_string(drmGetDeviceNameFromFd2(fd)) == name);
    EXPECT(take_string(drmGetPrimaryDeviceNameFromFd(fd)) == card);
    EXPECT(take_string(drmGetRenderDeviceNameFromFd(fd)) == render);
    EXPECT(drmIsMaster(fd) == (name == card ? 1 : 0));
    drmVersionPtr version = drmGetVersion(fd);
    EXPECT(version != nullptr && version->name == std::string("amdgpu") && version->version_major == 3);
    drmFreeVersion(version);
    drmDevicePtr same = nullptr;
    EXPECT(drmGetDevice2(fd, DRM_DEVICE_GET_PCI_REVISION, &same) == 0);
    EXPECT(drmDevicesEqual(same, const_cast<drmDevicePtr>(&device)) == 1);
    drmFreeDevice(&same);
    struct stat status {};
    EXPECT(fstat(fd, &status) == 0 && S_ISCHR(status.st_mode));
    drmDevicePtr by_number = nullptr;
    EXPECT(drmGetDeviceFromDevId(status.st_rdev, 0, &by_number) == 0);
    EXPECT(bus_id(*by_number) == bus_id(device));
    drmFreeDevice(&by_number);
    // Files that smi tools read, by the node's name.
    const std::string directory = "/sys/class/drm/" + name.substr(name.rfind('/') + 1) + "/device/";
    EXPECT(read_number(directory + "vendor") == device.deviceinfo.pci->vendor_id);
    EXPECT(read_number(directory + "device") == device.deviceinfo.pci->device_id);
    EXPECT(read_number(directory + "subsystem_vendor") == device.deviceinfo.pci->subvendor_id);
    EXPECT(read_number(directory + "subsystem_device") == device.deviceinfo.pci->subdevice_id);
    EXPECT(read_number(directory + "revision") == device.deviceinfo.pci->revision_id);
    char target[256];
    const ssize_t length = readlink(("/sys/class/drm/" + card.substr(9)).c_str(), target, sizeof target);
    EXPECT(length > 0);
    EXPECT(std::string(target, static_cast<size_t>(length)).find(bus_id(device).substr(4)) !=
           std::string::npos);
    close(fd);
  }
  const int fd = drmOpenWithType("amdgpu", bus_id(device).c_str(), DRM_NODE_PRIMARY);
  EXPECT(fd >= 0);
  EXPECT(take_string(drmGetDeviceNameFromFd2(fd)) == card);
  EXPECT(take_string(drmGetBusid(fd)) == bus_id(device));
  drm_magic_t magic = 0;
  EXPECT(drmGetMagic(fd, &magic) == 0 && magic != 0 && drmAuthMagic(fd, magic) == 0);
  EXPECT(drmSetMaster(fd) == 0 && drmDropMaster(fd) == 0);
  EXPECT(drmSetClientCap(fd, DRM_CLIENT_CAP_UNIVERSAL_PLANES, 1) != 0 && errno == EOPNOTSUPP);
  drmClose(fd);
}

// Each board has one handle, regardless of how it is opened, with the board's descriptor and identity.
void check_amdgpu(const std::vector<drmDevicePtr>& list) {
  std::set<amdgpu_device_handle> handles;
  std::set<uint32_t> slots;
  std::vector<int> fds;
  for (const drmDevicePtr device : list) {
    const int fd = open(device->nodes[DRM_NODE_RENDER], O_RDWR | O_CLOEXEC);
    const int again = open(device->nodes[DRM_NODE_RENDER], O_RDWR | O_CLOEXEC);
    EXPECT(fd >= 0 && again >= 0);
    fds.insert(fds.end(), {fd, again});
    uint32_t major = 0, minor = 0;
    amdgpu_device_handle handle = nullptr, same = nullptr;
    EXPECT(amdgpu_device_initialize(fd, &major, &minor, &handle) == 0);
    EXPECT(amdgpu_device_initialize(again, &major, &minor, &same) == 0);
    EXPECT(handle == same);
    EXPECT(amdgpu_device_deinitialize(same) == 0);
    EXPECT(handles.insert(handle).second);
    EXPECT(take_string(drmGetRenderDeviceNameFromFd(amdgpu_device_get_fd(handle))) ==
           device->nodes[DRM_NODE_RENDER]);
    amdgpu_gpu_info info{};
    EXPECT(amdgpu_query_gpu_info(handle, &info) == 0);
    EXPECT(info.asic_id == device->deviceinfo.pci->device_id &&
           info.pci_rev_id == device->deviceinfo.pci->revision_id);
    amdgpu_heap_info heap{};
    EXPECT(amdgpu_query_heap_info(handle, AMDGPU_GEM_DOMAIN_VRAM, 0, &heap) == 0);
    EXPECT(heap.heap_size ==
           read_number("/sys/bus/pci/devices/" + bus_id(*device).substr(4) + "/mem_info_vram_total"));
    // Each board has a separate address space, so buffers of two boards can have the same address.
    amdgpu_bo_alloc_request request{4096, 4096, AMDGPU_GEM_DOMAIN_GTT, 0};
    amdgpu_bo_handle buffer = nullptr;
    EXPECT(amdgpu_bo_alloc(handle, &request, &buffer) == 0);
    constexpr uint64_t kVa = 0x40000000;
    EXPECT(amdgpu_bo_va_op(buffer, 0, 4096, kVa, 0, AMDGPU_VA_OP_MAP) == 0);
    EXPECT(amdgpu_bo_va_op(buffer, 0, 4096, kVa, 0, AMDGPU_VA_OP_UNMAP) == 0);
    EXPECT(amdgpu_bo_free(buffer) == 0);
  }
  for (const amdgpu_device_handle handle : handles) EXPECT(amdgpu_device_deinitialize(handle) == 0);
  for (const int fd : fds) close(fd);
}

}  // namespace

int main(int count, char** arguments) {
  EXPECT(count == 2);
  const int boards = std::atoi(arguments[1]);
  EXPECT(drmAvailable() == 1);
  for (const uint32_t flags : {0, DRM_DEVICE_GET_PCI_REVISION}) {
    std::vector<drmDevicePtr> list = devices(boards, flags);
    if (flags != 0) {
      for (const drmDevicePtr device : list) check_nodes(*device);
      check_amdgpu(list);
    }
    drmFreeDevices(list.data(), boards);
  }
  // One more card and its render node do not exist.
  EXPECT(drmOpenRender(128 + boards) < 0);
  EXPECT(access(("/dev/dri/card" + std::to_string(boards)).c_str(), F_OK) == -1);
  return 0;
}
