// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "aperture/stap/attempts.hpp"
#include "libcore/cpu/transpose.hpp"
#include "libstap/cpu/fused_detection.hpp"
#include "libstap/cpu/fused_workspace.hpp"
#include "libstap/loading.hpp"

namespace aperture::stap::cpu {

/// One training block and a run of Doppler bins.
struct Unit {
    index_t block;
    index_t first_bin;
    index_t bins;
    RangeSpan training;  ///< range cells
    RangeSpan output;    ///< range cells, within `training`
    int attempt;         ///< later ones compute due matrices only
};

/// Processes one unit from the cube to its results: group after group of W Doppler bins, with cells
/// fetched and lag covariances summed as far ahead as the snapshots extend.
template <class Real>
class UnitRun {
    static constexpr index_t width = core::lanes<Real>;
    static constexpr index_t groups_in_flight = Workspace<Real>::groups_in_flight;
    static constexpr index_t fetched_ahead = groups_in_flight - 1;
    using T = std::complex<Real>;
    using Pivots = dense::lanes::Pivots<T>;

  public:
    UnitRun(const Problem& problem, core::View<const T, 2, core::Host> steering,
            const Workspace<Real>& workspace, CubeView<core::Host> cube,
            const Results<core::Host>& results, const Unit& unit)
        : problem_(problem),
          steering_(steering),
          work_(workspace),
          cube_(cube),
          results_(results),
          unit_(unit),
          lag_{static_cast<int>(problem.shape.channels), problem.parameters.temporal_taps},
          cells_(unit.training.cells()) {
        const auto aligned = [](index_t floats) { return floats % core::lanes<float> == 0; };
        const auto address = reinterpret_cast<std::uintptr_t>(results.output.data);
        streams_ = !work_.detects && address % core::simd_bytes == 0 &&
                   aligned(2 * results.output.stride[0]) && aligned(2 * results.output.stride[1]) &&
                   aligned(2 * unit.output.begin);
    }

    void operator()() {
        const index_t groups = (unit_.bins + width - 1) / width;
        const index_t reach = lag_.taps == 1 ? 0 : Ring<Real>::reach;
        positions_ = groups * width + lag_.taps - 1;
        for (index_t i = 0; i < fetched_ahead * width; ++i) fetch_bin(i);
        // A group's covariances also need the sums of the first bins of the next `reach` groups,
        // and those need the cells of the next `reach` groups after them. Behind the last group,
        // lags beyond the fetched bins are not needed.
        const index_t fetched_groups = (positions_ + width - 1) / width;
        index_t loaded = 0;
        index_t estimated = 0;
        for (index_t group = 0; group < groups; ++group) {
            for (; estimated <= group + reach; ++estimated) {
                const index_t end = std::min(estimated + reach + 1, fetched_groups);
                estimate_group(estimated, estimated < groups ? lag_.taps : lag_.taps - 1, loaded,
                               end);
                loaded = end;
            }
            finish_group(group);
        }
    }

  private:
    float* row(index_t position, index_t channel) const {
        const index_t slot = position % (groups_in_flight * width);
        return work_.rows + (slot * lag_.channels + channel) * work_.row_pitch;
    }

    /// Cells of the bin at `position`, which is (T-1)/2 plus the distance to the first bin.
    const float* cells_of(index_t position, index_t channel) const {
        const index_t bins = problem_.doppler_bins;
        const index_t bin = unit_.first_bin - (lag_.taps - 1) / 2 + position + bins;
        return reinterpret_cast<const float*>(cube_.data + channel * cube_.stride[0] +
                                              bin % bins * cube_.stride[1] + unit_.training.begin);
    }

    /// Copies the cells of one bin and channel into the workspace and prefetches those of the next
    /// bin. In the cube they are too far apart for the hardware prefetcher, and many fall into few
    /// cache sets; the arithmetic of a bin hides the copy's latency.
    void fetch_row(index_t position, index_t channel) {
        if (position >= positions_) return;
        const float* from = cells_of(position, channel);
        const float* next = cells_of(position + 1, channel);
        float* to = row(position, channel);
        index_t i = 0;
        for (; i + core::lanes<float> <= 2 * cells_; i += core::lanes<float>) {
            __builtin_prefetch(next + i, 0, 2);  // second level: the first holds a tile's operands
            core::store(to + i, core::load(from + i));
        }
        for (; i < work_.row_pitch; ++i) to[i] = i < 2 * cells_ ? from[i] : 0.0f;
    }

    void fetch_bin(index_t position) {
        for (index_t c = 0; c < lag_.channels; ++c) fetch_row(position, c);
    }

