#include "backends/common/sdma.hpp"

#include <cstring>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kFrom = 0x0000'7f00'1000'0000, kTo = 0x0000'7f01'2000'0000;
const SdmaEncoder kV3(SdmaVersion::kV3, 0x3fffe0, 0);
const SdmaEncoder kV4(SdmaVersion::kV4, 1 << 22, 0);
const SdmaEncoder kV5(SdmaVersion::kV5, 1 << 30, 0);
const SdmaEncoder kV7(SdmaVersion::kV7, 1 << 30, 0);

/// Returns the output of an encoder function, and checks its announced length.
template <class Write>
std::vector<uint32_t> words(size_t dwords, Write&& write) {
  std::vector<uint32_t> buffer(dwords + 1, 0xdeadbeef);
  EXPECT_EQ(write(buffer.data()), buffer.data() + dwords);
  EXPECT_EQ(buffer.back(), 0xdeadbeef);
  buffer.pop_back();
  return buffer;
}

TEST(SdmaServes, RequiresUsableEngines) {
  const auto serves = [](testing::Node node, const Family& family, std::string_view wanted) {
    const NodeFacts facts = node.set("num_sdma_engines", 2).facts();
    return sdma_serves(facts, find_quirks(family.quirks, facts), wanted);
  };
  EXPECT_TRUE(serves(testing::vega10(), gfx9::kFamily, "auto"));
  EXPECT_FALSE(serves(testing::vega10(), gfx9::kFamily, "off"));
  EXPECT_FALSE(serves(testing::fiji(), gfx8::kFamily, "auto")) << "unstable";
  EXPECT_TRUE(serves(testing::fiji(), gfx8::kFamily, "on"));
  const auto skillfish = testing::make_node({10, 1, 3}, {0x13fe, 8, 2, 2, 1, 20, 32, 2});
  EXPECT_FALSE(serves(skillfish, gfx10::kFamily, "on")) << "for the kernel only";
  EXPECT_FALSE(serves(testing::vega10().set("cpu_cores_count", 8), gfx9::kFamily, "auto"))
      << "it is on the host's node";
  EXPECT_TRUE(serves(testing::vega10().set("cpu_cores_count", 8), gfx9::kFamily, "on"));
  EXPECT_FALSE(sdma_serves(testing::vega10().facts(), 0, "on")) << "no engines";
}

TEST(SdmaServes, RequiresAtomicsToHost) {
  const NodeFacts facts = testing::navi21().set("num_sdma_engines", 4).set("host_atomics", 0).facts();
  EXPECT_FALSE(sdma_serves(facts, 0, "auto"));
  EXPECT_FALSE(sdma_serves(facts, 0, "on"));
}

TEST(SdmaCopy, CountsBytesByDialect) {
  const auto copy = [](const SdmaEncoder& encoder) {
    return words(encoder.copy_dwords(100), [&](uint32_t* to) { return encoder.copy(to, kTo, kFrom, 100); });
  };
  EXPECT_THAT(copy(kV3), ElementsAre(1, 100, 0, 0x10000000, 0x7f00, 0x20000000, 0x7f01));
  EXPECT_THAT(copy(kV4), ElementsAre(1, 99, 0, 0x10000000, 0x7f00, 0x20000000, 0x7f01));
  EXPECT_THAT(copy(kV5), ElementsAre(1, 99, 0, 0x10000000, 0x7f00, 0x20000000, 0x7f01));
}

TEST(SdmaCopy, SplitsIntoWholePages) {
  const uint64_t bytes = 2 * uint64_t{0x3ff000} + 0x3fffe0;
  const auto copy =
      words(3 * SdmaEncoder::kCopyDwords, [&](uint32_t* to) { return kV3.copy(to, kTo, kFrom, bytes); });
  EXPECT_EQ(kV3.copy_dwords(bytes), copy.size());
  EXPECT_EQ(copy[1], 0x3ff000u);
  EXPECT_EQ(copy[7 + 3], 0x103ff000u);
  EXPECT_EQ(copy[14 + 1], 0x3fffe0u) << "the rest is as much as a packet can";
  EXPECT_EQ(copy[14 + 3], 0x107fe000u);
  EXPECT_EQ(kV3.copy_dwords(bytes + 1), 4 * SdmaEncoder::kCopyDwords);
  EXPECT_EQ(kV3.broadcast_dwords(bytes + 1), 4 * SdmaEncoder::kBroadcastDwords);
}

