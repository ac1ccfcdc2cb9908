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

/// A dataset of a file open for reading, with complex or real numbers. A trailing extent of 2 for
/// (real, imaginary) is not one of its axes. An axis may be fixed at an index; at most three axes
/// are free when samples are read. If fewer are, they are read as three with leading extents of 1.
class StoredDataset {
  public:
    enum class Numbers { complex, real };
    /// The numbers of axes that a dataset may have.
    struct Ranks {
        int least;
        int most;
        std::string text() const;
        bool allow(int rank) const { return least <= rank && rank <= most; }
    };

    /// Validates type, rank, extents, storage and filters; throws InvalidArgument with the prefix
    /// `label` (the file's path). Reads no data.
    StoredDataset(hid_t file, const std::string& label, const std::string& path, Ranks ranks,
                  Numbers numbers);

    const SampleForm& form() const { return form_; }
    hid_t id() const { return dataset_; }
    /// The extents of all axes.
    std::vector<index_t> axes() const;
    /// From now on, only samples at `index` of `axis` are read.
    void fix(int axis, index_t index);
    /// The extents of the free axes.
    core::Extents<3> extents() const { return of_free_axes(stored_); }

    /// Reads all samples, float or std::complex<float>, into `out`, in the file's order of
    /// the free axes; strides of `out` permute them freely.
    template <class Sample>
    void read(core::View<Sample, 3, core::Host> out, int threads);

  private:
    /// The form of a dataset with the allowed ranks.
    SampleForm complex_form(Ranks ranks) const;
    SampleForm real_form(Ranks ranks) const;
    void check_storage(hid_t file);
    void check_filters(hid_t creation, int filters) const;
    void check_chunks(hid_t creation);
    hsize_t chunk_bytes(hid_t creation) const;
    core::Extents<3> of_free_axes(const std::vector<index_t>& lengths) const;
    /// Reads the box of extents `count` at `first`.
    void read_raw(const core::Extents<3>& first, const core::Extents<3>& count, void* raw);
    core::Extents<3> block_shape() const;
    [[noreturn]] void reject(const std::string& what) const;

    std::string subject_;  ///< "cube.h5: dataset /cube"
    Handle dataset_;
    Handle type_;
    SampleForm form_{};
    // Of each dimension in the file, a trailing extent of 2 included.
    std::vector<index_t> stored_;
    std::vector<index_t> chunk_;  ///< ones if the dataset is not chunked
    std::vector<std::optional<index_t>> fixed_;
    bool trailing_ = false;
};

}  // namespace aperture::media
