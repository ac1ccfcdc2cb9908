// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/stored_dataset.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>
#include <numeric>

#include "aperture/core/error.hpp"
#include "libmedia/src/lzf_filter.hpp"

namespace aperture::media {
namespace {

using core::Host;
using core::View;

// Bytes per read: large compared with a call's overhead, small enough for a shared cache.
constexpr index_t block_bytes = index_t{4} << 20;
// A tile of converted samples stays in L1 until it is stored along the destination's contiguous
// axis.
constexpr index_t tile_rows = 64;
constexpr index_t tile_columns = 16;
// Below this, a second thread costs more than it saves.
constexpr index_t parallel_samples = 1 << 15;
// Samples per conversion call if source and destination are contiguous.
constexpr index_t run_samples = 4096;

index_t blocks(index_t extent, index_t block) { return (extent + block - 1) / block; }

struct Block {
    const SampleForm& form;
    const std::byte* raw;  ///< dense, in the file's order
    core::Extents<3> count;

    index_t samples() const { return count[0] * count[1] * count[2]; }
    const std::byte* at(index_t i, index_t j, index_t k) const {
        return raw + ((i * count[1] + j) * count[2] + k) * static_cast<index_t>(form.sample_bytes);
    }
};

template <class Sample>
void convert_rows(const Block& block, View<Sample, 3, Host> out, int threads) {
    const index_t rows = block.count[0] * block.count[1];
    const index_t runs = blocks(block.count[2], run_samples);
#pragma omp parallel for num_threads(threads) \
    schedule(static) if (block.samples() >= parallel_samples)
    for (index_t task = 0; task < rows * runs; ++task) {
        const index_t i = task / runs / block.count[1];
        const index_t j = task / runs % block.count[1];
        const index_t k = task % runs * run_samples;
        block.form.convert(block.at(i, j, k), std::min(run_samples, block.count[2] - k),
                           &out(i, j, k));
    }
}

// The file's last axis is not contiguous in `out`; axis `row` (0 or 1) is, or none.
template <class Sample>
void convert_transposed(const Block& block, View<Sample, 3, Host> out, int row, int threads) {
    const int plane = 1 - row;
    const index_t row_tiles = blocks(block.count[row], tile_rows);
    const index_t column_tiles = blocks(block.count[2], tile_columns);
    const index_t tasks = block.count[plane] * row_tiles * column_tiles;
#pragma omp parallel for num_threads(threads) \
    schedule(static) if (block.samples() >= parallel_samples)
    for (index_t task = 0; task < tasks; ++task) {
        const index_t p = task / (row_tiles * column_tiles);
        const index_t r0 = task / column_tiles % row_tiles * tile_rows;
        const index_t c0 = task % column_tiles * tile_columns;
        const index_t rows = std::min(tile_rows, block.count[row] - r0);
        const index_t columns = std::min(tile_columns, block.count[2] - c0);
        Sample tile[tile_rows][tile_columns];
        for (index_t r = 0; r < rows; ++r) {
            const std::byte* from = row == 0 ? block.at(r0 + r, p, c0) : block.at(p, r0 + r, c0);
            block.form.convert(from, columns, tile[r]);
        }
        Sample* to = out.data + p * out.stride[plane] + r0 * out.stride[row] + c0 * out.stride[2];
        for (index_t c = 0; c < columns; ++c) {
            // A separate column prevents the compiler from swapping the loops and scattering every
            // store.
            Sample column[tile_rows];
            for (index_t r = 0; r < rows; ++r) column[r] = tile[r][c];
            for (index_t r = 0; r < rows; ++r) {
                to[r * out.stride[row] + c * out.stride[2]] = column[r];
            }
        }
    }
}

}  // namespace

std::string StoredDataset::Ranks::text() const {
    return least == most ? core::text(least) : core::text(least, " or ", most);
}

void StoredDataset::reject(const std::string& what) const {
    throw core::InvalidArgument(core::text(subject_, what));
}

StoredDataset::StoredDataset(hid_t file, const std::string& label, const std::string& path,
                             Ranks ranks, Numbers numbers)
    : subject_(core::text(label, ": dataset ", path)) {
    H5O_info_t object;
    if (H5Oget_info_by_name2(file, path.c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        throw core::InvalidArgument(core::text(label, ": no dataset ", path));
    }
    if (object.type != H5O_TYPE_DATASET) {
        throw core::InvalidArgument(core::text(label, ": ", path, " is not a dataset"));
    }
    dataset_ = {H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose};
    if (!dataset_.valid()) {
        const Failure failure = last_failure();
        if (failure.unknown_type) {
            reject(
                " has elements of a type unknown to this version of HDF5 (HDF5 2.0's complex?); "
                "store "
                "them as a compound {r,i}, as h5py does by default");
        }
        reject(core::text(" cannot be opened (", failure.reason, ")"));
    }
    type_ = {H5Dget_type(dataset_), H5Tclose};
    const Handle space{H5Dget_space(dataset_), H5Sclose};
    if (!type_.valid() || !space.valid()) reject(" has a damaged header");
    stored_ = extents_of(space);
    form_ = numbers == Numbers::complex ? complex_form(ranks) : real_form(ranks);
    trailing_ = numbers == Numbers::complex && H5Tget_class(type_) != H5T_COMPOUND;
    chunk_.assign(stored_.size(), 1);
    fixed_.resize(stored_.size());
    for (const index_t extent : stored_) {
        if (extent == 0) reject(core::text(" is empty: its extents are ", extents_text(stored_)));
        if (extent < 0) {
            reject(core::text(" is too large: its extents are ", extents_text(stored_)));
        }
    }
    check_storage(file);
}

SampleForm StoredDataset::complex_form(Ranks ranks) const {
    const auto rank = static_cast<int>(stored_.size());
    const H5T_class_t kind = H5Tget_class(type_);
    const bool real = kind == H5T_INTEGER || kind == H5T_FLOAT;
    const bool pairs = real && ranks.allow(rank - 1) && stored_.back() == 2;
    if (!pairs && !ranks.allow(rank)) {
        reject(core::text(" has rank ", rank, ", expected ", ranks.text()));
    }
    if (real && !pairs) {
        reject(core::text(" is real (", type_text(type_), ' ', extents_text(stored_),
                          "), expected complex: a compound {r,i} or a last extent of 2"));
    }
    const std::optional<SampleForm> form = pairs ? trailing_form(type_) : compound_form(type_);
    if (!form) {
        reject(core::text(
            " has elements of type ", type_text(type_),
            "; expected two equal numbers named {r,i}, {real,imag}, {re,im}, {Re,Im}, {I,Q} "
            "or {i,q}"));
    }
    return *form;
}

SampleForm StoredDataset::real_form(Ranks ranks) const {
    if (!ranks.allow(static_cast<int>(stored_.size()))) {
        reject(core::text(" has rank ", stored_.size(), ", expected ", ranks.text()));
    }
    const std::optional<Number> number = number_of(type_);
    if (!number) {
        reject(core::text(" has elements of type ", type_text(type_),
                          "; expected integers or floating-point numbers"));
    }
    return {*number, number->bytes};
}

std::vector<index_t> StoredDataset::axes() const {
    return {stored_.begin(), stored_.end() - (trailing_ ? 1 : 0)};
}

void StoredDataset::fix(int axis, index_t index) {
    const auto at = static_cast<std::size_t>(axis);
    assert(at < axes().size() && index >= 0 && index < stored_[at]);
    fixed_[at] = index;
}

core::Extents<3> StoredDataset::of_free_axes(const std::vector<index_t>& lengths) const {
    core::Extents<3> free{1, 1, 1};
    int to = 3;
    for (std::size_t axis = axes().size(); axis-- > 0;) {
        if (fixed_[axis]) continue;
        assert(to > 0);
        free[--to] = lengths[axis];
    }
    return free;
}

// Extents in a header are trusted only if the file holds the data they describe.
void StoredDataset::check_storage(hid_t file) {
    // Of a sample in the file or in memory, whichever is larger.
    const auto sample_bytes =
        static_cast<index_t>(std::max(form_.sample_bytes, sizeof(std::complex<float>)));
    index_t bytes = sample_bytes;
    for (const index_t extent : axes()) {
        if (__builtin_mul_overflow(bytes, extent, &bytes)) {
            reject(core::text(" is too large: its extents are ", extents_text(stored_)));
        }
    }
    const Handle creation{H5Dget_create_plist(dataset_), H5Pclose};
    if (!creation.valid()) reject(" has a damaged header");
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) {
        reject(" stores its data in other files; copy it into one file first");
    }
    if (layout == H5D_CHUNKED) check_chunks(creation);
    const int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(creation) : 0;
    check_filters(creation, filters);
    const auto needed = static_cast<hsize_t>(bytes / sample_bytes) * form_.sample_bytes;
    hsize_t file_bytes = 0;
    H5Fget_filesize(file, &file_bytes);
    const hsize_t present = std::min<hsize_t>(H5Dget_storage_size(dataset_), file_bytes);
    if (filters == 0 && needed > present) {
        reject(core::text(" declares ", needed, " bytes (extents ", extents_text(stored_),
                          ") but the file holds ", present));
    }
}

void StoredDataset::check_filters(hid_t creation, int filters) const {
    for (int f = 0; f < filters; ++f) {
        unsigned flags = 0;
        unsigned settings = 0;
        std::array<unsigned, 3> value{};
        std::size_t values = value.size();
        char filter_name[64] = "";
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, static_cast<unsigned>(f), &flags, &values, value.data(),
                           sizeof filter_name, filter_name, &settings);
        if (filter < 0 || H5Zfilter_avail(filter) <= 0) {
            reject(core::text(" is compressed by a filter that is not installed (number ", filter,
                              ", ", filter_name[0] == 0 ? "no name" : filter_name,
                              "); rewrite it with h5repack -f NONE"));
        }
        // HDF5 believes the size that the filter returns.
        if (filter == lzf_number && (values < 3 || value[2] != chunk_bytes(creation))) {
            reject(" has a damaged header: its compressed chunks have another size");
        }
    }
}

