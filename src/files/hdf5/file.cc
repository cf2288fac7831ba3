#include "files/hdf5/file.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/errors.h"
#include "files/hdf5/library.h"

namespace tensorpress::files {
namespace {

constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, whose macro calls into a linked library
constexpr int kMostNested = 64;
constexpr std::uint64_t kMostRepeated = std::uint64_t{1} << 16;

/// Who is to read the file: our own reader follows hard links, NetCDF's all of them.
enum class Reader { our_own, netcdf };

/// Visits each group once, under whatever name it comes first.
class GroupWalk {
 public:
  GroupWalk(const Hdf5Functions& hdf5, Reader reader) : hdf5_(hdf5), reader_(reader) {}

  Result<void> run(hid_t file) {
    TRY(const Tree all, walk(file, "/", 0));
    if (all.groups <= trees_.size() + kMostRepeated) return {};
    return unsupported("links lead to the same groups in more than ", kMostRepeated,
                       " ways; copy what is needed into another file with h5copy");
  }

 private:
  /// A group with all that is below it, counted as often as links lead there.
  struct Tree {
    int height = 0;
    std::uint64_t groups = 1;
  };

  Result<Tree> walk(hid_t above, const std::string& name, int depth) {
    constexpr Tree kNone{.height = -1, .groups = 0};
    H5G_stat_t object{};
    // A link may lead nowhere.
    if (hdf5_.H5Gget_objinfo(above, name.c_str(), true, &object) < 0) return kNone;
    if (object.type == H5G_DATASET && reader_ == Reader::netcdf) {
      RETURN_IF_ERROR(check_fill_value(above, name));
    }
    if (object.type != H5G_GROUP) return kNone;
    if (depth == 0) file_number_ = object.fileno[0];
    const auto known = trees_.find(address_of(object));
    if (depth + (known != trees_.end() ? known->second.height : 0) > kMostNested) {
      return unsupported(
          "groups are nested more than ", kMostNested,
          " deep, or in a circle; copy what is needed into another file with h5copy");
    }
    if (known != trees_.end()) return known->second;
    Hdf5Id group(hdf5_.H5Gopen2(above, name.c_str(), H5P_DEFAULT), hdf5_.H5Gclose);
    Names names{.reader = reader_};
    if (!group.valid() || hdf5_.H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr,
                                           add_name, &names) < 0) {
      return hdf5_.failure(text("group '", name, "' cannot be listed"));
    }
    Tree tree;
    for (const std::string& each : names.names) {
      TRY(const Tree child, walk(group.get(), each, depth + 1));
      tree.height = std::max(tree.height, child.height + 1);
      tree.groups = std::min(tree.groups + child.groups, std::uint64_t{1} << 40);
    }
    trees_.emplace(address_of(object), tree);
    // A file behind an external link would come under another number if it were opened again.
    if (object.fileno[0] != file_number_) kept_open_.push_back(std::move(group));
    return tree;
  }

  Result<void> check_fill_value(hid_t group, const std::string& name) const {
    const Hdf5Id dataset(hdf5_.H5Dopen2(group, name.c_str(), H5P_DEFAULT), hdf5_.H5Dclose);
    const Hdf5Id type(hdf5_.H5Dget_type(dataset.get()), hdf5_.H5Tclose);
    if (hdf5_.H5Tget_class(type.get()) != H5T_STRING || hdf5_.H5Tget_size(type.get()) == 1 ||
        hdf5_.H5Tis_variable_str(type.get()) > 0) {
      return {};
    }
    const Hdf5Id creation(hdf5_.H5Dget_create_plist(dataset.get()), hdf5_.H5Pclose);
    H5D_fill_value_t filled = H5D_FILL_VALUE_UNDEFINED;
    hdf5_.H5Pfill_value_defined(creation.get(), &filled);
    if (filled != H5D_FILL_VALUE_USER_DEFINED) return {};
    return unsupported("dataset '", name, "' has strings of a fixed length with a fill value");
  }

  struct Names {
    Reader reader;
    std::vector<std::string> names = {};
  };
  static herr_t add_name(hid_t /*group*/, const char* name, const H5L_info_t* link, void* names) {
    auto& to = *static_cast<Names*>(names);
    if (to.reader == Reader::netcdf || link->type == H5L_TYPE_HARD) to.names.emplace_back(name);
    return 0;
  }

  const Hdf5Functions& hdf5_;
  Reader reader_;
  unsigned long file_number_ = 0;
  std::map<Hdf5Address, Tree> trees_;
  std::vector<Hdf5Id> kept_open_;
};

Result<void> check_groups(const std::string& path, Reader reader) {
  TRY(const auto hdf5, Hdf5Functions::load());
  const Hdf5Id file(hdf5.H5Fopen(path.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!file.valid()) return hdf5.failure("the file cannot be opened");
  return GroupWalk(hdf5, reader).run(file.get());
}

}  // namespace

Result<void> check_hdf5_groups(const std::string& path) {
  return check_groups(path, Reader::our_own);
}

Result<void> check_for_netcdf(const std::string& path) {
  return check_groups(path, Reader::netcdf);
}

Result<std::uint64_t> hdf5_stored_bytes(const std::string& file, const std::string& dataset) {
  TRY(const auto hdf5, Hdf5Functions::load());
  const Hdf5Id opened(hdf5.H5Fopen(file.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!opened.valid()) return hdf5.failure("the file cannot be opened");
  const Hdf5Id found(hdf5.H5Dopen2(opened.get(), dataset.c_str(), H5P_DEFAULT), hdf5.H5Dclose);
  if (!found.valid()) return std::uint64_t{0};
  return std::uint64_t{hdf5.H5Dget_storage_size(found.get())};
}

}  // namespace tensorpress::files
