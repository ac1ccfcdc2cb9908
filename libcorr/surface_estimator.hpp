// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// SurfaceEstimator for every executor.

#include <memory>
#include <utility>

#include "aperture/core/error.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/estimator.hpp"
#include "libcorr/surface_formulas.hpp"

namespace aperture::corr {

/// The computations of SurfaceEstimator on one executor:
///     for_entries(rows, columns, steps...): the steps in order for each entry; formulas are called
///                                           as formula(plane, row, column)
///     find_means(image, mask, means): of each plane's chosen pixels
///     find_moments(image, side, problem, sums, squares): OverlapMoments
template <class Executor>
class EstimatorOperations;

template <class Executor>
struct SurfaceEstimator<Executor>::State {
    using Planes = core::Array<float, 3, Space>;
    using Sums = core::Array<double, 3, Space>;

    /// Of one image.
    struct Side {
        Planes centred;
        Sums sums;
        Sums squares;
        // With masks:
        Planes mask;  ///< for every plane
        Planes squared;

        OverlapMoments moments() const { return {entries(sums), entries(squares)}; }
    };

    Problem problem;
    bool pearson;
    bool unbiased;
    Correlator<Executor> correlator;
    EstimatorOperations<Executor> operations;
    Side a;
    Side b;
    core::Array<float, 1, Space> means;
    core::Array<double, 2, Space> counts;
    Sums products_of_masks;

    State(Executor& executor, const Problem& p, Estimator estimator)
        : problem(p),
          pearson(estimator == Estimator::pearson),
          unbiased(estimator == Estimator::unbiased),
          correlator(executor, p),
          operations(executor),
          means({p.planes}),
          counts({p.lags.extent().rows, p.lags.extent().columns}) {
        core::expects(p.images == 1, p.images, " images a run, expected 1");
    }

    template <class T>
    static PlaneEntries<const T> entries(const core::Array<T, 3, Space>& array) {
        return {array.data(), array.extent()};
    }
    template <class T>
    static PlaneEntries<T> entries(core::Array<T, 3, Space>& array) {
        return {array.data(), array.extent()};
    }
    static Entries<const float> entries(const core::View<const float, 2, Space>& mask) {
        return {mask.data, mask.extent, mask.stride};
    }
    static PlaneEntries<const float> entries(const PlanesView<Space>& image) {
        return {image.data, image.extent, image.stride};
    }

    core::Extents<3> image() const {
        return {problem.planes, problem.image.rows, problem.image.columns};
    }
    core::Extents<3> surfaces(index_t planes) const {
        return {planes, problem.lags.extent().rows, problem.lags.extent().columns};
    }

    void expects_arguments(const PlanesView<Space>& of_a, const PlanesView<Space>& of_b,
                           const SurfaceViews<Space>& results) const {
        core::expects_shape("image a", of_a, image(), core::Strides::unit_last);
        core::expects_shape("image b", of_b, image(), core::Strides::unit_last);
        const auto [planes, rows, columns] = surfaces(problem.each_plane ? problem.planes : 0);
        core::expects_shape("surface", results.surface, {rows, columns}, core::Strides::dense);
        core::expects_shape("counts", results.counts, {rows, columns}, core::Strides::dense);
        core::expects_shape("planes", results.planes, {planes, rows, columns},
                            core::Strides::dense);
    }

    template <class Formula>
    void for_pixels(const Formula& formula) {
        operations.for_entries(problem.image.rows, problem.image.columns,
                               Step<Formula>{problem.planes, formula});
    }

    /// Without the means Pearson's sums lose no precision to them.
    void centre(const PlanesView<Space>& from, const core::View<const float, 2, Space>& mask,
                Planes& centred) {
        centred.reshape(image());
        if (pearson) operations.find_means(from, mask, means.data());
        for_pixels(Centre{entries(from), entries(mask), pearson ? means.data() : nullptr,
                          entries(centred)});
    }

    /// The view for sums of products.
    core::View<double, 3, Space> sums_of(const SurfaceViews<Space>& results) const {
        if (problem.each_plane) return results.planes;
        return {results.surface.data, surfaces(1)};
    }

    /// Computes the results from sums of products, and counts by `count`.
    template <class Count>
    void finish(const Count& count, const SurfaceViews<Space>& results) {
        const auto sums = sums_of(results);
        const Entries<const double> pixels(counts.data(), counts.extent());
        const SurfaceEntries to{
            pixels, {sums.data, sums.extent}, {results.surface.data, results.surface.extent}};
        const auto finish_by = [&](const auto& estimate) {
            const auto [rows, columns] = problem.lags.extent();
            const StoreCounts store{pixels, {results.counts.data, results.counts.extent}};
            operations.for_entries(rows, columns, Step<Count>{1, count},
                                   Step<StoreCounts>{1, store}, estimate);
        };
        if (pearson) {
            finish_by(Step<FindPearson>{1, {to, a.moments(), b.moments()}});
        } else {
            finish_by(Step<ScaleSums>{problem.surfaces(), {to, unbiased}});
        }
    }

