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

void StoredDataset::reject(const std::string& what) const {
    throw core::InvalidArgument(core::text(subject_, what));
}

StoredDataset::StoredDataset(hid_t file, const std::string& label, const std::string& path,
                             int rank, Numbers numbers, std::optional<hsize_t> half)
    : subject_(core::text(label, ": dataset ", path)), half_(half) {
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
    const std::vector<index_t> stored = extents_of(space);
    form_ = numbers == Numbers::complex ? complex_form(stored, rank) : real_form(stored, rank);
    stored_rank_ = static_cast<int>(stored.size());
    trailing_ = stored_rank_ > rank && !half_;
    std::copy_n(stored.begin() + (half_ ? 1 : 0), rank, extents_.begin() + (3 - rank));
    for (const index_t extent : stored) {
        if (extent == 0) reject(core::text(" is empty: its extents are ", extents_text(stored)));
        if (extent < 0) reject(core::text(" is too large: its extents are ", extents_text(stored)));
    }
    check_storage(file);
}

SampleForm StoredDataset::complex_form(const std::vector<index_t>& stored, int rank) const {
    const auto stored_rank = static_cast<int>(stored.size());
    const H5T_class_t kind = H5Tget_class(type_);
    const bool real = kind == H5T_INTEGER || kind == H5T_FLOAT;
    if (stored_rank != rank && !(real && stored_rank == rank + 1 && stored.back() == 2)) {
        reject(core::text(" has rank ", stored_rank, ", expected ", rank));
    }
    if (real && stored_rank == rank) {
        reject(core::text(" is real (", type_text(type_), ' ', extents_text(stored),
                          "), expected complex: a compound {r,i} or a last extent of 2"));
    }
    const std::optional<SampleForm> form = real ? trailing_form(type_) : compound_form(type_);
    if (!form) {
        reject(core::text(
            " has elements of type ", type_text(type_),
            "; expected two equal numbers named {r,i}, {real,imag}, {re,im}, {Re,Im}, {I,Q} "
            "or {i,q}"));
    }
    return *form;
}

SampleForm StoredDataset::real_form(const std::vector<index_t>& stored, int rank) const {
    const int expected = rank + (half_ ? 1 : 0);
    if (static_cast<int>(stored.size()) != expected) {
        reject(core::text(" has rank ", stored.size(), ", expected ", expected));
    }
    const std::optional<Number> number = number_of(type_);
    if (!number) {
        reject(core::text(" has elements of type ", type_text(type_),
                          "; expected integers or floating-point numbers"));
    }
    return {*number, number->bytes};
}

