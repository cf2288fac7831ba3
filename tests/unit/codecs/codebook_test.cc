#include "codecs/ceresz2/codebook.h"

#include <gtest/gtest.h>

#include <cmath>
#include <queue>
#include <random>

#include "benchmark/studies/codebook_study.h"
#include "codecs/ceresz2/ceresz2.h"
#include "codecs/ceresz2/code_lengths.h"
#include "files/tensor/codebook_file.h"
#include "report/pages/codebook_page.h"
#include "scratch_directory.h"

namespace tensorpress::ceresz2 {
namespace {

/// What Huffman's algorithm reaches without a limit: the sum of the weights of all inner nodes.
std::uint64_t huffman_cost(const std::vector<std::uint64_t>& weights) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> heap(
      weights.begin(), weights.end());
  std::uint64_t cost = 0;
  while (heap.size() > 1) {
    const std::uint64_t a = heap.top();
    heap.pop();
    const std::uint64_t b = heap.top();
    heap.pop();
    cost += a + b;
    heap.push(a + b);
  }
  return cost;
}

std::uint64_t cost_of(const std::vector<std::uint64_t>& weights,
                      std::span<const std::uint8_t> lengths) {
  std::uint64_t cost = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) cost += weights[i] * lengths[i];
  return cost;
}

double kraft_sum(std::span<const std::uint8_t> lengths) {
  double sum = 0;
  for (const std::uint8_t length : lengths) sum += std::ldexp(1.0, -length);
  return sum;
}

TEST(CodeLengths, CostWhatHuffmansTreeCosts) {
  std::mt19937_64 generator(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> weights(2 + generator() % 300);
    for (auto& weight : weights) weight = 1 + generator() % (round % 2 == 0 ? 1000 : 3);
    const auto lengths = limited_code_lengths(weights, 24);
    EXPECT_EQ(huffman_cost(weights), cost_of(weights, lengths));
    EXPECT_EQ(1.0, kraft_sum(lengths));
  }
}

TEST(CodeLengths, StayWithinTheLimitAtTheLeastCost) {
  // Fibonacci numbers make the deepest tree; with four symbols of at most two bits all are equal.
  const std::vector<std::uint64_t> four = {1, 1, 2, 30};
  EXPECT_EQ((std::vector<std::uint8_t>{2, 2, 2, 2}), limited_code_lengths(four, 2));
  std::vector<std::uint64_t> fibonacci = {1, 1};
  while (fibonacci.size() < 40) fibonacci.push_back(fibonacci.end()[-1] + fibonacci.end()[-2]);
  const auto lengths = limited_code_lengths(fibonacci, 24);
  EXPECT_EQ(24, *std::max_element(lengths.begin(), lengths.end()));
  EXPECT_EQ(1.0, kraft_sum(lengths));
}

TEST(Codebook, IsTheSameAfterATripThroughText) {
  std::mt19937_64 generator(2);
  for (const std::size_t symbols : {2u, 3u, 50u, 2000u, 16384u}) {
    std::vector<std::uint64_t> counts(symbols);
    for (auto& count : counts) count = generator() >> (generator() % 64);
    const auto book = Codebook::from_counts(counts);
    ASSERT_TRUE(book.ok());
    const std::string text = book->to_text();
    EXPECT_LE(text.size(), symbols);
    const auto again = Codebook::from_text(text);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(std::ranges::equal(book->lengths(), again->lengths()));
  }
}

TEST(Codebook, GivesUnseenSymbolsLongCodesThatCostNothing) {
  std::vector<std::uint64_t> counts(2000);
  counts[999] = counts[1000] = counts[1001] = 1;
  counts[1000] = 2;
  const auto book = Codebook::from_counts(counts);
  ASSERT_TRUE(book.ok());
  EXPECT_EQ(1, book->lengths()[1000]);
  EXPECT_GT(book->lengths()[0], 11);
  EXPECT_TRUE(Codebook::from_counts(std::vector<std::uint64_t>(2000)).ok());
}

