// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Correlator and PairCorrelator for every executor: what they check, and which images they have.

#include <optional>
#include <type_traits>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/core/memory.hpp"
#include "aperture/core/shape.hpp"
#include "aperture/corr/pair_correlator.hpp"

namespace aperture::corr {

/// The computations of Correlator on one executor:
///     run(a, b, same, sums), `same`: both images are one
template <class Executor>
class CorrelatorOperations;

/// Those of PairCorrelator, of problems of one image:
///     bytes_of_image(): kept of each image
///     reserve(images)
///     keep(image, planes)
///     correlate(a, b, sums): of images that were kept
template <class Executor>
class PairOperations;

template <class Executor>
struct Correlator<Executor>::State {
    Problem problem;
    CorrelatorOperations<Executor> operations;

    State(Executor& executor, const Problem& p) : problem(p), operations(executor, p) {}
};

template <class Executor>
Correlator<Executor>::Correlator(Executor& executor, const Problem& problem) {
    validate(problem);
    state_ = core::owned(std::make_unique<State>(executor, problem));
}

template <class Executor>
void Correlator<Executor>::run(PlanesView<Space> a, PlanesView<Space> b,
                               core::View<double, 3, Space> sums) {
    const Problem& problem = state_->problem;
    const auto [rows, columns] = problem.image;
    const Shape extent = problem.lags.extent();
    const index_t planes = problem.images * problem.planes;
    core::expects_shape("image a", a, {planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("image b", b, {planes, rows, columns}, core::Strides::unit_last);
    core::expects_shape("sums", sums,
                        {problem.images * problem.surfaces(), extent.rows, extent.columns},
                        core::Strides::dense);
    state_->operations.run(a, b, same_planes(a, b), sums);
}

template <class Executor>
struct PairCorrelator<Executor>::State {
    Problem problem;
    PairOperations<Executor> operations;
    std::vector<bool> loaded;

    State(Executor& executor, const Problem& p, index_t images)
        : problem(p), operations(executor, p) {
        expects_memory(executor, images);
        operations.reserve(images);
        loaded.resize(static_cast<std::size_t>(images));
    }

    void expects_memory(const Executor& executor, index_t images) const {
        std::optional<std::size_t> available;
        if constexpr (requires { executor.free_memory(); }) {
            available = executor.free_memory();
        } else {
            available = core::available_memory();
        }
        const double needed = static_cast<double>(images) * operations.bytes_of_image();
        if (!available || needed <= static_cast<double>(*available)) return;
        constexpr double gib = 1 << 30;
        const std::string words =
            core::text("pairs of ", images, " images need ", needed / gib, " GiB of memory, but ",
                       static_cast<double>(*available) / gib, " GiB are available");
        // Another device may have more memory.
        if constexpr (std::is_same_v<Space, core::Device>) {
            throw core::UnfitDevice(words);
        } else {
            throw core::InvalidArgument(words);
        }
    }
    std::vector<bool>::reference loaded_at(index_t image) {
        core::expects(image >= 0 && image < std::ssize(loaded), "image ", image,
                      " is outside 0 .. ", std::ssize(loaded) - 1);
        return loaded[static_cast<std::size_t>(image)];
    }
};

template <class Executor>
PairCorrelator<Executor>::PairCorrelator(Executor& executor, const Problem& problem,
                                         index_t images) {
    Problem of_image = problem;
    of_image.images = 1;
    of_image.method = Method::fft;
    validate(of_image);
    core::expects(images >= 1, images, " images, expected at least 1");
    state_ = core::owned(std::make_unique<State>(executor, of_image, images));
}

template <class Executor>
void PairCorrelator<Executor>::load(index_t image, PlanesView<Space> planes) {
    State& s = *state_;
    const auto [rows, columns] = s.problem.image;
    auto is_loaded = s.loaded_at(image);
    core::expects_shape("planes", planes, {s.problem.planes, rows, columns},
                        core::Strides::unit_last);
    is_loaded = false;
    s.operations.keep(image, planes);
    is_loaded = true;
}

template <class Executor>
void PairCorrelator<Executor>::run(index_t a, index_t b, core::View<double, 3, Space> sums) {
    State& s = *state_;
    const Shape extent = s.problem.lags.extent();
    core::expects_shape("sums", sums, {s.problem.surfaces(), extent.rows, extent.columns},
                        core::Strides::dense);
    const bool has_a = s.loaded_at(a);
    const bool has_b = s.loaded_at(b);
    core::expects(has_a && has_b, "images ", a, " and ", b, ": one of them is not loaded");
    s.operations.correlate(a, b, sums);
}

}  // namespace aperture::corr
