// Interface between a simulated machine and the array that stands in for its mesh.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

typedef __int128 int128_t;
typedef unsigned __int128 uint128_t;

// What a recorder wants to see of the array: see mesh_capture.py.
struct KernelRequest {
  uint32_t kind, a, b, c;
};
struct KernelCapture {
  const KernelRequest *requests;
  uint32_t count;
  uint32_t (*words)[4];   // where the values go, 128 bits in two's complement
};

// What enters the array in one cycle, as the matrix unit's netlist has it: packed bits.
struct KernelInputs {
  const uint8_t *activations;
  const uint8_t *weights;
  uint32_t entering, is_unsigned, marks, mark;
  const KernelCapture *capture;   // null unless a waveform is being recorded
};

// A register of the cells: an array [rows][cols] at `offset` in the state.
struct KernelRegister {
  const char *name;
  size_t offset, bytes;
};

extern "C" {
extern const size_t kernel_size;
extern const KernelRegister kernel_registers[];
void kernel_reset(void *state);
// `sums` is the same buffer in every call: what is in it stays when no sum changes.
void kernel_step(void *state, const KernelInputs *in, uint8_t *sums);
}

// `width` bits (32 at most) from bit `first` on, unsigned.
static inline uint32_t kernel_bits(const uint8_t *from, int first, int width) {
  if (width == 8 && first % 8 == 0) return from[first / 8];
  uint64_t bits = 0;
  const int begin = first / 8, end = (first + width + 7) / 8;
  for (int i = begin; i < end; i++) bits |= static_cast<uint64_t>(from[i]) << (8 * (i - begin));
  return static_cast<uint32_t>(bits >> (first % 8) & ((1ull << width) - 1));
}

// As `kernel_bits`, up to 57 bits of `size` bytes; the bits above are anything.
static inline uint64_t kernel_word(const uint8_t *from, uint64_t first, uint64_t size) {
  const uint64_t byte = first / 8;
  uint64_t bits = 0;
  if (byte + 8 <= size) memcpy(&bits, from + byte, 8);
  else memcpy(&bits, from + byte, size - byte);
  return bits >> (first % 8);
}

// Writes values one behind another, packed, from a byte on.
struct KernelPacker {
  uint8_t *to;
  uint128_t pending = 0;
  int filled = 0;

  // The lowest `width` bits, 64 at most.
  void put(uint64_t value, int width) {
    pending |= static_cast<uint128_t>(value & ~0ull >> (64 - width)) << filled;
    filled += width;
    if (filled < 64) return;
    memcpy(to, &pending, 8);
    to += 8;
    pending >>= 64;
    filled -= 64;
  }
  // Bits of the last byte behind the last value stay as they are.
  void end() {
    if (filled % 8)
      pending |= static_cast<uint128_t>(to[filled / 8] >> (filled % 8)) << filled;
    memcpy(to, &pending, (filled + 7) / 8);
  }
};

// Signed values of `width` bits, from packed bits.
template <typename Word>
static inline void kernel_unpack(Word *to, const uint8_t *from, int count, int width) {
  const uint64_t size = (static_cast<uint64_t>(count) * width + 7) / 8;
  if (width == 8 * static_cast<int>(sizeof(Word))) {
    memcpy(to, from, count * sizeof(Word));
    return;
  }
  for (int i = 0; i < count; i++) {
    const uint64_t first = static_cast<uint64_t>(i) * width;
    uint64_t bits = kernel_word(from, first, size);
    if (width > 57 && first / 8 + 8 < size)
      bits |= static_cast<uint64_t>(from[first / 8 + 8]) << 1 << (63 - first % 8);
    to[i] = static_cast<Word>(static_cast<int64_t>(bits << (64 - width)) >> (64 - width));
  }
}

// The lowest `width` bits of every value, packed; nothing after the last bit is written.
template <typename Word>
static inline void kernel_pack(uint8_t *to, const Word *from, int count, int width) {
  if (width == 8 * static_cast<int>(sizeof(Word))) {
    memcpy(to, from, count * sizeof(Word));
    return;
  }
  KernelPacker packer{to};
  for (int i = 0; i < count; i++) packer.put(static_cast<uint64_t>(from[i]), width);
  packer.end();
}

// As `kernel_bits`, up to 57 bits.
static inline uint64_t kernel_wide(const uint8_t *from, int first, int width) {
  uint64_t bits = 0;
  const int begin = first / 8, end = (first + width + 7) / 8;
  for (int i = begin; i < end; i++) bits |= static_cast<uint64_t>(from[i]) << (8 * (i - begin));
  return bits >> (first % 8) & ((1ull << width) - 1);
}

// As `kernel_wide`, signed.
static inline int64_t kernel_signed(const uint8_t *from, int first, int width) {
  const uint64_t sign = 1ull << (width - 1);
  return static_cast<int64_t>((kernel_wide(from, first, width) ^ sign) - sign);
}

// Write the lowest `width` bits (64 at most) of a value to bit `first` on.
static inline void kernel_put(uint8_t *to, int first, int width, uint64_t value) {
  while (width > 0) {
    const int place = first % 8, part = width < 8 - place ? width : 8 - place;
    const auto mask = static_cast<uint8_t>(((1 << part) - 1) << place);
    to[first / 8] = static_cast<uint8_t>((to[first / 8] & ~mask) | (value << place & mask));
    value >>= part;
    first += part;
    width -= part;
  }
}

// Packed signed values of `from_width` bits as ones of `to_width` bits; both at most 57.
static inline void kernel_resize(uint8_t *to, int to_width, const uint8_t *from, int from_width,
                                 int count) {
  const uint64_t size = (static_cast<uint64_t>(count) * from_width + 7) / 8;
  if (to_width == from_width && size * 8 == static_cast<uint64_t>(count) * from_width) {
    memcpy(to, from, size);
    return;
  }
  KernelPacker packer{to};
  for (int i = 0; i < count; i++) {
    const uint64_t bits = kernel_word(from, static_cast<uint64_t>(i) * from_width, size);
    packer.put(static_cast<int64_t>(bits << (64 - from_width)) >> (64 - from_width), to_width);
  }
  packer.end();
}
