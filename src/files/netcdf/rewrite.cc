// A classic NetCDF file as a netCDF-4 one, with our filter on some of its variables. Classic files
// have no groups, no types of their own and no strings.
#include <algorithm>

#include "base/errors.h"
#include "files/conventions/netcdf_conventions.h"
#include "files/netcdf/handle.h"
#include "files/rewriting/rewrite_plan.h"

namespace tensorpress::files {
namespace {

class ClassicRewrite {
 public:
  ClassicRewrite(std::shared_ptr<const NetcdfHandle> from, std::shared_ptr<NetcdfHandle> to,
                 const RewritePlan& plan, RewriteProgress& progress)
      : from_(std::move(from)), to_(std::move(to)), plan_(plan), progress_(progress) {}

  Result<void> run() {
    RETURN_IF_ERROR(define_dimensions());
    RETURN_IF_ERROR(copy_global_attributes());
    TRY(const auto ids, from_->variable_ids(from_->id()));
    for (const int id : ids) RETURN_IF_ERROR(define_variable(id));
    RETURN_IF_ERROR(to_->check(to_->library().nc_enddef(to_->id()), "cannot write the header"));
    for (const int id : ids) RETURN_IF_ERROR(copy_values(id));
    return to_->close();
  }

 private:
  Result<void> define_dimensions() {
    const NetcdfLibrary& library = from_->library();
    int count = 0;
    RETURN_IF_ERROR(from_->check(library.nc_inq_dimids(from_->id(), &count, nullptr, 0),
                                 "cannot list dimensions"));
    TRY(const auto unlimited, from_->unlimited(from_->id()));
    // Numbers of dimensions and variables are the same in both files: all are made in order.
    for (int id = 0; id < count; ++id) {
      char name[NC_MAX_NAME + 1] = {};
      std::size_t length = 0;
      RETURN_IF_ERROR(from_->check(library.nc_inq_dim(from_->id(), id, name, &length),
                                   "cannot read a dimension"));
      const bool grows = std::ranges::find(unlimited, name) != unlimited.end();
      int made = 0;
      RETURN_IF_ERROR(
          to_->check(library.nc_def_dim(to_->id(), name, grows ? NC_UNLIMITED : length, &made),
                     "cannot make dimension '", name, "'"));
      ENSURE(made == id);
    }
    return {};
  }

  Result<void> copy_attributes(int from, int to) {
    TRY(const auto attributes, from_->attributes(from_->id(), from));
    for (const auto& attribute : attributes) {
      RETURN_IF_ERROR(copy_attribute(from, to, attribute.name));
    }
    return {};
  }

  /// Without those of our own, and `own` in their place.
  Result<void> copy_attributes(int from, int to, const std::vector<NetcdfAttribute>& own) {
    TRY(const auto attributes, from_->attributes(from_->id(), from));
    for (const auto& attribute : attributes) {
      if (is_own_attribute(attribute.name)) continue;
      RETURN_IF_ERROR(copy_attribute(from, to, attribute.name));
    }
    for (const auto& attribute : own) {
      RETURN_IF_ERROR(to_->put_attribute(to_->id(), to, attribute));
    }
    return {};
  }

  Result<void> copy_attribute(int from, int to, const std::string& name) {
    return to_->check(from_->library().nc_copy_att(from_->id(), from, name.c_str(), to_->id(), to),
                      "cannot copy attribute '", name, "'");
  }

  Result<void> copy_global_attributes() {
    TRY(const auto attributes, from_->attributes(from_->id(), NC_GLOBAL));
    bool found = plan_.history_line.empty();
    for (const auto& attribute : attributes) {
      const bool history = attribute.name == kFileHistory && !plan_.history_line.empty() &&
                           attribute.value.type == NetcdfType::text;
      if (attribute.name == kFileHistory) found = true;
      if (history) {
        RETURN_IF_ERROR(put_history(text_of(attributes, kFileHistory)));
      } else {
        RETURN_IF_ERROR(copy_attribute(NC_GLOBAL, NC_GLOBAL, attribute.name));
      }
    }
    return found ? Result<void>() : put_history("");
  }

  Result<void> put_history(const std::string& before) {
    return to_->put_attribute(
        to_->id(), NC_GLOBAL,
        text_attribute(std::string(kFileHistory), history_text(plan_.history_line, before)));
  }

