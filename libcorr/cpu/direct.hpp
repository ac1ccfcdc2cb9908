// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "aperture/corr/correlator.hpp"
#include "libcorr/cpu/ground.hpp"
#include "libcorr/cpu/padded_rows.hpp"

namespace aperture::corr {

/// Sums of products of floats or doubles as they are defined. A thread takes a block of
/// displacements, up to 8 dy by three packs of dx, whose sums stay in registers along a row: each
/// loaded pack of A meets eight pixels of B. Sums are of 128 products in T, 16 rows of those in T,
/// all of those in double.
template <class T>
class DirectCorrelation {
  public:
    DirectCorrelation() = default;
    explicit DirectCorrelation(const Problem& problem);

    /// Writes `sums`, [planes or 1][dy][dx]; `same` where both images are one.
    void run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b, bool same,
             core::View<double, 3, core::Host> sums);

  private:
    /// Displacements that a thread takes at once.
    struct Block {
        index_t first_row;  ///< entry of the surface
        int rows;
        index_t first_column;
        int packs;
    };
    template <int rows, int packs>
    void run_block(const PaddedRows<T>& b, const Block& block,
                   core::View<double, 3, core::Host> sums) const;
    using RunBlock = void (DirectCorrelation::*)(const PaddedRows<T>&, const Block&,
                                                 core::View<double, 3, core::Host>) const;
    /// run_block for every size that a block has.
    template <int... i>
    static constexpr auto of_every_size(std::integer_sequence<int, i...>)
        -> std::array<RunBlock, sizeof...(i)>;

    Problem problem_;
    PaddedRows<T> a_;
    PaddedRows<T> b_;                    ///< of another image than a; allocated by the first
    std::vector<double> mean_products_;  ///< about as large as the products of a plane are
    std::vector<T> zeros_;               ///< a row outside B
    std::vector<Block> blocks_;          ///< those with most work first
};

}  // namespace aperture::corr
