// An HDF5 file (netCDF-4 files are such) again, with our filter on some of its datasets. Groups are
// made anew, everything else but those datasets is copied by HDF5 itself, and references between
// objects are set by name in the end. Datasets that HDF5 copies wrongly are made anew as well.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "files/hdf5/dataset_copy.h"
#include "files/hdf5/library.h"

namespace tensorpress::files {
namespace {

constexpr unsigned kReadOnly = 0;  // H5F_ACC_RDONLY, whose macro calls into a library

class Hdf5Rewrite {
 public:
  Hdf5Rewrite(const Hdf5Functions& hdf5, RewritePlan& plan, RewriteProgress& progress, hid_t from,
              const Hdf5Output& output)
      : hdf5_(hdf5),
        plan_(plan),
        progress_(progress),
        attributes_(hdf5, from, output.id()),
        datasets_(hdf5, attributes_, output, progress),
        output_(output),
        from_(from),
        to_(output.id()) {
    for (const auto& [path, planned] : plan.variables) planned_.insert(path);
  }

  Result<void> run() {
    const Hdf5Id from(hdf5_.H5Gopen2(from_, "/", H5P_DEFAULT), hdf5_.H5Gclose);
    const Hdf5Id to(hdf5_.H5Gopen2(to_, "/", H5P_DEFAULT), hdf5_.H5Gclose);
    RETURN_IF_ERROR(copy_group(from, to, ""));
    for (const std::string& path : copied_) {
      const Hdf5Id old(hdf5_.H5Oopen(from_, path.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
      const Hdf5Id made(hdf5_.H5Oopen(to_, path.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
      if (!old.valid() || !made.valid()) return hdf5_.failure(text("'", path, "' is not there"));
      RETURN_IF_ERROR(attributes_.copy_references(old.get(), made.get(), path));
    }
    return {};
  }

 private:
  /// Groups end: who opened the file looked (check_hdf5_groups).
  Result<void> copy_group(const Hdf5Id& from, const Hdf5Id& to, const std::string& prefix) {
    RETURN_IF_ERROR(attributes_.copy_plain_with_history(from.get(), to.get(),
                                                        prefix.empty() ? plan_.history_line : ""));
    copied_.push_back(prefix.empty() ? "/" : prefix);
    H5G_info_t info{};
    if (hdf5_.H5Gget_info(from.get(), &info) < 0) {
      return hdf5_.failure(text("group '", prefix, "' cannot be listed"));
    }
    const Hdf5Id creation(hdf5_.H5Gget_create_plist(from.get()), hdf5_.H5Pclose);
    unsigned order = 0;
    hdf5_.H5Pget_link_creation_order(creation.get(), &order);
    const auto index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      const ssize_t length =
          hdf5_.H5Lget_name_by_idx(from.get(), ".", index, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
      if (length < 0) return hdf5_.failure(text("group '", prefix, "' cannot be listed"));
      std::string name(static_cast<std::size_t>(length), '\0');
      hdf5_.H5Lget_name_by_idx(from.get(), ".", index, H5_ITER_INC, i, name.data(), name.size() + 1,
                               H5P_DEFAULT);
      RETURN_IF_ERROR(copy_link(from, to, name, text(prefix, prefix.empty() ? "" : "/", name)));
    }
    return {};
  }

  Result<void> copy_link(const Hdf5Id& from, const Hdf5Id& to, const std::string& name,
                         const std::string& path) {
    RETURN_IF_ERROR(output_.check());
    H5L_info_t info{};
    if (hdf5_.H5Lget_info(from.get(), name.c_str(), &info, H5P_DEFAULT) < 0) {
      return hdf5_.failure(text("'", path, "' cannot be read"));
    }
    if (info.type != H5L_TYPE_HARD) return copy_symbolic(from, to, name, path, info);
    H5G_stat_t stat{};
    if (hdf5_.H5Gget_objinfo(from.get(), name.c_str(), false, &stat) < 0) {
      return hdf5_.failure(text("'", path, "' cannot be read"));
    }
    if (stat.nlink > 1) {
      const auto [first, is_new] =
          made_.try_emplace({address_of(stat), planned_below(path)}, text("/", path));
      if (!is_new) {
        if (hdf5_.H5Lcreate_hard(to_, first->second.c_str(), to.get(), name.c_str(), H5P_DEFAULT,
                                 H5P_DEFAULT) < 0) {
          return hdf5_.failure(text("link '", path, "' cannot be made"));
        }
        share_treatment(first->second.substr(1), path);
        return progress_.add(0);
      }
    }
    const Hdf5Id object(hdf5_.H5Oopen(from.get(), name.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
    if (!object.valid()) return hdf5_.failure(text("'", path, "' cannot be opened"));
    const H5I_type_t kind = hdf5_.H5Iget_type(object.get());
    if (kind == H5I_GROUP) {
      const Hdf5Id creation = creation_like(object);
      const Hdf5Id made(
          hdf5_.H5Gcreate2(to.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
          hdf5_.H5Gclose);
      if (!made.valid()) return hdf5_.failure(text("group '", path, "' cannot be made"));
      return copy_group(object, made, path);
    }
    if (kind == H5I_DATASET) {
      const auto planned = plan_.variables.find(path);
      if (planned != plan_.variables.end()) {
        TRY(const bool kept, make_planned(object, to, name, path, planned->second));
        if (kept) return {};
        plan_.copied[path] = Treatment::not_smaller;
        plan_.variables.erase(planned);
      }
      RETURN_IF_ERROR(check_copyable(hdf5_, object, path));
      TRY(const bool fill_of_any_length, has_fill_of_any_length(hdf5_, object, path));
      if (fill_of_any_length) {
        RETURN_IF_ERROR(datasets_.make(object, to, name, path, nullptr));
        copied_.push_back(path);
        return {};
      }
    }
    return copy_object(object, from, to, name, path);
  }

  /// By HDF5 itself, but its attributes by us: HDF5 (1.10) crashes on an object with more than
  /// eight attributes of which one has any length.
  Result<void> copy_object(const Hdf5Id& object, const Hdf5Id& from, const Hdf5Id& to,
                           const std::string& name, const std::string& path) {
    const Hdf5Id how(hdf5_.H5Pcreate(hdf5_.object_copy), hdf5_.H5Pclose);
    if (hdf5_.H5Pset_copy_object(how.get(), H5O_COPY_WITHOUT_ATTR_FLAG) < 0 ||
        hdf5_.H5Ocopy(from.get(), name.c_str(), to.get(), name.c_str(), how.get(), H5P_DEFAULT) <
            0) {
      return hdf5_.failure(text("'", path, "' cannot be copied"));
    }
    const Hdf5Id made(hdf5_.H5Oopen(to.get(), name.c_str(), H5P_DEFAULT), hdf5_.H5Oclose);
    if (!made.valid()) return hdf5_.failure(text("'", path, "' cannot be opened"));
    RETURN_IF_ERROR(attributes_.copy_plain(object.get(), made.get()));
    copied_.push_back(path);
    return progress_.add(0);
  }

  /// Properties for a new group. Those that HDF5 (1.10) gives of a group with more than a few links
  /// say where its links lie in the old file, and a group made with them cannot be used.
  Hdf5Id creation_like(const Hdf5Id& group) const {
    const Hdf5Id old(hdf5_.H5Gget_create_plist(group.get()), hdf5_.H5Pclose);
    Hdf5Id creation(hdf5_.H5Fget_create_plist(from_), hdf5_.H5Pclose);
    unsigned order = 0;
    if (hdf5_.H5Pget_link_creation_order(old.get(), &order) >= 0) {
      hdf5_.H5Pset_link_creation_order(creation.get(), order);
    }
    if (hdf5_.H5Pget_attr_creation_order(old.get(), &order) >= 0) {
      hdf5_.H5Pset_attr_creation_order(creation.get(), order);
    }
    return creation;
  }

  Result<void> copy_symbolic(const Hdf5Id& from, const Hdf5Id& to, const std::string& name,
                             const std::string& path, const H5L_info_t& info) {
    std::vector<char> value(info.u.val_size + 1);
    if (hdf5_.H5Lget_val(from.get(), name.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) {
      return hdf5_.failure(text("link '", path, "' cannot be read"));
    }
    herr_t status = -1;
    if (info.type == H5L_TYPE_SOFT) {
      status = hdf5_.H5Lcreate_soft(value.data(), to.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
    } else if (info.type == H5L_TYPE_EXTERNAL) {
      const char* file = nullptr;
      const char* object = nullptr;
      unsigned flags = 0;
      if (hdf5_.H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &file, &object) >= 0) {
        status = hdf5_.H5Lcreate_external(file, object, to.get(), name.c_str(), H5P_DEFAULT,
                                          H5P_DEFAULT);
      }
    } else {
      return unsupported("link '", path, "' is of a kind that this program does not know");
    }
    if (status < 0) return hdf5_.failure(text("link '", path, "' cannot be made"));
    return {};
  }

  /// What the plan has at a path and below it, as seen from there. Names of one object stay names
  /// of one object only where this is the same for both.
  std::vector<std::string> planned_below(const std::string& path) const {
    std::vector<std::string> rests;
    for (auto each = planned_.lower_bound(path); each != planned_.end(); ++each) {
      if (!each->starts_with(path)) break;
      std::string rest = each->substr(path.size());
      if (rest.empty() || rest.starts_with('/')) rests.push_back(std::move(rest));
    }
    return rests;
  }

  /// What was found out about an object holds for its other names.
  void share_treatment(const std::string& first, const std::string& other) {
    for (const std::string& rest : planned_below(other)) {
      const auto found = plan_.copied.find(first + rest);
      if (found == plan_.copied.end()) continue;
      plan_.copied[other + rest] = found->second;
      plan_.variables.erase(other + rest);
    }
  }

  /// False if it took more room than before; then it is gone again.
  Result<bool> make_planned(const Hdf5Id& from, const Hdf5Id& group, const std::string& name,
                            const std::string& path, PlannedVariable& planned) {
    TRY(const std::uint64_t bytes, datasets_.make(from, group, name, path, &planned));
    if (!planned.only_if_smaller || bytes < hdf5_.H5Dget_storage_size(from.get())) {
      copied_.push_back(path);
      return true;
    }
    if (hdf5_.H5Ldelete(group.get(), name.c_str(), H5P_DEFAULT) < 0) {
      return hdf5_.failure(text("'", path, "' cannot be replaced"));
    }
    return false;
  }

  const Hdf5Functions& hdf5_;
  RewritePlan& plan_;
  RewriteProgress& progress_;
  Hdf5AttributeCopy attributes_;
  Hdf5DatasetCopy datasets_;
  const Hdf5Output& output_;
  hid_t from_;
  hid_t to_;
  std::set<std::string> planned_;  // paths, those that turned out not to become smaller too
  std::vector<std::string> copied_;
  /// Paths in the new file of objects with several names in the old one.
  std::map<std::pair<Hdf5Address, std::vector<std::string>>, std::string> made_;
};

}  // namespace

Result<void> rewrite_hdf5(const std::string& input, const std::string& output_place,
                          RewritePlan& plan, RewriteProgress& progress) {
  TRY(const auto hdf5, Hdf5Functions::load());
  const Hdf5Id from(hdf5.H5Fopen(input.c_str(), kReadOnly, H5P_DEFAULT), hdf5.H5Fclose);
  if (!from.valid()) return hdf5.failure("the file cannot be opened");
  const Hdf5Id creation(hdf5.H5Fget_create_plist(from.get()), hdf5.H5Pclose);
  {
    // Of a file's own properties HDF5 does not tell those of its root group.
    const Hdf5Id root(hdf5.H5Gopen2(from.get(), "/", H5P_DEFAULT), hdf5.H5Gclose);
    const Hdf5Id properties(hdf5.H5Gget_create_plist(root.get()), hdf5.H5Pclose);
    unsigned order = 0;
    hdf5.H5Pget_link_creation_order(properties.get(), &order);
    hdf5.H5Pset_link_creation_order(creation.get(), order);
  }
  TRY(const auto to, Hdf5Output::create(hdf5, output_place, creation.get()));
  auto done = Hdf5Rewrite(hdf5, plan, progress, from.get(), *to).run();
  // Whatever else went wrong after that.
  RETURN_IF_ERROR(to->check());
  RETURN_IF_ERROR(std::move(done));
  return to->close();
}

}  // namespace tensorpress::files
