// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/table_file.hpp"

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {
namespace {

// More are a damaged header.
constexpr index_t most_rows = 1 << 20;

std::vector<double> read_column(hid_t table, hid_t stored, const std::string& subject,
                                const std::string& name, index_t rows) {
    const int member = H5Tget_member_index(stored, name.c_str());
    core::expects(member >= 0, subject, " has no column ", name);
    const H5T_class_t kind = H5Tget_member_class(stored, static_cast<unsigned>(member));
    core::expects(kind == H5T_INTEGER || kind == H5T_FLOAT, subject, ": column ", name,
                  " is not numeric");
    const Handle type{H5Tcreate(H5T_COMPOUND, sizeof(double)), H5Tclose};
    H5Tinsert(type, name.c_str(), 0, H5T_NATIVE_DOUBLE);
    std::vector<double> values(static_cast<std::size_t>(rows));
    if (rows > 0 && H5Dread(table, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0) {
        throw core::InvalidArgument(
            core::text(subject, " cannot be read (", last_failure().reason, ")"));
    }
    return values;
}

}  // namespace

std::optional<std::vector<std::vector<double>>> read_table(const std::filesystem::path& path,
                                                           const std::string& dataset,
                                                           const std::vector<std::string>& names) {
    const SilentErrors silent;
    const Handle file = open_for_reading(path);
    if (H5Lexists(file, dataset.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
    const std::string subject = core::text(path.string(), ": dataset ", dataset);
    const Handle table{H5Dopen2(file, dataset.c_str(), H5P_DEFAULT), H5Dclose};
    core::expects(table.valid(), subject, " cannot be opened");
    const Handle stored{H5Dget_type(table), H5Tclose};
    const Handle space{H5Dget_space(table), H5Sclose};
    core::expects(stored.valid() && space.valid(), subject, " has a damaged header");
    const std::vector<index_t> extents = extents_of(space);
    core::expects(extents.size() == 1 && H5Tget_class(stored) == H5T_COMPOUND, subject, " is ",
                  type_text(stored), ' ', extents_text(extents), ", expected a table of records");
    core::expects(extents[0] >= 0 && extents[0] <= most_rows, subject,
                  " is too large: ", extents_text(extents), ", at most ", most_rows, " rows");
    std::vector<std::vector<double>> columns;
    for (const std::string& name : names) {
        columns.push_back(read_column(table, stored, subject, name, extents[0]));
    }
    return columns;
}

}  // namespace aperture::media
