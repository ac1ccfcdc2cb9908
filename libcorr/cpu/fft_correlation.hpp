// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "aperture/core/array.hpp"
#include "aperture/corr/correlator.hpp"
#include "libcorr/cpu/ground.hpp"
#include "libsignal/cpu/lane_fft.hpp"

namespace aperture::corr {

/// Sums of products by real FFTs that are long enough to avoid wrap-around: down the columns, along
/// the rows, and back. A transform has a column in each lane, and two columns as the parts of one
/// complex number; between the directions squares of lanes are transposed. Rows and columns of
/// zeros are not loaded, spectra of planes are summed before the one inverse transform, and only
/// rows and columns of requested displacements are transformed back.
class FftCorrelation {
  public:
    FftCorrelation() = default;
    explicit FftCorrelation(const Problem& problem);

    /// Computes `sums`, [planes or 1][dy][dx].
    void run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b,
             core::View<double, 3, core::Host> sums);

    // The same in two steps, for an image that is correlated with several others.

    /// Extents of the spectra of an image: [plane][pack of a column's frequencies][frequency of a
    /// row: real parts, imaginary parts].
    core::Extents<3> spectra_extent() const;
    /// Computes the spectra of `image`.
    void transform(core::Cpu& cpu, const GroundedPlanes& image,
                   core::View<float, 3, core::Host> spectra);
    /// Computes `sums` of the images with these spectra.
    void correlate(core::Cpu& cpu, core::View<const float, 3, core::Host> a,
                   core::View<const float, 3, core::Host> b,
                   core::View<double, 3, core::Host> sums);

  private:
    void transform_columns(core::Cpu& cpu, const GroundedPlanes& image,
                           core::Array<float, 3>& spectra) const;
    /// A thread's memory for the rows of one pack of a column's frequencies.
    struct RowMemory {
        signal::ComplexPack* work;     ///< scratch of the transform
        signal::ComplexPack* of_a;     ///< frequencies of a row of A
        signal::ComplexPack* product;  ///< sums over planes
    };
    /// Transforms a row of the column spectra; calls store(k, frequency).
    template <class Store>
    void transform_row(const core::Array<float, 3>& spectra, index_t plane, index_t block,
                       const RowMemory& memory, const Store& store) const;
    /// Calls add_product(plane, block, memory) for every plane and pack of a column's frequencies,
    /// and transforms the sums back along the rows.
    template <class AddProduct>
    void correlate_rows(core::Cpu& cpu, const AddProduct& add_product);
    void transform_back(core::Cpu& cpu, core::View<double, 3, core::Host> sums) const;
    /// Frequencies of a column, in packs.
    index_t blocks() const;

    Problem problem_;
    signal::LaneFft columns_;
    signal::LaneFft rows_;
    // [plane][x or dx][pack of a column's frequencies: real parts, imaginary parts]
    core::Array<float, 3> spectra_a_;
    core::Array<float, 3> spectra_b_;
    core::Array<float, 3> products_;
};

}  // namespace aperture::corr
