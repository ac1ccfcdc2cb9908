// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/cpu/fft_correlation.hpp"

#include <algorithm>

#include "libcore/cpu/transpose.hpp"
#include "libcore/cpu/worker_tasks.hpp"
#include "libcore/rounding.hpp"
#include "libsignal/cpu/image.hpp"

namespace aperture::corr {
namespace {

using core::ceil_div;
using core::load;
using core::Pack;
using core::store;
using signal::ComplexPack;
using signal::swapped;
using signal::cpu::load_part;

constexpr index_t lanes = core::lanes<float>;
/// Columns transformed together, as the real and the imaginary parts of a pack.
constexpr index_t columns_at_once = 2 * lanes;

std::size_t bytes_of(index_t packs) {
    return static_cast<std::size_t>(packs) * sizeof(ComplexPack);
}

ComplexPack load_complex(const float* from) { return {load(from), load(from + lanes)}; }
void store_complex(float* to, const ComplexPack& value) {
    store(to, value.re);
    store(to + lanes, value.im);
}

/// sum += a conj(b)
void add_product(const ComplexPack& a, const ComplexPack& b, ComplexPack& sum) {
    sum.re += a.re * b.re + a.im * b.im;
    sum.im += a.im * b.re - a.re * b.im;
}

/// Transposes a square of lanes x lanes complex numbers.
void transpose(ComplexPack (&square)[lanes]) {
    Pack<float> re[lanes];
    Pack<float> im[lanes];
    for (index_t i = 0; i < lanes; ++i) {
        re[i] = square[i].re;
        im[i] = square[i].im;
    }
    core::transpose<float>(re);
    core::transpose<float>(im);
    for (index_t i = 0; i < lanes; ++i) square[i] = {re[i], im[i]};
}

}  // namespace

FftCorrelation::FftCorrelation(const Problem& problem)
    : problem_(problem),
      columns_(signal::good_lane_fft_length(problem.image.rows + problem.lags.rows - 1)),
      rows_(signal::good_lane_fft_length(problem.image.columns + problem.lags.columns - 1)) {
    const index_t floats = 2 * lanes * blocks();
    spectra_a_ = core::Array<float, 3>({problem.planes, problem.image.columns, floats});
    products_ = core::Array<float, 3>({problem_.surfaces(), problem.lags.extent().columns, floats});
}

index_t FftCorrelation::blocks() const { return ceil_div(columns_.length() / 2 + 1, lanes); }

void FftCorrelation::transform_columns(core::Cpu& cpu, const GroundedPlanes& image,
                                       core::Array<float, 3>& spectra) const {
    const index_t rows = problem_.image.rows;
    const index_t columns = problem_.image.columns;
    const index_t groups = ceil_div(columns, columns_at_once);
    const index_t n = columns_.length();
    const index_t packs = columns_.scratch_packs() + n;
    core::for_each_task(
        cpu, problem_.planes * groups, bytes_of(packs), [&](index_t task, std::byte* scratch) {
            auto* const work = reinterpret_cast<ComplexPack*>(scratch);
            ComplexPack* const both = work + columns_.scratch_packs();
            const index_t p = task / groups;
            const index_t first = task % groups * columns_at_once;
            const index_t count = std::min(columns_at_once, columns - first);
            const auto ground = static_cast<float>(image.ground.of(p));
            columns_.run(
                work, rows,
                [&](index_t y) -> ComplexPack {
                    const float* from = &image.planes(p, y, first);
                    return {load_part(from, count) - ground,
                            count > lanes ? load_part(from + lanes, count - lanes) - ground
                                          : Pack<float>{}};
                },
                [&](index_t k, const ComplexPack& value) { both[k] = value; });
            // Z = X1 + i X2 of two real columns: X1(k) = (Z(k) + conj Z(n-k)) / 2, and X2 likewise.
            for (index_t block = 0; block < blocks(); ++block) {
                ComplexPack left[lanes] = {};
                ComplexPack right[lanes] = {};
                for (index_t i = 0; i < std::min(lanes, n / 2 + 1 - block * lanes); ++i) {
                    const index_t k = block * lanes + i;
                    const ComplexPack& z = both[k];
                    const ComplexPack& mirror = both[k == 0 ? 0 : n - k];
                    left[i] = {0.5F * (z.re + mirror.re), 0.5F * (z.im - mirror.im)};
                    right[i] = {0.5F * (z.im + mirror.im), 0.5F * (mirror.re - z.re)};
                }
                transpose(left);
                transpose(right);
                for (index_t x = 0; x < count; ++x) {
                    store_complex(&spectra(p, first + x, 2 * lanes * block),
                                  x < lanes ? left[x] : right[x - lanes]);
                }
            }
        });
}

template <class Store>
void FftCorrelation::transform_row(const core::Array<float, 3>& spectra, index_t plane,
                                   index_t block, const RowMemory& memory,
                                   const Store& store) const {
    rows_.run(
        memory.work, problem_.image.columns,
        [&](index_t x) { return load_complex(&spectra(plane, x, 2 * lanes * block)); }, store);
}

template <class AddProduct>
void FftCorrelation::correlate_rows(core::Cpu& cpu, const AddProduct& add_product) {
    const index_t lag_columns = problem_.lags.extent().columns;
    const index_t first_lag = problem_.lags.first_column();
    const index_t n = rows_.length();
    const index_t packs = rows_.scratch_packs() + 2 * n;
    core::for_each_task(cpu, blocks(), bytes_of(packs), [&](index_t block, std::byte* scratch) {
        auto* const work = reinterpret_cast<ComplexPack*>(scratch);
        ComplexPack* const of_a = work + rows_.scratch_packs();
        const RowMemory memory{work, of_a, of_a + n};
        const auto store_surface = [&](index_t surface) {
            rows_.run(
                work, n, [&](index_t k) { return swapped(memory.product[k]); },
                [&](index_t i, const ComplexPack& value) {
                    const index_t lag = i - first_lag < lag_columns ? i : i - n;
                    const index_t j = lag - first_lag;
                    if (j >= 0 && j < lag_columns) {
                        store_complex(&products_(surface, j, 2 * lanes * block), swapped(value));
                    }
                });
        };
        for (index_t p = 0; p < problem_.planes; ++p) {
            if (p == 0 || problem_.each_plane) std::fill_n(memory.product, n, ComplexPack{});
            add_product(p, block, memory);
            if (problem_.each_plane) store_surface(p);
        }
        if (!problem_.each_plane) store_surface(0);
    });
}

void FftCorrelation::transform_back(core::Cpu& cpu, core::View<double, 3, core::Host> sums) const {
    const index_t lag_rows = problem_.lags.extent().rows;
    const index_t lag_columns = problem_.lags.extent().columns;
    const index_t first_lag = problem_.lags.first_row();
    const index_t groups = ceil_div(lag_columns, columns_at_once);
    const index_t n = columns_.length();
    const index_t packs = columns_.scratch_packs() + n;
    const double scale = 1.0 / (static_cast<double>(n) * static_cast<double>(rows_.length()));
    core::for_each_task(
        cpu, problem_.surfaces() * groups, bytes_of(packs), [&](index_t task, std::byte* scratch) {
            auto* const work = reinterpret_cast<ComplexPack*>(scratch);
            ComplexPack* const both = work + columns_.scratch_packs();
            const index_t s = task / groups;
            const index_t first = task % groups * columns_at_once;
            const index_t count = std::min(columns_at_once, lag_columns - first);
            for (index_t block = 0; block < blocks(); ++block) {
                ComplexPack left[lanes] = {};
                ComplexPack right[lanes] = {};
                for (index_t x = 0; x < count; ++x) {
                    (x < lanes ? left[x] : right[x - lanes]) =
                        load_complex(&products_(s, first + x, 2 * lanes * block));
                }
                transpose(left);
                transpose(right);
                for (index_t i = 0; i < std::min(lanes, n / 2 + 1 - block * lanes); ++i) {
                    const index_t k = block * lanes + i;
                    const ComplexPack& one = left[i];
                    const ComplexPack& two = right[i];
                    both[k] = {one.re - two.im, one.im + two.re};
                    if (k > 0) both[n - k] = {one.re + two.im, two.re - one.im};
                }
            }
            columns_.run(
                work, n, [&](index_t k) { return swapped(both[k]); },
                [&](index_t i, const ComplexPack& value) {
                    const index_t lag = i - first_lag < lag_rows ? i : i - n;
                    const index_t row = lag - first_lag;
                    if (row < 0 || row >= lag_rows) return;
                    double* const to = &sums(s, row, first);
                    for (index_t x = 0; x < count; ++x) {
                        to[x] = scale *
                                static_cast<double>(x < lanes ? value.im[x] : value.re[x - lanes]);
                    }
                });
        });
}

void FftCorrelation::run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b,
                         core::View<double, 3, core::Host> sums) {
    transform_columns(cpu, a, spectra_a_);
    if (a.same_as(b)) {
        correlate_rows(cpu, [&](index_t p, index_t block, const RowMemory& memory) {
            transform_row(spectra_a_, p, block, memory, [&](index_t k, const ComplexPack& of_a) {
                memory.product[k].re += of_a.re * of_a.re + of_a.im * of_a.im;
            });
        });
    } else {
        spectra_b_.reshape(spectra_a_.extent());
        transform_columns(cpu, b, spectra_b_);
        correlate_rows(cpu, [&](index_t p, index_t block, const RowMemory& memory) {
            transform_row(spectra_a_, p, block, memory,
                          [&](index_t k, const ComplexPack& of_a) { memory.of_a[k] = of_a; });
            transform_row(spectra_b_, p, block, memory, [&](index_t k, const ComplexPack& of_b) {
                add_product(memory.of_a[k], of_b, memory.product[k]);
            });
        });
    }
    transform_back(cpu, sums);
}