TEST(Codebook, SaysWhatIsWrongWithLengths) {
  const auto message = [](std::vector<std::uint8_t> lengths) {
    const auto book = Codebook::from_lengths(lengths);
    return book.ok() ? std::string("fine") : book.error().message;
  };
  EXPECT_EQ("fine", message({1, 2, 2}));
  EXPECT_NE(std::string::npos, message({1, 1, 1}).find("adds up to 1.5, more"));
  EXPECT_NE(std::string::npos, message({1, 2}).find("adds up to 0.75, less"));
  EXPECT_NE(std::string::npos, message({1, 0, 2}).find("symbol 1 of the codebook has a code of 0"));
  EXPECT_NE(std::string::npos, message({1, 25}).find("code of 25 bits"));
  EXPECT_NE(std::string::npos,
            message(std::vector<std::uint8_t>(65536, 16)).find("a codebook of 65536 symbols"));
  EXPECT_NE(std::string::npos, message({1}).find("a codebook of 1 symbols"));
}

TEST(Codebook, RefusesTextThatIsNone) {
  for (const char* text : {"", "A", "AB", "A2B", "hello", "A\n", "2A", "K99999999999999999999",
                           "B4 ", "Y9", "P65536", "A999B"}) {
    EXPECT_FALSE(Codebook::from_text(text).ok()) << text;
    EXPECT_FALSE(make_ceresz2(text).ok()) << text;
  }
  EXPECT_TRUE(Codebook::from_text("A2").ok());
  EXPECT_TRUE(Codebook::from_text("ABCC").ok());
}

TEST(Codebook, TheDefaultHasThePapersSymbolsAndIsShort) {
  const Codebook& book = Codebook::standard();
  EXPECT_EQ(2000u, book.symbols());
  EXPECT_EQ(-1000, book.first_symbol());
  EXPECT_LE(book.to_text().size(), 4096u);
  // The most frequent difference is none.
  EXPECT_EQ(book.lengths()[1000], *std::ranges::min_element(book.lengths()));
}

TEST(CodebookFile, ComesBackAsItWasWritten) {
  const ScratchDirectory directory;
  const std::string path = directory / "book.json";
  const auto book = Codebook::from_text("ABCC");
  ASSERT_TRUE(files::write_codebook(path, *book, "by hand").ok());
  const auto again = files::read_codebook(path);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ("ABC2", again->book.to_text());
  EXPECT_EQ("by hand", again->made_with);
}

TEST(CodebookFile, SaysWhatIsWrongWithIt) {
  const ScratchDirectory directory;
  const auto message = [&](const std::string& content) {
    const auto book = files::read_codebook(directory.with_file("book.json", content));
    return book.ok() ? std::string("fine") : book.error().message;
  };
  const auto has = [](const std::string& all, const char* part) {
    return all.find(part) != std::string::npos;
  };
  EXPECT_EQ("fine", message(R"({"codec": "ceresz2", "lengths": [1, 1]})"));
  EXPECT_TRUE(has(message(""), "not JSON at line 1, column 1"));
  EXPECT_TRUE(has(message("{"), "not JSON at line 1, column 2"));
  EXPECT_TRUE(has(message("{}"), "\"codec\" is missing"));
  EXPECT_TRUE(has(message(R"({"codec": "dense"})"), "\"codec\" is \"dense\""));
  EXPECT_TRUE(has(message(R"({"codec": "ceresz2"})"), "no list \"lengths\""));
  EXPECT_TRUE(has(message(R"({"codec": "ceresz2", "lengths": [1, "x"]})"), "length 1"));
  EXPECT_TRUE(has(message(R"({"codec": "ceresz2", "lengths": [1, 2]})"), "no prefix code"));
  EXPECT_TRUE(has(message(R"({"codec": "ceresz2", "symbols": 3, "lengths": [1, 1]})"),
                  "\"symbols\": 3, but its lengths mean 2"));
  EXPECT_TRUE(has(message(R"({"codec": "ceresz2", "first_symbol": 5, "lengths": [1, 1]})"),
                  "\"first_symbol\": 5"));
  EXPECT_FALSE(files::read_codebook(directory / "none.json").ok());
}

