// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "aperture/core/executor.hpp"
#include "aperture/corr/correlator.hpp"
#include "libcorr/cpu/padded_rows.hpp"

namespace aperture::corr {

/// Sums of products as they are defined. A thread takes a block of displacements, up to 8 dy by
/// three packs of dx, whose sums stay in registers along a row: each loaded pack of A meets eight
/// pixels of B. Sums are of 128 products in float, 16 rows of those in float, all of those in
/// double.
class DirectCorrelation {
  public:
    DirectCorrelation() = default;
    explicit DirectCorrelation(const Problem& problem);

    /// Planes with zeros beside their rows, for `run`.
    PaddedRows& a() { return a_; }
    PaddedRows& b() { return b_; }
    /// Writes `sums`, [planes or 1][dy][dx]. `mean_product` is about as large as the products of a
    /// plane.
    void run(core::Cpu& cpu, const PaddedRows& a, const PaddedRows& b, const double* mean_product,
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
    void run_block(const PaddedRows& a, const PaddedRows& b, const double* mean_product,
                   const Block& block, core::View<double, 3, core::Host> sums) const;
    using RunBlock = void (DirectCorrelation::*)(const PaddedRows&, const PaddedRows&,
                                                 const double*, const Block&,
                                                 core::View<double, 3, core::Host>) const;
    /// run_block for every size that a block has.
    template <int... i>
    static constexpr std::array<RunBlock, sizeof...(i)> of_every_size(
        std::integer_sequence<int, i...>);

    Problem problem_;
    PaddedRows a_;
    PaddedRows b_;
    std::vector<float> zeros_;   ///< a row outside B
    std::vector<Block> blocks_;  ///< those with most work first
};

}  // namespace aperture::corr