    void run(const PlanesView<Space>& of_a, const PlanesView<Space>& of_b,
             const SurfaceViews<Space>& results) {
        expects_arguments(of_a, of_b, results);
        if (pearson) {
            correlate_centred(of_a, of_b, sums_of(results));
        } else {
            correlator.run(of_a, of_b, sums_of(results));
        }
        finish(CountPixels{problem.image, problem.lags, {counts.data(), counts.extent()}}, results);
    }

    void correlate_centred(const PlanesView<Space>& of_a, const PlanesView<Space>& of_b,
                           const core::View<double, 3, Space>& sums) {
        const core::View<const float, 2, Space> all{};
        centre(of_a, all, a.centred);
        const bool same = same_planes(of_a, of_b);
        if (!same) centre(of_b, all, b.centred);
        const Planes& other = same ? a.centred : b.centred;
        correlator.run(a.centred, other, sums);
        find_moments(a.centred, corr::Side::a, a);
        find_moments(other, corr::Side::b, b);
    }

    void find_moments(const Planes& centred, corr::Side which, Side& side) {
        side.sums.reshape(surfaces(problem.planes));
        side.squares.reshape(surfaces(problem.planes));
        operations.find_moments(centred.view(), which, problem, side.sums.view(),
                                side.squares.view());
    }

    void run(const PlanesView<Space>& of_a, const PlanesView<Space>& of_b,
             const core::View<const float, 2, Space>& mask_a,
             const core::View<const float, 2, Space>& mask_b, const SurfaceViews<Space>& results) {
        const auto [rows, columns] = problem.image;
        expects_arguments(of_a, of_b, results);
        core::expects_shape("mask a", mask_a, {rows, columns}, core::Strides::unit_last);
        core::expects_shape("mask b", mask_b, {rows, columns}, core::Strides::unit_last);
        core::expects(problem.each_plane || !pearson,
                      "Pearson's r with masks requires sums of each plane");
        load(of_a, mask_a, a);
        load(of_b, mask_b, b);
        products_of_masks.reshape(surfaces(problem.surfaces()));
        correlator.run(a.mask, b.mask, products_of_masks);
        correlator.run(a.centred, b.centred, sums_of(results));
        if (pearson) {
            for (Side* side : {&a, &b}) {
                side->squared.reshape(image());
                for_pixels(Square{entries(std::as_const(side->centred)), entries(side->squared)});
                side->sums.reshape(surfaces(problem.planes));
                side->squares.reshape(surfaces(problem.planes));
            }
            correlator.run(a.centred, b.mask, a.sums);
            correlator.run(a.mask, b.centred, b.sums);
            correlator.run(a.squared, b.mask, a.squares);
            correlator.run(a.mask, b.squared, b.squares);
        }
        // Every plane has the same mask, so that the sum counts it `planes` times.
        const auto masks_in_sum = static_cast<double>(problem.each_plane ? 1 : problem.planes);
        finish(CountMasks{entries(std::as_const(products_of_masks)),
                          masks_in_sum,
                          {counts.data(), counts.extent()}},
               results);
    }

    void load(const PlanesView<Space>& from, const core::View<const float, 2, Space>& mask,
              Side& side) {
        centre(from, mask, side.centred);
        side.mask.reshape(image());
        for_pixels(RepeatMask{entries(mask), entries(side.mask)});
    }
};

template <class Executor>
SurfaceEstimator<Executor>::SurfaceEstimator(Executor& executor, const Problem& problem,
                                             Estimator estimator)
    : state_(core::owned(std::make_unique<State>(executor, problem, estimator))) {}

template <class Executor>
void SurfaceEstimator<Executor>::run(PlanesView<Space> a, PlanesView<Space> b,
                                     const SurfaceViews<Space>& results) {
    state_->run(a, b, results);
}

template <class Executor>
void SurfaceEstimator<Executor>::run(PlanesView<Space> a, PlanesView<Space> b,
                                     core::View<const float, 2, Space> mask_a,
                                     core::View<const float, 2, Space> mask_b,
                                     const SurfaceViews<Space>& results) {
    state_->run(a, b, mask_a, mask_b, results);
}

}  // namespace aperture::corr