hsize_t StoredDataset::chunk_bytes(hid_t creation) const {
    std::vector<hsize_t> chunk(stored_.size());
    H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    return std::accumulate(chunk.begin(), chunk.end(), static_cast<hsize_t>(H5Tget_size(type_)),
                           std::multiplies());
}

void StoredDataset::check_chunks(hid_t creation) {
    std::vector<hsize_t> chunk(stored_.size());
    if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0) {
        reject(" has a damaged header");
    }
    index_t needed = 1;
    for (std::size_t d = 0; d < chunk.size(); ++d) {
        chunk_[d] = static_cast<index_t>(
            std::clamp<hsize_t>(chunk[d], 1, static_cast<hsize_t>(stored_[d])));
        needed *= blocks(stored_[d], chunk_[d]);
    }
    const Handle space{H5Dget_space(dataset_), H5Sclose};
    hsize_t present = 0;
    if (H5Dget_num_chunks(dataset_, space, &present) < 0) reject(" has a damaged header");
    if (static_cast<hsize_t>(needed) > present) {
        reject(core::text(" declares ", needed, " chunks (extents ", extents_text(stored_),
                          ") but the file holds ", present));
    }
}

// A block grows from one HDF5 chunk (or one sample), last axis first, up to block_bytes: each chunk
// is then read once, and a contiguous dataset in long runs.
core::Extents<3> StoredDataset::block_shape() const {
    const core::Extents<3> whole = extents();
    core::Extents<3> shape = of_free_axes(chunk_);
    for (int d = 2; d >= 0; --d) {
        const index_t bytes =
            shape[0] * shape[1] * shape[2] * static_cast<index_t>(form_.sample_bytes);
        const index_t times = std::max<index_t>(1, block_bytes / bytes);
        if (times < blocks(whole[d], shape[d])) {
            shape[d] *= times;
            break;
        }
        shape[d] = whole[d];
    }
    return shape;
}