TEST(SdmaCopy, MaximumCountIsOnePacket) {
  const auto largest =
      words(SdmaEncoder::kCopyDwords, [](uint32_t* to) { return kV4.copy(to, kTo, kFrom, 4 << 20); });
  EXPECT_EQ(largest[1], 0x3fffffu);
  EXPECT_EQ(kV4.copy_dwords((4 << 20) + 1), 2 * SdmaEncoder::kCopyDwords);
  EXPECT_EQ(kV5.copy_dwords(1 << 30), SdmaEncoder::kCopyDwords);
  EXPECT_EQ(kV5.copy_dwords((1 << 30) + 1), 2 * SdmaEncoder::kCopyDwords);
}

TEST(SdmaCopy, WritesTwoDestinations) {
  EXPECT_TRUE(kV4.can_broadcast());
  EXPECT_FALSE(kV5.can_broadcast());
  EXPECT_THAT(words(kV4.broadcast_dwords(16),
                    [](uint32_t* to) { return kV4.broadcast(to, kTo, kTo + 64, kFrom, 16); }),
              ElementsAre(0x08000001, 15, 0, 0x10000000, 0x7f00, 0x20000000, 0x7f01, 0x20000040, 0x7f01));
}

TEST(SdmaFill, RepeatsDword) {
  const auto fill = [](const SdmaEncoder& encoder) {
    return words(encoder.fill_dwords(64), [&](uint32_t* to) { return encoder.fill(to, kTo, 0xabcd, 64); });
  };
  EXPECT_THAT(fill(kV3), ElementsAre(0x8000000b, 0x20000000, 0x7f01, 0xabcd, 64));
  EXPECT_THAT(fill(kV4), ElementsAre(0x8000000b, 0x20000000, 0x7f01, 0xabcd, 60));
  EXPECT_EQ(kV4.fill_dwords(SdmaEncoder::kFillMax), SdmaEncoder::kFillDwords);
  EXPECT_EQ(kV4.fill_dwords(SdmaEncoder::kFillMax + 4), 2 * SdmaEncoder::kFillDwords);
}

TEST(SdmaPoll, IsRepeatedIfUnsafe) {
  const SdmaEncoder careful(SdmaVersion::kV4, 1 << 22, kQuirkSdmaPollTwice);
  const auto poll = [](const SdmaEncoder& encoder) {
    return words(encoder.poll_dwords(), [&](uint32_t* to) { return encoder.poll_equal(to, kTo, 3, 0xff); });
  };
  EXPECT_THAT(poll(kV4), ElementsAre(0xb0000008, 0x20000000, 0x7f01, 3, 0xff, 0x0fff000a));
  const auto twice = poll(careful);
  ASSERT_EQ(twice.size(), 12u);
  EXPECT_TRUE(std::equal(twice.begin(), twice.begin() + 6, twice.begin() + 6));
}

TEST(SdmaWait, PollsNonzeroHalves) {
  const auto wait = [](int64_t current) {
    return words(kV4.wait_zero_dwords(current),
                 [&](uint32_t* to) { return kV4.wait_zero(to, kTo, current); });
  };
  EXPECT_THAT(wait(0), IsEmpty());
  EXPECT_THAT(wait(5), ElementsAre(0xb0000008, 0x20000000, 0x7f01, 0, 0xffffffff, 0x0fff000a));
  const auto both = wait(-1);
  ASSERT_EQ(both.size(), 12u);
  EXPECT_EQ(both[1], 0x20000004u);  // the upper half first
  EXPECT_EQ(both[7], 0x20000000u);
}

TEST(SdmaFence, IsUncachedFromV5On) {
  EXPECT_THAT(words(4, [](uint32_t* to) { return kV4.fence(to, kTo, 9); }),
              ElementsAre(5, 0x20000000, 0x7f01, 9));
  EXPECT_THAT(words(4, [](uint32_t* to) { return kV5.fence(to, kTo, 9); }),
              ElementsAre(0x00030005, 0x20000000, 0x7f01, 9));
}