TEST(CodebookFile, AMillionListsInListsAreRefusedAndNotTheEndOfTheStack) {
  const ScratchDirectory directory;
  constexpr std::size_t kLists = 1'000'000;
  const std::string content =
      R"({"codec": )" + std::string(kLists, '[') + std::string(kLists, ']') + "}";
  const auto book = files::read_codebook(directory.with_file("book.json", content));
  ASSERT_FALSE(book.ok());
  EXPECT_NE(book.error().message.find("lists in lists"), std::string::npos) << book.error().message;
}

/// A data set whose differences are normally distributed.
benchmark::DeltaDistribution normal_set(const std::string& name, double sigma) {
  benchmark::DeltaDistribution set{.name = name, .counts = DeltaCounts(5000)};
  for (int d = -2500; d < 2500; ++d) {
    set.counts.counts[static_cast<std::size_t>(d + 2500)] =
        static_cast<std::uint64_t>(1e7 * std::exp(-0.5 * d * d / (sigma * sigma)) / sigma);
  }
  for (const std::uint64_t count : set.counts.counts) set.values += count;
  set.counts.blocks = set.values / 32;
  return set;
}

TEST(CodebookStudy, FindsTheNormalDistributionItWasGiven) {
  const auto fit = benchmark::fit_gaussian(normal_set("a", 3).counts);
  EXPECT_NEAR(0, fit.mean, 1e-3);
  EXPECT_NEAR(3, fit.sigma, 1e-2);
  EXPECT_GT(fit.r_squared, 0.999);
}

TEST(CodebookStudy, CountsEscapesWithTheirFlags) {
  const auto wide = normal_set("wide", 500);
  const auto all = benchmark::narrowed(wide.counts, 5000);
  EXPECT_EQ(all.counts, wide.counts.counts);
  const auto few = benchmark::narrowed(wide.counts, 50);
  EXPECT_EQ(few.counts[25], wide.counts.counts[2500]);
  const auto book = Codebook::from_counts(few.counts);
  const auto size = benchmark::code_size(wide, *book);
  const double escaped = static_cast<double>(few.escapes) / static_cast<double>(wide.values);
  EXPECT_NEAR(33 * escaped + (1 - escaped) * 6.7, size.bits_per_value, 0.2);
}

TEST(CodebookStudy, MoreSymbolsNeverCostMoreAndTrainingOnOthersDoes) {
  const std::vector<benchmark::DeltaDistribution> sets = {normal_set("a", 1), normal_set("b", 5),
                                                          normal_set("c", 20), normal_set("d", 100),
                                                          normal_set("e", 300)};
  const auto study = benchmark::study_codebooks(sets, {});
  ASSERT_TRUE(study.ok());
  for (const auto& set : study->sets) {
    for (std::size_t i = 1; i < set.sizes.size(); ++i) {
      EXPECT_LE(set.sizes[i].bits_per_value, set.sizes[i - 1].bits_per_value + 0.02) << set.name;
    }
  }
  ASSERT_EQ(10u, study->draws.size());
  for (const auto& draw : study->draws) {
    EXPECT_EQ(3u, draw.trained_on.size());
    EXPECT_EQ(2u, draw.held_out.size());
    EXPECT_GT(draw.mean_loss, 0);
    EXPECT_LT(draw.worst_loss, 0.9);
  }
  const auto again = benchmark::study_codebooks(sets, {});
  EXPECT_EQ(study->draws[3].trained_on, again->draws[3].trained_on);
  EXPECT_NE(std::string::npos, report::codebook_study_text(*study, "REL 1e-4").find("trained on"));
  EXPECT_NE(std::string::npos, report::codebook_study_html(*study, "REL 1e-4").find("</svg>"));
}

}  // namespace
}  // namespace tensorpress::ceresz2
