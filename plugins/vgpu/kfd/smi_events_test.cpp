// Events of a process for management tools, in the kernel's format.
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/vgpu/kfd/test_system.hpp"

namespace rigel::vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%lx", value);
  return text;
}

std::string process_name() {
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  return name;
}

/// A file for the events of one GPU, with all events enabled.
class Listener {
 public:
  Listener(TestSystem& t, size_t gpu) {
    kfd_smi_events a{t.gpu_id(gpu), 0};
    EXPECT_EQ(t.call(KFD_NR_SMI_EVENTS, a), 0);
    fd_ = static_cast<int>(a.anon_fd);
    const uint64_t all = ~uint64_t{0};
    EXPECT_EQ(write(fd_, &all, sizeof all), 8);
  }
  ~Listener() { ::close(fd_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::string line;
    for (char c = 0; read(fd_, &c, 1) == 1;) {
      if (c != '\n') {
        line += c;
        continue;
      }
      all.push_back(std::move(line));
      line.clear();
    }
    return all;
  }

 private:
  int fd_ = -1;
};

const std::string kTime = "[0-9]+ -" + std::to_string(getpid()) + " ";

class KfdSmiEvents : public ::testing::Test {
 protected:
  int set(uint64_t va, uint64_t bytes, uint32_t type, uint32_t value) {
    struct {
      kfd_svm header;
      kfd_svm_attribute attribute;
    } a{{va, bytes, KFD_SVM_SET_ATTR, 1}, {type, value}};
    return t->call(KFD_NR_SVM, a);
  }
  std::string id(size_t gpu) { return hex(t->gpu_id(gpu)); }

  std::unique_ptr<TestSystem> t = std::make_unique<TestSystem>("gfx900:vram=64M,gfx906:vram=64M");
};

TEST_F(KfdSmiEvents, ReportsProcessStartAndEndPerGpu) {
  const Listener first(*t, 0), second(*t, 1);
  t->acquire();
  const std::string process = hex(static_cast<uint64_t>(getpid())) + " " + process_name();
  EXPECT_THAT(first.lines(), ElementsAre("c " + process));
  EXPECT_THAT(second.lines(), ElementsAre("c " + process));
  t.reset();
  EXPECT_THAT(first.lines(), ElementsAre("d " + process));
  EXPECT_THAT(second.lines(), ElementsAre("d " + process));
}

TEST_F(KfdSmiEvents, ReportsEvictionForUnmappedUserptr) {
  t->acquire();
  const auto shared = t->share(8192);
  const Listener first(*t, 0), second(*t, 1);
  void* const other = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  t->system->munmap(other, 4096);
  EXPECT_THAT(first.lines(), IsEmpty()) << "no GPU had that";
  t->system->munmap(shared.address, 4096);
  EXPECT_THAT(first.lines(), ElementsAre(MatchesRegex("9 " + kTime + id(0) + " 1"),
                                         MatchesRegex("a " + kTime + id(0) + " 0")));
  EXPECT_THAT(second.lines(), ElementsAre(MatchesRegex("9 " + kTime + id(1) + " 1"),
                                          MatchesRegex("a " + kTime + id(1) + " 0")));
}

TEST_F(KfdSmiEvents, ReportsMigrationAndUnmap) {
  t->acquire();
  void* const p = ::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto va = reinterpret_cast<uint64_t>(p);
  ASSERT_EQ(set(va, 16384, KFD_SVM_ATTR_ACCESS, t->gpu_id(0)), 0);
  const Listener listener(*t, 0);
  const std::string pages = "@" + hex(va / 4096) + "\\(4\\) ";
  for (int i = 0; i < 2; ++i) ASSERT_EQ(set(va, 16384, KFD_SVM_ATTR_PREFETCH_LOC, t->gpu_id(0)), 0);
  EXPECT_THAT(listener.lines(),
              ElementsAre(MatchesRegex("5 " + kTime + pages + "0->" + id(0) + " " + id(0) + ":ffffffff 0"),
                          MatchesRegex("6 " + kTime + pages + "0->" + id(0) + " 0 0")))
      << "it is there when it is asked for again";
  ASSERT_EQ(set(va, 16384, KFD_SVM_ATTR_PREFETCH_LOC, KFD_SVM_LOCATION_SYSMEM), 0);
  EXPECT_THAT(listener.lines(), ElementsAre(MatchesRegex("5 " + kTime + pages + id(0) + "->0 0:ffffffff 0"),
                                            MatchesRegex("6 " + kTime + pages + id(0) + "->0 0 0")));
  ASSERT_EQ(set(va, 16384, KFD_SVM_ATTR_ACCESS, t->gpu_id(1)), 0);
  ASSERT_EQ(set(va, 16384, KFD_SVM_ATTR_PREFETCH_LOC, t->gpu_id(0)), 0);
  EXPECT_THAT(listener.lines(), IsEmpty()) << "a peer over PCIe has access as well";
  t->system->munmap(p, 16384);
  EXPECT_THAT(listener.lines(), ElementsAre(MatchesRegex("b " + kTime + pages + id(0) + " 2")));
}

}  // namespace
}  // namespace rigel::vgpu
