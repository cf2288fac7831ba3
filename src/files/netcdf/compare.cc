// Two files side by side of which at least one is classic NetCDF: as NetCDF's library shows them.
// Classic files have neither groups nor types of their own.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/aligned_buffer.h"
#include "base/errors.h"
#include "files/bytes/input_watch.h"
#include "files/conventions/netcdf_conventions.h"
#include "files/hdf5/compare.h"
#include "files/netcdf/handle.h"
#include "files/rewriting/file_comparison.h"
#include "files/rewriting/provenance.h"
#include "files/tensor/box_size.h"

namespace tensorpress::files {
namespace {

class NetcdfComparison {
 public:
  NetcdfComparison(const FileComparisonOptions& options, const std::string& original,
                   const std::string& copy)
      : options_(options), original_path_(original), copy_path_(copy) {
    for (const std::string& name : options.variables) {
      wanted_.insert(name.starts_with('/') ? name.substr(1) : name);
    }
  }

  Result<FileComparison> run() {
    TRY(files_[0], NetcdfFile::open(original_path_));
    TRY(files_[1], NetcdfFile::open(copy_path_));
    for (const auto& variable : files_[0]->variables()) total_ += variable.bytes;
    TRY(original_, NetcdfHandle::open(original_path_));
    TRY(copy_, NetcdfHandle::open(copy_path_));
    if (wanted_.empty()) {
      TRY(result_.differences, compare_attributes(NC_GLOBAL, NC_GLOBAL));
      RETURN_IF_ERROR(compare_dimensions());
      RETURN_IF_ERROR(compare_group_lists());
    }
    TRY(const auto original, variables_of(*original_));
    TRY(const auto copy, variables_of(*copy_));
    for (const auto& [name, id] : original) {
      const auto found = copy.find(name);
      if (!is_wanted(name)) continue;
      if (found == copy.end()) {
        result_.variables.push_back(one_sided(name, "it is not in the copy"));
      } else {
        RETURN_IF_ERROR(compare_variables(name, id, found->second));
      }
    }
    for (const auto& [name, id] : copy) {
      if (original.contains(name) || !is_wanted(name)) continue;
      result_.variables.push_back(one_sided(name, "it is not in the original"));
    }
    return std::move(result_);
  }

 private:
  bool is_wanted(const std::string& name) const {
    return wanted_.empty() || wanted_.contains(name);
  }

  static Result<std::map<std::string, int>> variables_of(const NetcdfHandle& file) {
    std::map<std::string, int> variables;
    TRY(const auto ids, file.variable_ids(file.id()));
    for (const int id : ids) {
      TRY(const auto shape, file.shape_of(file.id(), id));
      variables.emplace(shape.name, id);
    }
    return variables;
  }

  /// Name, length, and whether it grows.
  static Result<std::map<std::string, std::pair<std::size_t, bool>>> dimensions_of(
      const NetcdfHandle& file) {
    int count = 0;
    const NetcdfLibrary& library = file.library();
    RETURN_IF_ERROR(
        file.check(library.nc_inq_dimids(file.id(), &count, nullptr, 0), "cannot list dimensions"));
    std::vector<int> ids(static_cast<std::size_t>(count));
    if (count > 0) {
      RETURN_IF_ERROR(file.check(library.nc_inq_dimids(file.id(), &count, ids.data(), 0),
                                 "cannot list dimensions"));
    }
    TRY(const auto unlimited, file.unlimited(file.id()));
    std::map<std::string, std::pair<std::size_t, bool>> dimensions;
    for (const int id : ids) {
      char name[NC_MAX_NAME + 1] = {};
      std::size_t length = 0;
      RETURN_IF_ERROR(
          file.check(library.nc_inq_dim(file.id(), id, name, &length), "cannot read a dimension"));
      const bool grows = std::ranges::find(unlimited, name) != unlimited.end();
      dimensions.emplace(name, std::pair(length, grows));
    }
    return dimensions;
  }

  Result<void> compare_dimensions() {
    TRY(const auto original, dimensions_of(*original_));
    TRY(const auto copy, dimensions_of(*copy_));
    for (const auto& [name, dimension] : original) {
      const auto found = copy.find(name);
      if (found == copy.end()) {
        differs("dimension '", name, "' is not in the copy");
      } else if (found->second != dimension) {
        differs("dimension '", name, "' has another length, or grows in one of the files only");
      }
    }
    for (const auto& [name, dimension] : copy) {
      if (!original.contains(name)) differs("dimension '", name, "' is not in the original");
    }
    return {};
  }

