#include "files/hdf5/compare.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/errors.h"
#include "files/hdf5/attribute_table.h"
#include "files/hdf5/dataset.h"
#include "files/hdf5/file.h"
#include "files/hdf5/library.h"
#include "files/hdf5/values.h"
#include "files/rewriting/provenance.h"
#include "files/tensor/box_size.h"

namespace tensorpress::files {
namespace {

constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, whose macro calls into a linked library

/// An object of the original and the one of the same name in the copy.
struct Pair {
  const Hdf5Id& original;
  const Hdf5Id& copy;
};

void swap_words(std::size_t size, std::span<std::byte> bytes) {
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
}

class Hdf5Comparison {
 public:
  Hdf5Comparison(const Hdf5Functions& hdf5, const FileComparisonOptions& options, hid_t original,
                 hid_t copy)
      : hdf5_(hdf5), options_(options), original_(original), copy_(copy) {
    for (const std::string& name : options.variables) {
      wanted_.insert(name.starts_with('/') ? name.substr(1) : name);
    }
  }

  Result<FileComparison> run(std::uint64_t total) {
    total_ = total;
    const Hdf5Id original(hdf5_.H5Gopen2(original_, "/", H5P_DEFAULT), hdf5_.H5Gclose);
    const Hdf5Id copy(hdf5_.H5Gopen2(copy_, "/", H5P_DEFAULT), hdf5_.H5Gclose);
    if (!original.valid() || !copy.valid()) return hdf5_.failure("the file cannot be listed");
    RETURN_IF_ERROR(compare_groups({original, copy}, ""));
    for (const std::string& name : wanted_) {
      const bool seen = std::ranges::any_of(
          result_.variables, [&](const ComparedVariable& each) { return each.path == name; });
      if (!seen) add_missing(name);
    }
    return std::move(result_);
  }

 private:
  using Links = std::map<std::string, H5L_type_t>;

  static herr_t add_link(hid_t /*group*/, const char* name, const H5L_info_t* link, void* links) {
    static_cast<Links*>(links)->emplace(name, link->type);
    return 0;
  }

  Result<Links> links_of(const Hdf5Id& group, const std::string& path) const {
    Links links;
    if (hdf5_.H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_link, &links) <
        0) {
      return hdf5_.failure(text("group '", path, "' cannot be listed"));
    }
    return links;
  }

  bool everything() const { return wanted_.empty(); }
  bool is_wanted(const std::string& path) const { return everything() || wanted_.contains(path); }

  void add_missing(const std::string& path) {
    result_.variables.push_back(one_sided(path, "it is not in the copy"));
  }

  void differs(std::string sentence) {
    if (everything()) result_.differences.push_back(std::move(sentence));
  }

  Result<void> compare_groups(const Pair& groups, const std::string& path) {
    if (everything()) {
      TRY(const auto attributes, compare_attributes(groups));
      for (const std::string& each : attributes) {
        differs(path.empty() ? each : text("group '", path, "': ", each));
      }
    }
    TRY(const Links original, links_of(groups.original, path));
    TRY(const Links copy, links_of(groups.copy, path));
    for (const auto& [name, type] : original) {
      const std::string below = text(path, path.empty() ? "" : "/", name);
      const auto found = copy.find(name);
      if (found == copy.end()) {
        RETURN_IF_ERROR(add_absent(groups.original, name, below, "it is not in the copy"));
      } else if (found->second != type) {
        differs(text("'", below, "' is a link of another kind"));
      } else if (type == H5L_TYPE_HARD) {
        RETURN_IF_ERROR(compare_objects(groups, name, below));
      } else if (everything()) {
        RETURN_IF_ERROR(compare_symbolic(groups, name, below));
      }
    }
    for (const auto& [name, type] : copy) {
      if (original.contains(name)) continue;
      const std::string below = text(path, path.empty() ? "" : "/", name);
      RETURN_IF_ERROR(add_absent(groups.copy, name, below, "it is not in the original"));
    }
    return {};
  }