    /// Lag covariances of one group, in pieces of cells that fit in the first-level cache beside
    /// the sums. New pieces, of groups new_begin .. new_end - 1, are transposed just before use. 32
    /// and 64 cells make four pieces; their separate sums gain 8 dB of accuracy.
    void estimate_group(index_t group, int lags, index_t new_begin, index_t new_end) {
        const index_t piece = cells_ < 64 ? 8 : 16;
        for (index_t cell = 0; cell < cells_; cell += piece) {
            const index_t cells = std::min(piece, cells_ - cell);
            Real* planes = work_.planes + lag_.plane_size(cell);
            for (index_t g = new_begin; g < new_end; ++g) {
                for (index_t c = 0; c < lag_.channels; ++c) {
                    transpose_cells(row(g * width, c) + 2 * cell, lag_.channels * work_.row_pitch,
                                    cells, g, planes + c * lag_.element, lag_.cell_stride());
                }
            }
            add_lag_covariances(lag_, lags, group, planes, static_cast<int>(cells), cell == 0,
                                work_.sums);
        }
        repeat_sums(lag_, group, work_.sums);
    }

    bool is_due(index_t bin) const {
        return unit_.attempt == first_attempt ||
               results_.attempt(bin, unit_.block) == unit_.attempt;
    }

    void finish_group(index_t group) {
        const index_t first = unit_.first_bin + group * width;
        const int bins = static_cast<int>(std::min(width, unit_.bins - group * width));
        const Pivots pivots = solve_group(group, first, bins);
        lay_out_weights(pivots);
        // Results that fp32 cannot be trusted with are left to a later attempt.
        const bool tentative =
            unit_.attempt == first_attempt && problem_.parameters.precision == Precision::automatic;
        const auto ratio = pivots.ratio();
        for (int l = 0; l < bins; ++l) {
            const index_t position = group * width + l;
            const index_t bin = first + l;
            if (!is_due(bin)) {
                fetch_bin(position + fetched_ahead * width);
                continue;
            }
            const int info = static_cast<int>(pivots.info[l]);
            const auto pivot_ratio = static_cast<float>(ratio[l]);
            results_.info(bin, unit_.block) = info;
            results_.pivot_ratio(bin, unit_.block) = pivot_ratio;
            if (tentative && needs_another(first_attempt, info, pivot_ratio, problem_.order)) {
                fetch_bin(position + fetched_ahead * width);
            } else if (info != 0) {
                fetch_bin(position + fetched_ahead * width);
                clear_bin(bin);
            } else {
                weight_bin(position, l, bin);
                if (work_.detects) detect_bin(l, bin);
            }
        }
    }

    /// Loaded covariances of the group's bins, their factors and weights, all in lanes.
    Pivots solve_group(index_t group, index_t first, int bins) {
        const int n = problem_.order;
        const int vectors = problem_.steering_vectors;
        assemble_covariance(lag_, work_.sums, group, Real(1) / static_cast<Real>(cells_), work_.g);
        load_diagonal();
        if (!results_.covariance.empty()) {
            for (int l = 0; l < bins; ++l) {
                if (is_due(first + l)) store_covariance(first + l, l);
            }
        }
        dense::lanes::Ahead nothing;
        const Pivots pivots = dense::lanes::factor<T>(n, work_.g, nothing);
        const dense::lanes::SharedMatrix<T> steering{steering_.data, 1, steering_.stride[0]};
        if (work_.detects)
            std::fill_n(work_.h.data, n * n * dense::lanes::element_reals<T>, Real(0));
        if (work_.detects || work_.eliminates)
            dense::lanes::eliminate_above<T>(n, work_.g, work_.h);
        if (work_.eliminates) {
            dense::lanes::solve_eliminated<T>(n, vectors, work_.g, work_.h, steering, work_.x);
        } else {
            dense::lanes::solve<T>(n, vectors, work_.g, steering, work_.x, nothing);
        }
        if (!results_.weights.empty()) {
            for (int l = 0; l < bins; ++l) {
                if (is_due(first + l)) store_weights(first + l, l, pivots.info[l] == 0);
            }
        }
        return pivots;
    }

    void load_diagonal() {
        const Loading loading = loading_of(problem_, automatic_loading(unit_.attempt));
        if (loading.absolute == 0 && loading.relative == 0) return;
        auto amount = core::broadcast(static_cast<Real>(loading.absolute));
        if (loading.relative != 0) {
            core::Pack<Real> trace{};
            for (int i = 0; i < problem_.order; ++i) trace += work_.g.load(i, i).re;
            amount +=
                static_cast<Real>(loading.relative) * (trace / static_cast<Real>(problem_.order));
        }
        for (int i = 0; i < problem_.order; ++i) {
            auto element = work_.g.load(i, i);
            element.re += amount;
            work_.g.store(i, i, element);
        }
    }

