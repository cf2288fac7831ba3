// Gathers contexts that look alike into tables: the fullest context first, each into the table in
// which it takes least, or into one of its own.
#include "codecs/dense/recurring/context_tables.h"

#include <algorithm>
#include <bit>

namespace tensorpress::dense {
namespace {

constexpr std::size_t kSymbols = kernels::kRansSymbols;
constexpr std::uint32_t kZeroNumber = 128;
// What a symbol of a table and a context take in the chunk, about, in 1/256 bits.
constexpr std::uint64_t kSymbolCost = 8 << 8;
constexpr std::uint64_t kTableCost = 10 << 8;
constexpr std::uint64_t kContextCost = 6 << 8;
constexpr std::size_t kMostTablesOfEstimate = 24;
// Beyond the logarithm of all values: what a symbol takes that a table does not have yet.
constexpr std::uint64_t kNewSymbolCost = 2 << 8;

// 256 log2(n) in integers, so that every machine chooses the same tables.
class Logarithm {
 public:
  Logarithm() {
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      std::uint64_t mantissa = std::uint64_t{kEntries + i} << 20;  // [2^31, 2^32)
      std::uint32_t logarithm = 0;
      for (int bit = 0; bit < 8; ++bit) {
        mantissa = (mantissa * mantissa) >> 31;
        logarithm <<= 1;
        if (mantissa >= std::uint64_t{1} << 32) {
          mantissa >>= 1;
          ++logarithm;
        }
      }
      table_[i] = static_cast<std::uint16_t>(logarithm);
    }
  }
  std::uint64_t operator()(std::uint64_t n) const {
    const int whole = static_cast<int>(std::bit_width(n)) - 1;
    const std::uint64_t mantissa = whole > kBits ? n >> (whole - kBits) : n << (kBits - whole);
    return static_cast<std::uint64_t>(whole) * 256 + table_[mantissa - kEntries];
  }

 private:
  static constexpr int kBits = 11;
  static constexpr std::uint32_t kEntries = 1u << kBits;
  std::array<std::uint16_t, kEntries> table_;
};
const Logarithm& logarithm() {
  // Never destroyed: HDF5 may still compress chunks while the process ends.
  static const Logarithm& table = *new const Logarithm();
  return table;
}

struct Symbol {
  std::uint32_t number, count;
};
struct Context {
  std::size_t at = 0;
  std::uint64_t total = 0;
  std::size_t first = 0, end = 0;  // of its symbols
};

// One table that is being made of contexts.
class Cluster {
 public:
  void add(std::span<const Symbol> symbols, std::uint64_t more) {
    bool new_symbols = false;
    for (const Symbol& symbol : symbols) {
      new_symbols |= counts_[symbol.number] == 0;
      counts_[symbol.number] += symbol.count;
    }
    total_ += more;
    // Costs hardly change while little is added.
    if (new_symbols || total_ - total_of_costs_ > total_of_costs_ / 8) update_costs();
  }
  void update_costs() {
    total_of_costs_ = total_;
    const std::uint64_t all = logarithm()(total_);
    for (std::size_t s = 0; s < kSymbols; ++s) {
      // A symbol that is nearly certain still takes something; a new one is rare.
      costs_[s] = static_cast<std::uint32_t>(counts_[s] != 0 ? all - logarithm()(counts_[s]) + 1
                                                             : all + kNewSymbolCost);
    }
  }
  /// In 1/256 bits; more than `most` when it is clear that it is more.
  std::uint64_t cost_of(std::span<const Symbol> symbols, std::uint64_t most) const {
    std::uint64_t cost = 0;
    for (const Symbol& symbol : symbols) {
      cost += std::uint64_t{costs_[symbol.number]} * symbol.count;
      if (cost > most) break;
    }
    return cost;
  }
  std::uint64_t own_cost() const {
    std::uint64_t cost = kTableCost;
    for (std::size_t s = 0; s < kSymbols; ++s) {
      if (counts_[s] != 0) cost += std::uint64_t{costs_[s]} * counts_[s] + kSymbolCost;
    }
    return cost;
  }
  std::uint64_t total() const { return total_; }
  const std::array<std::uint32_t, kSymbols>& counts() const { return counts_; }

 private:
  std::array<std::uint32_t, kSymbols> counts_{};
  std::array<std::uint32_t, kSymbols> costs_{};  // 1/256 bits
  std::uint64_t total_ = 0, total_of_costs_ = 0;
};

class Clustering {
 public:
  Clustering(const ContextHistogram& histogram, std::uint32_t weight) {
    for (std::size_t c = 0; c < kContexts; ++c) {
      if (histogram.seen[c] == 0) continue;
      const std::uint32_t* const counts = histogram.counts.data() + c * kSymbols;
      Context context{c, 0, symbols_.size(), 0};
      for (std::uint32_t s = 0; s < kSymbols; ++s) {
        if (counts[s] == 0) continue;
        symbols_.push_back({s, counts[s] * weight});
        context.total += symbols_.back().count;
      }
      context.end = symbols_.size();
      const bool silent =
          context.end - context.first == 1 && symbols_[context.first].number == kZeroNumber;
      if (context.total != 0 && !silent) contexts_.push_back(context);
    }
    std::ranges::stable_sort(contexts_, std::ranges::greater{}, &Context::total);
  }

