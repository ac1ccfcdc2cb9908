// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/hdf5.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "aperture/core/error.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/lzf_filter.hpp"
#include "libmedia/src/sample_form.hpp"

namespace aperture::media {
namespace {

// Larger attributes are neither names nor numbers: a damaged header, or foreign data.
constexpr hsize_t largest_attribute = 1 << 16;

// HDF5's system-call layer reports "..., errno = 28, error message = ...".
int system_error_in(const char* description) {
    const char* found = std::strstr(description, "errno = ");
    return found == nullptr ? 0 : std::atoi(found + std::strlen("errno = "));
}

herr_t collect(unsigned, const H5E_error2_t* error, void* data) {
    auto& failure = *static_cast<Failure*>(data);
    const char* description = error->desc == nullptr ? "" : error->desc;
    if (failure.reason.empty()) failure.reason = description;
    if (failure.system_error == 0) failure.system_error = system_error_in(description);
    failure.truncated |= error->min_num == H5E_TRUNCATED;
    // HDF5 1.10 rejects the type message of a later version by its version number or class.
    failure.unknown_type |= error->maj_num == H5E_DATATYPE &&
                            std::strcmp(error->func_name, "H5O_dtype_decode_helper") == 0;
    return 0;
}

struct AttributeShape {
    Handle attribute;
    Handle type;
    std::vector<index_t> extents;
    hssize_t elements = 0;
};

std::optional<AttributeShape> open_attribute(hid_t object, const std::string& name) {
    if (H5Aexists(object, name.c_str()) <= 0) return std::nullopt;
    AttributeShape shape;
    shape.attribute = {H5Aopen(object, name.c_str(), H5P_DEFAULT), H5Aclose};
    if (!shape.attribute.valid()) return std::nullopt;
    shape.type = {H5Aget_type(shape.attribute), H5Tclose};
    const Handle space{H5Aget_space(shape.attribute), H5Sclose};
    if (!shape.type.valid() || !space.valid()) return std::nullopt;
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return std::nullopt;
    shape.elements = H5Sget_simple_extent_npoints(space);
    const std::size_t size = H5Tget_size(shape.type);
    if (shape.elements < 1 || size == 0 || size > largest_attribute) return std::nullopt;
    if (static_cast<hsize_t>(shape.elements) > largest_attribute / size) return std::nullopt;
    return shape;
}

std::vector<std::string> variable_strings(const AttributeShape& shape) {
    std::vector<std::string> strings;
    std::vector<char*> pointers(static_cast<std::size_t>(shape.elements), nullptr);
    if (H5Aread(shape.attribute, shape.type, pointers.data()) < 0) return strings;
    for (const char* text : pointers) strings.emplace_back(text == nullptr ? "" : text);
    const Handle space{H5Aget_space(shape.attribute), H5Sclose};
    H5Dvlen_reclaim(shape.type, space, H5P_DEFAULT, pointers.data());
    return strings;
}

std::vector<std::string> fixed_strings(const AttributeShape& shape) {
    std::vector<std::string> strings;
    const std::size_t size = H5Tget_size(shape.type);
    std::vector<char> characters(size * static_cast<std::size_t>(shape.elements));
    if (H5Aread(shape.attribute, shape.type, characters.data()) < 0) return strings;
    const bool padded_with_spaces = H5Tget_strpad(shape.type) == H5T_STR_SPACEPAD;
    for (const char* first = characters.data(); strings.size() * size < characters.size();
         first += size) {
        std::string text(first, strnlen(first, size));
        if (padded_with_spaces) text.erase(text.find_last_not_of(' ') + 1);
        strings.push_back(std::move(text));
    }
    return strings;
}

}  // namespace

Failure last_failure() {
    Failure failure;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &failure);
    if (failure.system_error != 0) failure.reason = system_text(failure.system_error);
    if (failure.reason.empty()) failure.reason = "HDF5 reports no reason";
    std::replace(failure.reason.begin(), failure.reason.end(), '\n', ' ');
    return failure;
}

Handle open_for_reading(const std::filesystem::path& path) {
    register_lzf_filter();
    const std::string name = path.string();
    expects_readable(path);
    core::expects(H5Fis_hdf5(name.c_str()) > 0, name, ": not an HDF5 file");
    const Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
    H5Pset_file_locking(access, false, true);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    Handle file{H5Fopen(name.c_str(), H5F_ACC_RDONLY, access), H5Fclose};
    if (!file.valid()) {
        const Failure failure = last_failure();
        core::expects(!failure.truncated, name, ": file is truncated");
        throw core::InvalidArgument(
            core::text(name, ": file is truncated or damaged (", failure.reason, ")"));
    }
    return file;
}

std::vector<index_t> extents_of(hid_t dataspace) {
    const int rank = H5Sget_simple_extent_ndims(dataspace);
    if (rank <= 0) return {};
    std::vector<hsize_t> stored(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(dataspace, stored.data(), nullptr);
    return {stored.begin(), stored.end()};
}

std::string extents_text(const std::vector<index_t>& extents) {
    std::string words = "[";
    for (const index_t extent : extents) {
        if (words.size() > 1) words += ',';
        words += std::to_string(static_cast<hsize_t>(extent));
    }
    return words + ']';
}

std::string type_text(hid_t type) {
    switch (H5Tget_class(type)) {
        case H5T_INTEGER:
        case H5T_FLOAT: {
            const std::optional<Number> number = number_of(type);
            return number ? number->text() : "number of unusual layout";
        }
        case H5T_STRING:
            return "string";
        case H5T_COMPOUND: {
            if (const auto form = compound_form(type)) return form->text;
            std::string words = "compound {";
            const int members = H5Tget_nmembers(type);
            for (int m = 0; m < members; ++m) {
                char* member = H5Tget_member_name(type, static_cast<unsigned>(m));
                words += core::text(m > 0 ? "," : "", member == nullptr ? "?" : member);
                H5free_memory(member);
            }
            return words + '}';
        }
        case H5T_ENUM:
            return "enumeration";
        case H5T_ARRAY:
            return "array type";
        case H5T_VLEN:
            return "variable-length type";
        default:
            return "opaque type";
    }
}

std::optional<std::vector<std::string>> string_attribute(hid_t object, const std::string& name) {
    const auto shape = open_attribute(object, name);
    if (!shape || H5Tget_class(shape->type) != H5T_STRING) return std::nullopt;
    auto strings =
        H5Tis_variable_str(shape->type) > 0 ? variable_strings(*shape) : fixed_strings(*shape);
    if (strings.empty()) return std::nullopt;
    return strings;
}

std::optional<double> number_attribute(hid_t object, const std::string& name) {
    const auto shape = open_attribute(object, name);
    if (!shape || shape->elements != 1) return std::nullopt;
    const H5T_class_t kind = H5Tget_class(shape->type);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT) return std::nullopt;
    double value = 0;
    if (H5Aread(shape->attribute, H5T_NATIVE_DOUBLE, &value) < 0) return std::nullopt;
    return value;
}

}  // namespace aperture::media
