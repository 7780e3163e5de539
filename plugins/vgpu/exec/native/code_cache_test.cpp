#include "plugins/vgpu/exec/native/code_cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "api/support/testing/file_limit.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string directory = (fs::temp_directory_path() / "code_cache_XXXXXX").string();
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    folder_ = directory + "/of/it";
  }
  void TearDown() override { fs::remove_all(fs::path(folder_).parent_path().parent_path()); }

  // A kernel of `size` bytes with this value.
  static Request request_at(uint64_t va, uint8_t content, size_t size = 1000) {
    Request request;
    request.target = *isa::target_of("gfx900");
    request.layout = {64, 8};
    request.level = SimdLevel::kAvx2;
    request.entry_va = va;
    request.read = [=](uint64_t at, std::span<std::byte> to) -> size_t {
      if (at - va >= size) return 0;
      const size_t bytes = std::min<size_t>(to.size(), size - (at - va));
      std::fill_n(to.begin(), bytes, std::byte{content});
      return bytes;
    };
    return request;
  }
  static Image image_of(const Request& request, size_t size = 1000) {
    Image image{request.entry_va, std::vector<std::byte>(size)};
    request.read(image.va, image.bytes);
    return image;
  }
  static Answer answer(size_t bytes = 100) {
    return {42, 1, std::vector<std::byte>(bytes, std::byte{0xc3}), {}};
  }

  // Returns the entry's name.
  std::string keep(const CodeCache& cache, const Request& request, const Answer& answer) {
    const std::string name = cache.name_of(request);
    const Image image = image_of(request);
    cache.keep(name, request, {&image, 1}, answer);
    return name;
  }
  std::optional<Answer> find(const CodeCache& cache, const std::string& name, const Request& request) {
    const Image image = image_of(request);
    return cache.find(name, request, {&image, 1});
  }

  std::string folder_;
};

TEST_F(CodeCacheTest, FindsEntryForKernelAtOtherAddress) {
  const CodeCache cache(folder_);
  const Request request = request_at(0x1000, 1), elsewhere = request_at(0x7000'0000, 1);
  const std::string name = keep(cache, request, answer());
  EXPECT_TRUE(cache.has(name));
  EXPECT_EQ(cache.name_of(elsewhere), name);
  const std::optional<Answer> found = find(CodeCache(folder_), name, elsewhere);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->digest, 42u);
  EXPECT_EQ(found->entry, 1u);
  EXPECT_EQ(found->code, answer().code);
  EXPECT_EQ(fs::status(folder_).permissions() & fs::perms::all, fs::perms::owner_all);
}

TEST_F(CodeCacheTest, DistinguishesCodeLevelAndShape) {
  const CodeCache cache(folder_);
  const Request request = request_at(0x1000, 1);
  const std::string name = keep(cache, request, answer());
  EXPECT_NE(cache.name_of(request_at(0x1000, 2)), name);
  Request wider = request;
  wider.level = SimdLevel::kAvx512;
  EXPECT_NE(cache.name_of(wider), name);
  wider = request;
  wider.shape = std::make_shared<GroupShape>(GroupShape::Key{{256, 1, 1}, 64, 1, false});
  EXPECT_NE(cache.name_of(wider), name);
  // The beginning is the same, and so is the name.
  Image image = image_of(request);
  image.bytes.back() = std::byte{9};
  EXPECT_FALSE(cache.find(name, request, {&image, 1}));
}

TEST_F(CodeCacheTest, RejectsModifiedAndTruncatedEntries) {
  const CodeCache cache(folder_);
  const Request request = request_at(0x1000, 1);
  const std::string name = keep(cache, request, answer()), path = folder_ + "/" + name;
  const auto size = fs::file_size(path);
  for (uintmax_t at = 0; at < size; at += 7) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char was = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(was ^ 0x10));
    file.close();
    EXPECT_FALSE(find(cache, name, request)) << "byte " << at;
    std::fstream again(path, std::ios::in | std::ios::out | std::ios::binary);
    again.seekp(static_cast<std::streamoff>(at)).put(was);
  }
  EXPECT_TRUE(find(cache, name, request));
  fs::resize_file(path, size - 1);
  EXPECT_FALSE(find(cache, name, request));
  fs::resize_file(path, 0);
  EXPECT_FALSE(find(cache, name, request));
}

TEST_F(CodeCacheTest, IgnoresFilesThatOthersCanWrite) {
  const CodeCache cache(folder_);
  const Request request = request_at(0x1000, 1);
  const std::string name = keep(cache, request, answer()), path = folder_ + "/" + name;
  ASSERT_EQ(chmod(path.c_str(), 0622), 0);
  EXPECT_FALSE(find(cache, name, request));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(find(cache, name, request));
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_FALSE(find(cache, name, request));
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  fs::rename(path, path + ".other");
  fs::create_symlink(path + ".other", path);
  EXPECT_FALSE(find(cache, name, request)) << "a link may lead to anybody's";
}

TEST_F(CodeCacheTest, FindsEntriesInReadOnlyDirectoriesWithoutChanges) {
  const std::string image = folder_ + "/image", own = folder_ + "/own";
  const Request request = request_at(0x1000, 1), other = request_at(0x1000, 2);
  const std::string name = keep(CodeCache(image), request, answer());
  const fs::file_time_type long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(image + "/" + name, long_ago);

  const CodeCache cache(own, {folder_ + "/missing", image});
  EXPECT_TRUE(cache.has(name));
  EXPECT_TRUE(find(cache, name, request));
  EXPECT_EQ(fs::last_write_time(image + "/" + name), long_ago);
  const std::string other_name = keep(cache, other, answer());
  EXPECT_TRUE(fs::exists(own + "/" + other_name));
  EXPECT_FALSE(fs::exists(image + "/" + other_name));

  const CodeCache read_only_alone("", {image});
  EXPECT_TRUE(find(read_only_alone, read_only_alone.name_of(request), request));
  keep(read_only_alone, other, answer());
  EXPECT_FALSE(fs::exists(image + "/" + other_name));
}

