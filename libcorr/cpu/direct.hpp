// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "aperture/corr/correlator.hpp"
#include "libcorr/cpu/ground.hpp"

namespace aperture::corr {

/// Sums of products of floats or doubles by definition. A thread processes a block of
/// displacements, up to 8 dy by three packs of dx, with sums in registers along a row: each loaded
/// pack of A is multiplied by eight pixels of B. 128 products are summed in T, 16 rows of those
/// sums in T, and the rest in double; for images of few rows 8 products and one row.
template <class T>
class DirectCorrelation {
  public:
    DirectCorrelation() = default;
    explicit DirectCorrelation(const Problem& problem);

    /// Computes `sums`, [planes or 1][dy][dx].
    void run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b,
             core::View<double, 3, core::Host> sums);

  private:
    /// Displacements that a thread processes at once.
    struct Block {
        index_t first_row;  ///< entry of the surface
        int rows;
        index_t first_column;
        int packs;
    };
    template <int rows, int packs>
    void run_block(core::View<const T, 3, core::Host> b, const Block& block,
                   core::View<double, 3, core::Host> sums) const;

    Problem problem_;
    core::Array<T, 3> padded_a_;         ///< with zeros on both sides of a row
    core::View<T, 3, core::Host> a_;     ///< of padded_a_
    core::Array<T, 3> b_;                ///< if B is not A; allocated by the first such run
    std::vector<double> mean_products_;  ///< approximate size of the products of a plane
    std::vector<T> zeros_;               ///< a row outside B
    std::vector<Block> blocks_;          ///< in order of decreasing work
};

}  // namespace aperture::corr
