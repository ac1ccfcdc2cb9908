// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>

#include "aperture/core/array.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/qr_tree.hpp"

namespace aperture::bench {

using core::index_t;
using dense::tall::MatrixView;
using dense::tall::QrTree;

/// QR of a tall matrix on a CPU by one tree per panel of columns, which then updates the trailing
/// columns (CAQR; Demmel et al. 2012; Anderson 2014, section 3.4).
template <class T>
class PanelTrees {
  public:
    PanelTrees(core::Cpu& cpu, index_t rows, index_t columns)
        : cpu_(cpu),
          rows_(rows),
          columns_(columns),
          pitch_(core::round_up(rows, core::lanes<T>)),
          work_({columns, pitch_}) {
        for (index_t begin = 0; begin < columns; begin += width) {
            trees_.emplace_back(cpu, rows - begin, std::min(width, columns - begin));
        }
    }

    void factor(MatrixView<const T> a, MatrixView<T> r) {
        const MatrixView<T> work(work_.data(), {rows_, columns_}, {1, pitch_});
        copy(a, work);
        for (index_t i = 0; i < columns_; ++i) {
            for (index_t j = 0; j < i; ++j) r(i, j) = 0;
        }
        index_t begin = 0;
        for (QrTree<T>& tree : trees_) {
            const index_t end = std::min(begin + width, columns_);
            const MatrixView<T> below = work.slice(0, begin, rows_);
            const MatrixView<T> panel_of_r = r.slice(0, begin, end);
            tree.factor(below.slice(1, begin, end), panel_of_r.slice(1, begin, end), true);
            for (index_t j = end; j < columns_; j += width) {
                const index_t last = std::min(j + width, columns_);
                const MatrixView<T> behind = below.slice(1, j, last);
                tree.apply_transposed(behind, panel_of_r.slice(1, j, last), behind);
            }
            begin = end;
        }
    }

    /// Q of the last `factor`.
    void form_q(MatrixView<T> q) {
        core::Array<T, 2> identity({columns_, columns_});
        std::fill(identity.begin(), identity.end(), T(0));
        for (index_t i = 0; i < columns_; ++i) identity(i, i) = 1;
        index_t end = columns_;
        for (auto tree = trees_.rbegin(); tree != trees_.rend(); ++tree) {
            const index_t begin = (end - 1) / width * width;
            for (index_t j = 0; j < columns_; j += end - begin) {
                const index_t last = std::min(j + end - begin, columns_);
                const MatrixView<T> below = q.slice(0, begin, rows_).slice(1, j, last);
                tree->apply(identity.view().slice(0, begin, end).slice(1, j, last),
                            end == columns_ ? MatrixView<const T>() : below, below);
            }
            end = begin;
        }
    }

  private:
    /// Columns of a panel: few enough for a block of it to stay in the second-level cache, many
    /// enough for the trailing columns to be read rarely.
    static constexpr index_t width = 64;

    void copy(MatrixView<const T> from, MatrixView<T> to) {
        constexpr index_t together = 512;
        const index_t rows = from.extent[0];
        const auto copy_rows = [&](index_t task, std::byte* /*scratch*/) {
            const index_t first = task * together;
            dense::tall::load_columns(from, first, std::min(together, rows - first), to.stride[1],
                                      to.data + first);
        };
        core::for_each_task(cpu_, (rows + together - 1) / together, 0, copy_rows);
    }

    core::Cpu& cpu_;
    index_t rows_;
    index_t columns_;
    index_t pitch_;
    core::Array<T, 2> work_;  ///< [column][row]
    std::deque<QrTree<T>> trees_;
};

}  // namespace aperture::bench