TEST_F(CodeCacheTest, IgnoresReadOnlyDirectoriesThatOthersCanWrite) {
  const std::string image = folder_ + "/image";
  const Request request = request_at(0x1000, 1);
  const std::string name = keep(CodeCache(image), request, answer());
  fs::permissions(image, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(find(CodeCache("", {image}), name, request));
}

TEST_F(CodeCacheTest, EvictsLeastRecentlyUsedEntries) {
  const CodeCache cache(folder_, {}, 16 << 10);
  const Request used = request_at(0x1000, 1), unused = request_at(0x1000, 2);
  const std::string used_name = keep(cache, used, answer(2000)),
                    unused_name = keep(cache, unused, answer(2000));
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  fs::last_write_time(folder_ + "/" + used_name, past - std::chrono::hours(1));
  fs::last_write_time(folder_ + "/" + unused_name, past);
  EXPECT_TRUE(find(cache, used_name, used)) << "which makes it the newer one";
  for (uint8_t i = 3; i < 9; ++i) {
    const std::string name = keep(cache, request_at(0x1000, i), answer(2000));
    // Kernels before 6.13 give all files written within a tick the same time.
    fs::last_write_time(folder_ + "/" + name, past + std::chrono::minutes(i));
    find(cache, used_name, used);
  }
  EXPECT_TRUE(cache.has(used_name));
  EXPECT_FALSE(cache.has(unused_name));
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) bytes += entry.file_size();
  EXPECT_LE(bytes, 16u << 10);
  keep(cache, request_at(0x1000, 99), answer(20 << 10));
  EXPECT_TRUE(cache.has(used_name)) << "nothing that is larger than all may be drives the others out";
}

// VGPU_CACHE may be a directory with other files.
TEST_F(CodeCacheTest, KeepsForeignFilesInDirectory) {
  const CodeCache cache(folder_, {}, 16 << 10);
  keep(cache, request_at(0x1000, 1), answer());  // Creates the directory.
  const std::string others[] = {"film.mkv", ".hidden", "0123456789abcdef0123456789abcdef0",
                                "0123456789ABCDEF0123456789abcdef"};
  for (const std::string& name : others) {
    std::ofstream(folder_ + "/" + name) << "mine";
    fs::resize_file(folder_ + "/" + name, 64 << 10);
    fs::last_write_time(folder_ + "/" + name, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  std::string last;
  for (uint8_t i = 2; i < 20; ++i) last = keep(cache, request_at(0x1000, i), answer(2000));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder_ + "/" + name)) << name;
  EXPECT_TRUE(cache.has(last)) << "theirs does not count";
}

TEST_F(CodeCacheTest, KeepsNothingWithoutDirectory) {
  const CodeCache none("");
  EXPECT_EQ(none.name_of(request_at(0x1000, 1)), "");
  std::ofstream(fs::path(folder_).parent_path().parent_path() / "of") << "a file";
  const CodeCache impossible(folder_);
  const Request request = request_at(0x1000, 1);
  const std::string name = keep(impossible, request, answer());
  EXPECT_FALSE(impossible.has(name));
  EXPECT_FALSE(find(impossible, name, request));
}

TEST_F(CodeCacheTest, KeepsNoPartialEntryAtFileSizeLimit) {
  const CodeCache cache(folder_);
  const Request request = request_at(0x1000, 1);
  std::string name;
  {
    const FileLimit limit(1000);
    name = keep(cache, request, answer(2000));
  }
  EXPECT_FALSE(cache.has(name));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 0) << "half an entry";
  EXPECT_TRUE(cache.has(keep(cache, request, answer(2000))));
}

TEST_F(CodeCacheTest, DoesNotKeepFailures) {
  const CodeCache cache(folder_);
  Answer failure;
  failure.error = "no";
  EXPECT_FALSE(cache.has(keep(cache, request_at(0x1000, 1), failure)));
}

TEST(CodeCacheFolder, FollowsEnvironmentVariables) {
  const auto with = [](const char* chosen, const char* cache, const char* home) {
    const auto set = [](const char* name, const char* to) {
      to == nullptr ? unsetenv(name) : setenv(name, to, 1);
    };
    set("VGPU_CACHE", chosen);
    set("XDG_CACHE_HOME", cache);
    set("HOME", home);
    return code_cache_folder();
  };
  EXPECT_EQ(with("/there", "/cache", "/home/me"), "/there");
  EXPECT_EQ(with("off", "/cache", "/home/me"), "");
  EXPECT_EQ(with(nullptr, "/cache", "/home/me"), "/cache/rigel/vgpu");
  EXPECT_EQ(with(nullptr, "relative", "/home/me"), "/home/me/.cache/rigel/vgpu")
      << "as XDG's specification has it";
  EXPECT_EQ(with("", nullptr, "/home/me"), "/home/me/.cache/rigel/vgpu");
  EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}

TEST(CodeCacheFolder, ReadOnlyDirectoriesAreSeparatedByColons) {
  setenv("VGPU_CACHE_READONLY", ":/a::/b b:", 1);
  EXPECT_EQ(read_only_cache_directories(), (std::vector<std::string>{"/a", "/b b"}));
  unsetenv("VGPU_CACHE_READONLY");
  EXPECT_TRUE(read_only_cache_directories().empty());
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