  /// Only one of the files can have any.
  Result<void> compare_group_lists() {
    TRY(const auto original, original_->groups(original_->id()));
    TRY(const auto copy, copy_->groups(copy_->id()));
    for (const auto& [id, name] : original) differs("group '", name, "' is not in the copy");
    for (const auto& [id, name] : copy) differs("group '", name, "' is not in the original");
    return {};
  }

  template <class... Parts>
  void differs(const Parts&... parts) {
    result_.differences.push_back(text(parts...));
  }

  Result<std::vector<std::string>> compare_attributes(int original_id, int copy_id) const {
    TRY(const auto original, original_->attributes(original_->id(), original_id));
    TRY(const auto copy, copy_->attributes(copy_->id(), copy_id));
    std::vector<std::string> sentences;
    for (const auto& attribute : original) {
      if (may_differ(attribute.name)) continue;
      const NetcdfAttribute* const other = find_attribute(copy, attribute.name);
      if (other == nullptr) {
        sentences.push_back(text("attribute '", attribute.name, "' is not in the copy"));
      } else if (!(*other == attribute)) {
        sentences.push_back(text("attribute '", attribute.name, "' has another type or value"));
      }
    }
    for (const auto& attribute : copy) {
      if (may_differ(attribute.name) || find_attribute(original, attribute.name) != nullptr) {
        continue;
      }
      sentences.push_back(text("attribute '", attribute.name, "' is not in the original"));
    }
    return sentences;
  }

  static Result<LossNotes> notes_of(const NetcdfHandle& file, int id) {
    TRY(const auto attributes, file.attributes(file.id(), id));
    LossNotes notes;
    TRY(notes.history, stream::parse_history(text_of(attributes, stream::kHistoryAttribute)));
    TRY(const auto filters, file.filters_of(file.id(), id));
    TRY(notes.filter, own_filter(filters));
    return notes;
  }

  /// What it takes in its file; of a classic file, all of its elements.
  Result<std::uint64_t> stored_bytes(std::size_t which, const std::string& name) const {
    TRY(const auto* const variable, files_[which]->find(name));
    TRY(const std::uint64_t stored, files_[which]->stored_bytes(*variable));
    return stored > 0 ? stored : variable->bytes;
  }

  Result<void> compare_variables(const std::string& name, int original_id, int copy_id) {
    TRY(const auto shape, original_->shape_of(original_->id(), original_id));
    TRY(const auto other, copy_->shape_of(copy_->id(), copy_id));
    TRY(const auto type, original_->type_of(original_->id(), shape.type));
    TRY(const auto other_type, copy_->type_of(copy_->id(), other.type));
    TRY(const auto notes, copy_->attributes(copy_->id(), copy_id));
    ComparedVariable variable;
    variable.path = name;
    variable.type = type.name;
    variable.extents = shape.extents;
    variable.asked = text_of(notes, kBoundAttribute);
    TRY(variable.bytes_in, stored_bytes(0, name));
    TRY(variable.bytes_out, stored_bytes(1, name));
    TRY(variable.differences, compare_attributes(original_id, copy_id));
    TRY(const LossNotes before, notes_of(*original_, original_id));
    TRY(const LossNotes after, notes_of(*copy_, copy_id));
    variable.promise = promise_of(before, after);
    if (shape.type != other.type) {
      variable.differences.push_back(text("its type is ", other_type.name, " and was ", type.name));
    } else if (shape.dimensions != other.dimensions || shape.extents != other.extents) {
      variable.differences.emplace_back("its dimensions are others");
    } else {
      RETURN_IF_ERROR(compare_values(shape, type.bytes, original_id, copy_id, variable));
    }
    result_.variables.push_back(std::move(variable));
    return {};
  }