    static cfloat lane(const dense::lanes::Element<T>& element, int l) {
        return {static_cast<float>(element.re[l]), static_cast<float>(element.im[l])};
    }

    void store_covariance(index_t bin, int l) const {
        for (int i = 0; i < problem_.order; ++i) {
            for (int j = 0; j <= i; ++j) {
                const cfloat value = lane(work_.g.load(i, j), l);
                results_.covariance(bin, unit_.block, j, i) = std::conj(value);
                results_.covariance(bin, unit_.block, i, j) = value;
            }
        }
    }

    void store_weights(index_t bin, int l, bool good) const {
        for (int d = 0; d < problem_.steering_vectors; ++d) {
            for (int i = 0; i < problem_.order; ++i) {
                results_.weights(bin, unit_.block, d, i) =
                    good ? lane(work_.x.load(d, i), l) : cfloat(0);
            }
        }
    }

    /// Computes gamma and transposes the weights from lanes to one bin after another.
    void lay_out_weights(const Pivots& pivots) {
        const int n = problem_.order;
        const int vectors = problem_.steering_vectors;
        for (int d = 0; d < vectors; ++d) {
            core::Pack<Real> re{}, im{};
            for (int i = 0; i < n; ++i) {
                const auto w = work_.x.load(d, i);
                const T v = steering_(i, d);
                re += w.re * v.real() + w.im * v.imag();
                im += w.re * v.imag() - w.im * v.real();
            }
            core::store(work_.gain + d * width, re);
            // 1 / |re + j im| without overflow for any scale of the data.
            const auto one = core::broadcast(Real(1));
            const auto size = re < 0 ? -re : re;
            const auto divisor = size > 0 ? size : one;
            const auto ratio = im / divisor;
            const auto gamma =
                dense::lanes::reciprocal_square_root<Real>(one + ratio * ratio) / divisor;
            const auto kept = ((size > 0) & (pivots.info == 0)) ? gamma : one;
            core::store(work_.gamma + 2 * d * width, kept);
            core::store(work_.gamma + (2 * d + 1) * width, kept);
        }
        transpose_lanes(work_.x.data, 2 * n * vectors, work_.gamma, 2 * vectors, work_.weights,
                        work_.weight_pitch);
        if (work_.detects) {
            const Real* one = nullptr;
            transpose_lanes(work_.h.data, 2 * n * n, one, 0, work_.inverse_factor,
                            work_.factor_pitch);
        }
    }

    /// Transposes `count` packs to `count` floats per lane, `pitch` apart. A non-null `scale` of
    /// `period` packs multiplies them, cyclically.
    static void transpose_lanes(const Real* from, index_t count, const Real* scale, index_t period,
                                float* to, index_t pitch) {
        index_t phase = 0;
        for (index_t e = 0; e < count; e += width) {
            core::Pack<Real> square[width];
            for (index_t i = 0; i < width; ++i) {
                const index_t at = std::min(e + i, count - 1);
                square[i] = core::load(from + at * width);
                if (scale != nullptr) {
                    square[i] *= core::load(scale + phase * width);
                    phase = phase + 1 == period ? 0 : phase + 1;
                }
            }
            core::transpose<Real>(square);
            for (index_t l = 0; l < width; ++l) {
                *reinterpret_cast<typename FloatsOf<Real>::unaligned*>(to + l * pitch + e) =
                    __builtin_convertvector(square[l], typename FloatsOf<Real>::type);
            }
        }
    }

    float* output_row(index_t vector, index_t bin) const {
        return reinterpret_cast<float*>(results_.output.data + vector * results_.output.stride[0] +
                                        bin * results_.output.stride[1] + unit_.output.begin);
    }
    float* statistic_row(index_t vector, index_t bin) const {
        return results_.statistic.data + vector * results_.statistic.stride[0] +
               bin * results_.statistic.stride[1] + unit_.output.begin;
    }
    index_t output_cells() const { return unit_.output.cells(); }

    /// Pointers to the rows of the snapshots at `position`, from the first output cell on.
    void find_rows(index_t position, std::array<const float*, dense::max_order>& rows) const {
        const index_t skipped = 2 * (unit_.output.begin - unit_.training.begin);
        for (int t = 0; t < lag_.taps; ++t) {
            const float* next = row(position + t, 0) + skipped;
            for (int i = t; i < problem_.order; i += lag_.taps) {
                rows[static_cast<std::size_t>(i)] = next;
                next += work_.row_pitch;
            }
        }
    }

