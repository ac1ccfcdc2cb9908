// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "libflow/cpu/prepared_system.hpp"

namespace aperture::flow {

/// A ring of rows: row y is stored at index y & mask.
struct RowRing {
    float* first;
    index_t pitch;
    index_t mask;
    float* operator[](index_t y) const { return first + (y & mask) * pitch; }
};

/// Position of the u of pixel x >= -1 in a row of PairedRows.
inline index_t paired(index_t x) {
    constexpr index_t lanes = core::lanes<float>;
    return x + ((x + lanes) / lanes - 1) * lanes;
}

/// Both unknowns of an image row by row, with packs of u and v interleaved: one pointer serves
/// both. A row begins with a pack of each left of the image and ends with a pack of each right of
/// it. A pack of u that begins with pixel x is at 2 x, followed by v.
class PairedRows {
  public:
    PairedRows() = default;
    PairedRows(index_t rows, index_t columns) : storage_({rows, pitch(columns)}) {
        std::fill(storage_.begin(), storage_.end(), 0.0F);
    }

    /// Floats from row to row of an image of `columns` columns.
    static index_t pitch(index_t columns) {
        return 2 * (whole_packs(columns) + 2 * core::lanes<float>);
    }

    float* row(index_t y) { return ring()[y]; }
    RowRing ring() { return {storage_.data() + 2 * core::lanes<float>, storage_.extent()[1], -1}; }

    /// Loads row y of u and v with the pixels beside it.
    void load_row(const PaddedPlanes& flow, index_t y) {
        constexpr int lanes = core::lanes<float>;
        for (index_t x = -lanes; x < flow.shape().columns + lanes; x += lanes) {
            core::store(row(y) + 2 * x, core::load(flow.row(0, y) + x));
            core::store(row(y) + 2 * x + lanes, core::load(flow.row(1, y) + x));
        }
    }
    /// Stores row y to u and v; does not set their margins.
    void store_row(PaddedPlanes& flow, index_t y) {
        constexpr int lanes = core::lanes<float>;
        for (index_t x = 0; x < flow.shape().columns; x += lanes) {
            core::store(flow.row(0, y) + x, core::load(row(y) + 2 * x));
            core::store(flow.row(1, y) + x, core::load(row(y) + 2 * x + lanes));
        }
    }

  private:
    core::Array<float, 2> storage_;
};

/// Coefficients of the updates, row by row and one pack of pixels after another: there are too few
/// registers for a pointer to each coefficient.
using Coefficients = core::Array<float, 2>;

/// Jacobi's iteration x <- D^-1 (S(x) + b), D the diagonal (Solver::jacobi) or the 2x2 blocks of
/// the pixels (Solver::block2x2; Horn & Schunck 1981, equation 11). Several sweeps run over a band
/// of rows while it is in cache: step t follows step t-1 a row behind. At its ends a band
/// recomputes the rows of its neighbours that later steps need. So bands are independent, and no
/// value depends on their number.
class StationaryIteration {
  public:
    StationaryIteration() = default;
    StationaryIteration(core::Cpu& cpu, Shape shape, Solver solver);

    /// Stores the coefficients of a system, whose form `prepared` has.
    void load(const PreparedSystem& prepared, const LinearSystem<core::Host>& system);
    /// `count` sweeps over `flow`, with margins that must be set before and are set after.
    void sweep(const PreparedSystem& system, PaddedPlanes& flow, int count);

  private:
    template <class Update, Coupling coupling>
    void sweep_bands(const PreparedSystem& system, int count);

    core::Cpu* cpu_ = nullptr;
    Solver solver_ = Solver::block2x2;
    bool one_equation_ = false;
    Coefficients coefficients_;
    PairedRows flow_;
    PairedRows other_;
    PairedRows zeros_;  ///< one row, used outside the image
};

}  // namespace aperture::flow
