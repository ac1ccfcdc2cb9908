// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_kernels.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

// Right-hand sides solved at once: they stay in the second-level cache beside the factor.
constexpr std::ptrdiff_t right_hand_side_bytes = 256 * 1024;

template <Scalar T>
int right_hand_sides_at_once(int n, index_t all) {
    const std::ptrdiff_t row_bytes =
        lanes::element_reals<T> * static_cast<std::ptrdiff_t>(sizeof(Real<T>)) * std::max(n, 1);
    constexpr std::ptrdiff_t step = lanes::tile_rows<T>;
    const std::ptrdiff_t fitting = right_hand_side_bytes / row_bytes / step * step;
    return static_cast<int>(std::min<index_t>(std::max(fitting, step), all));
}

template <Scalar T>
void clear_failed(const lanes::Pivots<T>& pivots, int rows, int n, const lanes::Matrix<T>& x) {
    for (int r = 0; r < rows; ++r) {
        for (int i = 0; i < n; ++i) {
            lanes::Element<T> value = x.load(r, i);
            const core::Pack<Real<T>> zero{};
            value.re = pivots.info == 0 ? value.re : zero;
            if constexpr (lanes::is_complex<T>) value.im = pivots.info == 0 ? value.im : zero;
            x.store(r, i, value);
        }
    }
}

/// Writes info and pivot ratio; returns whether any of the problems failed.
template <Scalar T>
bool report(const lanes::Pivots<T>& pivots, int n, index_t first, int problems,
            core::View<int, 1, core::Host> info, core::View<Real<T>, 1, core::Host> pivot_ratio) {
    const core::Pack<Real<T>> ratio = pivots.ratio();
    bool failed = false;
    for (int l = 0; l < problems; ++l) {
        info(first + l) = static_cast<int>(pivots.info[l]);
        failed = failed || pivots.info[l] != 0;
        if (!pivot_ratio.empty()) pivot_ratio(first + l) = n == 0 ? Real<T>{1} : ratio[l];
    }
    return failed;
}

template <Scalar T, class Layout>
void check(const MatrixBatch<const T, core::Host, Layout>& a,
           const MatrixBatch<T, core::Host, Layout>& x, const core::View<int, 1, core::Host>& info,
           const core::View<Real<T>, 1, core::Host>& pivot_ratio) {
    const index_t problems = a.extent[0];
    const index_t n = a.extent[1];
    core::expects(a.extent[2] == n, "solve: a is ", n, " x ", a.extent[2], ", must be square");
    core::expects(n <= max_order, "solve: order ", n, " exceeds ", max_order);
    core::expects(x.extent[0] == problems && x.extent[2] == n, "solve: x holds ", x.extent[0],
                  " problems of order ", x.extent[2], ", a holds ", problems, " of order ", n);
    core::expects(info.extent[0] == problems, "solve: info holds ", info.extent[0], " entries for ",
                  problems, " problems");
    core::expects(pivot_ratio.empty() || pivot_ratio.extent[0] == problems,
                  "solve: pivot_ratio holds ", pivot_ratio.extent[0], " entries for ", problems,
                  " problems");
    lanes::expect_layout(a, "a");
    lanes::expect_layout(x, "x");
}

}  // namespace

template <Scalar T, class Layout>
void solve(core::Cpu& cpu, Factorisation factorisation, MatrixBatch<const T, core::Host, Layout> a,
           MatrixBatch<T, core::Host, Layout> x, core::View<int, 1, core::Host> info,
           core::View<Real<T>, 1, core::Host> pivot_ratio) {
    check(a, x, info, pivot_ratio);
    const int n = static_cast<int>(a.extent[1]);
    const index_t right_hand_sides = n == 0 ? 0 : x.extent[1];
    const int at_once = right_hand_sides_at_once<T>(n, right_hand_sides);
    const bool eliminate = factorisation == Factorisation::gauss_jordan;
    const std::ptrdiff_t stride = lanes::padded(n);
    const std::ptrdiff_t matrix = n * stride;
    const std::ptrdiff_t elements = (eliminate ? 2 : 1) * matrix + std::ptrdiff_t{n} * at_once;
    lanes::for_each_pack<T>(
        cpu, a.extent[0], elements, [&](index_t first, int problems, Real<T>* scratch) {
            const lanes::Matrix<T> g{scratch, stride};
            const lanes::Matrix<T> block{g.at(n, 0), n};
            const lanes::Matrix<T> h{block.at(at_once, 0), stride};
            lanes::load_lanes(a, first, problems, lanes::Part::lower, g);
            const lanes::Pivots<T> pivots = lanes::factor(n, g);
            const bool failed = report(pivots, n, first, problems, info, pivot_ratio);
            if (eliminate) lanes::eliminate_above(n, g, h);
            for (index_t r = 0; r < right_hand_sides; r += at_once) {
                const auto part = x.slice(1, r, std::min(r + at_once, right_hand_sides));
                const int rows = static_cast<int>(part.extent[1]);
                lanes::load_lanes<T, Layout>(part, first, problems, lanes::Part::all, block);
                if (eliminate) {
                    lanes::solve_eliminated(n, rows, g, h, block, block);
                } else {
                    lanes::solve(n, rows, g, block, block);
                }
                if (failed) clear_failed(pivots, rows, n, block);
                lanes::store_lanes(block, part, first, problems);
            }
        });
}

#define APERTURE_SOLVE(T, LAYOUT)                                            \
    template void solve<T, LAYOUT>(                                          \
        core::Cpu&, Factorisation, MatrixBatch<const T, core::Host, LAYOUT>, \
        MatrixBatch<T, core::Host, LAYOUT>, core::View<int, 1, core::Host>,  \
        core::View<Real<T>, 1, core::Host>);
#define APERTURE_BOTH_LAYOUTS(T)          \
    APERTURE_SOLVE(T, core::Concatenated) \
    APERTURE_SOLVE(T, core::Interleaved)
APERTURE_BOTH_LAYOUTS(float)
APERTURE_BOTH_LAYOUTS(double)
APERTURE_BOTH_LAYOUTS(std::complex<float>)
APERTURE_BOTH_LAYOUTS(std::complex<double>)

}  // namespace aperture::dense
