// Compressors that Python packages carry: SZ3 of pysz and pcodec. The time of a turn is what the
// package's call takes inside its process, which waits while others have their turn.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/errors.h"
#include "benchmark/peers/peers.h"
#include "benchmark/peers/python/pythons.h"
#include "benchmark/peers/python/worker.h"

namespace tensorpress::benchmark {
namespace {

struct PythonPeer {
  std::string_view name;
  std::string_view package;
  bool lossless;
};

constexpr std::array kPythonPeers = {PythonPeer{"sz3", "pysz", false},
                                     PythonPeer{"pcodec", "pcodec", true}};

std::string shape_text(const Shape& shape) {
  if (shape.rank() == 0) return "1";
  std::string out;
  for (const std::uint64_t extent : shape.extents()) out += text(out.empty() ? "" : "x", extent);
  return out;
}

/// Reads one number from the front of `answer` and the space behind it.
template <class Number>
Result<Number> next_number(std::string_view& answer) {
  Number number{};
  const auto [end, error] = std::from_chars(answer.data(), answer.data() + answer.size(), number);
  if (error != std::errc{}) return internal_error("the Python process answered ", answer);
  answer.remove_prefix(static_cast<std::size_t>(end - answer.data()));
  if (answer.starts_with(' ')) answer.remove_prefix(1);
  return number;
}

class PythonContender : public Contender {
 public:
  PythonContender(const PythonPeer& peer, std::unique_ptr<PythonWorker> worker)
      : peer_(peer), worker_(std::move(worker)) {}

  std::string name() const override { return std::string(peer_.name); }
  bool lossless() const override { return peer_.lossless; }

  Result<void> prepare(const Field& field, const FieldBound& bound) override {
    if (field.view.dtype != DType::f32 && field.view.dtype != DType::f64) {
      return unsupported("takes f32 and f64 only");
    }
    if (field.view.element_count() == 0) return unsupported("the field is empty");
    if (!lossless() && field.has_nonfinite) return unsupported("NaN or infinity in the field");
    const auto size = static_cast<std::size_t>(field.view.byte_count());
    TRY(const auto memory, worker_->share(2 * size));
    std::ranges::copy(std::span(field.view.data, size), memory.begin());
    copy_ = memory.last(size);
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bound.absolute);
    const std::string_view number(digits.data(), end.ptr);
    const std::string_view dtype = field.view.dtype == DType::f32 ? "f4" : "f8";
    TRY(const auto done,
        worker_->ask(text("prepare ", dtype, " ", shape_text(field.view.shape), " ", number)));
    if (done != "done") return internal_error("the Python process answered ", done);
    return {};
  }

  Result<double> compress() override {
    TRY(const std::string answer, worker_->ask("compress"));
    std::string_view rest = answer;
    TRY(const auto seconds, next_number<double>(rest));
    TRY(length_, next_number<std::uint64_t>(rest));
    return seconds;
  }

  Result<double> decompress(std::span<std::byte> output) override {
    TRY(const std::string answer, worker_->ask("decompress"));
    std::string_view rest = answer;
    TRY(const auto seconds, next_number<double>(rest));
    std::ranges::copy(copy_, output.begin());
    return seconds;
  }

  Result<std::uint64_t> compressed_bytes() const override { return length_; }

 private:
  PythonPeer peer_;
  std::unique_ptr<PythonWorker> worker_;
  std::span<std::byte> copy_;
  std::uint64_t length_ = 0;
};

/// A process of the first Python that has the package.
Result<std::unique_ptr<PythonWorker>> open_worker(const PythonPeer& peer) {
  Error last = unsupported("there is no Python");
  for (const std::string& python : pythons()) {
    auto worker = PythonWorker::start(python);
    if (!worker.ok()) continue;
    const auto answer = (*worker)->ask(text("open ", peer.name));
    if (answer.ok()) return worker;
    last = answer.error();
  }
  return last;
}

}  // namespace

std::vector<std::string> python_peer_names() {
  std::vector<std::string> names;
  for (const PythonPeer& peer : kPythonPeers) names.emplace_back(peer.name);
  return names;
}

Peers find_python_peers(const std::vector<std::string>& names) {
  Peers peers;
  for (const PythonPeer& peer : kPythonPeers) {
    if (std::ranges::find(names, peer.name) == names.end()) continue;
    auto worker = open_worker(peer);
    if (worker.ok()) {
      peers.contenders.push_back(
          std::make_unique<PythonContender>(peer, std::move(worker).value()));
    } else {
      peers.missing.push_back(text("no Python here has ", peer.package, ", needed for ", peer.name,
                                   " (", worker.error().message, "): pip install ", peer.package));
    }
  }
  return peers;
}

}  // namespace tensorpress::benchmark
