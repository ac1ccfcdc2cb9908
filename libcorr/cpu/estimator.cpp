// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/corr/estimator.hpp"

#include <algorithm>
#include <cmath>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "libcorr/cpu/plane_rows.hpp"

namespace aperture::corr {
namespace {

using core::Host;
using MaskView = core::View<const float, 2, Host>;

/// Shapes `to` and stores values_of_row(plane, row)(x) in its pixels.
template <class ValuesOfRow>
void compute_planes(core::Cpu& cpu, const core::Extents<3>& extent, core::Array<float, 3>& to,
                    const ValuesOfRow& values_of_row) {
    to.reshape(extent);
    for_plane_rows(cpu, extent[0], extent[1], [&](index_t p, index_t y) {
        const auto value = values_of_row(p, y);
        float* const row = &to(p, y, 0);
        for (index_t x = 0; x < extent[2]; ++x) row[x] = value(x);
    });
}

}  // namespace

void SurfaceEstimator::shape(index_t planes, Surfaces& results) {
    const auto [rows, columns] = lags_.extent();
    results.surface.reshape({rows, columns});
    results.counts.reshape({rows, columns});
    results.planes.reshape({each_plane_ ? planes : 0, rows, columns});
    if (estimator_ != Estimator::pearson) return;
    for (Moments* moments : {&a_, &b_}) {
        moments->sums.reshape({planes, rows, columns});
        moments->squares.reshape({planes, rows, columns});
    }
}

core::View<double, 3, Host> SurfaceEstimator::sums_of(Surfaces& results) const {
    if (each_plane_) return results.planes;
    const auto [rows, columns] = results.surface.extent();
    return {results.surface.data(), {1, rows, columns}};
}

void SurfaceEstimator::find_means(PlanesView<Host> image, const MaskView* mask,
                                  std::vector<float>& means) {
    const auto [planes, rows, columns] = image.extent;
    const auto sum_of_chosen = [&, height = rows, width = columns](const auto& value) {
        return sum_of_rows(cpu_, height, row_sums_, [&](index_t y) {
            double sum = 0;
            for (index_t x = 0; x < width; ++x) {
                if (mask == nullptr || (*mask)(y, x) != 0) sum += value(y, x);
            }
            return sum;
        });
    };
    const double count = mask == nullptr ? static_cast<double>(rows * columns)
                                         : sum_of_chosen([](index_t, index_t) { return 1.0; });
    means.clear();
    for (index_t p = 0; p < planes; ++p) {
        const double sum = sum_of_chosen(
            [&](index_t y, index_t x) { return static_cast<double>(image(p, y, x)); });
        means.push_back(static_cast<float>(count > 0 ? sum / count : 0));
    }
}

void SurfaceEstimator::centre(PlanesView<Host> image, const MaskView* mask,
                              std::vector<float>& means, Factor centred) {
    if (estimator_ == Estimator::pearson) {
        find_means(image, mask, means);
    } else {
        means.assign(static_cast<std::size_t>(image.extent[0]), 0.0F);
    }
    compute_planes(cpu_, image.extent, of(centred), [&](index_t p, index_t y) {
        return [=, row = &image(p, y, 0), mean = means[static_cast<std::size_t>(p)]](index_t x) {
            return mask == nullptr || (*mask)(y, x) != 0 ? row[x] - mean : 0.0F;
        };
    });
}

void SurfaceEstimator::square(Factor centred, Factor squares) {
    const core::Array<float, 3>& from = of(centred);
    compute_planes(cpu_, from.extent(), of(squares), [&](index_t p, index_t y) {
        return [row = &from(p, y, 0)](index_t x) { return row[x] * row[x]; };
    });
}

void SurfaceEstimator::find_moments(PlanesView<Host> image, Side side, Moments& moments) {
    const Shape shape{image.extent[1], image.extent[2]};
    for (index_t p = 0; p < image.extent[0]; ++p) {
        const auto store_sums = [&](core::Array<double, 3>& to) {
            for_overlap_sums(cpu_, areas_, shape, lags_, side,
                             [&](index_t i, index_t j, double sum) { to(p, i, j) = sum; });
        };
        areas_.compute(cpu_, image[p]);
        store_sums(moments.sums);
        areas_.compute_squares(cpu_, image[p]);
        store_sums(moments.squares);
    }
}

void SurfaceEstimator::scale_row(index_t i, Surfaces& results) const {
    const core::View<double, 3, Host> sums = sums_of(results);
    const index_t columns = sums.extent[2];
    const double* const counts = results.counts.data() + i * columns;
    double* const surface = results.surface.data() + i * columns;
    for (index_t s = 0; s < sums.extent[0]; ++s) {
        double* const of_plane = sums.data + s * sums.stride[0] + i * columns;
        if (estimator_ == Estimator::unbiased) {
#pragma omp simd
            for (index_t j = 0; j < columns; ++j) {
                const double inverse = 1 / std::max(counts[j], 1.0);
                of_plane[j] *= counts[j] > 0 ? inverse : 0.0;
            }
        }
        // Without `each_plane` both are the same memory.
#pragma omp simd
        for (index_t j = 0; j < columns; ++j) {
            surface[j] = (s == 0 ? 0.0 : surface[j]) + of_plane[j];
        }
    }
}

void SurfaceEstimator::finish_pearson_row(index_t i, index_t planes, Surfaces& results) const {
    const core::View<double, 3, Host> sums = sums_of(results);
    const auto [surfaces, rows, columns] = sums.extent;
    for (index_t j = 0; j < columns; ++j) {
        const double count = results.counts(i, j);
        const double inverse = count > 0 ? 1 / count : 0;
        double variance_a = 0;
        double variance_b = 0;
        double energy_a = 0;
        double energy_b = 0;
        for (index_t p = 0; p < planes; ++p) {
            const double a = a_.sums(p, i, j);
            const double b = b_.sums(p, i, j);
            sums(each_plane_ ? p : 0, i, j) -= inverse * a * b;
            variance_a += a_.squares(p, i, j) - inverse * a * a;
            variance_b += b_.squares(p, i, j) - inverse * b * b;
            energy_a += a_.squares(p, i, j);
            energy_b += b_.squares(p, i, j);
        }
        // A variance at rounding level counts as zero.
        constexpr double rounding = 1e-6;
        const bool varies = variance_a > rounding * energy_a && variance_b > rounding * energy_b;
        const double scale = varies ? 1 / std::sqrt(variance_a * variance_b) : 0;
        double sum = 0;
        for (index_t s = 0; s < surfaces; ++s) {
            sums(s, i, j) *= scale;
            sum += sums(s, i, j);
        }
        // Sums of products and energies round differently.
        const double r = std::clamp(sum, -1.0, 1.0);
        for (index_t s = 0; r != sum && s < surfaces; ++s) sums(s, i, j) *= r / sum;
        results.surface(i, j) = r;
    }
}

core::View<double, 3, Host> SurfaceEstimator::prepare(index_t planes, Shape image,
                                                      Surfaces& results) {
    shape(planes, results);
    const auto [lag_rows, lag_columns] = lags_.extent();
    for (index_t i = 0; i < lag_rows; ++i) {
        const index_t rows = overlap(image.rows, lags_.first_row() + i);
        for (index_t j = 0; j < lag_columns; ++j) {
            const index_t columns = overlap(image.columns, lags_.first_column() + j);
            results.counts(i, j) = static_cast<double>(rows * columns);
        }
    }
    return sums_of(results);
}

void SurfaceEstimator::finish_rows(index_t planes, Surfaces& results) const {
    core::for_each_task(cpu_, lags_.extent().rows, 0, [&](index_t i, std::byte*) {
        if (estimator_ == Estimator::pearson) {
            finish_pearson_row(i, planes, results);
        } else {
            scale_row(i, results);
        }
    });
}

void SurfaceEstimator::finish(index_t planes, Surfaces& results) const {
    core::expects(estimator_ != Estimator::pearson, "Pearson's r needs the planes");
    finish_rows(planes, results);
}

Factor SurfaceEstimator::centre_both(PlanesView<Host> a, PlanesView<Host> b) {
    centre(a, nullptr, a_.means, Factor::centred_a);
    if (same_planes(a, b)) {
        b_.means = a_.means;
        return Factor::centred_a;
    }
    centre(b, nullptr, b_.means, Factor::centred_b);
    return Factor::centred_b;
}

void SurfaceEstimator::expects_pearson() const {
    core::expects(estimator_ == Estimator::pearson, "centred planes are for Pearson's r only");
}

void SurfaceEstimator::find_both_moments(Factor centred_b) {
    find_moments(of(Factor::centred_a), Side::a, a_);
    find_moments(of(centred_b), Side::b, b_);
}

void SurfaceEstimator::run(PlanesView<Host> a, PlanesView<Host> b, const Correlate& correlate,
                           Surfaces& results) {
    expects_pearson();
    core::expects_shape("image b", b, a.extent);
    const auto [planes, rows, columns] = a.extent;
    const core::View<double, 3, Host> sums = prepare(planes, {rows, columns}, results);
    // Without the means the same sums lose no precision to them.
    const Factor centred_b = centre_both(a, b);
    correlate(Factor::centred_a, centred_b, sums);
    find_both_moments(centred_b);
    finish_rows(planes, results);
}

void SurfaceEstimator::finish(PlanesView<Host> a, PlanesView<Host> b, Surfaces& results) {
    expects_pearson();
    core::expects_shape("image b", b, a.extent);
    find_both_moments(centre_both(a, b));
    remove_means(results);
    finish_rows(a.extent[0], results);
}

// With A = A' + m and B = B' + k, sum A B is sum A' B' + m sum B' + k sum A' + N m k.
void SurfaceEstimator::remove_means(Surfaces& results) const {
    const core::View<double, 3, Host> sums = sums_of(results);
    const auto planes = static_cast<index_t>(a_.means.size());
    const auto [rows, columns] = results.surface.extent();
    core::for_each_task(cpu_, rows, 0, [&, width = columns](index_t i, std::byte*) {
        for (index_t p = 0; p < planes; ++p) {
            const auto mean_a = static_cast<double>(a_.means[static_cast<std::size_t>(p)]);
            const auto mean_b = static_cast<double>(b_.means[static_cast<std::size_t>(p)]);
            for (index_t j = 0; j < width; ++j) {
                sums(each_plane_ ? p : 0, i, j) -= mean_a * b_.sums(p, i, j) +
                                                   mean_b * a_.sums(p, i, j) +
                                                   results.counts(i, j) * mean_a * mean_b;
            }
        }
    });
}

void SurfaceEstimator::run(PlanesView<Host> a, PlanesView<Host> b, MaskView mask_a, MaskView mask_b,
                           const Correlate& correlate, Surfaces& results) {
    const auto [planes, rows, columns] = a.extent;
    core::expects_shape("image b", b, a.extent);
    core::expects_shape("mask a", mask_a, {rows, columns});
    core::expects_shape("mask b", mask_b, {rows, columns});
    const bool centred = estimator_ == Estimator::pearson;
    core::expects(each_plane_ || !centred, "Pearson's r with masks requires sums of each plane");
    shape(planes, results);
    const core::View<double, 3, Host> sums = sums_of(results);
    centre(a, &mask_a, a_.means, Factor::centred_a);
    centre(b, &mask_b, b_.means, Factor::centred_b);
    for (const auto& [mask, factor] :
         {std::pair{mask_a, Factor::mask_a}, {mask_b, Factor::mask_b}}) {
        compute_planes(cpu_, a.extent, of(factor), [&, &chosen = mask](index_t, index_t y) {
            return [&, y](index_t x) { return chosen(y, x) != 0 ? 1.0F : 0.0F; };
        });
    }
    counts_.reshape(sums.extent);
    correlate(Factor::mask_a, Factor::mask_b, counts_);
    // Every plane has the same mask, so that the sum counts it `planes` times.
    const auto masks_in_sum = static_cast<double>(each_plane_ ? 1 : planes);
    const auto [lag_rows, lag_columns] = lags_.extent();
    std::transform(counts_.data(), counts_.data() + results.counts.size(), results.counts.begin(),
                   [&](double count) { return std::round(count / masks_in_sum); });
    correlate(Factor::centred_a, Factor::centred_b, sums);
    if (centred) {
        square(Factor::centred_a, Factor::squares_a);
        square(Factor::centred_b, Factor::squares_b);
        correlate(Factor::centred_a, Factor::mask_b, a_.sums);
        correlate(Factor::mask_a, Factor::centred_b, b_.sums);
        correlate(Factor::squares_a, Factor::mask_b, a_.squares);
        correlate(Factor::mask_a, Factor::squares_b, b_.squares);
    }
    for (index_t i = 0; i < lag_rows; ++i) {
        for (index_t j = 0; j < lag_columns; ++j) {
            if (results.counts(i, j) > 0) continue;
            // No overlap: the entries are rounding noise.
            results.counts(i, j) = 0;
            for (index_t s = 0; s < sums.extent[0]; ++s) sums(s, i, j) = 0;
            for (index_t p = 0; centred && p < planes; ++p) {
                a_.sums(p, i, j) = b_.sums(p, i, j) = 0;
                a_.squares(p, i, j) = b_.squares(p, i, j) = 0;
            }
        }
    }
    finish_rows(planes, results);
}

}  // namespace aperture::corr
