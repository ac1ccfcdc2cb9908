// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aperture/core/view.hpp"
#include "libmedia/src/hdf5.hpp"
#include "libmedia/src/sample_form.hpp"

namespace aperture::media {

/// A dataset of a file open for reading, with complex or real numbers. Its rank is 2 or 3, not
/// counting a trailing extent of 2 for (real, imaginary). Rank 2 is read as rank 3 with a leading
/// extent of 1.
class StoredDataset {
  public:
    enum class Numbers { complex, real };

    /// Validates type, rank, extents, storage and filters; throws InvalidArgument with the prefix
    /// `label` (the file's path). Reads no data. `half`, 0 or 1: that part of a dataset of real
    /// numbers with one more axis, the first, of extent 2.
    StoredDataset(hid_t file, const std::string& label, const std::string& path, int rank,
                  Numbers numbers, std::optional<hsize_t> half = {});

    const SampleForm& form() const { return form_; }
    const core::Extents<3>& extents() const { return extents_; }
    hid_t id() const { return dataset_; }

    /// Reads all samples, float or std::complex<float>, into `out`, in the file's order of
    /// dimensions; strides of `out` permute them freely.
    template <class Sample>
    void read(core::View<Sample, 3, core::Host> out, int threads);

  private:
    /// The form of a dataset with these extents and the requested rank.
    SampleForm complex_form(const std::vector<index_t>& stored, int rank) const;
    SampleForm real_form(const std::vector<index_t>& stored, int rank) const;
    void check_storage(hid_t file);
    void check_chunks(hid_t creation);
    hsize_t chunk_bytes(hid_t creation) const;
    /// Reads the box of extents `count` at `first`.
    void read_raw(const core::Extents<3>& first, const core::Extents<3>& count, void* raw);
    core::Extents<3> block_shape() const;
    [[noreturn]] void reject(const std::string& what) const;

    std::string subject_;  ///< "cube.h5: dataset /cube"
    Handle dataset_;
    Handle type_;
    SampleForm form_{};
    core::Extents<3> extents_{1, 1, 1};
    core::Extents<3> chunk_{1, 1, 1};  ///< ones if the dataset is not chunked
    int stored_rank_ = 0;              ///< including an extent of 2, if there is one
    bool trailing_ = false;
    std::optional<hsize_t> half_;
};

}  // namespace aperture::media
