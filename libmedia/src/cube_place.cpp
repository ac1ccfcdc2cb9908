// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/cube_place.hpp"

#include <algorithm>
#include <vector>

#include "aperture/core/error.hpp"
#include "libmedia/src/sample_form.hpp"

namespace aperture::media {
namespace {

constexpr std::size_t listed_datasets = 8;

struct Candidate {
    std::string path;
    std::string described;  ///< "/a/b complex64 {r,i} [8,128,403]"
    bool is_cube;
};

std::vector<std::string> dataset_paths(hid_t file) {
    std::vector<std::string> paths;
    const auto append = [](hid_t, const char* path, const H5O_info_t* object, void* data) noexcept {
        if (object->type == H5O_TYPE_DATASET) {
            static_cast<std::vector<std::string>*>(data)->push_back(std::string("/") + path);
        }
        return herr_t{0};
    };
    H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, append, &paths, H5O_INFO_BASIC);
    return paths;
}

bool is_dataset(hid_t file, const std::string& path) {
    H5O_info_t object;
    return H5Lexists(file, path.c_str(), H5P_DEFAULT) > 0 &&
           H5Oget_info_by_name2(file, path.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 &&
           object.type == H5O_TYPE_DATASET;
}

/// Extents of a dataset of real numbers; empty for others.
std::vector<index_t> real_extents(hid_t file, const std::string& path) {
    if (!is_dataset(file, path)) return {};
    const Handle dataset{H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset.valid()) return {};
    const Handle type{H5Dget_type(dataset), H5Tclose};
    const Handle space{H5Dget_space(dataset), H5Sclose};
    return number_of(type) ? extents_of(space) : std::vector<index_t>{};
}

/// Whether real numbers of these extents are complex ones in halves along the first axis.
bool in_halves(const std::vector<index_t>& extents) {
    return cube_ranks.allow(static_cast<int>(extents.size()) - 1) && extents.front() == 2 &&
           extents.back() != 2;
}

/// The pairs of real datasets in a folder, "/" or "/group/", that are named as the parts of
/// complex numbers.
std::vector<CubePlace> pairs_in(hid_t file, const std::string& folder) {
    std::vector<CubePlace> pairs;
    for (const PartNames& names : part_names) {
        CubePlace pair{core::text(folder, names.real), core::text(folder, names.imag)};
        const std::size_t rank = real_extents(file, pair.real).size();
        if (cube_ranks.allow(static_cast<int>(rank)) &&
            real_extents(file, pair.imag).size() == rank) {
            pairs.push_back(std::move(pair));
        }
    }
    return pairs;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

bool is_imaginary_part(hid_t file, const std::string& path) {
    const std::vector<CubePlace> pairs = pairs_in(file, folder_of(path));
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const CubePlace& pair) { return pair.imag == path; });
}

Candidate candidate(hid_t file, const std::string& path) {
    const Handle dataset{H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset.valid()) return {path, path + " (unreadable)", false};
    const Handle type{H5Dget_type(dataset), H5Tclose};
    const Handle space{H5Dget_space(dataset), H5Sclose};
    const std::vector<index_t> extents = extents_of(space);
    const auto rank = static_cast<int>(extents.size());
    const bool compound = cube_ranks.allow(rank) && compound_form(type).has_value();
    const bool trailing =
        cube_ranks.allow(rank - 1) && extents.back() == 2 && trailing_form(type).has_value();
    const bool is_cube = (compound || trailing || !place_of(file, path).imag.empty()) &&
                         !is_imaginary_part(file, path);
    return {path, core::text(path, ' ', type_text(type), ' ', extents_text(extents)), is_cube};
}

std::string list(const std::vector<Candidate>& candidates) {
    std::string words;
    for (std::size_t c = 0; c < std::min(candidates.size(), listed_datasets); ++c) {
        words += (c > 0 ? "; " : "") + candidates[c].described;
    }
    if (candidates.size() > listed_datasets) {
        words += core::text("; and ", candidates.size() - listed_datasets, " more");
    }
    return words;
}

}  // namespace

CubePlace place_of(hid_t file, const std::string& path) {
    const bool group = !is_dataset(file, path);
    // Before the halves: a real part of two CPIs looks like them.
    for (const CubePlace& pair : pairs_in(file, group ? path + "/" : folder_of(path))) {
        if (group || path == pair.real) return pair;
    }
    if (in_halves(real_extents(file, path))) return {path, path};
    return {path};
}

std::string choose_dataset(hid_t file, const CubeRequest& request) {
    const std::string label = request.path.string();
    if (request.dataset) {
        core::expects(!request.dataset->empty(), label, ": the name of the dataset is empty");
        return request.dataset->front() == '/' ? *request.dataset : "/" + *request.dataset;
    }
    const htri_t has_default = H5Lexists(file, default_dataset, H5P_DEFAULT);
    if (has_default < 0) {
        throw core::InvalidArgument(
            core::text(label, ": file is damaged (", last_failure().reason, ")"));
    }
    if (has_default > 0) return default_dataset;
    std::vector<Candidate> datasets;
    for (const std::string& path : dataset_paths(file)) datasets.push_back(candidate(file, path));
    std::vector<Candidate> cubes;
    std::copy_if(datasets.begin(), datasets.end(), std::back_inserter(cubes),
                 [](const Candidate& c) { return c.is_cube; });
    core::expects(!datasets.empty(), label, ": contains no dataset");
    core::expects(!cubes.empty(), label, ": no 3-D or 4-D complex dataset among ", list(datasets));
    core::expects(
        cubes.size() == 1, label,
        ": several 3-D or 4-D complex datasets, select one with --dataset: ", list(cubes));
    return cubes.front().path;
}

}  // namespace aperture::media
