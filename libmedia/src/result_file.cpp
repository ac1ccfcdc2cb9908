// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/result_file.hpp"

#include <hdf5_hl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <numeric>

#include "aperture/core/error.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/output_driver.hpp"

namespace aperture::media {
namespace {

using detail::Element;
using detail::Part;

Handle complex_type(hid_t number) {
    const std::size_t bytes = H5Tget_size(number);
    Handle type{H5Tcreate(H5T_COMPOUND, 2 * bytes), H5Tclose};
    H5Tinsert(type, "r", 0, number);
    H5Tinsert(type, "i", bytes, number);
    return type;
}

Handle element_type(Element element) {
    switch (element) {
        case Element::complex64:
            return complex_type(H5T_NATIVE_FLOAT);
        case Element::complex128:
            return complex_type(H5T_NATIVE_DOUBLE);
        case Element::float32:
            return {H5Tcopy(H5T_NATIVE_FLOAT), H5Tclose};
        case Element::float64:
            return {H5Tcopy(H5T_NATIVE_DOUBLE), H5Tclose};
        case Element::int32:
            return {H5Tcopy(H5T_NATIVE_INT32), H5Tclose};
        case Element::int64:
            return {H5Tcopy(H5T_NATIVE_INT64), H5Tclose};
        case Element::uint8:
            break;
    }
    return {H5Tcopy(H5T_NATIVE_UINT8), H5Tclose};
}

Handle variable_string() {
    Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

Handle fixed_string(std::size_t bytes) {
    Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type, std::max<std::size_t>(bytes, 1));
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

bool grows(hid_t space) {
    std::vector<hsize_t> largest(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, nullptr, largest.data());
    return !largest.empty() && largest.front() == H5S_UNLIMITED;
}

/// Layout of one column in a table's records.
struct Member {
    Handle type;
    std::size_t bytes;
    std::size_t rows;
};

Member member_of(const Column& column) {
    return std::visit(
        []<class T>(const std::vector<T>& values) -> Member {
            if constexpr (std::is_same_v<T, std::string>) {
                std::size_t longest = 1;
                for (const std::string& value : values) longest = std::max(longest, value.size());
                return {fixed_string(longest), longest, values.size()};
            } else {
                return {element_type(detail::element_of<T>()), sizeof(T), values.size()};
            }
        },
        column.values);
}

void copy_value(const Column& column, std::size_t row, std::byte* to) {
    std::visit(
        [&]<class T>(const std::vector<T>& values) {
            if constexpr (std::is_same_v<T, std::string>) {
                std::memcpy(to, values[row].data(), values[row].size());
            } else {
                std::memcpy(to, &values[row], sizeof(T));
            }
        },
        column.values);
}

}  // namespace

struct ResultFile::State {
    AtomicFile output;
    std::string shown;
    OutputStatus status{output.descriptor()};
    Handle driver = register_output_driver();
    Handle file{};
    std::map<std::string, Handle> datasets{};
    std::map<std::string, std::vector<std::string>> axes{};  ///< names by dataset
    bool failed = false;

    [[noreturn]] void fail() {
        failed = true;
        if (status.error != 0) output.fail(status.error);
        throw core::InvalidArgument(core::text(shown, ": cannot write: ", last_failure().reason));
    }
    template <class Result>
    Result check(Result result) {
        if (result < 0 || status.error != 0) fail();
        return result;
    }
    Handle create(const std::string& dataset, hid_t type, hid_t space,
                  hid_t properties = H5P_DEFAULT) {
        const Handle links{check(H5Pcreate(H5P_LINK_CREATE)), H5Pclose};
        check(H5Pset_create_intermediate_group(links, 1));
        return {
            check(H5Dcreate2(file, dataset.c_str(), type, space, links, properties, H5P_DEFAULT)),
            H5Dclose};
    }
    void write(hid_t dataset, hid_t type, const Part& part) {
        const std::vector<hsize_t> first(part.first.begin(), part.first.end());
        const std::vector<hsize_t> count(part.extent.begin(), part.extent.end());
        const auto rank = static_cast<int>(count.size());
        const Handle space{check(H5Dget_space(dataset)), H5Sclose};
        const Handle memory{check(H5Screate_simple(rank, count.data(), nullptr)), H5Sclose};
        check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first.data(), nullptr, count.data(),
                                  nullptr));
        check(H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, part.data));
    }
};

