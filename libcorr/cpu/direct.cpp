// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libcorr/cpu/direct.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "libcore/cpu/simd.hpp"
#include "libcorr/cpu/plane_rows.hpp"
#include "libcorr/sum_formulas.hpp"

namespace aperture::corr {
namespace {

using core::load;
using core::Pack;
using core::store;

template <class T>
constexpr int lanes = core::lanes<T>;
constexpr int max_rows = 8;
constexpr int max_packs = 3;

/// Products of one sum before it is added to others, and rows of those sums before conversion to
/// double. Rounding errors average out over the rows, so that images of few rows use the short
/// form.
struct Chains {
    index_t products;
    index_t rows;
};
constexpr Chains long_chains{128, 16};
constexpr Chains short_chains{8, 1};
constexpr index_t few_rows = 64;

/// Splits `count` into parts of at most `max`, with sizes that differ by at most one.
std::vector<int> equal_parts(index_t count, int max) {
    const index_t parts = (count + max - 1) / max;
    std::vector<int> sizes;
    for (index_t i = 0; i < parts; ++i) {
        sizes.push_back(static_cast<int>(count * (i + 1) / parts - count * i / parts));
    }
    return sizes;
}

/// Sums of a block of displacements along one row of A: row j of `b` is for the dy of row j.
template <class T, int rows, int packs>
struct RowSums {
    static constexpr int lanes = corr::lanes<T>;

    const T* a;
    const T* b[rows];
    index_t columns;
    index_t first_lag;
    index_t chain;
    T offset;  ///< start value of each sum

    /// Columns of B with a partner in some lane of pack k.
    index_t begin(int k) const {
        return std::clamp<index_t>(-(first_lag + lanes * k + lanes - 1), 0, columns);
    }
    index_t end(int k) const {
        return std::clamp<index_t>(columns - first_lag - lanes * k, 0, columns);
    }

    /// Adds to sums [row][pack * lanes].
    void add_to(T* sums) const {
        if (begin(0) >= end(packs - 1)) {
            // Too narrow to split; pixels without a partner are multiplied by zeros.
            add<0, packs>(begin(packs - 1), end(0), sums);
            return;
        }
        add_heads(sums, std::make_integer_sequence<int, packs - 1>{});
        add<0, packs>(begin(0), end(packs - 1), sums);
        add_tails(sums, std::make_integer_sequence<int, packs - 1>{});
    }

  private:
    // Left of where all packs have partners, only the last packs do; right of it only the first.
    template <int... i>
    void add_heads([[maybe_unused]] T* sums, std::integer_sequence<int, i...>) const {
        (add<packs - 1 - i, packs>(begin(packs - 1 - i), begin(packs - 2 - i), sums), ...);
    }
    template <int... i>
    void add_tails([[maybe_unused]] T* sums, std::integer_sequence<int, i...>) const {
        (add<0, packs - 1 - i>(end(packs - 1 - i), end(packs - 2 - i), sums), ...);
    }