// Extents in a header are trusted only if the file holds the data they describe.
void StoredDataset::check_storage(hid_t file) {
    // Of a sample in the file or in memory, whichever is larger.
    const auto sample_bytes =
        static_cast<index_t>(std::max(form_.sample_bytes, sizeof(std::complex<float>)));
    index_t bytes = sample_bytes;
    for (const index_t extent : extents_) {
        if (__builtin_mul_overflow(bytes, extent, &bytes)) {
            reject(core::text(" is too large: its extents are ",
                              extents_text({extents_.begin(), extents_.end()})));
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
    const auto needed = static_cast<hsize_t>(bytes / sample_bytes) * form_.sample_bytes;
    hsize_t file_bytes = 0;
    H5Fget_filesize(file, &file_bytes);
    const hsize_t present = std::min<hsize_t>(H5Dget_storage_size(dataset_), file_bytes);
    if (filters == 0 && needed > present) {
        reject(core::text(" declares ", needed, " bytes (extents ",
                          extents_text({extents_.begin(), extents_.end()}), ") but the file holds ",
                          present));
    }
}

hsize_t StoredDataset::chunk_bytes(hid_t creation) const {
    std::vector<hsize_t> chunk(static_cast<std::size_t>(stored_rank_));
    H5Pget_chunk(creation, stored_rank_, chunk.data());
    return std::accumulate(chunk.begin(), chunk.end(), static_cast<hsize_t>(H5Tget_size(type_)),
                           std::multiplies());
}

void StoredDataset::check_chunks(hid_t creation) {
    std::vector<hsize_t> chunk(static_cast<std::size_t>(stored_rank_));
    if (H5Pget_chunk(creation, stored_rank_, chunk.data()) < 0) reject(" has a damaged header");
    const int leading = half_ ? 1 : 0;
    const int rank = stored_rank_ - (trailing_ ? 1 : 0) - leading;
    const bool splits_pairs = (trailing_ && chunk.back() == 1) || (half_ && chunk.front() == 1);
    index_t needed = splits_pairs ? 2 : 1;
    for (int d = 0; d < rank; ++d) {
        const index_t extent = extents_[3 - rank + d];
        const hsize_t length =
            std::clamp<hsize_t>(chunk[leading + d], 1, static_cast<hsize_t>(extent));
        chunk_[3 - rank + d] = static_cast<index_t>(length);
        needed *= blocks(extent, static_cast<index_t>(length));
    }
    const Handle space{H5Dget_space(dataset_), H5Sclose};
    hsize_t present = 0;
    if (H5Dget_num_chunks(dataset_, space, &present) < 0) reject(" has a damaged header");
    if (static_cast<hsize_t>(needed) > present) {
        reject(core::text(" declares ", needed, " chunks (extents ",
                          extents_text({extents_.begin(), extents_.end()}), ") but the file holds ",
                          present));
    }
}

// A block grows from one HDF5 chunk (or one sample), last axis first, up to block_bytes: each chunk
// is then read once, and a contiguous dataset in long runs.
core::Extents<3> StoredDataset::block_shape() const {
    core::Extents<3> shape = chunk_;
    for (int d = 2; d >= 0; --d) {
        const index_t bytes =
            shape[0] * shape[1] * shape[2] * static_cast<index_t>(form_.sample_bytes);
        const index_t times = std::max<index_t>(1, block_bytes / bytes);
        if (times < blocks(extents_[d], shape[d])) {
            shape[d] *= times;
            break;
        }
        shape[d] = extents_[d];
    }
    return shape;
}

void StoredDataset::read_raw(const core::Extents<3>& first, const core::Extents<3>& count,
                             void* raw) {
    // The stored dimensions, without the leading ones that are missing in the file.
    const int missing = 3 + (trailing_ || half_ ? 1 : 0) - stored_rank_;
    std::vector<hsize_t> start(first.begin() + missing, first.end());
    std::vector<hsize_t> size(count.begin() + missing, count.end());
    if (half_) {
        start.insert(start.begin(), *half_);
        size.insert(size.begin(), 1);
    }
    if (trailing_) {
        start.push_back(0);
        size.push_back(2);
    }
    const Handle space{H5Dget_space(dataset_), H5Sclose};
    const Handle memory{H5Screate_simple(stored_rank_, size.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
    if (H5Dread(dataset_, type_, memory, space, H5P_DEFAULT, raw) < 0) {
        reject(core::text(" cannot be read (", last_failure().reason, ")"));
    }
}

template <class Sample>
void StoredDataset::read(View<Sample, 3, Host> out, int threads) {
    assert(form_.text.empty() == std::is_floating_point_v<Sample>);
    if (form_.native() && out.dense()) {
        read_raw({}, extents_, out.data);
        return;
    }
    const core::Extents<3> shape = block_shape();
    std::vector<std::byte> raw(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]) *
                               form_.sample_bytes);
    core::Extents<3> at{};
    for (at[0] = 0; at[0] < extents_[0]; at[0] += shape[0]) {
        for (at[1] = 0; at[1] < extents_[1]; at[1] += shape[1]) {
            for (at[2] = 0; at[2] < extents_[2]; at[2] += shape[2]) {
                View<Sample, 3, Host> target = out;
                for (int d = 0; d < 3; ++d) {
                    target = target.slice(d, at[d], std::min(at[d] + shape[d], extents_[d]));
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
