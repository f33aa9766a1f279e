// Finds out what changes from cycle to cycle.
#pragma once

namespace {

constexpr uint32_t WATCHED_CHUNKS[] = {
#define CUBEWAVE_WATCH(name, chunks) chunks,
#include CUBEWAVE_WATCH_LIST
#undef CUBEWAVE_WATCH
};

struct Recording {
  struct Entry {
    const uint32_t *data;
    uint32_t chunks, offset;   // its place in `values`
  };
  std::vector<Entry> entries;
  std::vector<uint32_t> values, changed;
  std::vector<uint64_t> written;
  std::vector<KernelRequest> requests;
  std::vector<uint32_t> words;
  KernelCapture capture = {nullptr, 0, nullptr};
  bool is_first = true;

  void start(const uint32_t *const *watched, const uint32_t *places, uint32_t count,
             const KernelRequest *wanted, uint32_t captured) {
    entries.clear();
    requests.assign(wanted, wanted + captured);
    words.assign(4 * captured, 0);
    capture = {requests.data(), captured, reinterpret_cast<uint32_t (*)[4]>(words.data())};
    uint32_t offset = 0;
    const auto add = [&](const uint32_t *data, uint32_t chunks) {
      entries.push_back({data, chunks, offset});
      offset += chunks;
    };
    for (uint32_t i = 0; i < count; i++) add(watched[places[i]], WATCHED_CHUNKS[places[i]]);
    for (uint32_t i = 0; i < captured; i++) add(&words[4 * i], 4);
    values.assign(offset, 0);
    written.clear();
    is_first = true;
  }

  void compare() {
    changed.clear();
    for (uint32_t i = 0; i < entries.size(); i++) {
      const Entry &entry = entries[i];
      uint32_t *value = &values[entry.offset];
      if (!is_first && !memcmp(value, entry.data, 4 * entry.chunks)) continue;
      memcpy(value, entry.data, 4 * entry.chunks);
      changed.push_back(i);
    }
    is_first = false;
  }
};

}  // namespace