void StoredDataset::read_raw(const core::Extents<3>& first, const core::Extents<3>& count,
                             void* raw) {
    std::vector<hsize_t> start(stored_.size(), 0);
    std::vector<hsize_t> size(stored_.begin(), stored_.end());
    int free = 3;
    for (std::size_t axis = axes().size(); axis-- > 0;) {
        const bool fixed = fixed_[axis].has_value();
        if (!fixed) --free;
        start[axis] = static_cast<hsize_t>(fixed ? *fixed_[axis] : first[free]);
        size[axis] = static_cast<hsize_t>(fixed ? 1 : count[free]);
    }
    const Handle space{H5Dget_space(dataset_), H5Sclose};
    const Handle memory{H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                        H5Sclose};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
    if (H5Dread(dataset_, type_, memory, space, H5P_DEFAULT, raw) < 0) {
        reject(core::text(" cannot be read (", last_failure().reason, ")"));
    }
}

template <class Sample>
void StoredDataset::read(View<Sample, 3, Host> out, int threads) {
    assert(form_.text.empty() == std::is_floating_point_v<Sample>);
    const core::Extents<3> whole = extents();
    if (form_.native() && out.dense()) {
        read_raw({}, whole, out.data);
        return;
    }
    const core::Extents<3> shape = block_shape();
    std::vector<std::byte> raw(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]) *
                               form_.sample_bytes);
    core::Extents<3> at{};
    for (at[0] = 0; at[0] < whole[0]; at[0] += shape[0]) {
        for (at[1] = 0; at[1] < whole[1]; at[1] += shape[1]) {
            for (at[2] = 0; at[2] < whole[2]; at[2] += shape[2]) {
                View<Sample, 3, Host> target = out;
                for (int d = 0; d < 3; ++d) {
                    target = target.slice(d, at[d], std::min(at[d] + shape[d], whole[d]));
                }
                read_raw(at, target.extent, raw.data());
                const Block block{form_, raw.data(), target.extent};
                if (target.stride[2] == 1) {
                    convert_rows(block, target, threads);
                } else {
                    convert_transposed(block, target, target.stride[0] == 1 ? 0 : 1, threads);
                }
            }
        }
    }
}

template void StoredDataset::read(View<std::complex<float>, 3, Host>, int);
template void StoredDataset::read(View<float, 3, Host>, int);

}  // namespace aperture::media