  /// What only one of the files has, `which` says which.
  Result<void> add_absent(const Hdf5Id& group, const std::string& name, const std::string& path,
                          const std::string& which) {
    const Hdf5Id object(hdf5_.H5Oopen(group.get(), name.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
    if (!object.valid() || hdf5_.H5Iget_type(object.get()) != H5I_DATASET) {
      differs(text("'", path, "': ", which));
      return {};
    }
    if (!is_wanted(path)) return {};
    const Hdf5Id type(hdf5_.H5Dget_type(object.get()), hdf5_.H5Tclose);
    ComparedVariable variable = one_sided(path, which);
    variable.type = hdf5_type_name(hdf5_, type.get());
    variable.extents = space_of(hdf5_, object).extents;
    result_.variables.push_back(std::move(variable));
    return {};
  }

  Result<void> compare_symbolic(const Pair& groups, const std::string& name,
                                const std::string& path) {
    TRY(const auto original, link_value(groups.original, name, path));
    TRY(const auto copy, link_value(groups.copy, name, path));
    if (original != copy) differs(text("link '", path, "' leads elsewhere"));
    return {};
  }

  Result<std::vector<char>> link_value(const Hdf5Id& group, const std::string& name,
                                       const std::string& path) const {
    H5L_info_t info{};
    if (hdf5_.H5Lget_info(group.get(), name.c_str(), &info, H5P_DEFAULT) < 0) {
      return hdf5_.failure(text("link '", path, "' cannot be read"));
    }
    std::vector<char> value(info.u.val_size);
    if (hdf5_.H5Lget_val(group.get(), name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) {
      return hdf5_.failure(text("link '", path, "' cannot be read"));
    }
    return value;
  }

  /// Pairs of groups that were compared under another name already, and may be inside themselves.
  bool seen_before(const Pair& groups, const std::string& name) {
    H5G_stat_t original{}, copy{};
    if (hdf5_.H5Gget_objinfo(groups.original.get(), name.c_str(), false, &original) < 0 ||
        hdf5_.H5Gget_objinfo(groups.copy.get(), name.c_str(), false, &copy) < 0) {
      return false;
    }
    return !seen_.insert({address_of(original), address_of(copy)}).second;
  }

  Result<void> compare_objects(const Pair& groups, const std::string& name,
                               const std::string& path) {
    const Hdf5Id original(hdf5_.H5Oopen(groups.original.get(), name.c_str(), H5P_DEFAULT),
                          hdf5_.H5Oclose);
    const Hdf5Id copy(hdf5_.H5Oopen(groups.copy.get(), name.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
    if (!original.valid() || !copy.valid()) {
      return hdf5_.failure(text("'", path, "' cannot be opened"));
    }
    const H5I_type_t kind = hdf5_.H5Iget_type(original.get());
    if (kind != hdf5_.H5Iget_type(copy.get())) {
      differs(text("'", path, "' is an object of another kind"));
      return {};
    }
    const Pair objects{original, copy};
    if (kind == H5I_GROUP) {
      return everything() && seen_before(groups, name) ? Result<void>()
                                                       : compare_groups(objects, path);
    }
    if (kind == H5I_DATASET) {
      return is_wanted(path) ? compare_datasets(objects, path) : Result<void>();
    }
    if (kind == H5I_DATATYPE && hdf5_.H5Tequal(original.get(), copy.get()) <= 0) {
      differs(text("type '", path, "' is another one"));
    }
    return {};
  }

  Result<std::vector<std::string>> compare_attributes(const Pair& objects) const {
    TRY(const auto original, hdf5_attribute_table(hdf5_, original_, objects.original.get()));
    TRY(const auto copy, hdf5_attribute_table(hdf5_, copy_, objects.copy.get()));
    std::vector<std::string> sentences;
    for (const auto& [name, value] : original) {
      const auto found = copy.find(name);
      if (found == copy.end()) {
        sentences.push_back(text("attribute '", name, "' is not in the copy"));
      } else if (hdf5_.H5Tequal(found->second.type.get(), value.type.get()) <= 0 ||
                 found->second.extents != value.extents) {
        sentences.push_back(text("attribute '", name, "' has another type or shape"));
      } else if (found->second.values != value.values) {
        sentences.push_back(text("attribute '", name, "' has another value"));
      }
    }
    for (const auto& [name, value] : copy) {
      if (original.contains(name)) continue;
      sentences.push_back(text("attribute '", name, "' is not in the original"));
    }
    return sentences;
  }

  Result<LossNotes> notes_of(const Hdf5Id& dataset) const {
    LossNotes notes;
    TRY(notes.history, stream::parse_history(
                           hdf5_text_attribute(hdf5_, dataset.get(), stream::kHistoryAttribute)));
    TRY(notes.filter, own_filter(filters_of(hdf5_, dataset)));
    return notes;
  }

  /// The dataset's own, as its bytes; nothing where it has none or has one of any length.
  std::string fill_value_of(const Hdf5Id& dataset, const Hdf5Id& type,
                            const Hdf5Elements& elements) const {
    const Hdf5Id creation(hdf5_.H5Dget_create_plist(dataset.get()), hdf5_.H5Pclose);
    H5D_fill_value_t filled = H5D_FILL_VALUE_UNDEFINED;
    if (!elements.flat() || hdf5_.H5Pfill_value_defined(creation.get(), &filled) < 0 ||
        filled != H5D_FILL_VALUE_USER_DEFINED) {
      return {};
    }
    std::string bytes(elements.size(), '\0');
    hdf5_.H5Pget_fill_value(creation.get(), type.get(), bytes.data());
    return bytes;
  }

  Result<void> compare_datasets(const Pair& datasets, const std::string& path) {
    const Hdf5Id type(hdf5_.H5Dget_type(datasets.original.get()), hdf5_.H5Tclose);
    const Hdf5Id other_type(hdf5_.H5Dget_type(datasets.copy.get()), hdf5_.H5Tclose);
    const Hdf5Space space = space_of(hdf5_, datasets.original);
    const Hdf5Space other_space = space_of(hdf5_, datasets.copy);
    ComparedVariable variable;
    variable.path = path;
    variable.type = hdf5_type_name(hdf5_, type.get());
    variable.extents = space.extents;
    variable.bytes_in = hdf5_.H5Dget_storage_size(datasets.original.get());
    variable.bytes_out = hdf5_.H5Dget_storage_size(datasets.copy.get());
    variable.asked = hdf5_text_attribute(hdf5_, datasets.copy.get(), kBoundAttribute);
    TRY(variable.differences, compare_attributes(datasets));
    TRY(const LossNotes before, notes_of(datasets.original));
    TRY(const LossNotes after, notes_of(datasets.copy));
    variable.promise = promise_of(before, after);
    if (hdf5_.H5Tequal(type.get(), other_type.get()) <= 0) {
      variable.differences.push_back(
          text("its type is ", hdf5_type_name(hdf5_, other_type.get()), " and was ", variable.type,
               variable.type == hdf5_type_name(hdf5_, other_type.get()) ? " of another kind" : ""));
    } else if (space.extents != other_space.extents || space.empty != other_space.empty) {
      variable.differences.emplace_back("its shape is another one");
    } else {
      if (space != other_space) {
        variable.differences.emplace_back("its dimensions may grow to other lengths");
      }
      TRY(const auto elements, Hdf5Elements::make(hdf5_, type.get()));
      if (fill_value_of(datasets.original, type, elements) !=
          fill_value_of(datasets.copy, type, elements)) {
        variable.differences.emplace_back("its fill value is another one");
      }
      if (!space.empty &&
          !(is_unwritten(hdf5_, datasets.original) && is_unwritten(hdf5_, datasets.copy))) {
        RETURN_IF_ERROR(compare_values(datasets, type, elements, variable));
      }
    }
    result_.variables.push_back(std::move(variable));
    return {};
  }

  Result<void> compare_values(const Pair& datasets, const Hdf5Id& type,
                              const Hdf5Elements& elements, ComparedVariable& variable) {
    const auto floats = variable.promise.lossy ? floats_of(hdf5_, type) : std::nullopt;
    const auto chunk = chunk_of(hdf5_, datasets.copy);
    const auto box = boxes_along(variable.extents, chunk, elements.size());
    std::uint64_t different = 0;
    RETURN_IF_ERROR(
        for_each_box(variable.extents, box, [&](const auto& origin, const auto& extent) {
          return compare_box(datasets, type, elements, floats, variable, origin, extent, different);
        }));
    if (different > 0) variable.differences.push_back(values_differ(different));
    return {};
  }

  Result<void> compare_box(const Pair& datasets, const Hdf5Id& type, const Hdf5Elements& elements,
                           const std::optional<Hdf5Floats>& floats,
                           const ComparedVariable& variable,
                           const std::vector<std::uint64_t>& origin,
                           const std::vector<std::uint64_t>& extent, std::uint64_t& different) {
    std::uint64_t count = 1;
    for (const auto each : extent) count *= each;
    const auto bytes = static_cast<std::size_t>(count * elements.size());
    const auto original = original_values_.reserve(bytes), copy = copy_values_.reserve(bytes);
    TRY(const Hdf5Id memory, read_box(datasets.original, type, origin, extent, original, variable));
    const auto other = read_box(datasets.copy, type, origin, extent, copy, variable);
    Result<void> outcome;
    if (!other.ok()) {
      outcome = other.error();
    } else if (floats) {
      outcome = measure(*floats, variable, extent, original, copy);
    } else if (!elements.flat() || std::memcmp(original.data(), copy.data(), bytes) != 0) {
      different += count_different(elements, original, copy);
    }
    // Does nothing where no element has a length of its own.
    hdf5_.H5Dvlen_reclaim(type.get(), memory.get(), H5P_DEFAULT, original.data());
    if (other.ok()) hdf5_.H5Dvlen_reclaim(type.get(), memory.get(), H5P_DEFAULT, copy.data());
    RETURN_IF_ERROR(std::move(outcome));
    done_ += bytes;
    return options_.progress ? options_.progress(std::min(done_, total_), total_) : Result<void>();
  }

  std::uint64_t count_different(const Hdf5Elements& elements, std::span<const std::byte> original,
                                std::span<const std::byte> copy) const {
    std::uint64_t different = 0;
    std::string first, second;
    for (std::size_t at = 0; at < original.size(); at += elements.size()) {
      first.clear();
      second.clear();
      elements.append(hdf5_, original_, original.data() + at, first);
      elements.append(hdf5_, copy_, copy.data() + at, second);
      if (first != second) ++different;
    }
    return different;
  }

  Result<void> measure(const Hdf5Floats& floats, const ComparedVariable& variable,
                       const std::vector<std::uint64_t>& extent, std::span<std::byte> original,
                       std::span<std::byte> copy) const {
    if (floats.swapped) {
      swap_words(size_of(floats.dtype), original);
      swap_words(size_of(floats.dtype), copy);
    }
    // Our codecs know fewer axes than HDF5, and errors do not depend on them.
    std::uint64_t count = 1;
    for (const auto each : extent) count *= each;
    TRY(const Shape row, Shape::make(std::vector{count}));
    return options_.measure(variable, TensorView::contiguous(original.data(), floats.dtype, row),
                            TensorView::contiguous(copy.data(), floats.dtype, row));
  }

  /// Returns the space of the memory.
  Result<Hdf5Id> read_box(const Hdf5Id& dataset, const Hdf5Id& type,
                          const std::vector<std::uint64_t>& origin,
                          const std::vector<std::uint64_t>& extent, std::span<std::byte> into,
                          const ComparedVariable& variable) const {
    const Hdf5Id space(hdf5_.H5Dget_space(dataset.get()), hdf5_.H5Sclose);
    const std::vector<hsize_t> start(origin.begin(), origin.end());
    const std::vector<hsize_t> count(extent.begin(), extent.end());
    const auto rank = static_cast<int>(extent.size());
    Hdf5Id memory(rank == 0 ? hdf5_.H5Dget_space(dataset.get())
                            : hdf5_.H5Screate_simple(rank, count.data(), nullptr),
                  hdf5_.H5Sclose);
    const bool selected =
        rank == 0 || hdf5_.H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                               count.data(), nullptr) >= 0;
    if (!selected || hdf5_.H5Dread(dataset.get(), type.get(), memory.get(), space.get(),
                                   H5P_DEFAULT, into.data()) < 0) {
      return hdf5_.failure(text("dataset '", variable.path, "' cannot be read"));
    }
    return memory;
  }

  const Hdf5Functions& hdf5_;
  const FileComparisonOptions& options_;
  hid_t original_;
  hid_t copy_;
  std::set<std::string> wanted_;
  std::set<std::pair<Hdf5Address, Hdf5Address>> seen_;
  FileComparison result_;
  AlignedBuffer original_values_, copy_values_;
  std::uint64_t done_ = 0, total_ = 0;
};

}  // namespace

Result<FileComparison> compare_hdf5(const std::string& original, const std::string& copy,
                                    const FileComparisonOptions& options) {
  TRY(const auto hdf5, Hdf5Functions::load());
  RETURN_IF_ERROR(check_hdf5_groups(original));
  RETURN_IF_ERROR(check_hdf5_groups(copy));
  const Hdf5Id first(hdf5.H5Fopen(original.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!first.valid()) return hdf5.failure(text("'", original, "' cannot be opened"));
  const Hdf5Id second(hdf5.H5Fopen(copy.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!second.valid()) return hdf5.failure(text("'", copy, "' cannot be opened"));
  TRY(const auto file, NetcdfFile::open(original));
  std::uint64_t total = 0;
  for (const auto& variable : file->variables()) total += variable.bytes;
  return Hdf5Comparison(hdf5, options, first.get(), second.get()).run(total);
}

}  // namespace tensorpress::files