TEST(SdmaCompletion, DecrementsWithAtomicAndInterrupts) {
  const SdmaCompletion completion{.value_va = kTo, .mailbox_va = kTo + 64, .event_id = 12};
  EXPECT_THAT(
      words(kV4.completion_dwords(completion), [&](uint32_t* to) { return kV4.completion(to, completion); }),
      ElementsAre(0x5e00000a, 0x20000000, 0x7f01, 0xffffffff, 0xffffffff, 0, 0, 0,  // add -1
                  5, 0x20000040, 0x7f01, 12,                                        // mailbox
                  6, 12));                                                          // interrupt
}

TEST(SdmaCompletion, StoresPositionBeforeSignal) {
  const SdmaCompletion completion{.value_va = kTo, .position_va = kTo + 64, .position = 12};
  EXPECT_THAT(
      words(kV4.completion_dwords(completion), [&](uint32_t* to) { return kV4.completion(to, completion); }),
      ElementsAre(5, 0x20000040, 0x7f01, 12, 0x5e00000a, 0x20000000, 0x7f01, 0xffffffff, 0xffffffff, 0, 0,
                  0));
}

TEST(SdmaCompletion, StoresWithoutAtomics) {
  const SdmaCompletion completion{.value_va = kTo, .atomics = false, .plain_value = 0x1'0000'0002};
  EXPECT_THAT(
      words(kV4.completion_dwords(completion), [&](uint32_t* to) { return kV4.completion(to, completion); }),
      ElementsAre(5, 0x20000004, 0x7f01, 1, 5, 0x20000000, 0x7f01, 2));
  EXPECT_EQ(kV4.completion_dwords({}), 0u);
}

TEST(SdmaClock, IsWrittenToAddress) {
  EXPECT_THAT(words(3, [](uint32_t* to) { return kV4.timestamp(to, kTo); }),
              ElementsAre(0x20d, 0x20000000, 0x7f01));
}

TEST(SdmaCaches, AreRequestedFromV5On) {
  EXPECT_EQ(kV4.end_dwords(), 0u);
  EXPECT_THAT(words(kV5.begin_dwords(), [](uint32_t* to) { return kV5.begin(to); }),
              ElementsAre(8, 0, 0x80000000, 0, 0, 0, 0x111, 0, 0xc3c00000, 0, 0));
  EXPECT_THAT(words(kV5.end_dwords(), [](uint32_t* to) { return kV5.end(to); }),
              ElementsAre(0x111, 0, 0x80400000, 0, 0));
}

TEST(SdmaCaches, FlushHostDataPathIfSupported) {
  EXPECT_THAT(words(kV4.begin_dwords(), [](uint32_t* to) { return kV4.begin(to); }),
              ElementsAre(8, 0, 0x80000000, 0, 0, 0));
  EXPECT_EQ(kV3.begin_dwords(), 0u);
  const SdmaEncoder navi10(SdmaVersion::kV5, 1 << 22, kQuirkNoSdmaHdpFlush);
  EXPECT_EQ(navi10.begin_dwords(), SdmaEncoder::kCacheDwords);
}

TEST(SdmaNop, HasCountFromV4On) {
  EXPECT_THAT(words(3, [](uint32_t* to) { return kV3.nop(to, 3); }), ElementsAre(0, 0, 0));
  EXPECT_THAT(words(3, [](uint32_t* to) { return kV4.nop(to, 3); }), ElementsAre(2u << 16, 0, 0));
  EXPECT_THAT(words(0, [](uint32_t* to) { return kV4.nop(to, 0); }), IsEmpty());
  const auto many = words(0x4001, [](uint32_t* to) { return kV4.nop(to, 0x4001); });
  EXPECT_EQ(many[0], 0x3fffu << 16);
  EXPECT_EQ(many[0x4000], 0u);
}

