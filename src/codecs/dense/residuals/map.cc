// A group's part of the map, in bits, lowest first:
//   1            used; nothing follows if 0
//   5 5 6        first class, classes after it, first class's table
//   per class    how its table differs from the one after the last class's:
//                0: not, 10 s: 1 up (s = 0) or down, 110 s: 2 up or down, 111 t: table t (6 bits)
// Classes below the first take its table, those above the last rise by one table a class.
#include "codecs/dense/residuals/map.h"

#include <algorithm>

#include "codecs/dense/residuals/bits.h"

namespace tensorpress::dense {
namespace {

constexpr std::size_t kClasses = kernels::kScaleClasses;
constexpr int kTables = static_cast<int>(kResidualTables);

int table_after(int table) {
  return std::min(table + 1, kTables - 1);
}

std::uint32_t bits_of_step(int from, int to) {
  const int difference = to - table_after(from);
  const int size = difference < 0 ? -difference : difference;
  return size == 0 ? 1 : size == 1 ? 3 : size == 2 ? 4 : 9;
}

// Tables of one group, -1 where it has none; filled up by complete().
struct GroupTables {
  std::array<int, kClasses> tables;
  std::size_t first = 0, last = 0;
  bool used = false;
};

void complete(GroupTables& group, std::array<std::uint8_t, kClasses>& ids) {
  for (std::size_t c = 0; c < kClasses; ++c) {
    int table = 0;
    if (!group.used) {
      table = static_cast<int>(std::min(c, kPlainTables - 1));
    } else if (c < group.first) {
      table = group.tables[group.first];
    } else if (c <= group.last) {
      table = group.tables[c];
    } else {
      const int last = group.tables[group.last];
      const int cap = last < static_cast<int>(kPlainTables) ? kPlainTables - 1 : kTables - 1;
      table = std::min(last + static_cast<int>(c - group.last), cap);
    }
    ids[c] = static_cast<std::uint8_t>(table + 1);
  }
}

void write_group(const GroupTables& group, BitWriter& out) {
  out.put(group.used ? 1 : 0, 1);
  if (!group.used) return;
  out.put(static_cast<std::uint32_t>(group.first), 5);
  out.put(static_cast<std::uint32_t>(group.last - group.first), 5);
  int previous = group.tables[group.first];
  out.put(static_cast<std::uint32_t>(previous), 6);
  for (std::size_t c = group.first + 1; c <= group.last; ++c) {
    const int table = group.tables[c];
    const int difference = table - table_after(previous);
    const std::uint32_t down = difference < 0 ? 1 : 0;
    switch (bits_of_step(previous, table)) {
      case 1:
        out.put(0, 1);
        break;
      case 3:
        out.put(1 | down << 2, 3);
        break;
      case 4:
        out.put(3 | down << 3, 4);
        break;
      default:
        out.put(7, 3);
        out.put(static_cast<std::uint32_t>(table), 6);
    }
    previous = table;
  }
}

Result<GroupTables> read_group(BitReader& in) {
  GroupTables group;
  TRY(const auto used, in.get(1));
  group.used = used != 0;
  if (!group.used) return group;
  TRY(group.first, in.get(5));
  TRY(const auto more, in.get(5));
  group.last = group.first + more;
  if (group.last >= kClasses) return corrupt("a table map names class ", group.last);
  TRY(const auto first_table, in.get(6));
  int table = static_cast<int>(first_table);
  for (std::size_t c = group.first;; ++c) {
    if (table < 0 || table >= kTables) return corrupt("a table map names table ", table);
    group.tables[c] = table;
    if (c == group.last) return group;
    int size = 0;
    for (; size < 3; ++size) {
      TRY(const auto more_ones, in.get(1));
      if (more_ones == 0) break;
    }
    if (size == 3) {
      TRY(const auto named, in.get(6));
      table = static_cast<int>(named);
    } else {
      table = table_after(table);
      if (size > 0) {
        TRY(const auto down, in.get(1));
        table += down != 0 ? -size : size;
      }
    }
  }
}

// One class's residuals: the sizes that occur.
struct Occurring {
  std::array<std::uint32_t, kCostSizes> bin, count;
  std::size_t bins = 0;

  explicit Occurring(const ResidualHistogram::Sizes& sizes) {
    for (std::size_t b = 0; b < kCostSizes; ++b) {
      if (sizes[b] == 0) continue;
      bin[bins] = static_cast<std::uint32_t>(b);
      count[bins++] = sizes[b];
    }
  }
  std::uint64_t cost(const ResidualTables& tables, int table) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < bins; ++i) {
      sum += std::uint64_t{count[i]} * tables.costs(bin[i])[table];
    }
    return sum;
  }
};

}  // namespace

ChosenMap choose_map(const ResidualHistogram& histogram, const ResidualTables& tables,
                     std::vector<std::byte>* bytes) {
  ChosenMap chosen;
  std::vector<std::byte> none;
  BitWriter out(bytes == nullptr ? none : *bytes);
  for (std::size_t g = 0; g < kRowGroups; ++g) {
    GroupTables group;
    int previous = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      if (((histogram.used[g] >> c) & 1) == 0) {
        group.tables[c] = previous = table_after(previous);
        continue;
      }
      const Occurring residuals(histogram.counts[g][c]);
      const auto cost_of = [&](int table) {
        const std::uint64_t side = group.used ? bits_of_step(previous, table) : 17;
        return residuals.cost(tables, table) * histogram.sampled[g] + side * kCostUnit;
      };
      // Up and down from the table expected: all tables for the map that is written, else only as
      // long as it gets cheaper or nearly so.
      const int patience = bytes != nullptr ? kTables : 3;
      const int start = group.used ? table_after(previous) : static_cast<int>(c);
      int best = start;
      std::uint64_t least = cost_of(start);
      for (const int direction : {1, -1}) {
        int misses = 0;
        for (int t = start + direction; t >= 0 && t < kTables && misses < patience;
             t += direction) {
          const std::uint64_t cost = cost_of(t);
          if (cost < least) {
            least = cost;
            best = t;
            misses = 0;
          } else {
            ++misses;
          }
        }
      }
      if (!group.used) group.first = c;
      group.used = true;
      group.last = c;
      group.tables[c] = previous = best;
      chosen.cost += least;
    }
    complete(group, chosen.map.ids[g]);
    if (bytes != nullptr) write_group(group, out);
  }
  return chosen;
}

Result<TableMap> read_map(ByteReader& reader) {
  TableMap map;
  BitReader in(reader);
  for (std::size_t g = 0; g < kRowGroups; ++g) {
    TRY(auto group, read_group(in));
    complete(group, map.ids[g]);
  }
  return map;
}

}  // namespace tensorpress::dense
