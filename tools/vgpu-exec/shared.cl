// Checks which stores of another work-group a work-group can see while both run. Each kernel counts, per
// lane, results that must never occur.
//
// An element is the dwords that a lane loads or stores at once. Elements of neighbouring lanes are APART
// dwords apart. Dwords 0 and 1 of an element are a pair, and so are dwords 2 and 3. A pair at a multiple of 8
// bytes is never torn. One work-group stores pairs of equal dwords and the other loads them; one of the two
// accesses whole elements.
#ifdef __gfx803__
#define SPACE "flat_"
#define END ""
#define DESCRIPTOR 0x00e80000
#else
#define SPACE "global_"
#define END ", off"
#define DESCRIPTOR (__AMDGCN_WAVEFRONT_SIZE == 64 ? 0x00e00000 : 0x31c16000)
#endif
#define STORE(dwords, where, value) \
  __asm__ volatile(SPACE "store_dword" dwords " %0, %1" END : : "v"(where), "v"(value) : "memory")
#define LOAD(dwords, value, where) \
  __asm__ volatile(SPACE "load_dword" dwords " %0, %1" END "\n s_waitcnt vmcnt(0) lgkmcnt(0)" : "=v"(value) : "v"(where) : "memory")

bool stores(void) { return __builtin_amdgcn_workgroup_id_x() == 0; }
uint lane(void) { return __builtin_amdgcn_workitem_id_x(); }

// The elements of 64 lanes are APART * 32 pairs.
void store_pairs(global uint* pairs, uint value) {
  for (uint i = 0; i < APART * 64; i += 128) {
    const uint at = i + 2 * lane();
    if (at < APART * 64) STORE("x2", pairs + at, (uint2)(value));
  }
}

kernel void loads_of_four(global uint* pairs, global uint* wrong, uint rounds) {
  uint seen = 0;
  for (uint i = 0; i < rounds; ++i) {
    if (stores()) {
      store_pairs(pairs, i);
    } else {
      uint4 v;
      LOAD("x4", v, pairs + APART * lane());
      seen += v.x != v.y || v.z != v.w;
    }
  }
  if (!stores()) wrong[lane()] = seen;
}

bool is_aligned(void) { return APART * lane() % 2 == 0; }

kernel void loads_of_three(global uint* pairs, global uint* wrong, uint rounds) {
  uint seen = 0;
  for (uint i = 0; i < rounds; ++i) {
    if (stores()) {
      store_pairs(pairs, i);
    } else {
      uint3 v;
      LOAD("x3", v, pairs + APART * lane());
      seen += is_aligned() && v.x != v.y;
    }
  }
  if (!stores()) wrong[lane()] = seen;
}

kernel void stores_of_four(global uint* pairs, global uint* wrong, uint rounds) {
  uint seen = 0;
  for (uint i = 0; i < rounds; ++i) {
    if (stores()) {
      STORE("x4", pairs + APART * lane(), (uint4)(i));
    } else {
      uint2 v;
      LOAD("x2", v, pairs + APART * lane() + i % 2 * 2);
      seen += v.x != v.y;
    }
  }
  if (!stores()) wrong[lane()] = seen;
}

kernel void stores_of_three(global uint* pairs, global uint* wrong, uint rounds) {
  uint seen = 0;
  for (uint i = 0; i < rounds; ++i) {
    if (stores()) {
      STORE("x3", pairs + APART * lane(), (uint3)(i));
    } else {
      uint2 v;
      LOAD("x2", v, pairs + APART * lane());
      seen += is_aligned() && v.x != v.y;
    }
  }
  if (!stores()) wrong[lane()] = seen;
}

// Memory with a descriptor that interleaves the lanes' dwords, as for scratch. Even lanes belong to one
// work-group and odd lanes to the other. A lane's value stays until it stores again.
kernel void rows_of_lanes(global uint* memory, global uint* wrong, uint rounds) {
  if (lane() % 2 != __builtin_amdgcn_workgroup_id_x()) return;
  const ulong rows = (ulong)memory + __builtin_amdgcn_readfirstlane(lane()) / __AMDGCN_WAVEFRONT_SIZE * 1024;
  const uint4 descriptor = {(uint)rows, (uint)(rows >> 32) | 1u << 31, 1024, DESCRIPTOR};
  uint seen = 0;
  for (uint i = 0; i < rounds; ++i) {
    uint now;
    __asm__ volatile("buffer_store_dword %0, off, %1, 0 offset:4" : : "v"(i), "s"(descriptor) : "memory");
    __asm__ volatile("buffer_load_dword %0, off, %1, 0 offset:4\n s_waitcnt vmcnt(0)"
                     : "=v"(now) : "s"(descriptor) : "memory");
    seen += now != i;
  }
  wrong[lane()] = seen;
}