TEST(SdmaPlainCopy, MatchesItsParts) {
  const SdmaEncoder small(SdmaVersion::kV4, 1 << 22, kQuirkSdmaSmallSubmission);
  for (const SdmaEncoder& encoder : {kV3, kV4, kV5, small}) {
    for (const uint64_t mailbox : {uint64_t{0}, kTo + 64}) {
      const SdmaPlainCopy plain(encoder, mailbox != 0);
      for (const uint32_t bytes : {1u, 4096u, encoder.copy_max()}) {
        const SdmaCompletion completion{.value_va = kTo + bytes,
                                        .position_va = kFrom + 8,
                                        .position = 3 * bytes,
                                        .mailbox_va = mailbox,
                                        .event_id = 0xf000'0000 + bytes};
        std::vector<uint32_t> parts(2 * SdmaEncoder::kSmallestSubmission);
        uint32_t* end = encoder.begin(parts.data());
        end = encoder.copy(end, kTo, kFrom + bytes, bytes);
        end = encoder.completion(encoder.end(end), completion);
        end = encoder.nop(end, encoder.padding_dwords(static_cast<size_t>(end - parts.data())));
        EXPECT_EQ(plain.dwords(), static_cast<size_t>(end - parts.data()));
        // Dwords that a NOP skips need not be written.
        const size_t written = plain.written_dwords();
        if (written != plain.dwords()) {
          EXPECT_EQ(parts[written - 1], (plain.dwords() - written) << 16);
        }
        parts.resize(written);
        EXPECT_EQ(parts, words(written, [&](uint32_t* to) {
                    plain.write(to, kTo, kFrom + bytes, bytes, completion);
                    return to + written;
                  }));
      }
    }
  }
}

TEST(SdmaNop, PadsUnsafeSmallSubmissions) {
  EXPECT_EQ(kV4.padding_dwords(10), 0u);
  const SdmaEncoder vega(SdmaVersion::kV4, 1 << 22, kQuirkSdmaSmallSubmission);
  EXPECT_EQ(vega.padding_dwords(10), 54u);
  EXPECT_EQ(vega.padding_dwords(64), 0u);
}

TEST(SdmaRing, CountsOrWrapsByDialect) {
  const SdmaRing wraps{SdmaVersion::kV3, 1024}, counts{SdmaVersion::kV4, 1024};
  EXPECT_EQ(wraps.published(1030), 6u);
  EXPECT_EQ(counts.published(1030), 1030u);
  EXPECT_EQ(wraps.read_index(6, 1000), 1030u);
  EXPECT_EQ(wraps.read_index(1000, 1000), 1000u);
  EXPECT_EQ(counts.read_index(1030, 1000), 1030u);
  EXPECT_EQ(counts.gap(1000, 24), 0u);
  EXPECT_EQ(counts.gap(1000, 28), 24u);
  EXPECT_TRUE(counts.has_room(1023, 0));
  EXPECT_FALSE(counts.has_room(1024, 0));
}

// Rectangles
// -------------------------------------------------------------------------------------------------

/// Executes the packets byte by byte on two small memories.
void run_rect(SdmaVersion version, const std::vector<uint32_t>& packets, const std::vector<uint8_t>& from,
              std::vector<uint8_t>& to) {
  const bool v7 = version == SdmaVersion::kV7;
  const uint32_t size_mask = v7 ? 0xffff : 0x3fff, depth_mask = v7 ? 0x3fff : 0x7ff,
                 pitch_shift = v7 ? 16 : 13;
  ASSERT_EQ(packets.size() % SdmaEncoder::kRectDwords, 0u);
  for (size_t p = 0; p < packets.size(); p += SdmaEncoder::kRectDwords) {
    const uint32_t* w = &packets[p];
    ASSERT_EQ(w[0] & 0xffff, 0x0401u);
    const uint32_t element = w[0] >> 29;
    ASSERT_LE(element, 4u);
    ASSERT_EQ(w[1] % 4 + w[6] % 4, 0u) << "tiles begin at dwords";
    const auto at = [&](const uint32_t* side, uint64_t base, uint64_t x, uint64_t y, uint64_t z) {
      const uint64_t va = uint64_t{side[1]} << 32 | side[0];
      const uint64_t pitch = (side[3] >> pitch_shift) + 1, slice = uint64_t{side[4]} + 1;
      return va - base + (((side[2] & size_mask) + x + y * pitch + z * slice) << element);
    };
    for (uint64_t z = 0; z <= (w[12] & depth_mask); ++z)
      for (uint64_t y = 0; y <= (w[11] >> 16); ++y)
        for (uint64_t x = 0; x <= (w[11] & size_mask); ++x)
          for (uint64_t byte = 0; byte < 1u << element; ++byte) {
            const uint64_t a = at(w + 1, kFrom, x, y, z) + byte, b = at(w + 6, kTo, x, y, z) + byte;
            ASSERT_LT(a, from.size());
            ASSERT_LT(b, to.size());
            ASSERT_EQ(to[b], 0) << "a byte is written twice";
            to[b] = from[a];
          }
  }
}

void expect_copied(const SdmaRect& rect) {
  SCOPED_TRACE(::testing::Message() << "width " << rect.width << " offsets " << rect.source - kFrom << " and "
                                    << rect.destination - kTo << " pitches " << rect.source_pitch << " and "
                                    << rect.destination_pitch);
  std::vector<uint8_t> from(1 << 20), expected(1 << 20);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 2654435761u >> 24 | 1);
  for (uint64_t z = 0; z < rect.depth; ++z)
    for (uint64_t y = 0; y < rect.height; ++y)
      std::memcpy(&expected[rect.destination - kTo + y * rect.destination_pitch + z * rect.destination_slice],
                  &from[rect.source - kFrom + y * rect.source_pitch + z * rect.source_slice], rect.width);
  for (const SdmaEncoder& encoder : {kV4, kV7}) {
    const size_t dwords = encoder.rect_dwords(rect);
    ASSERT_NE(dwords, 0u);
    const auto packets = words(dwords, [&](uint32_t* to) { return encoder.rect(to, rect); });
    std::vector<uint8_t> to(1 << 20);
    run_rect(encoder.version(), packets, from, to);
    EXPECT_TRUE(to == expected);
  }
}

