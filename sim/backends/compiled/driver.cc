// Runs a machine by itself. Follows the generated machine and `CUBEWAVE_*` definitions.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace {

struct Program {
  const uint32_t *words = nullptr;
  uint64_t count = 0;
};

// What the stand-ins of one machine share with its driver.
struct Shared {
  uint64_t tick = 0;           // of the clock
  uint8_t *memory = nullptr;   // contents of the modelled memory
  uint64_t capacity = 0;       // bytes, a power of two
  Program programs[CUBEWAVE_QUEUES];
  void *array = nullptr;       // state of the mesh kernel
  const KernelCapture *capture = nullptr;   // while a waveform is being recorded
  struct Rows {
    const uint8_t *data;
    size_t size;
  };
  std::map<uint32_t, Rows> memories;        // with a library that shows memories
  std::vector<uint64_t> *written = nullptr; // memory and row, 32 bits each, of this cycle
};

void note_row(const Shared &shared, uint64_t memory, uint64_t row) {
  if (shared.written) shared.written->push_back(memory << 32 | row);
}

thread_local Shared *building = nullptr;

template <size_t Bits> const uint32_t *bits_of(const cxxrtl::value<Bits> &value) {
  return value.data;
}
template <size_t Bits> const uint32_t *bits_of(const cxxrtl::wire<Bits> &wire) {
  return wire.curr.data;
}
template <size_t Bits> uint64_t number(const cxxrtl::value<Bits> &value) {
  uint64_t result = 0;
  for (size_t i = value.chunks; i-- > 0;) result = result << 16 << 16 | value.data[i];
  return result;
}

// Lets a stand-in act once in a clock cycle.
struct Clocked {
  Shared *shared = building;
  uint64_t seen = 0;
  bool ticks() {
    if (seen == shared->tick) return false;
    seen = shared->tick;
    return true;
  }
};

uint8_t *bytes(uint32_t *data) { return reinterpret_cast<uint8_t *>(data); }
const uint8_t *bytes(const uint32_t *data) { return reinterpret_cast<const uint8_t *>(data); }

void read_memory(const Shared &shared, uint64_t address, uint8_t *to, uint64_t count) {
  address &= shared.capacity - 1;
  if (address + count <= shared.capacity) {
    memcpy(to, shared.memory + address, count);
  } else {
    for (uint64_t i = 0; i < count; i++)
      to[i] = shared.memory[(address + i) & (shared.capacity - 1)];
  }
}

void write_memory(Shared &shared, uint64_t address, const uint8_t *from, uint64_t count) {
  address &= shared.capacity - 1;
  for (uint64_t i = 0; i < count; i++)
    shared.memory[(address + i) & (shared.capacity - 1)] = from[i];
  if (count) {
    note_row(shared, CUBEWAVE_STORAGE, address / CUBEWAVE_LINE);
    note_row(shared, CUBEWAVE_STORAGE, (address + count - 1) / CUBEWAVE_LINE);
  }
}

}  // namespace

#include CUBEWAVE_STAND_INS
#include "recording.h"

namespace {

struct Machine {
  Shared shared;
  std::unique_ptr<cxxrtl_design::p_machine> top;
  const uint32_t *watched[CUBEWAVE_WATCHED];
  uint64_t since = 0, moves = 0, quiet = 0;
  uint64_t counted = 0;   // cycles that count, since the programs were rewound
  bool has_moved = false;
  Recording recording;

  Machine() {
    building = &shared;
    top = std::make_unique<cxxrtl_design::p_machine>();
    building = nullptr;
    int place = 0;
#define CUBEWAVE_WATCH(name, chunks) watched[place++] = bits_of(top->name);
#include CUBEWAVE_WATCH_LIST
#undef CUBEWAVE_WATCH
  }
  ~Machine() { free(shared.array); }

  // Compute the cycle that the next `end_cycle` ends; may not be called twice in between.
  void begin_cycle() {
    recording.written.clear();
#if CUBEWAVE_DELTA   // combinational feedback through the order of evaluation
    top->p_clk.set<uint32_t>(0);
    top->step();
    shared.tick++;
    top->p_clk.set<uint32_t>(1);
#else
    shared.tick++;
    top->prev_p_clk.set<uint32_t>(0);
    top->p_clk.set<uint32_t>(1);
#endif
    top->eval(nullptr);
  }
  void end_cycle() {
#if CUBEWAVE_DELTA
    top->commit();
    top->step();
#else
    top->commit();
#endif
  }

  // Let the outputs show the registers of the cycle that comes next; no clock edge.
  void settle() {
#if CUBEWAVE_DELTA
    top->p_clk.set<uint32_t>(0);
    top->step();
#else
    top->prev_p_clk.set<uint32_t>(0);
    top->p_clk.set<uint32_t>(0);
    top->eval(nullptr);
#endif
  }

  uint64_t moved() const {
    uint64_t sum = 0;
    for (int i = 0; i < CUBEWAVE_MOVES; i++)
      sum += watched[i][0] | static_cast<uint64_t>(watched[i][1]) << 32;
    return sum;
  }
};

}  // namespace