  Result<void> define_variable(int id) {
    const NetcdfLibrary& library = to_->library();
    TRY(const auto shape, from_->shape_of(from_->id(), id));
    int made = 0;
    RETURN_IF_ERROR(to_->check(library.nc_def_var(to_->id(), shape.name.c_str(), shape.type,
                                                  static_cast<int>(shape.dimension_ids.size()),
                                                  shape.dimension_ids.data(), &made),
                               "cannot make variable '", shape.name, "'"));
    ENSURE(made == id);
    const auto planned = plan_.variables.find(shape.name);
    if (planned == plan_.variables.end()) return copy_attributes(id, made);
    RETURN_IF_ERROR(set_storage(made, shape.name, planned->second));
    return copy_attributes(id, made, planned->second.attributes);
  }

  Result<void> set_storage(int variable, const std::string& name, const PlannedVariable& planned) {
    const NetcdfLibrary& library = to_->library();
    const std::vector<std::size_t> chunks(planned.chunk_extents.begin(),
                                          planned.chunk_extents.end());
    RETURN_IF_ERROR(
        to_->check(library.nc_def_var_chunking(to_->id(), variable, NC_CHUNKED, chunks.data()),
                   "cannot cut variable '", name, "' into chunks"));
    for (const StoredFilter& filter : planned.storage.filters) {
      // NetCDF has its own way to set these two.
      if (filter.id == kShuffleFilter) continue;
      const int level = filter.values.empty() ? 0 : static_cast<int>(filter.values.front());
      const int status =
          filter.id == kDeflateFilter
              ? library.nc_def_var_deflate(to_->id(), variable, 1, 1, level)
              : library.nc_def_var_filter(to_->id(), variable, filter.id, filter.values.size(),
                                          filter.values.data());
      RETURN_IF_ERROR(to_->check(status, "cannot set a filter for variable '", name, "'"));
    }
    return {};
  }

  Result<void> copy_values(int id) {
    TRY(const auto shape, from_->shape_of(from_->id(), id));
    TRY(const auto type, from_->type_of(from_->id(), shape.type));
    const auto planned = plan_.variables.find(shape.name);
    const auto box = planned != plan_.variables.end() ? planned->second.chunk_extents
                                                      : boxes_for(shape.extents, type.bytes);
    return for_each_box(shape.extents, box, [&](const auto& origin, const auto& extent) {
      return copy_box(id, shape.name, type.bytes, origin, extent);
    });
  }

  Result<void> copy_box(int id, const std::string& name, std::size_t element_bytes,
                        const std::vector<std::uint64_t>& origin,
                        const std::vector<std::uint64_t>& extent) {
    std::uint64_t bytes = element_bytes;
    for (const auto count : extent) bytes *= count;
    const auto room = buffer_.reserve(static_cast<std::size_t>(bytes));
    const std::vector<std::size_t> start(origin.begin(), origin.end());
    const std::vector<std::size_t> count(extent.begin(), extent.end());
    RETURN_IF_ERROR(from_->check(
        from_->library().nc_get_vara(from_->id(), id, start.data(), count.data(), room.data()),
        "cannot read variable '", name, "'"));
    RETURN_IF_ERROR(to_->check(
        to_->library().nc_put_vara(to_->id(), id, start.data(), count.data(), room.data()),
        "cannot write variable '", name, "'"));
    return progress_.add(bytes);
  }

  std::shared_ptr<const NetcdfHandle> from_;
  std::shared_ptr<NetcdfHandle> to_;
  const RewritePlan& plan_;
  RewriteProgress& progress_;
  AlignedBuffer buffer_;
};

}  // namespace

Result<void> rewrite_classic(const std::string& input, const std::string& output_place,
                             const RewritePlan& plan, RewriteProgress& progress) {
  TRY(auto from, NetcdfHandle::open(input));
  // Of the formats with filters the one that has what classic files have, and nothing else.
  TRY(auto to, NetcdfHandle::create(output_place, NC_NETCDF4 | NC_CLASSIC_MODEL));
  auto done = ClassicRewrite(std::move(from), to, plan, progress).run();
  if (!done.ok()) to->abandon();
  return done;
}

}  // namespace tensorpress::files
