// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
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

}  // namespace

template <Scalar T, class Layout>
void solve(core::Cpu& cpu, Factorisation factorisation, MatrixBatch<const T, core::Host, Layout> a,
           MatrixBatch<T, core::Host, Layout> x, core::View<int, 1, core::Host> info,
           core::View<Real<T>, 1, core::Host> pivot_ratio) {
    expects_solvable(a, x, info, pivot_ratio);
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

APERTURE_FOR_ALL_SCALARS(APERTURE_SOLVE, core::Cpu)

}  // namespace aperture::dense
