#include "core/executable/code_object_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/executable/uri.hpp"
#include "loader/code_object/bounds.hpp"

namespace rigel {
namespace {

/// Returns the size of a regular file, which can be read at any offset.
Result<uint64_t> size_of_file(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_FILE, "file descriptor {}: {}", descriptor, std::strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return fail(HSA_STATUS_ERROR_INVALID_FILE, "file descriptor {}: not a regular file", descriptor);
  }
  return static_cast<uint64_t>(facts.st_size);
}

}  // namespace

Result<std::shared_ptr<CodeObjectReader>> CodeObjectReader::from_file(int descriptor) {
  const auto size = size_of_file(descriptor);
  if (!size) return tl::unexpected(size.error());
  if (*size == 0)
    return fail(HSA_STATUS_ERROR_INVALID_FILE, "file descriptor {}: the file is empty", descriptor);
  return read(descriptor, *size, 0, *size);
}

Result<std::shared_ptr<CodeObjectReader>> CodeObjectReader::from_file(int descriptor, uint64_t offset,
                                                                      uint64_t size) {
  const auto file_size = size_of_file(descriptor);
  if (!file_size) return tl::unexpected(file_size.error());
  if (size == 0 || !lies_within(offset, size, *file_size)) {
    return fail(HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                "file descriptor {}: {} bytes at offset {} exceed the file, which has {} bytes", descriptor,
                size, offset, *file_size);
  }
  return read(descriptor, *file_size, offset, size);
}

Result<std::shared_ptr<CodeObjectReader>> CodeObjectReader::read(int descriptor, uint64_t file_size,
                                                                 uint64_t offset, uint64_t size) {
  const std::shared_ptr<std::byte[]> copy = std::make_shared_for_overwrite<std::byte[]>(size);
  for (uint64_t done = 0; done < size;) {
    const ssize_t count =
        ::pread(descriptor, copy.get() + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      return fail(HSA_STATUS_ERROR_INVALID_FILE, "file descriptor {}: cannot be read: {}", descriptor,
                  count == 0 ? "unexpected end of the file" : std::strerror(errno));
    }
    done += static_cast<uint64_t>(count);
  }
  const std::shared_ptr<CodeObjectReader> reader(new CodeObjectReader);
  reader->bytes_ = {copy.get(), size};
  reader->owner_ = copy;
  reader->file_ = descriptor;
  if (const auto path = path_of_file(descriptor)) {
    const bool is_whole = offset == 0 && size == file_size;
    reader->uri_ = file_uri(*path, is_whole ? std::nullopt : std::optional(FileRange{offset, size}));
    reader->is_copy_of_named_file_ = true;
  } else {
    reader->uri_ = memory_uri(reader->bytes_);
  }
  return reader;
}

std::shared_ptr<CodeObjectReader> CodeObjectReader::from_memory(std::span<const std::byte> memory,
                                                                std::shared_ptr<const void> owner) {
  std::shared_ptr<CodeObjectReader> reader(new CodeObjectReader);
  reader->bytes_ = memory;
  reader->owner_ = std::move(owner);
  reader->uri_ = best_uri(memory);
  return reader;
}

}  // namespace rigel