  /// The cluster of each context, the fullest contexts first.
  void gather(std::size_t most_tables) {
    for (const Context& context : contexts_) {
      const auto symbols = symbols_of(context);
      const auto [best, cost] = nearest(context);
      if (clusters_.size() < most_tables && (clusters_.empty() || own_cost(context) < cost)) {
        chosen_.push_back(clusters_.size());
        clusters_.emplace_back();
      } else {
        chosen_.push_back(best);
      }
      clusters_[chosen_.back()].add(symbols, context.total);
    }
    for (Cluster& cluster : clusters_) cluster.update_costs();
  }

  /// Once more, now that all clusters are known.
  void refine() {
    for (std::size_t i = 0; i < contexts_.size(); ++i) chosen_[i] = nearest(contexts_[i]).cluster;
    std::vector<Cluster> again(clusters_.size());
    for (std::size_t i = 0; i < contexts_.size(); ++i) {
      again[chosen_[i]].add(symbols_of(contexts_[i]), contexts_[i].total);
    }
    clusters_ = std::move(again);
    for (Cluster& cluster : clusters_) cluster.update_costs();
  }

  const std::vector<Context>& contexts() const { return contexts_; }
  const std::vector<Cluster>& clusters() const { return clusters_; }
  std::size_t cluster_of(std::size_t context) const { return chosen_[context]; }

 private:
  std::span<const Symbol> symbols_of(const Context& context) const {
    return std::span(symbols_).subspan(context.first, context.end - context.first);
  }
  struct Nearest {
    std::size_t cluster;
    std::uint64_t cost;
  };
  Nearest nearest(const Context& context) const {
    Nearest best{0, ~std::uint64_t{0}};
    for (std::size_t k = 0; k < clusters_.size(); ++k) {
      const std::uint64_t cost = clusters_[k].cost_of(symbols_of(context), best.cost);
      if (cost < best.cost) best = {k, cost};
    }
    return best;
  }
  std::uint64_t own_cost(const Context& context) const {
    const std::uint64_t all = logarithm()(context.total);
    std::uint64_t cost = kTableCost;
    for (const Symbol& symbol : symbols_of(context)) {
      cost += (all - logarithm()(symbol.count) + 1) * symbol.count + kSymbolCost;
    }
    return cost;
  }

  std::vector<Symbol> symbols_;
  std::vector<Context> contexts_;
  std::vector<Cluster> clusters_;
  std::vector<std::size_t> chosen_;
};

kernels::RansTable table_of(const Cluster& cluster) {
  kernels::RansTable table;
  const auto highest = static_cast<std::size_t>(std::ranges::max_element(cluster.counts()) -
                                                cluster.counts().begin());
  std::uint32_t others = 0;
  for (std::size_t s = 0; s < kSymbols; ++s) {
    if (cluster.counts()[s] == 0 || s == highest) continue;
    const std::uint64_t share = std::uint64_t{cluster.counts()[s]} * kernels::kRansTotal;
    const auto frequency =
        static_cast<std::uint32_t>((share + cluster.total() / 2) / cluster.total());
    table.frequencies[s] = static_cast<std::uint16_t>(shortened(std::max(frequency, 1u)));
    others += table.frequencies[s];
  }
  // Many rare symbols may have been rounded up.
  while (others >= kernels::kRansTotal) {
    auto& largest = *std::ranges::max_element(table.frequencies);
    others -= largest - shortened(largest / 2);
    largest = static_cast<std::uint16_t>(shortened(largest / 2));
  }
  table.frequencies[highest] = static_cast<std::uint16_t>(kernels::kRansTotal - others);
  return table;
}

}  // namespace

double estimate_bits(const ContextHistogram& histogram, std::uint32_t weight) {
  Clustering clustering(histogram, weight);
  clustering.gather(kMostTablesOfEstimate);
  std::uint64_t cost = clustering.contexts().size() * kContextCost;
  for (const Cluster& cluster : clustering.clusters()) cost += cluster.own_cost();
  return static_cast<double>(cost) / 256;
}

ContextTables choose_tables(const ContextHistogram& histogram) {
  Clustering clustering(histogram, 1);
  clustering.gather(kMostTables);
  clustering.refine();
  ContextTables chosen;
  std::vector<std::uint8_t> id_of(clustering.clusters().size());
  for (std::size_t k = 0; k < id_of.size(); ++k) {
    const Cluster& cluster = clustering.clusters()[k];
    if (cluster.total() == 0) continue;
    chosen.tables.push_back(table_of(cluster));
    id_of[k] = static_cast<std::uint8_t>(chosen.tables.size());
  }
  for (std::size_t i = 0; i < clustering.contexts().size(); ++i) {
    chosen.ids[clustering.contexts()[i].at] = id_of[clustering.cluster_of(i)];
  }
  return chosen;
}

}  // namespace tensorpress::dense
