// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
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

}  // namespace

template <class T>
std::unique_ptr<TallFactors<T>> make_tree_factors(index_t rows, index_t columns) {
    return std::make_unique<TreeFactors<T>>(rows, columns);
}

template <class T>
index_t tree_factors_bytes(index_t rows, index_t columns, int threads) {
    return QrTree<T>(rows, columns).bytes(threads);
}

template std::unique_ptr<TallFactors<float>> make_tree_factors(index_t, index_t);
template std::unique_ptr<TallFactors<double>> make_tree_factors(index_t, index_t);
template index_t tree_factors_bytes<float>(index_t, index_t, int);
template index_t tree_factors_bytes<double>(index_t, index_t, int);

}  // namespace aperture::dense::tall