  Result<void> compare_values(const NetcdfHandle::VariableShape& shape, std::size_t element_bytes,
                              int original_id, int copy_id, ComparedVariable& variable) {
    // A classic file has none, so neither has its equal.
    ENSURE(shape.type != NC_STRING);
    TRY(const auto chunk, copy_->chunks_of(copy_->id(), copy_id, shape.extents.size()));
    const auto box = boxes_along(shape.extents, chunk, element_bytes);
    std::uint64_t different = 0;
    const auto work = [&](const auto& origin, const auto& extent) -> Result<void> {
      TRY(const std::uint64_t part,
          compare_box(shape, element_bytes, {original_id, copy_id}, variable, origin, extent));
      different += part;
      return {};
    };
    RETURN_IF_ERROR(for_each_box(shape.extents, box, work));
    if (different > 0) variable.differences.push_back(values_differ(different));
    return {};
  }

  struct Ids {
    int original, copy;
  };

  /// How many values differ that should not.
  Result<std::uint64_t> compare_box(const NetcdfHandle::VariableShape& shape,
                                    std::size_t element_bytes, Ids ids,
                                    const ComparedVariable& variable,
                                    const std::vector<std::uint64_t>& origin,
                                    const std::vector<std::uint64_t>& extent) {
    std::uint64_t count = 1, different = 0;
    for (const auto each : extent) count *= each;
    const auto bytes = static_cast<std::size_t>(count * element_bytes);
    const auto first = original_values_.reserve(bytes), second = copy_values_.reserve(bytes);
    RETURN_IF_ERROR(read_box(*original_, ids.original, shape.name, origin, extent, first));
    RETURN_IF_ERROR(read_box(*copy_, ids.copy, shape.name, origin, extent, second));
    if (variable.promise.lossy && (shape.type == NC_FLOAT || shape.type == NC_DOUBLE)) {
      const DType dtype = shape.type == NC_FLOAT ? DType::f32 : DType::f64;
      TRY(const Shape row, Shape::make(std::vector{count}));
      RETURN_IF_ERROR(options_.measure(variable, TensorView::contiguous(first.data(), dtype, row),
                                       TensorView::contiguous(second.data(), dtype, row)));
    } else {
      for (std::size_t at = 0; at < bytes; at += element_bytes) {
        if (std::memcmp(first.data() + at, second.data() + at, element_bytes) != 0) ++different;
      }
    }
    done_ += bytes;
    if (options_.progress) RETURN_IF_ERROR(options_.progress(std::min(done_, total_), total_));
    return different;
  }

  static Result<void> read_box(const NetcdfHandle& file, int id, const std::string& name,
                               const std::vector<std::uint64_t>& origin,
                               const std::vector<std::uint64_t>& extent,
                               std::span<std::byte> into) {
    const std::vector<std::size_t> start(origin.begin(), origin.end());
    const std::vector<std::size_t> count(extent.begin(), extent.end());
    return file.check(
        file.library().nc_get_vara(file.id(), id, start.data(), count.data(), into.data()),
        "cannot read variable '", name, "'");
  }

  const FileComparisonOptions& options_;
  const std::string& original_path_;
  const std::string& copy_path_;
  std::unique_ptr<NetcdfFile> files_[2];
  std::shared_ptr<const NetcdfHandle> original_, copy_;
  std::set<std::string> wanted_;
  FileComparison result_;
  AlignedBuffer original_values_, copy_values_;
  std::uint64_t done_ = 0, total_ = 0;
};

Result<void> check_names(const std::string& original, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  TRY(const auto file, NetcdfFile::open(original));
  for (const std::string& name : names) RETURN_IF_ERROR(file->find(name));
  return {};
}

}  // namespace

Result<FileComparison> compare_files(const std::string& original, const std::string& copy,
                                     const FileComparisonOptions& options) {
  TRY(const InputWatch original_watch, InputWatch::begin(original));
  TRY(const InputWatch copy_watch, InputWatch::begin(copy));
  RETURN_IF_ERROR(check_names(original, options.variables));
  const bool hdf5 =
      array_format_of(original) == ArrayFormat::hdf5 && array_format_of(copy) == ArrayFormat::hdf5;
  auto comparison = hdf5 ? compare_hdf5(original, copy, options)
                         : NetcdfComparison(options, original, copy).run();
  RETURN_IF_ERROR(original_watch.check());
  RETURN_IF_ERROR(copy_watch.check());
  return comparison;
}

}  // namespace tensorpress::files
