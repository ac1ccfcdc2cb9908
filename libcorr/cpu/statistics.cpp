// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "aperture/core/shape.hpp"

namespace aperture::corr {
namespace {

void expects_surface(const SurfaceView& surface, const Lags& lags) {
    core::expects_shape("surface", surface, {lags.extent().rows, lags.extent().columns},
                        core::Strides::unit_last);
}

/// The distance from `from` at which value(0), value(1), ..., value(count - 1) fall below `top` /
/// e; `from` is within half an entry of 0.
template <class Value>
std::optional<double> decay_length(index_t count, double from, double top, const Value& value) {
    const double bound = top / std::numbers::e;
    if (!(bound > 0)) return std::nullopt;
    for (index_t i = 1; i < count; ++i) {
        if (!(value(i) < bound)) continue;
        const double before = value(i - 1);
        // The previous value may be NaN.
        const double rest = before >= bound ? (bound - value(i)) / (before - value(i)) : 0;
        return static_cast<double>(i) - rest - from;
    }
    return std::nullopt;
}

/// Whether entry `at` of an axis is one of the largest displacements.
bool is_outermost(index_t at, index_t extent, index_t lags, bool both_signs) {
    if (lags == 1) return false;
    return at == extent - 1 || (both_signs && at == 0);
}

// Rows are searched without a branch for each entry, in vectors.

/// Whether row `y`, with a row above and one below, has an entry with eight neighbours that is
/// above all of them and above `bound`.
bool has_peak(const SurfaceView& surface, index_t y, double bound) {
    const double* const row = surface.data + y * surface.stride[0];
    const double* const before = row - surface.stride[0];
    const double* const after = row + surface.stride[0];
    const index_t columns = surface.extent[1];
    index_t peaks = 0;
#pragma omp simd reduction(| : peaks)
    for (index_t x = 1; x < columns - 1; ++x) {
        const double value = row[x];
        peaks |= static_cast<index_t>(
            (value > bound) & (value > row[x - 1]) & (value > row[x + 1]) &
            (value > before[x - 1]) & (value > before[x]) & (value > before[x + 1]) &
            (value > after[x - 1]) & (value > after[x]) & (value > after[x + 1]));
    }
    return peaks != 0;
}

/// Whether one of `count` values is at least `bound`.
bool reaches(const double* values, index_t count, double bound) {
    index_t found = 0;
#pragma omp simd reduction(| : found)
    for (index_t i = 0; i < count; ++i) found |= static_cast<index_t>(values[i] >= bound);
    return found != 0;
}

/// Vertex of a parabola through values at -1, 0 and 1: offset from 0, and height above the middle.
struct Vertex {
    double offset = 0;
    double height = 0;
};
Vertex vertex(double before, double middle, double after) {
    const double offset = (before - after) / (2 * (before - 2 * middle + after));
    return {offset, (after - before) * offset / 4};
}

}  // namespace

CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags, const Peak& from) {
    expects_surface(surface, lags);
    const index_t dy = std::lround(from.dy);
    const index_t dx = std::lround(from.dx);
    const index_t row = dy - lags.first_row();
    const index_t column = dx - lags.first_column();
    const auto [rows, columns] = surface.extent;
    core::expects(row >= 0 && row < rows && column >= 0 && column < columns, "a peak at dy ",
                  from.dy, ", dx ", from.dx, " is not on a surface of ", rows, 'x', columns,
                  " displacements from dy ", lags.first_row(), ", dx ", lags.first_column());
    const auto across = [&](index_t i) { return surface(row, column + i); };
    const auto down = [&](index_t i) { return surface(row + i, column); };
    return {decay_length(columns - column, from.dx - static_cast<double>(dx), from.value, across),
            decay_length(rows - row, from.dy - static_cast<double>(dy), from.value, down)};
}

CorrelationLengths correlation_lengths(SurfaceView surface, const Lags& lags) {
    expects_surface(surface, lags);
    return correlation_lengths(surface, lags,
                               {0, 0, surface(-lags.first_row(), -lags.first_column())});
}

std::optional<Peak> strongest_peak(SurfaceView surface, const Lags& lags, Centre centre) {
    expects_surface(surface, lags);
    const auto [rows, columns] = surface.extent;
    const auto is_peak = [&, height = rows, width = columns](index_t y, index_t x) {
        const double value = surface(y, x);
        for (index_t j = std::max<index_t>(y - 1, 0); j <= std::min(y + 1, height - 1); ++j) {
            for (index_t i = std::max<index_t>(x - 1, 0); i <= std::min(x + 1, width - 1); ++i) {
                if ((j != y || i != x) && !(value > surface(j, i))) return false;
            }
        }
        return !std::isnan(value);
    };
    std::optional<Peak> strongest;
    index_t row = 0;
    index_t column = 0;
    const auto consider = [&, width = columns](index_t y, index_t x) {
        const bool at_centre = y == -lags.first_row() && x == -lags.first_column();
        if (is_outermost(x, width, lags.columns, lags.both_signs) ||
            (at_centre && centre == Centre::excluded) ||
            (strongest && !(surface(y, x) > strongest->value)) || !is_peak(y, x)) {
            return;
        }
        strongest = Peak{0, 0, surface(y, x)};
        row = y;
        column = x;
    };
    for (index_t y = 0; y < rows; ++y) {
        if (is_outermost(y, rows, lags.rows, lags.both_signs)) continue;
        consider(y, 0);
        const double bound =
            strongest ? strongest->value : -std::numeric_limits<double>::infinity();
        const bool searched = y == 0 || y == rows - 1 || has_peak(surface, y, bound);
        for (index_t x = 1; searched && x < columns - 1; ++x) consider(y, x);
        if (columns > 1) consider(y, columns - 1);
    }
    if (!strongest) return std::nullopt;
    const double middle = strongest->value;
    Vertex down;
    Vertex across;
    if (row > 0 && row + 1 < rows) {
        down = vertex(surface(row - 1, column), middle, surface(row + 1, column));
    }
    if (column > 0 && column + 1 < columns) {
        across = vertex(surface(row, column - 1), middle, surface(row, column + 1));
    }
    return Peak{static_cast<double>(lags.first_row() + row) + down.offset,
                static_cast<double>(lags.first_column() + column) + across.offset,
                middle + down.height + across.height};
}

