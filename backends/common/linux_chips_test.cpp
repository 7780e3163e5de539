// Every chip of these families that amdkfd supports, with every PCI id in amdgpu, is in the tables. From
// Linux 2519003dd5fb (amdkfd/kfd_device.c: target versions, doorbells, chips that cannot save waves;
// amdgpu/amdgpu_drv.c: ids) and, for boards that amdgpu finds by their discovery tables, pci.ids.
#include <gtest/gtest.h>
#include <hsa/hsa.h>

#include <initializer_list>
#include <set>

#include "backends/common/select.hpp"
#include "backends/common/testing/nodes.hpp"
#include "backends/gfx10/chips.hpp"
#include "backends/gfx11/chips.hpp"
#include "backends/gfx12/chips.hpp"
#include "backends/gfx8/chips.hpp"
#include "backends/gfx9/chips.hpp"

namespace rigel::gfx {
namespace {

struct LinuxChip {
  const Family* family;
  GfxVersion version;
  std::string_view code_name;
  std::initializer_list<uint16_t> ids;
};

const LinuxChip kChips[] = {
    {&gfx8::kFamily, {8, 0, 1}, "Carrizo", {0x9870, 0x9874, 0x9875, 0x9876, 0x9877}},
    {&gfx8::kFamily,
     {8, 0, 2},
     "Tonga",
     {0x6920, 0x6921, 0x6928, 0x6929, 0x692b, 0x692f, 0x6930, 0x6938, 0x6939}},
    {&gfx8::kFamily, {8, 0, 3}, "Fiji", {0x7300, 0x730f}},
    {&gfx8::kFamily,
     {8, 0, 3},
     "Polaris10",
     {0x67c0, 0x67c1, 0x67c2, 0x67c4, 0x67c7, 0x67c8, 0x67c9, 0x67ca, 0x67cc, 0x67cf, 0x67d0, 0x67df,
      0x6fdf}},
    // Four revisions of 0x67ff are Polaris 10, which the topology does not show.
    {&gfx8::kFamily,
     {8, 0, 3},
     "Polaris11",
     {0x67e0, 0x67e1, 0x67e3, 0x67e7, 0x67e8, 0x67e9, 0x67eb, 0x67ef, 0x67ff}},
    {&gfx8::kFamily,
     {8, 0, 3},
     "Polaris12",
     {0x6980, 0x6981, 0x6985, 0x6986, 0x6987, 0x6995, 0x6997, 0x699f}},
    {&gfx8::kFamily, {8, 0, 3}, "VegaM", {0x694c, 0x694e, 0x694f}},

    {&gfx9::kFamily,
     {9, 0, 0},
     "Vega10",
     {0x6860, 0x6861, 0x6862, 0x6863, 0x6864, 0x6867, 0x6868, 0x6869, 0x686a, 0x686b, 0x686c, 0x686d, 0x686e,
      0x686f, 0x687f}},
    {&gfx9::kFamily, {9, 0, 2}, "Raven", {0x15dd}},
    {&gfx9::kFamily, {9, 0, 2}, "Picasso", {0x15d8}},
    {&gfx9::kFamily, {9, 0, 4}, "Vega12", {0x69a0, 0x69a1, 0x69a2, 0x69a3, 0x69af}},
    {&gfx9::kFamily, {9, 0, 6}, "Vega20", {0x66a0, 0x66a1, 0x66a2, 0x66a3, 0x66a4, 0x66a7, 0x66af}},
    {&gfx9::kFamily, {9, 0, 8}, "Arcturus", {0x7388, 0x738c, 0x738e, 0x7390}},
    {&gfx9::kFamily, {9, 0, 10}, "Aldebaran", {0x7408, 0x740c, 0x740f, 0x7410}},
    {&gfx9::kFamily, {9, 4, 2}, "AquaVanjaram", {0x74a0, 0x74a1, 0x74a2, 0x74a5, 0x74a9, 0x74b5, 0x74bd}},
    {&gfx9::kFamily, {9, 0, 12}, "Renoir", {0x1636}},
    {&gfx9::kFamily, {9, 0, 12}, "Cezanne", {0x1638}},
    {&gfx9::kFamily, {9, 0, 12}, "Lucienne", {0x164c}},
    {&gfx9::kFamily, {9, 0, 12}, "Barcelo", {0x15e7}},

    {&gfx10::kFamily, {10, 1, 0}, "Navi10", {0x7310, 0x7312, 0x7318, 0x7319, 0x731a, 0x731b, 0x731e, 0x731f}},
    {&gfx10::kFamily, {10, 1, 1}, "Navi12", {0x7360, 0x7362}},
    {&gfx10::kFamily, {10, 1, 2}, "Navi14", {0x7340, 0x7341, 0x7347, 0x734f}},
    {&gfx10::kFamily, {10, 1, 3}, "CyanSkillfish", {0x13db, 0x13f9, 0x13fa, 0x13fb, 0x13fc, 0x13fe, 0x143f}},
    {&gfx10::kFamily,
     {10, 3, 0},
     "Navi21",
     {0x73a0, 0x73a1, 0x73a2, 0x73a3, 0x73a5, 0x73a8, 0x73a9, 0x73ab, 0x73ac, 0x73ad, 0x73ae, 0x73af,
      0x73bf}},
    {&gfx10::kFamily,
     {10, 3, 1},
     "Navi22",
     {0x73c0, 0x73c1, 0x73c3, 0x73da, 0x73db, 0x73dc, 0x73dd, 0x73de, 0x73df}},
    {&gfx10::kFamily,
     {10, 3, 2},
     "Navi23",
     {0x73e0, 0x73e1, 0x73e2, 0x73e3, 0x73e8, 0x73e9, 0x73ea, 0x73eb, 0x73ec, 0x73ed, 0x73ef, 0x73ff}},
    {&gfx10::kFamily, {10, 3, 3}, "VanGogh", {0x1435, 0x163f}},
    {&gfx10::kFamily, {10, 3, 4}, "Navi24", {0x7420, 0x7421, 0x7422, 0x7423, 0x7424, 0x743f}},
    {&gfx10::kFamily, {10, 3, 5}, "YellowCarp", {0x164d, 0x1681}},
    {&gfx10::kFamily, {10, 3, 6}, "Raphael", {0x164e}},
    {&gfx10::kFamily, {10, 3, 6}, "GraniteRidge", {0x13c0}},
    {&gfx10::kFamily, {10, 3, 6}, "Mendocino", {0x1506}},

    // Linux 6.12.117. The ids of these are not in amdgpu: they are found by their discovery tables.
    {&gfx11::kFamily, {11, 0, 0}, "Navi31", {0x7448, 0x744c, 0x745e}},
    {&gfx11::kFamily, {11, 0, 1}, "Navi32", {0x7460, 0x7470, 0x747e}},
    {&gfx11::kFamily, {11, 0, 2}, "Navi33", {0x7480, 0x7483, 0x7489, 0x7499}},
    {&gfx11::kFamily, {11, 0, 3}, "Phoenix", {0x15bf}},
    {&gfx11::kFamily, {11, 0, 3}, "Phoenix2", {0x15c8}},
    {&gfx11::kFamily, {11, 0, 3}, "HawkPoint", {0x1900, 0x1901}},
    {&gfx11::kFamily, {11, 5, 0}, "Strix", {0x150e}},
    {&gfx11::kFamily, {11, 5, 1}, "StrixHalo", {0x1586}},
    {&gfx12::kFamily, {12, 0, 0}, "Navi44", {0x7590}},
    {&gfx12::kFamily, {12, 0, 1}, "Navi48", {0x7550, 0x7551}},
};

TEST(LinuxChips, AreSelectedAndNamedByEveryId) {
  for (const LinuxChip& chip : kChips) {
    for (const uint16_t id : chip.ids) {
      SCOPED_TRACE(std::string(chip.code_name) + " " + std::to_string(id));
      // 4 bytes before gfx9, then 8 (kfd_topology.c); Tonga's are those of gfx7.
      const bool tonga = chip.code_name == "Tonga";
      const uint32_t doorbell_kind = tonga ? 0 : chip.version.major == 8 ? 1 : 2;
      auto node =
          testing::make_node(chip.version, {id, 8, 2, 2, 1, 10, chip.family->wave_size, doorbell_kind});
      hsabe_caps_t caps{};
      caps.struct_size = sizeof caps;
      const char* why = "";
      ASSERT_EQ(select(*chip.family, node.get(), &caps, &why), HSA_STATUS_SUCCESS) << why;
      EXPECT_EQ(hsabe::view(caps.product_name), chip.code_name);
      constexpr uint32_t kKinds[] = {HSABE_DOORBELL_DWORDS32_LEGACY, HSABE_DOORBELL_INDEX32_LEGACY,
                                     HSABE_DOORBELL_INDEX64};
      EXPECT_EQ(caps.doorbell, kKinds[doorbell_kind]);
      EXPECT_EQ((caps.quirks & kQuirkNoWaveSave) != 0, tonga);
    }
  }
}

TEST(LinuxChips, CoverAllChipsExceptCompilerOnlyOnes) {
  std::set<std::string_view> driven;
  for (const LinuxChip& chip : kChips) driven.insert(find_chip(*chip.family, chip.version)->processor);
  for (const Family* family :
       {&gfx8::kFamily, &gfx9::kFamily, &gfx10::kFamily, &gfx11::kFamily, &gfx12::kFamily}) {
    for (const Chip& chip : family->chips) {
      const bool compilers_only =
          chip.processor == "gfx805" || chip.processor == "gfx810" || chip.processor == "gfx909";
      EXPECT_NE(driven.contains(chip.processor), compilers_only) << chip.processor;
    }
  }
}

}  // namespace
}  // namespace rigel::gfx
