#include "core/executable/code_object_reader.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/executable/testing/executable_fixture.hpp"
#include "core/executable/uri.hpp"

namespace rigel {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

// Read-only data in this program's file.
constexpr char kEmbedded[64] = "bytes that the linker puts into the executable file";

std::span<const std::byte> as_bytes(const void* memory, size_t size) {
  return {static_cast<const std::byte*>(memory), size};
}

/// A file with a name that needs encoding, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view contents) {
    std::string name = ::testing::TempDir() + "code object %XXXXXX";
    descriptor_ = ::mkstemp(name.data());
    path_ = name;
    EXPECT_EQ(::write(descriptor_, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
  }
  ~TemporaryFile() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

class CodeObjectReaderApi : public ExecutableFixture {
 public:
  Status create(int descriptor) {
    hsa_code_object_reader_t reader{};
    return registry_.code_object_reader_create_from_file(descriptor, &reader);
  }
  Status create(int descriptor, size_t offset, size_t size) {
    hsa_code_object_reader_t reader{};
    return registry_.ven_amd_loader_code_object_reader_create_from_file_with_offset_size(descriptor, offset,
                                                                                         size, &reader);
  }
};

TEST_F(CodeObjectReaderApi, RejectsUnreadableFiles) {
  EXPECT_EQ(create(-1), HSA_STATUS_ERROR_INVALID_FILE);
  EXPECT_EQ(create(9999), HSA_STATUS_ERROR_INVALID_FILE);
  const int folder = ::open("/", O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(create(folder), HSA_STATUS_ERROR_INVALID_FILE);
  ::close(folder);
  const TemporaryFile empty("");
  EXPECT_EQ(create(empty.descriptor()), HSA_STATUS_ERROR_INVALID_FILE);
  const TemporaryFile file("text");
  const int write_only = ::open(file.path().c_str(), O_WRONLY);
  EXPECT_EQ(create(write_only), HSA_STATUS_ERROR_INVALID_FILE);
  ::close(write_only);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(create(ends[0]), HSA_STATUS_ERROR_INVALID_FILE);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(CodeObjectReaderApi, RejectsPartsOutsideFile) {
  const TemporaryFile file("0123456789");
  EXPECT_EQ(create(file.descriptor(), 0, 10), HSA_STATUS_SUCCESS);
  EXPECT_EQ(create(file.descriptor(), 9, 1), HSA_STATUS_SUCCESS);
  EXPECT_EQ(create(file.descriptor(), 0, 0), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(create(file.descriptor(), 10, 1), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(create(file.descriptor(), 5, 6), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(create(file.descriptor(), SIZE_MAX, 2), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(create(file.descriptor(), 1, SIZE_MAX), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  EXPECT_EQ(create(-1, 0, 1), HSA_STATUS_ERROR_INVALID_FILE);
}

TEST_F(CodeObjectReaderApi, RejectsNullPointersAndDestroyedHandles) {
  hsa_code_object_reader_t reader{};
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(registry_.code_object_reader_create_from_file(0, nullptr), kInvalid);
  EXPECT_EQ(registry_.ven_amd_loader_code_object_reader_create_from_file_with_offset_size(0, 0, 1, nullptr),
            kInvalid);
  EXPECT_EQ(registry_.code_object_reader_create_from_memory(nullptr, 1, &reader), kInvalid);
  EXPECT_EQ(registry_.code_object_reader_create_from_memory(kEmbedded, 0, &reader), kInvalid);
  EXPECT_EQ(registry_.code_object_reader_create_from_memory(kEmbedded, 1, nullptr), kInvalid);
  ASSERT_EQ(registry_.code_object_reader_create_from_memory(kEmbedded, 1, &reader), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.code_object_reader_destroy(reader), HSA_STATUS_SUCCESS);
  EXPECT_EQ(registry_.code_object_reader_destroy(reader), HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER);
}

TEST(CodeObjectReader, ReadsPartOfFile) {
  const TemporaryFile file("0123456789");
  const auto reader = CodeObjectReader::from_file(file.descriptor(), 3, 4);
  ASSERT_TRUE(reader);
  EXPECT_EQ(std::memcmp((*reader)->bytes().data(), "3456", 4), 0);
  EXPECT_EQ((*reader)->bytes().size(), 4u);
  EXPECT_EQ((*reader)->file(), file.descriptor());
  EXPECT_THAT((*reader)->uri(), EndsWith("#offset=3&size=4"));
}

TEST(CodeObjectReader, IsIndependentOfFileAfterCreation) {
  const std::string contents(100000, 'x');
  const TemporaryFile file(contents);
  const auto reader = CodeObjectReader::from_file(file.descriptor());
  ASSERT_TRUE(reader);
  ASSERT_EQ(::ftruncate(file.descriptor(), 0), 0);
  EXPECT_EQ((*reader)->bytes().size(), contents.size());
  EXPECT_EQ((*reader)->bytes().back(), std::byte{'x'});
}

TEST(CodeObjectReader, KeepsFilePosition) {
  const TemporaryFile file("0123456789");
  ASSERT_EQ(::lseek(file.descriptor(), 7, SEEK_SET), 7);
  ASSERT_TRUE(CodeObjectReader::from_file(file.descriptor()));
  EXPECT_EQ(::lseek(file.descriptor(), 0, SEEK_CUR), 7);
}

TEST(Uri, EncodesSpecialCharacters) {
  EXPECT_EQ(file_uri("/a-Z_0.9~/b", std::nullopt), "file:///a-Z_0.9~/b");
  EXPECT_EQ(file_uri("/a b%\xc3\xa4#?", std::nullopt), "file:///a%20b%25%C3%A4%23%3F");
  EXPECT_EQ(file_uri("/f", FileRange{8192, 3000}), "file:///f#offset=8192&size=3000");
}

TEST(Uri, OmitsRangeForWholeFile) {
  const TemporaryFile file("text");
  const auto reader = CodeObjectReader::from_file(file.descriptor());
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->uri(), file_uri(file.path(), std::nullopt));
  EXPECT_TRUE((*reader)->is_copy_of_named_file());
}

TEST(Uri, IsMemoryForUnnamedFile) {
  const int nameless = ::memfd_create("nameless", MFD_CLOEXEC);
  ASSERT_EQ(::write(nameless, "text", 4), 4);
  const auto reader = CodeObjectReader::from_file(nameless);
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->uri(), memory_uri((*reader)->bytes()));
  EXPECT_FALSE((*reader)->is_copy_of_named_file());
  ::close(nameless);

  const TemporaryFile file("text");
  ASSERT_EQ(::unlink(file.path().c_str()), 0);
  EXPECT_FALSE(path_of_file(file.descriptor()));
}

TEST(Uri, IsProcessMemoryForHeap) {
  const std::string memory(100, 'x');
  EXPECT_EQ(best_uri(as_bytes(memory.data(), 100)),
            fmt::format("memory://{}#offset=0x{:x}&size=100", ::getpid(),
                        reinterpret_cast<uintptr_t>(memory.data())));
}

TEST(Uri, IsFileForReadOnlyDataOfLoadedFile) {
  const std::string uri = best_uri(as_bytes(kEmbedded, sizeof kEmbedded));
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  ASSERT_GT(length, 0);
  const std::string executable(path, static_cast<size_t>(length));
  const std::string prefix = file_uri(executable, std::nullopt) + "#offset=";
  ASSERT_THAT(uri, StartsWith(prefix));
  // The bytes are at the place in the URI.
  std::ifstream file(executable, std::ios::binary);
  file.seekg(std::stoll(uri.substr(prefix.size())));
  std::string read(sizeof kEmbedded, '\0');
  file.read(read.data(), static_cast<std::streamsize>(read.size()));
  EXPECT_EQ(read, std::string(kEmbedded, sizeof kEmbedded));
}

TEST(Uri, IsMemoryForWritableDataOfLoadedFile) {
  static char writable[16] = "not in the file";
  writable[0] = 'N';
  EXPECT_THAT(best_uri(as_bytes(writable, sizeof writable)), StartsWith("memory://"));
}

}  // namespace
}  // namespace rigel