TEST(SdmaRect, CopiesRowsOfAnyWidthAndAlignment) {
  for (const uint32_t width : {1u, 3u, 4u, 16u, 17u, 71u, 20000u})
    for (const uint64_t from : {0u, 1u, 2u, 8u})
      for (const uint64_t to : {0u, 3u, 4u})
        expect_copied({kFrom + from, 20032, 0, kTo + to, 20016, 0, width, 3, 1});
}

TEST(SdmaRect, CopiesLayers) {
  expect_copied({kFrom + 4, 256, 4096, kTo + 8, 512, 8192, 100, 7, 5});
}

TEST(SdmaRect, RejectsUnsupportedRectangles) {
  const SdmaRect good{kFrom, 256, 4096, kTo, 512, 8192, 100, 7, 5};
  EXPECT_NE(kV4.rect_dwords(good), 0u);
  EXPECT_EQ(kV3.rect_dwords(good), 0u);
  const auto refused = [&](auto change) {
    SdmaRect bad = good;
    change(bad);
    return kV4.rect_dwords(bad) == 0;
  };
  EXPECT_TRUE(refused([](SdmaRect& r) { r.source_pitch = 258; }));
  EXPECT_TRUE(refused([](SdmaRect& r) { r.destination_slice = 8190; }));
  EXPECT_TRUE(refused([](SdmaRect& r) { r.width = 300; }));
  EXPECT_TRUE(refused([](SdmaRect& r) { r.height = 0; }));
  EXPECT_TRUE(refused(
      [](SdmaRect& r) { r.source_pitch = uint64_t{1} << 24; }));  // the maximum number of elements, in bytes
  EXPECT_TRUE(refused([](SdmaRect& r) { r.width = 3, r.source_pitch = uint64_t{1} << 20; }));
}

// ROCr, sdma_registers.h: pitches of 16 bits, slices of 32.
TEST(SdmaRect, HasOtherLimitsOnV7) {
  SdmaRect rect{kFrom, 1 << 16, 4, kTo, 1 << 16, uint64_t{1} << 32, 3, 7, 5};
  EXPECT_NE(kV7.rect_dwords(rect), 0u);
  EXPECT_EQ(kV4.rect_dwords(rect), 0u);
  rect = {kFrom, (1 << 16) + 4, 0, kTo, 1 << 16, 0, 3, 7, 1};
  EXPECT_EQ(kV7.rect_dwords(rect), 0u);
  EXPECT_NE(kV4.rect_dwords(rect), 0u);
}

}  // namespace
}  // namespace rigel::gfx
