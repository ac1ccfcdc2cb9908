// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "aperture/core/timing.hpp"
#include "aperture/flow/parameters.hpp"

namespace aperture::flow {

/// Estimates the flow between images of one shape. Holds all workspace: a second run allocates
/// nothing. The result does not depend, to the bit, on the number of threads.
template <class Executor>
class Estimator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty shape or parameters out of range.
    Estimator(Executor& executor, Shape shape, const Parameters& parameters);
    ~Estimator();
    Estimator(Estimator&&) noexcept;
    Estimator& operator=(Estimator&&) noexcept;

    /// Writes the flow from `image0` to `image1`. Where `start` is true it begins with what `flow`
    /// holds, scaled down to the coarsest level, else with zero. Identical images have a flow of
    /// exactly zero. Pixels that are not finite are the caller's fault and spread. Stages in
    /// `timeline`, where it is not null: pyramid, warp, derivatives, solve, median.
    void run(ImageView<Space> image0, ImageView<Space> image1, FlowView<Space> flow, bool start,
             core::Timeline* timeline);

    /// From now on every run leaves the residuals that the solver of the finest level's first warp
    /// met in `residuals`, relative to the right-hand side, that of the start first; the run takes
    /// longer then. Null ends it. Horn-Schunck only.
    void watch_convergence(std::vector<double>* residuals);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace aperture::flow
