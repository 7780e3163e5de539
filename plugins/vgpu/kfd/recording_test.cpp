// Replays recorded calls of user-mode drivers from recordings/*.txt. The lines are:
//
//   board NAME                          the board of the virtual system; first line
//   struct CALL NUMBER field:bytes...   the arguments of an ioctl, in memory order
//   open NAME PATH                      opens a descriptor, as $NAME
//   memory NAME BYTES                   maps zeroed memory of the program, its address as $NAME
//   addresses NAME BYTES                reserves addresses
//   words NAME WORD...                  writes 32-bit words to the start of memory
//   mmap NAME field=value...            maps descriptor NAME: address, size, protection, offset
//   CALL field=value... [| WORD...] [-> field=value|field!=value|field:NAME...] [= ERROR]
//
// A value is a number or $NAME, optionally followed by +NUMBER. Words after | follow the arguments in memory.
// Results are compared (= and !=) or stored as $NAME (:). $gpu is the id of the first GPU.
#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

struct Field {
  std::string name;
  size_t offset, bytes;
};
struct Call {
  uint32_t number = 0;
  size_t bytes = 0;
  std::vector<Field> fields;
};

class Replay {
 public:
  ~Replay() {
    for (const auto& [address, bytes] : memory_) munmap(address, bytes);
  }

  void run(const std::filesystem::path& file) {
    std::ifstream lines(file);
    ASSERT_TRUE(lines) << file;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      std::istringstream words(line);
      std::string keyword;
      if (!(words >> keyword) || keyword[0] == '#') continue;
      SCOPED_TRACE(file.filename().string() + ":" + std::to_string(number) + ": " + line);
      run_line(keyword, words);
      if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(call_count_, 0);
  }

 private:
  void run_line(const std::string& keyword, std::istream& in) {
    std::string name, rest;
    if (keyword == "board") {
      in >> name;
      system_ = std::make_unique<TestSystem>(name);
      values_["gpu"] = system_->gpu_id();
      return;
    }
    ASSERT_TRUE(system_) << "there is no board yet";
    if (keyword == "struct") {
      std::string text;
      in >> name >> text;
      Call& call = calls_[name];
      call.number = static_cast<uint32_t>(value(text));
      while (in >> text) {
        const size_t colon = text.find(':');
        const size_t bytes = value(text.substr(colon + 1));
        call.fields.push_back({text.substr(0, colon), call.bytes, bytes});
        call.bytes += bytes;
      }
    } else if (keyword == "open") {
      in >> name >> rest;
      const int fd = name == "kfd" ? system_->kfd : system_->system->open(rest, O_RDWR | O_CLOEXEC);
      ASSERT_GE(fd, 0);
      if (name != "kfd") system_->render.push_back(fd);
      values_[name] = static_cast<uint64_t>(fd);
    } else if (keyword == "memory" || keyword == "addresses") {
      in >> name >> rest;
      const size_t bytes = value(rest);
      void* const p = mmap(nullptr, bytes, keyword == "memory" ? PROT_READ | PROT_WRITE : PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      ASSERT_NE(p, MAP_FAILED);
      memory_.emplace_back(p, bytes);
      values_[name] = reinterpret_cast<uint64_t>(p);
    } else if (keyword == "words") {
      in >> name;
      write_words(reinterpret_cast<std::byte*>(value("$" + name)), in);
    } else if (keyword == "mmap") {
      in >> name;
      std::map<std::string, uint64_t> a;
      while (in >> rest) a[rest.substr(0, rest.find('='))] = value(rest.substr(rest.find('=') + 1));
      void* out = nullptr;
      const int error = system_->system->mmap(reinterpret_cast<void*>(a["address"]), a["size"],
                                              static_cast<int>(a["protection"]), MAP_SHARED | MAP_FIXED,
                                              static_cast<int>(value("$" + name)), a["offset"], &out);
      EXPECT_EQ(error, 0);
      EXPECT_EQ(reinterpret_cast<uint64_t>(out), a["address"]);
    } else {
      ASSERT_TRUE(calls_.contains(keyword)) << "there is no struct of that name";
      call(calls_[keyword], in);
    }
  }

  void call(const Call& call, std::istream& in) {
    alignas(8) std::byte arguments[512] = {};
    size_t bytes = call.bytes;
    std::string text, error;
    std::vector<std::string> results;
    while (in >> text && text != "->" && text != "=" && text != "|") {
      const size_t equals = text.find('=');
      const Field* const field = find(call, text.substr(0, equals));
      ASSERT_NE(field, nullptr) << text;
      const uint64_t v = value(text.substr(equals + 1));
      std::memcpy(arguments + field->offset, &v, field->bytes);
    }
    if (text == "|") {
      while (in >> text && text != "->" && text != "=") {
        const auto v = static_cast<uint32_t>(value(text));
        std::memcpy(arguments + bytes, &v, sizeof v);
        bytes += sizeof v;
      }
    }
    if (text == "->") {
      while (in >> text && text != "=") results.push_back(text);
    }
    if (text == "=") in >> error;
    const uint64_t request = 3u << 30 | uint64_t{bytes} << 16 | KFD_ABI_IOCTL_TYPE << 8 | call.number;
    const int result = system_->system->ioctl(system_->kfd, request, arguments);
    EXPECT_EQ(result == 0 ? "" : strerrorname_np(-result), error);
    ++call_count_;
    for (const std::string& expected : results) {
      const size_t end = expected.find_first_of("!=:");
      const Field* const field = find(call, expected.substr(0, end));
      ASSERT_NE(field, nullptr) << expected;
      uint64_t v = 0;
      std::memcpy(&v, arguments + field->offset, field->bytes);
      if (expected[end] == ':') {
        values_[expected.substr(end + 1)] = v;
      } else if (expected[end] == '!') {
        EXPECT_NE(v, value(expected.substr(end + 2))) << expected;
      } else {
        EXPECT_EQ(v, value(expected.substr(end + 1))) << expected;
      }
    }
  }

  void write_words(std::byte* to, std::istream& in) {
    for (std::string text; in >> text; to += 4) {
      const auto v = static_cast<uint32_t>(value(text));
      std::memcpy(to, &v, sizeof v);
    }
  }

  static const Field* find(const Call& call, const std::string& name) {
    for (const Field& field : call.fields) {
      if (field.name == name) return &field;
    }
    return nullptr;
  }

  uint64_t value(const std::string& text) {
    if (text.empty() || text[0] != '$') return std::strtoull(text.c_str(), nullptr, 0);
    const size_t plus = text.find('+');
    const auto it = values_.find(text.substr(1, plus == text.npos ? plus : plus - 1));
    if (it == values_.end()) {
      ADD_FAILURE() << text << " is not known";
      return 0;
    }
    return it->second + (plus == text.npos ? 0 : value(text.substr(plus + 1)));
  }

  std::unique_ptr<TestSystem> system_;
  std::map<std::string, Call> calls_;
  std::map<std::string, uint64_t> values_;
  std::vector<std::pair<void*, size_t>> memory_;
  int call_count_ = 0;
};

TEST(Recording, ReplaysThunkOf2025) {
  Replay().run(std::filesystem::path(VGPU_RECORDINGS) / "thunk_2025.txt");
}

}  // namespace
}  // namespace rigel::vgpu
