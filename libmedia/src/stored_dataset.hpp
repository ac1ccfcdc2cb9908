// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"
#include "libmedia/src/complex_form.hpp"
#include "libmedia/src/hdf5.hpp"

namespace aperture::media {

/// A box of a three-dimensional dataset: [first, first + count) in every dimension, file order.
struct Box {
    core::Extents<3> first{};
    core::Extents<3> count{};
};

/// A dataset of a file open for reading, with elements of `Form`: ComplexForm or RealForm. Its rank
/// is 2 or 3, not counting a trailing extent of 2 for (real, imaginary). Rank 2 is read as rank 3
/// with a leading extent of 1.
template <class Form>
class StoredDataset {
  public:
    using Sample = typename Form::Sample;

    /// Validates type, rank, extents, storage and filters; throws InvalidArgument with the prefix
    /// `label` (the file's path). Reads no data.
    StoredDataset(hid_t file, const std::string& label, const std::string& path, int rank);

    const Form& form() const { return form_; }
    const core::Extents<3>& extents() const { return extents_; }
    hid_t id() const { return dataset_; }

    /// Reads `box` into `out`, in the file's order of dimensions; strides of `out` permute them
    /// freely.
    void read(const Box& box, core::View<Sample, 3, core::Host> out, int threads);

  private:
    void find_form(hid_t space, int rank);
    /// The form of a dataset with these extents and the requested rank.
    Form form_of(const std::vector<index_t>& stored, int rank) const;
    void check_storage(hid_t file);
    void check_chunks(hid_t creation);
    void read_raw(const Box& box, void* raw);
    core::Extents<3> block_shape(const Box& box) const;
    [[noreturn]] void reject(const std::string& what) const;

    std::string subject_;  ///< "cube.h5: dataset /cube"
    Handle dataset_;
    Handle type_;
    Form form_{};
    core::Extents<3> extents_{1, 1, 1};
    core::Extents<3> chunk_{1, 1, 1};  ///< ones if the dataset is not chunked
    int stored_rank_ = 0;              ///< including the trailing extent, if there is one
    bool trailing_ = false;
    std::vector<std::byte> raw_;  ///< samples as stored, reused between calls
};

using ComplexDataset = StoredDataset<ComplexForm>;
using RealDataset = StoredDataset<RealForm>;
template <>
ComplexForm ComplexDataset::form_of(const std::vector<index_t>& stored, int rank) const;
template <>
RealForm RealDataset::form_of(const std::vector<index_t>& stored, int rank) const;
extern template class StoredDataset<ComplexForm>;
extern template class StoredDataset<RealForm>;

}  // namespace aperture::media
