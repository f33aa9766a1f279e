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

// Signed values of `width` bits, from packed bits.
template <typename Word>
static inline void kernel_unpack(Word *to, const uint8_t *from, int count, int width) {
  const uint64_t sign = 1ull << (width - 1);
  const auto extend = [&](uint64_t bits) { return static_cast<Word>((bits ^ sign) - sign); };
  if (width == 8 * static_cast<int>(sizeof(Word))) {
    memcpy(to, from, count * sizeof(Word));
  } else if (width % 8 == 0) {
    for (int i = 0; i < count; i++, from += width / 8) {
      uint64_t bits = 0;
      memcpy(&bits, from, width / 8);
      to[i] = extend(bits);
    }
  } else {
    for (int i = 0; i < count; i++) {
      const uint64_t first = static_cast<uint64_t>(i) * width;
      uint64_t bits = 0;
      for (uint64_t byte = first / 8; 8 * byte < first + width; byte++) {
        const int place = static_cast<int>(8 * byte) - static_cast<int>(first);
        bits |= place < 0 ? static_cast<uint64_t>(from[byte]) >> -place
                          : static_cast<uint64_t>(from[byte]) << place;
      }
      to[i] = extend(bits & (sign - 1 + sign));
    }
  }
}

// The lowest `width` bits of every value, packed; nothing after the last byte is written.
template <typename Word>
static inline void kernel_pack(uint8_t *to, const Word *from, int count, int width) {
  const uint64_t mask = (1ull << (width - 1)) - 1 + (1ull << (width - 1));
  if (width == 8 * static_cast<int>(sizeof(Word))) {
    memcpy(to, from, count * sizeof(Word));
  } else if (width % 8 == 0) {
    for (int i = 0; i < count; i++, to += width / 8) {
      const auto bits = static_cast<uint64_t>(from[i]);
      memcpy(to, &bits, width / 8);
    }
  } else {
    memset(to, 0, (static_cast<uint64_t>(count) * width + 7) / 8);
    for (int i = 0; i < count; i++) {
      const uint64_t first = static_cast<uint64_t>(i) * width;
      const uint64_t bits = static_cast<uint64_t>(from[i]) & mask;
      for (uint64_t byte = first / 8; 8 * byte < first + width; byte++) {
        const int place = static_cast<int>(8 * byte) - static_cast<int>(first);
        to[byte] |= static_cast<uint8_t>(place < 0 ? bits << -place : bits >> place);
      }
    }
  }
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
  for (int i = 0; i < count; i++)
    kernel_put(to, i * to_width, to_width,
               static_cast<uint64_t>(kernel_signed(from, i * from_width, from_width)));
}