std::optional<Peak> largest_on_border(SurfaceView surface, const Lags& lags) {
    expects_surface(surface, lags);
    const auto [rows, columns] = surface.extent;
    const auto is_end = [](index_t at, index_t extent) {
        return extent > 1 && (at == 0 || at == extent - 1);
    };
    Peak on_border;
    const auto consider = [&](index_t y, index_t x) {
        if (!(surface(y, x) > on_border.value)) return;
        on_border = {static_cast<double>(lags.first_row() + y),
                     static_cast<double>(lags.first_column() + x), surface(y, x)};
    };
    for (index_t y = 0; y < rows; ++y) {
        if (is_end(y, rows)) {
            for (index_t x = 0; x < columns; ++x) consider(y, x);
        } else if (is_end(0, columns)) {
            consider(y, 0);
            consider(y, columns - 1);
        }
    }
    if (!(on_border.value > 0)) return std::nullopt;
    const index_t margin = is_end(0, columns) ? 1 : 0;
    for (index_t y = 0; y < rows; ++y) {
        if (is_end(y, rows)) continue;
        const double* const row = surface.data + y * surface.stride[0];
        if (reaches(row + margin, columns - 2 * margin, on_border.value)) return std::nullopt;
    }
    return on_border;
}

SurfaceFindings find_out(SurfaceView surface, const Lags& lags, Estimator estimator, bool pair) {
    SurfaceFindings found;
    found.peak = strongest_peak(surface, lags, pair ? Centre::counts : Centre::excluded);
    // The interpolating parabola may exceed all values of r.
    if (found.peak && estimator == Estimator::pearson) {
        found.peak->value = std::min(found.peak->value, 1.0);
    }
    if (!pair) {
        found.lengths = correlation_lengths(surface, lags);
    } else {
        if (found.peak) found.lengths = correlation_lengths(surface, lags, *found.peak);
        found.on_border = largest_on_border(surface, lags);
    }
    return found;
}

RadialAverage radial_average(SurfaceView surface, const Lags& lags) {
    expects_surface(surface, lags);
    const auto radius = [&](index_t dy, index_t dx) {
        return static_cast<std::size_t>(
            std::lround(std::hypot(static_cast<double>(dy), static_cast<double>(dx))));
    };
    RadialAverage average;
    average.mean.resize(radius(lags.rows - 1, lags.columns - 1) + 1);
    average.counts.resize(average.mean.size());
    for (index_t i = 0; i < surface.extent[0]; ++i) {
        for (index_t j = 0; j < surface.extent[1]; ++j) {
            const std::size_t r = radius(lags.first_row() + i, lags.first_column() + j);
            average.mean[r] += surface(i, j);
            ++average.counts[r];
        }
    }
    for (std::size_t r = 0; r < average.mean.size(); ++r) {
        average.mean[r] /= static_cast<double>(average.counts[r]);
    }
    return average;
}

void EnsembleStatistics::add(SurfaceView surface) {
    if (count_ == 0) {
        mean_ = core::Array<double, 2>(surface.extent);
        squares_ = core::Array<double, 2>(surface.extent);
        std::fill(mean_.begin(), mean_.end(), 0.0);
        std::fill(squares_.begin(), squares_.end(), 0.0);
    }
    core::expects_shape("surface", surface, mean_.extent(), core::Strides::unit_last);
    ++count_;
    const double share = 1 / static_cast<double>(count_);
    const index_t columns = surface.extent[1];
    for (index_t i = 0; i < surface.extent[0]; ++i) {
        const double* const values = surface.data + i * surface.stride[0];
        double* const mean = mean_.data() + i * columns;
        double* const squares = squares_.data() + i * columns;
#pragma omp simd
        for (index_t j = 0; j < columns; ++j) {
            const double difference = values[j] - mean[j];
            mean[j] += difference * share;
            squares[j] += difference * (values[j] - mean[j]);
        }
    }
}

core::Array<double, 2> EnsembleStatistics::deviation() const {
    core::Array<double, 2> deviation(squares_.extent());
    const auto divisor = static_cast<double>(std::max<index_t>(count_ - 1, 1));
    std::transform(squares_.begin(), squares_.end(), deviation.begin(),
                   [&](double squares) { return std::sqrt(squares / divisor); });
    return deviation;
}

}  // namespace aperture::corr