    template <int first, int last>
    void add(index_t from, index_t to, T* sums) const {
        for (index_t x = from; x < to; x += chain) {
            add_chain<first, last>(x, std::min(x + chain, to), sums);
        }
    }
    template <int first, int last>
    void add_chain(index_t from, index_t to, T* sums) const {
        Pack<T> sum[rows][last - first];
#pragma GCC unroll 8
        for (int j = 0; j < rows; ++j) {
#pragma GCC unroll 3
            for (int k = 0; k < last - first; ++k) sum[j][k] = core::broadcast(offset);
        }
        const T* shifted = a + first_lag + first * lanes;
        for (index_t x = from; x < to; ++x) {
            Pack<T> value[last - first];
#pragma GCC unroll 3
            for (int k = 0; k < last - first; ++k) value[k] = load(shifted + x + k * lanes);
#pragma GCC unroll 8
            for (int j = 0; j < rows; ++j) {
                const Pack<T> factor = core::broadcast(b[j][x]);
#pragma GCC unroll 3
                for (int k = 0; k < last - first; ++k) sum[j][k] += factor * value[k];
            }
        }
#pragma GCC unroll 8
        for (int j = 0; j < rows; ++j) {
#pragma GCC unroll 3
            for (int k = 0; k < last - first; ++k) {
                T* const to_sum = sums + (j * packs + first + k) * lanes;
                store(to_sum, load(to_sum) + (sum[j][k] - offset));
            }
        }
    }
};

/// Stores planes without their grounds.
template <class T>
void store_planes(core::Cpu& cpu, const GroundedPlanes& image, core::View<T, 3, core::Host> to) {
    const index_t columns = image.planes.extent[2];
    for_plane_rows(cpu, image.planes.extent[0], image.planes.extent[1], [&](index_t p, index_t y) {
        const auto ground = static_cast<T>(image.ground.of(p));
        const float* from = &image.planes(p, y, 0);
        T* const row = &to(p, y, 0);
        for (index_t x = 0; x < columns; ++x) row[x] = static_cast<T>(from[x]) - ground;
    });
}

}  // namespace

template <class T>
DirectCorrelation<T>::DirectCorrelation(const Problem& problem) : problem_(problem) {
    constexpr int lanes = corr::lanes<T>;
    const Lags& lags = problem.lags;
    const auto [rows, columns] = lags.extent();
    const index_t left = std::max<index_t>(-lags.first_column(), 0) + max_packs * lanes;
    const index_t right = lags.columns + max_packs * lanes;
    const index_t pixels = problem.image.columns;
    padded_a_ = core::Array<T, 3>({problem.planes, problem.image.rows, left + pixels + right});
    std::fill(padded_a_.begin(), padded_a_.end(), T(0));
    a_ = padded_a_.view().slice(2, left, left + pixels);
    mean_products_.resize(static_cast<std::size_t>(problem.planes));
    zeros_.assign(static_cast<std::size_t>(pixels), T(0));
    index_t first_row = 0;
    for (const int row_count : equal_parts(rows, max_rows)) {
        index_t first_column = 0;
        for (const int packs : equal_parts((columns + lanes - 1) / lanes, max_packs)) {
            blocks_.push_back({first_row, row_count, first_column, packs});
            first_column += index_t{packs} * lanes;
        }
        first_row += row_count;
    }
    const auto work = [&](const Block& block) {
        const index_t row = lags.first_row() + block.first_row;
        const index_t column = lags.first_column() + block.first_column;
        return overlap(problem.image.rows, row) * overlap(problem.image.columns, column) *
               block.rows * block.packs;
    };
    std::sort(blocks_.begin(), blocks_.end(), [&](const Block& x, const Block& y) {
        return std::tuple(work(y), x.first_row, x.first_column) <
               std::tuple(work(x), y.first_row, y.first_column);
    });
}

template <class T>
template <int rows, int packs>
void DirectCorrelation<T>::run_block(core::View<const T, 3, core::Host> b, const Block& block,
                                     core::View<double, 3, core::Host> sums) const {
    constexpr int width = packs * lanes<T>;
    alignas(64) T of_rows[rows * width];
    alignas(64) double all[rows * width];
    const auto [image_rows, image_columns] = problem_.image;
    const index_t lag = problem_.lags.first_row() + block.first_row;
    const index_t begin = std::max<index_t>(lag, 0);
    const index_t end = std::min(image_rows, image_rows + lag + rows - 1);
    const auto clear = [&] { std::fill_n(all, rows * width, 0.0); };
    const auto store_sums = [&](index_t surface) {
        const index_t count =
            std::min<index_t>(width, problem_.lags.extent().columns - block.first_column);
        for (int j = 0; j < rows; ++j) {
            std::copy_n(all + j * width, count,
                        &sums(surface, block.first_row + j, block.first_column));
        }
    };
    clear();
    const Chains chains = image_rows < few_rows ? short_chains : long_chains;
    for (index_t p = 0; p < problem_.planes; ++p) {
        const double product = mean_products_[static_cast<std::size_t>(p)];
        for (index_t first = begin; first < end; first += chains.rows) {
            std::fill_n(of_rows, rows * width, T(0));
            for (index_t r = first; r < std::min(first + chains.rows, end); ++r) {
                RowSums<T, rows, packs> row;
                row.a = &a_(p, r, 0);
                row.columns = image_columns;
                row.first_lag = problem_.lags.first_column() + block.first_column;
                row.chain = chains.products;
                row.offset = static_cast<T>(product * chain_offset<double>(r));
                for (int j = 0; j < rows; ++j) {
                    const index_t y = r - lag - j;
                    row.b[j] = y >= 0 && y < image_rows ? &b(p, y, 0) : zeros_.data();
                }
                row.add_to(of_rows);
            }
            for (int i = 0; i < rows * width; ++i) all[i] += static_cast<double>(of_rows[i]);
        }
        if (problem_.each_plane) {
            store_sums(p);
            clear();
        }
    }
    if (!problem_.each_plane) store_sums(0);
}

template <class T>
void DirectCorrelation<T>::run(core::Cpu& cpu, const GroundedPlanes& a, const GroundedPlanes& b,
                               core::View<double, 3, core::Host> sums) {
    const bool same = a.same_as(b);
    store_planes(cpu, a, a_);
    if (!same) {
        b_.reshape(a_.extent);
        store_planes(cpu, b, b_.view());
    }
    for (index_t p = 0; p < problem_.planes; ++p) {
        mean_products_[static_cast<std::size_t>(p)] = a.ground.contrast(p) * b.ground.contrast(p);
    }
    const core::View<const T, 3, core::Host> rows_of_b = same ? a_ : b_.view();
    static constexpr auto blocks_of_size = []<int... i>(std::integer_sequence<int, i...>) {
        return std::array{
            &DirectCorrelation::template run_block<i / max_packs + 1, i % max_packs + 1>...};
    }
    (std::make_integer_sequence<int, max_rows * max_packs>{});
    core::for_each_task(cpu, std::ssize(blocks_), 0, [&](index_t task, std::byte*) {
        const Block& block = blocks_[static_cast<std::size_t>(task)];
        const auto size = static_cast<std::size_t>((block.rows - 1) * max_packs + block.packs - 1);
        (this->*blocks_of_size[size])(rows_of_b, block, sums);
    });
}

template class DirectCorrelation<float>;
template class DirectCorrelation<double>;

}  // namespace aperture::corr