ResultFile::ResultFile(const std::filesystem::path& target)
    : state_(new State{AtomicFile(target), target.string()}) {
    const SilentErrors silent;
    const Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
    state_->check(use_output_driver(access, state_->driver, &state_->status));
    state_->file = {state_->check(H5Fcreate(state_->output.partial().c_str(), H5F_ACC_TRUNC,
                                            H5P_DEFAULT, access)),
                    H5Fclose};
}

ResultFile::~ResultFile() {
    if (!state_) return;
    const SilentErrors silent;
    state_->status.discard = true;
    state_->datasets.clear();
    state_->file.close();
}

void ResultFile::create_dataset(const std::string& dataset, Element element,
                                const std::vector<index_t>& extents,
                                const std::vector<std::string>& axes, bool grows) {
    const SilentErrors silent;
    core::expects(axes.empty() || axes.size() == extents.size(), state_->shown, ": dataset ",
                  dataset, " has rank ", extents.size(), ", but ", axes.size(), " axis names");
    const std::vector<hsize_t> sizes(extents.begin(), extents.end());
    std::vector<hsize_t> largest = sizes;
    const auto rank = static_cast<int>(sizes.size());
    const Handle type = element_type(element);
    const Handle properties{state_->check(H5Pcreate(H5P_DATASET_CREATE)), H5Pclose};
    if (grows) {
        std::vector<hsize_t> chunk = sizes;
        chunk.front() = 1;
        largest.front() = H5S_UNLIMITED;
        state_->check(H5Pset_chunk(properties, rank, chunk.data()));
    }
    const Handle space{state_->check(H5Screate_simple(rank, sizes.data(), largest.data())),
                       H5Sclose};
    Handle created = state_->create(dataset, type, space, properties);
    for (unsigned d = 0; d < axes.size(); ++d) {
        state_->check(H5DSset_label(created, d, axes[d].c_str()));
    }
    state_->datasets.insert_or_assign(dataset, std::move(created));
    if (!axes.empty()) state_->axes.insert_or_assign(dataset, axes);
}

void ResultFile::write_box(const std::string& dataset, Element element, const Part& part) {
    const SilentErrors silent;
    const auto found = state_->datasets.find(dataset);
    core::expects(found != state_->datasets.end(), state_->shown, ": no dataset ", dataset,
                  " was created");
    const Handle space{state_->check(H5Dget_space(found->second)), H5Sclose};
    std::vector<index_t> extents = extents_of(space);
    bool inside = extents.size() == part.extent.size();
    if (inside && grows(space) && part.first[0] >= 0) {
        extents[0] = std::max(extents[0], part.first[0] + part.extent[0]);
    }
    for (std::size_t d = 0; inside && d < extents.size(); ++d) {
        inside = part.first[d] >= 0 && part.extent[d] <= extents[d] - part.first[d];
    }
    core::expects(inside, state_->shown, ": a part of ", extents_text(part.extent), " at ",
                  extents_text(part.first), " is not inside ", dataset, " ", extents_text(extents));
    if (std::find(part.extent.begin(), part.extent.end(), 0) != part.extent.end()) return;
    const Handle type = element_type(element);
    const Handle stored{state_->check(H5Dget_type(found->second)), H5Tclose};
    core::expects(H5Tequal(type, stored) > 0, state_->shown, ": dataset ", dataset,
                  " was created with elements ", type_text(stored), ", not ", type_text(type));
    if (grows(space) && extents[0] > extents_of(space)[0]) {
        const std::vector<hsize_t> sizes(extents.begin(), extents.end());
        state_->check(H5Dset_extent(found->second, sizes.data()));
    }
    state_->write(found->second, type, part);
}

void ResultFile::coordinates(const std::string& axis, const std::vector<double>& values,
                             const std::string& units, const std::string& meaning) {
    const std::string dataset = "/" + axis;
    create<double>(dataset, {static_cast<index_t>(values.size())});
    write_part(dataset, core::Extents<1>{},
               core::View<const double, 1, core::Host>(values.data(),
                                                       {static_cast<index_t>(values.size())}));
    attribute(dataset, "units", units);
    attribute(dataset, "long_name", meaning);
    const SilentErrors silent;
    state_->check(H5DSset_scale(state_->datasets.at(dataset), axis.c_str()));
}

