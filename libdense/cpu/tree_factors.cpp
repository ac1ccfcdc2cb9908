// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "libcore/cpu/worker_tasks.hpp"
#include "libdense/cpu/qr_tree.hpp"
#include "libdense/cpu/tall_factors.hpp"

namespace aperture::dense::tall {
namespace {

template <class T>
class TreeFactors final : public TallFactors<T> {
  public:
    TreeFactors(index_t rows, index_t columns) : tree_(rows, columns) {}

    void factor(core::Cpu& cpu, MatrixView<const T> a, MatrixView<T> r, bool keep) override {
        tree_.factor(cpu, a, keep);
        tree_.copy_r(r);
    }
    void apply_transposed(core::Cpu& cpu, MatrixView<const T> c, MatrixView<T> x) override {
        tree_.apply_transposed(cpu, c, x, {});
    }
    void apply(core::Cpu& cpu, MatrixView<const T> x, MatrixView<T> c) override {
        tree_.apply(cpu, x, {}, c);
    }

  private:
    QrTree<T> tree_;
};

/// CAQR (Demmel et al. 2012; Anderson 2014, section 3.4): one tree per panel of columns, which then
/// updates the trailing columns.
template <class T>
class PanelTrees final : public TallFactors<T> {
  public:
    PanelTrees(index_t rows, index_t columns)
        : rows_(rows),
          trees_(trees_of(rows, columns)),
          work_({columns, rounded_up(rows, core::lanes<T>)}) {}

    static index_t bytes(index_t rows, index_t columns, int threads) {
        index_t sum = columns * rounded_up(rows, core::lanes<T>) * static_cast<index_t>(sizeof(T));
        for (const QrTree<T>& tree : trees_of(rows, columns)) {
            sum += tree.bytes(true, columns > width, threads);
        }
        return sum;
    }

    void factor(core::Cpu& cpu, MatrixView<const T> a, MatrixView<T> r, bool /*keep*/) override {
        const MatrixView<T> work = columns_of(work_, a.extent[1]);
        copy(cpu, a, work);
        const index_t n = r.extent[0];
        for (index_t i = 0; i < n; ++i) {
            for (index_t j = 0; j < i; ++j) r(i, j) = 0;
        }
        index_t begin = 0;
        for (QrTree<T>& tree : trees_) {
            const index_t end = begin + tree.columns();
            const MatrixView<T> below = work.slice(0, begin, work.extent[0]);
            const MatrixView<T> panel_of_r = r.slice(0, begin, end);
            tree.factor(cpu, below.slice(1, begin, end), true);
            tree.copy_r(panel_of_r.slice(1, begin, end));
            const MatrixView<T> behind = below.slice(1, end, n);
            if (end < n) tree.apply_transposed(cpu, behind, panel_of_r.slice(1, end, n), behind);
            begin = end;
        }
    }

    void apply_transposed(core::Cpu& cpu, MatrixView<const T> c, MatrixView<T> x) override {
        turned_.reshape(work_.extent());
        const index_t together = turned_.extent()[0];
        for (index_t j = 0; j < c.extent[1]; j += together) {
            const index_t end = std::min(j + together, c.extent[1]);
            const MatrixView<T> turned = columns_of(turned_, end - j);
            copy(cpu, c.slice(1, j, end), turned);
            index_t begin = 0;
            for (QrTree<T>& tree : trees_) {
                const MatrixView<T> below = turned.slice(0, begin, turned.extent[0]);
                tree.apply_transposed(
                    cpu, below, x.slice(0, begin, begin + tree.columns()).slice(1, j, end), below);
                begin += tree.columns();
            }
        }
    }

    void apply(core::Cpu& cpu, MatrixView<const T> x, MatrixView<T> c) override {
        index_t begin = x.extent[0];
        bool first = true;
        for (auto tree = trees_.rbegin(); tree != trees_.rend(); ++tree) {
            begin -= tree->columns();
            const MatrixView<T> below = c.slice(0, begin, c.extent[0]);
            tree->apply(cpu, x.slice(0, begin, begin + tree->columns()),
                        first ? MatrixView<const T>() : below, below);
            first = false;
        }
    }

  private:
    /// Columns of a panel: few enough for a block of it to stay in the second-level cache, many
    /// enough for the trailing columns to be read rarely.
    static constexpr index_t width = 64;

    static std::vector<QrTree<T>> trees_of(index_t rows, index_t columns) {
        std::vector<QrTree<T>> trees;
        for (index_t begin = 0; begin < columns; begin += width) {
            trees.emplace_back(rows - begin, std::min(width, columns - begin));
        }
        return trees;
    }
    MatrixView<T> columns_of(core::Array<T, 2>& transposed, index_t columns) {
        return {transposed.data(), {rows_, columns}, {1, transposed.extent()[1]}};
    }
    static void copy(core::Cpu& cpu, MatrixView<const T> from, MatrixView<T> to) {
        constexpr index_t together = 512;
        const index_t rows = from.extent[0];
        const auto copy_rows = [&](index_t task, std::byte* /*scratch*/) {
            const index_t first = task * together;
            load_columns(from, first, std::min(together, rows - first), to.stride[1],
                         to.data + first);
        };
        core::for_each_task(cpu, (rows + together - 1) / together, 0, copy_rows);
    }

    index_t rows_;
    std::vector<QrTree<T>> trees_;
    core::Array<T, 2> work_;    ///< [column][row]
    core::Array<T, 2> turned_;  ///< the same, for the matrix that Q^T is applied to
};

}  // namespace

template <class T>
std::unique_ptr<TallFactors<T>> make_tree_factors(index_t rows, index_t columns) {
    return std::make_unique<TreeFactors<T>>(rows, columns);
}
template <class T>
std::unique_ptr<TallFactors<T>> make_panel_factors(index_t rows, index_t columns) {
    return std::make_unique<PanelTrees<T>>(rows, columns);
}

template <class T>
index_t tree_factors_bytes(index_t rows, index_t columns, int threads) {
    return QrTree<T>(rows, columns).bytes(false, false, threads);
}
template <class T>
index_t panel_factors_bytes(index_t rows, index_t columns, int threads) {
    return PanelTrees<T>::bytes(rows, columns, threads);
}

template std::unique_ptr<TallFactors<float>> make_tree_factors(index_t, index_t);
template std::unique_ptr<TallFactors<double>> make_tree_factors(index_t, index_t);
template std::unique_ptr<TallFactors<float>> make_panel_factors(index_t, index_t);
template std::unique_ptr<TallFactors<double>> make_panel_factors(index_t, index_t);
template index_t tree_factors_bytes<float>(index_t, index_t, int);
template index_t tree_factors_bytes<double>(index_t, index_t, int);
template index_t panel_factors_bytes<float>(index_t, index_t, int);
template index_t panel_factors_bytes<double>(index_t, index_t, int);

}  // namespace aperture::dense::tall
