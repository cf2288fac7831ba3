// Nodes of singly linked lists in one growing block; indices stay valid, freed nodes are reused.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorpress::wafer::engine {

inline constexpr std::uint32_t kNil = 0xFFFFFFFF;

template <class T>
class Pool {
 public:
  struct Node {
    T value;
    std::uint32_t next = kNil;
  };
  T& operator[](std::uint32_t node) { return nodes_[node].value; }
  std::uint32_t& next(std::uint32_t node) { return nodes_[node].next; }

  /// Puts `value` at the end of the list that starts at `head`.
  void append(std::uint32_t& head, const T& value) {
    const std::uint32_t node = make(value);
    if (head == kNil) {
      head = node;
      return;
    }
    std::uint32_t last = head;
    while (nodes_[last].next != kNil) last = nodes_[last].next;
    nodes_[last].next = node;
  }
  /// Takes `node` out; `link` is the head or the next of the node before it.
  void remove(std::uint32_t& head, std::uint32_t before, std::uint32_t node) {
    (before == kNil ? head : nodes_[before].next) = nodes_[node].next;
    nodes_[node].next = free_;
    free_ = node;
  }

 private:
  std::uint32_t make(const T& value) {
    if (free_ != kNil) {
      const std::uint32_t node = free_;
      free_ = nodes_[node].next;
      nodes_[node] = {value, kNil};
      return node;
    }
    nodes_.push_back({value, kNil});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNil;
};

}  // namespace tensorpress::wafer::engine
