// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "aperture/core/timing.hpp"
#include "aperture/flow/parameters.hpp"

namespace aperture::flow {

/// Estimates the flow between images of one shape. Holds all workspace: a second run allocates
/// nothing. The result does not depend, to the bit, on the number of threads, nor does it change
/// from run to run.
template <class Executor>
class Estimator {
  public:
    using Space = typename Executor::Space;

    /// Throws core::InvalidArgument for an empty shape or parameters out of range, on a Gpu also
    /// for a window of Lucas-Kanade that is too large for signal::box_sum there.
    Estimator(Executor& executor, Shape shape, const Parameters& parameters);
    ~Estimator();
    Estimator(Estimator&&) noexcept;
    Estimator& operator=(Estimator&&) noexcept;

    /// Writes the flow from `image0` to `image1`. Where `start` is true it begins with what `flow`
    /// holds, scaled down to the coarsest level, else with zero. Identical images have a flow of
    /// exactly zero. Pixels that are not finite are the caller's fault and spread. Stages in
    /// `timeline`, where it is not null: pyramid, warp, derivatives, solve, median; the derivatives
    /// are a part of warp on a Gpu, unless Implementation::staged is asked for or the warped image
    /// is needed again, by robust estimates and weighted medians. Asynchronous on a
    /// Gpu, unless the solver has a tolerance or the convergence is watched.
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

template <>
Estimator<core::Cpu>::Estimator(core::Cpu& cpu, Shape shape, const Parameters& parameters);
template <>
Estimator<core::Cpu>::~Estimator();
template <>
Estimator<core::Cpu>::Estimator(Estimator&&) noexcept;
template <>
Estimator<core::Cpu>& Estimator<core::Cpu>::operator=(Estimator&&) noexcept;
template <>
void Estimator<core::Cpu>::run(ImageView<core::Host> image0, ImageView<core::Host> image1,
                               FlowView<core::Host> flow, bool start, core::Timeline* timeline);
template <>
void Estimator<core::Cpu>::watch_convergence(std::vector<double>* residuals);

}  // namespace aperture::flow