    /// y = gamma w^H S of one bin, and x^H R^-1 x = |G^-1 x|^2 for a detector. The next bin is
    /// fetched meanwhile, row by row between tiles, as a core has few outstanding cache misses.
    void weight_bin(index_t position, int l, index_t bin) {
        std::array<const float*, dense::max_order> rows;
        find_rows(position, rows);
        const index_t packs = (output_cells() + cells_per_pack - 1) / cells_per_pack;
        const EvenPieces pack_tiles{static_cast<int>(packs), weighting_packs};
        const EvenPieces vector_tiles{problem_.steering_vectors, weighting_vectors};
        const float* weights = work_.weights + l * work_.weight_pitch;
        const index_t to_fetch = position + fetched_ahead * width;
        index_t channel = 0;
        for (int i = 0; i < pack_tiles.count(); ++i) {
            const index_t pack = pack_tiles.begin(i);
            const int some_packs = pack_tiles.begin(i + 1) - static_cast<int>(pack);
            const index_t at = pack * core::lanes<float>;
            const index_t floats =
                std::min<index_t>(some_packs * core::lanes<float>, 2 * output_cells() - at);
            const bool whole = floats == some_packs * core::lanes<float>;
            for (int j = 0; j < vector_tiles.count(); ++j) {
                if (channel < lag_.channels) fetch_row(to_fetch, channel++);
                const int vector = vector_tiles.begin(j);
                const int vectors = vector_tiles.begin(j + 1) - vector;
                float* out = output_row(vector, bin) + at;
                WeightingTile tile{rows.data(),
                                   at,
                                   problem_.order,
                                   weights + 2 * vector,
                                   2 * problem_.steering_vectors,
                                   out,
                                   2 * results_.output.stride[0]};
                if (whole && streams_) {
                    weight<Yield::streamed>(vectors, some_packs, tile);
                } else if (whole) {
                    weight<Yield::stored>(vectors, some_packs, tile);
                } else {
                    tile.out = work_.tail;
                    tile.out_stride = weighting_packs * core::lanes<float>;
                    weight<Yield::stored>(vectors, some_packs, tile);
                    for (int d = 0; d < vectors; ++d) {
                        std::copy_n(work_.tail + d * tile.out_stride, floats,
                                    out + d * 2 * results_.output.stride[0]);
                    }
                }
            }
            if (work_.detects) add_squares(rows.data(), at, some_packs, l);
        }
        for (; channel < lag_.channels; ++channel) fetch_row(to_fetch, channel);
    }

    void add_squares(const float* const* rows, index_t at, int packs, int l) {
        const EvenPieces tiles{problem_.order, weighting_vectors};
        std::fill_n(work_.squares + at, packs * core::lanes<float>, 0.0f);
        for (int j = 0; j < tiles.count(); ++j) {
            // Row j of G^-1 ends with element j.
            const int end = tiles.begin(j + 1);
            const float* weights = work_.inverse_factor + l * work_.factor_pitch;
            const WeightingTile tile{
                rows, at, end, weights + 2 * tiles.begin(j), 2 * problem_.order, work_.squares + at,
                0};
            weight<Yield::squared>(end - tiles.begin(j), packs, tile);
        }
    }

    void detect_bin(int l, index_t bin) {
        const CellsUnderTest cells{work_.squares, output_cells(), static_cast<float>(cells_),
                                   problem_.parameters.detector};
        const index_t failed = find_indefinite(cells);
        if (failed < cells.count) {
            results_.info(bin, unit_.block) = -1 - static_cast<int>(unit_.output.begin + failed);
        }
        for (int d = 0; d < problem_.steering_vectors; ++d) {
            detect_cells(cells, static_cast<float>(work_.gain[d * width + l]),
                         static_cast<float>(work_.gamma[2 * d * width + l]), output_row(d, bin),
                         statistic_row(d, bin));
        }
    }

    void clear_bin(index_t bin) const {
        for (int d = 0; d < problem_.steering_vectors; ++d) {
            std::fill_n(output_row(d, bin), 2 * output_cells(), 0.0f);
            if (work_.detects) std::fill_n(statistic_row(d, bin), output_cells(), 0.0f);
        }
    }

    const Problem& problem_;
    core::View<const T, 2, core::Host> steering_;
    const Workspace<Real>& work_;
    CubeView<core::Host> cube_;
    const Results<core::Host>& results_;
    const Unit& unit_;
    LagCovariance<Real> lag_;
    index_t cells_;
    index_t positions_ = 0;  ///< number of bins to fetch
    bool streams_;
};

}  // namespace aperture::stap::cpu