/// Now that growing datasets have their final extents.
void ResultFile::attach_scales() {
    for (const auto& [dataset, names] : state_->axes) {
        const Handle space{state_->check(H5Dget_space(state_->datasets.at(dataset))), H5Sclose};
        const std::vector<index_t> extents = extents_of(space);
        for (unsigned d = 0; d < names.size(); ++d) {
            if (!state_->datasets.contains("/" + names[d])) {
                std::vector<double> index(static_cast<std::size_t>(extents[d]));
                std::iota(index.begin(), index.end(), 0.0);
                coordinates(names[d], index, "1", names[d] + " index");
            }
            const SilentErrors silent;
            const Handle& scale = state_->datasets.at("/" + names[d]);
            const Handle along{state_->check(H5Dget_space(scale)), H5Sclose};
            core::expects(extents_of(along) == std::vector<index_t>{extents[d]}, state_->shown,
                          ": axis ", names[d], " of ", dataset, " has ", extents[d],
                          " entries, but its coordinates are ", extents_text(extents_of(along)));
            state_->check(H5DSattach_scale(state_->datasets.at(dataset), scale, d));
        }
    }
}

void ResultFile::table(const std::string& dataset, const std::vector<Column>& columns) {
    const SilentErrors silent;
    core::expects(!columns.empty(), state_->shown, ": table ", dataset, " has no columns");
    std::vector<Member> members;
    std::size_t record_bytes = 0;
    for (const Column& column : columns) {
        members.push_back(member_of(column));
        record_bytes += members.back().bytes;
        core::expects(members.back().rows == members.front().rows, state_->shown, ": column ",
                      column.name, " of table ", dataset, " has ", members.back().rows,
                      " rows, not ", members.front().rows);
    }
    const Handle type{state_->check(H5Tcreate(H5T_COMPOUND, record_bytes)), H5Tclose};
    const hsize_t rows = members.front().rows;
    std::vector<std::byte> records(rows * record_bytes);
    std::size_t at = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        state_->check(H5Tinsert(type, columns[c].name.c_str(), at, members[c].type));
        for (std::size_t row = 0; row < rows; ++row) {
            copy_value(columns[c], row, records.data() + row * record_bytes + at);
        }
        at += members[c].bytes;
    }
    const Handle space{state_->check(H5Screate_simple(1, &rows, nullptr)), H5Sclose};
    Handle created = state_->create(dataset, type, space);
    if (rows > 0) {
        state_->check(H5Dwrite(created, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, records.data()));
    }
    state_->datasets.insert_or_assign(dataset, std::move(created));
    state_->axes.insert_or_assign(dataset, std::vector<std::string>{dataset.substr(1) + "_row"});
    std::vector<std::string> units;
    for (const Column& column : columns) units.push_back(column.units);
    if (std::any_of(units.begin(), units.end(), [](const auto& unit) { return !unit.empty(); })) {
        attribute(dataset, "units", units);
    }
}

void ResultFile::attribute(const std::string& object, const std::string& name,
                           const Attribute& value) {
    const SilentErrors silent;
    const Handle owner{state_->check(H5Oopen(state_->file, object.c_str(), H5P_DEFAULT)), H5Oclose};
    const auto* const list = std::get_if<std::vector<std::string>>(&value);
    const hsize_t count = list == nullptr ? 0 : list->size();
    const Handle space{state_->check(list == nullptr ? H5Screate(H5S_SCALAR)
                                                     : H5Screate_simple(1, &count, nullptr)),
                       H5Sclose};
    const auto write = [&](const Handle& type, const void* data) {
        const Handle created{
            state_->check(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT)),
            H5Aclose};
        state_->check(H5Awrite(created, type, data));
    };
    std::visit(
        [&]<class T>(const T& stored) {
            if constexpr (std::is_same_v<T, std::string>) {
                const char* const characters = stored.c_str();
                write(variable_string(), &characters);
            } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
                std::vector<const char*> words;
                for (const std::string& word : stored) words.push_back(word.c_str());
                // HDF5 refuses a null pointer even where there is nothing to write.
                words.push_back(nullptr);
                write(variable_string(), words.data());
            } else {
                write(element_type(detail::element_of<T>()), &stored);
            }
        },
        value);
}

AtomicFile ResultFile::finish() {
    const SilentErrors silent;
    core::expects(state_->file.valid() && !state_->failed, state_->shown,
                  ": cannot write: an earlier write failed, or the file is already committed");
    attach_scales();
    state_->datasets.clear();
    state_->check(state_->file.close() ? 0 : -1);
    return std::move(state_->output);
}

void ResultFile::commit() { finish().commit(); }

}  // namespace aperture::media
