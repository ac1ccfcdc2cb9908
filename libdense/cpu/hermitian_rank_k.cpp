// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/dense/batch_blas.hpp"
#include "libdense/batch_checks.hpp"
#include "libdense/batch_instances.hpp"
#include "libdense/cpu/lane_batch.hpp"
#include "libdense/cpu/lane_kernels.hpp"

namespace aperture::dense {
namespace {

using core::index_t;

// Columns of A per partial sum: sums of partial sums lose less to rounding than one long sum. 8
// take 10 % more time than 32 (Zen 5); 16 are 5 dB less accurate in the weights of order 12.
constexpr index_t columns_at_once = 8;

/// Mirrors the lower triangle to the upper and makes the diagonal real.
template <Scalar T>
void mirror(int n, const lanes::Matrix<T>& c) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            lanes::Element<T> value = c.load(i, j);
            if constexpr (lanes::is_complex<T>) {
                value.im = i == j ? core::Pack<Real<T>>{} : -value.im;
            }
            c.store(j, i, value);
        }
    }
}

}  // namespace

template <Scalar T>
void hermitian_rank_k(core::Cpu& cpu, Real<T> alpha, MatrixBatch<const T, core::Host> a,
                      Real<T> beta, MatrixBatch<T, core::Host> c) {
    expects_rank_k(a, c);
    const int n = static_cast<int>(c.extent[1]);
    if (n == 0) return;
    const index_t depth = a.extent[2];
    const index_t at_once = std::min(columns_at_once, depth);
    lanes::for_each_pack<T>(
        cpu, c.extent[0], lanes::matrix_elements(n, n) + lanes::matrix_elements(n, at_once),
        [&](index_t first, int problems, lanes::Scratch<T> scratch) {
            const lanes::Matrix<T> sum = scratch.like(c);
            const lanes::Matrix<T> block = scratch.matrix(n, at_once, order_of(a));
            if (beta != 0) {
                lanes::load_lanes<T>(c, first, problems, lanes::Part::lower, sum);
            }
            Real<T> old_scale = beta;
            index_t k = 0;
            do {
                const auto part = a.slice(2, k, std::min(k + at_once, depth));
                const int columns = static_cast<int>(part.extent[2]);
                lanes::load_lanes(part, first, problems, lanes::Part::all, block);
                lanes::hermitian_rank_k(n, columns, alpha, block, old_scale, sum);
                old_scale = 1;
                k += columns;
            } while (k < depth);
            mirror(n, sum);
            lanes::store_lanes(sum, c, first, problems);
        });
}

APERTURE_FOR_ALL_SCALARS(APERTURE_RANK_K, core::Cpu)

}  // namespace aperture::dense
