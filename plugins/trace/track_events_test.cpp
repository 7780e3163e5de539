// Tests that decode the written packets with a separate decoder.
#include "plugins/trace/track_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

namespace trace {
namespace {

using ::testing::ElementsAre;

// A decoded message: numbers and byte strings (texts or nested messages) by field.
struct Message {
  std::multimap<uint32_t, uint64_t> numbers;
  std::multimap<uint32_t, std::string_view> texts;

  explicit Message(std::string_view bytes) {
    while (!bytes.empty()) {
      const uint64_t tag = varint(bytes);
      const auto field = static_cast<uint32_t>(tag >> 3);
      switch (tag & 7) {
        case 0:
          numbers.emplace(field, varint(bytes));
          break;
        case 1: {
          uint64_t value = 0;
          for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes.at(i));
          numbers.emplace(field, value);
          bytes.remove_prefix(8);
          break;
        }
        case 2: {
          const uint64_t length = varint(bytes);
          if (length > bytes.size()) throw std::runtime_error("a length beyond the end");
          texts.emplace(field, bytes.substr(0, length));
          bytes.remove_prefix(length);
          break;
        }
        default:
          throw std::runtime_error("wire type");
      }
    }
  }
  static uint64_t varint(std::string_view& bytes) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  uint64_t number(uint32_t field) const { return numbers.find(field)->second; }
  bool has(uint32_t field) const { return numbers.contains(field) || texts.contains(field); }
  Message sub(uint32_t field) const { return Message(texts.find(field)->second); }
  std::string_view text(uint32_t field) const { return texts.find(field)->second; }
  std::vector<uint64_t> all(uint32_t field) const {
    std::vector<uint64_t> out;
    for (auto [i, end] = numbers.equal_range(field); i != end; ++i) out.push_back(i->second);
    return out;
  }
};

std::vector<Message> packets(const std::string& out) {
  const Message trace(out);
  std::vector<Message> all;
  for (auto [i, end] = trace.texts.equal_range(1); i != end; ++i) all.emplace_back(i->second);
  return all;
}

TEST(TrackEvents, TracksAreDescribed) {
  std::string out;
  TrackEvents events(out, 77);
  events.process(1, 100, "program");
  events.thread(2, 100, 101, "worker");
  events.lane(3, 1, "queue 0");
  events.counter(4, 1, "memory");
  const auto all = packets(out);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].number(10), 77u);
  EXPECT_EQ(all[0].number(13), 3u);  // clears the state of an earlier writer
  EXPECT_EQ(all[1].number(13), 2u);
  EXPECT_EQ(all[0].sub(60).number(1), 1u);
  EXPECT_EQ(all[0].sub(60).sub(3).number(1), 100u);
  EXPECT_EQ(all[0].sub(60).sub(3).text(6), "program");
  EXPECT_EQ(all[1].sub(60).sub(4).number(2), 101u);
  EXPECT_EQ(all[1].sub(60).sub(4).text(5), "worker");
  EXPECT_EQ(all[2].sub(60).number(5), 1u);
  EXPECT_EQ(all[2].sub(60).text(2), "queue 0");
  EXPECT_EQ(all[3].sub(60).sub(8).number(3), 3u);
}

TEST(TrackEvents, NamesAreInterned) {
  std::string out;
  TrackEvents events(out, 1);
  events.begin(9, 1000, {.category = "api", .name = "hsa_init"});
  events.end(9, 2000);
  events.begin(9, 3000, {.category = "api", .name = "hsa_init"});
  const auto all = packets(out);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].number(8), 1000u);
  EXPECT_EQ(all[0].texts.count(12), 1u);
  const Message names = all[0].sub(12);
  EXPECT_EQ(names.sub(1).text(2), "api");
  EXPECT_EQ(names.sub(2).text(2), "hsa_init");
  EXPECT_EQ(all[0].sub(11).number(10), names.sub(2).number(1));
  EXPECT_EQ(all[0].sub(11).number(9), 1u);
  EXPECT_EQ(all[1].sub(11).number(9), 2u);
  EXPECT_FALSE(all[2].has(12));
  EXPECT_EQ(all[2].sub(11).number(10), names.sub(2).number(1));
  EXPECT_EQ(all[2].sub(11).number(11), 9u);
}

TEST(TrackEvents, FlowsAndAnnotationsAreWritten) {
  std::string out;
  TrackEvents events(out, 1);
  const uint64_t flows[] = {5, 1ull << 63};
  const uint64_t last[] = {6};
  const Annotation annotations[] = {
      {"unsigned", Annotation::kUnsigned, UINT64_MAX},
      {"signed", Annotation::kSigned, static_cast<uint64_t>(-2)},
      {"boolean", Annotation::kBoolean, 4},
      {"pointer", Annotation::kPointer, 0x1000},
      {"text", Annotation::kText, 0, "words"},
  };
  events.instant(1, 10,
                 {.category = "c", .name = "n", .flows = flows, .last_of = last, .annotations = annotations});
  const Message event = packets(out)[0].sub(11);
  EXPECT_THAT(event.all(47), ElementsAre(5, 1ull << 63));
  EXPECT_THAT(event.all(48), ElementsAre(6));
  std::vector<Message> values;
  for (auto [i, end] = event.texts.equal_range(4); i != end; ++i) values.emplace_back(i->second);
  ASSERT_EQ(values.size(), 5u);
  EXPECT_EQ(values[0].number(3), UINT64_MAX);
  EXPECT_EQ(static_cast<int64_t>(values[1].number(4)), -2);
  EXPECT_EQ(values[2].number(2), 1u);
  EXPECT_EQ(values[3].number(7), 0x1000u);
  EXPECT_EQ(values[4].text(6), "words");
}

TEST(TrackEvents, RareNamesAreWrittenInline) {
  std::string out;
  TrackEvents events(out, 1);
  events.instant(1, 10, {.category = "marker", .name = "step 1", .rare_name = true});
  const Message event = packets(out)[0].sub(11);
  EXPECT_EQ(event.text(23), "step 1");
  EXPECT_FALSE(event.has(10));
}

TEST(TrackEvents, CountersAreWritten) {
  std::string out;
  TrackEvents events(out, 1);
  events.count(1, 10, 4096);
  const Message event = packets(out)[0].sub(11);
  EXPECT_EQ(event.number(9), 4u);
  EXPECT_EQ(event.number(30), 4096u);
}

TEST(TrackEvents, FileIsValidAfterEveryPacket) {
  std::string out;
  TrackEvents events(out, 1);
  std::vector<size_t> ends;
  for (uint64_t i = 0; i < 10; ++i) {
    events.begin(1, i, {.category = "a", .name = std::string(size_t{1} << i, 'x')});
    ends.push_back(out.size());
  }
  for (size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(packets(out.substr(0, ends[i])).size(), i + 1);
}

}  // namespace
}  // namespace trace
