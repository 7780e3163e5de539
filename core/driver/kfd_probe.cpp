#include "core/driver/kfd_probe.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace rigel {
namespace {

// include/uapi/linux/kfd_ioctl.h: AMDKFD_IOC_GET_VERSION.
struct GetVersion {
  uint32_t major;
  uint32_t minor;
};
constexpr unsigned long kGetVersion = _IOR('K', 0x01, GetVersion);

}  // namespace

KfdProbe probe_kfd(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    switch (errno) {
      case ENOENT:
      case ENXIO:
      case ENODEV:
        return {KfdProbe::Answer::kAbsent, 0, 0, "no amdgpu driver is loaded"};
      case EACCES:
      case EPERM:
        return {
            KfdProbe::Answer::kForbidden, 0, 0,
            "this process may not open it: is the user in the group that owns it (render or video), and does "
            "the container pass the device?"};
      default:
        return {KfdProbe::Answer::kForbidden, 0, 0,
                fmt::format("cannot be opened: {}", std::strerror(errno))};
    }
  }
  GetVersion version{};
  const int result = ::ioctl(fd, kGetVersion, &version);
  const int problem = errno;
  ::close(fd);
  if (result != 0) {
    return {
        KfdProbe::Answer::kNotKfd, 0, 0,
        fmt::format("is not an amdkfd device: asked for its version, it says: {}", std::strerror(problem))};
  }
  return {KfdProbe::Answer::kPresent, version.major, version.minor,
          fmt::format("amdkfd interface {}.{}", version.major, version.minor)};
}

}  // namespace rigel