extern "C" {

void *cubewave_create() { return new Machine; }
void cubewave_destroy(void *handle) { delete static_cast<Machine *>(handle); }

void cubewave_set_memory(void *handle, uint8_t *memory, uint64_t capacity) {
  Shared &shared = static_cast<Machine *>(handle)->shared;
  shared.memory = memory;
  shared.capacity = capacity;
}

void cubewave_set_program(void *handle, int queue, const uint32_t *words, uint64_t count) {
  Machine &machine = *static_cast<Machine *>(handle);
  machine.shared.programs[queue] = {words, count};
  const auto length = static_cast<uint32_t>(count);
  int number = 0;
#define CUBEWAVE_QUEUE(port) if (number++ == queue) machine.top->port.set<uint32_t>(length);
#include CUBEWAVE_QUEUE_LIST
#undef CUBEWAVE_QUEUE
}

// Rewind the programs and clear the counters: one cycle. Then `cubewave_run` may begin.
void cubewave_clear(void *handle) {
  Machine &machine = *static_cast<Machine *>(handle);
  machine.top->p_go.set<uint32_t>(0);
  machine.top->p_clear.set<uint32_t>(1);
  machine.begin_cycle();
  machine.end_cycle();
  machine.top->p_clear.set<uint32_t>(0);
  machine.top->p_go.set<uint32_t>(1);
  machine.since = machine.quiet = machine.counted = 0;
  machine.has_moved = false;
}

// Run for at most about `seconds`, and until `until` cycles have counted. 0: not done; 1: done;
// 2: nothing has moved for more than `watchdog` cycles; 3: so many have counted.
int cubewave_run(void *handle, double seconds, uint64_t watchdog, uint64_t until) {
  Machine &machine = *static_cast<Machine *>(handle);
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  while (machine.counted < until) {
    machine.begin_cycle();
    if (machine.top->p_done.data[0]) {
      machine.end_cycle();
      return 1;
    }
    const bool look = machine.since && machine.since % CUBEWAVE_CHUNK == 0;
    int status = -1;
    if (look) {
      const uint64_t moves = machine.moved();
      const bool still = machine.has_moved && moves == machine.moves;
      machine.quiet = still ? machine.quiet + CUBEWAVE_CHUNK : 0;
      machine.moves = moves;
      machine.has_moved = true;
      if (machine.quiet > watchdog) status = 2;
      else if (Clock::now() >= deadline) status = 0;
    }
    machine.end_cycle();
    machine.since++;
    machine.counted += machine.watched[CUBEWAVE_COUNT][0] & 1;
    if (status >= 0) return status;
  }
  return 3;
}

// Between cycles: what can be read is from now on as the next cycle finds it.
void cubewave_settle(void *handle) { static_cast<Machine *>(handle)->settle(); }

uint64_t cubewave_quiet(void *handle) { return static_cast<Machine *>(handle)->quiet; }

// One cycle for a recorder: its values can be read until `cubewave_end_cycle`.
void cubewave_begin_cycle(void *handle) { static_cast<Machine *>(handle)->begin_cycle(); }
void cubewave_end_cycle(void *handle) { static_cast<Machine *>(handle)->end_cycle(); }
int cubewave_done(void *handle) {
  return static_cast<Machine *>(handle)->top->p_done.data[0];
}

void cubewave_read(void *handle, int index, uint32_t *to, int chunks) {
  memcpy(to, static_cast<Machine *>(handle)->watched[index], 4 * chunks);
}

// From now on compare the outputs with these numbers, and what these requests show of the array,
// from cycle to cycle. No outputs and no requests: no longer.
void cubewave_record(void *handle, const uint32_t *places, uint32_t count,
                     const KernelRequest *requests, uint32_t captured) {
  Machine &machine = *static_cast<Machine *>(handle);
  machine.recording.start(machine.watched, places, count, requests, captured);
  machine.shared.capture = captured ? &machine.recording.capture : nullptr;
  machine.shared.written = count ? &machine.recording.written : nullptr;
}

// After a cycle: which of them have changed since the last call, and the values of all.
uint32_t cubewave_changes(void *handle, const uint32_t **changed, const uint32_t **values) {
  Recording &recording = static_cast<Machine *>(handle)->recording;
  recording.compare();
  *changed = recording.changed.data();
  *values = recording.values.data();
  return recording.changed.size();
}

// 32-bit words of the value of one of them.
uint32_t cubewave_chunks(void *handle, uint32_t entry) {
  return static_cast<Machine *>(handle)->recording.entries[entry].chunks;
}

// The rows of memories that the last cycle wrote.
uint64_t cubewave_written(void *handle, const uint64_t **rows) {
  const auto &written = static_cast<Machine *>(handle)->recording.written;
  *rows = written.data();
  return written.size();
}

void cubewave_row(void *handle, uint32_t memory, uint64_t row, uint8_t *to) {
  const auto &rows = static_cast<Machine *>(handle)->shared.memories[memory];
  memcpy(to, rows.data + row * rows.size, rows.size);
}

void *cubewave_array(void *handle) { return static_cast<Machine *>(handle)->shared.array; }

}