core::Extents<3> FftCorrelation::spectra_extent() const {
    return {problem_.planes, blocks(), 2 * lanes * rows_.length()};
}

void FftCorrelation::transform(core::Cpu& cpu, const GroundedPlanes& image,
                               core::View<float, 3, core::Host> spectra) {
    transform_columns(cpu, image, spectra_a_);
    const index_t tasks = problem_.planes * blocks();
    core::for_each_task(
        cpu, tasks, bytes_of(rows_.scratch_packs()), [&](index_t task, std::byte* scratch) {
            const index_t p = task / blocks();
            const index_t block = task % blocks();
            const RowMemory memory{reinterpret_cast<ComplexPack*>(scratch), nullptr, nullptr};
            transform_row(spectra_a_, p, block, memory, [&](index_t k, const ComplexPack& value) {
                store_complex(&spectra(p, block, 2 * lanes * k), value);
            });
        });
}

void FftCorrelation::correlate(core::Cpu& cpu, core::View<const float, 3, core::Host> a,
                               core::View<const float, 3, core::Host> b,
                               core::View<double, 3, core::Host> sums) {
    correlate_rows(cpu, [&](index_t p, index_t block, const RowMemory& memory) {
        for (index_t k = 0; k < rows_.length(); ++k) {
            add_product(load_complex(&a(p, block, 2 * lanes * k)),
                        load_complex(&b(p, block, 2 * lanes * k)), memory.product[k]);
        }
    });
    transform_back(cpu, sums);
}

}  // namespace aperture::corr
