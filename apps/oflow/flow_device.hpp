// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aperture/flow/estimator.hpp"
#include "apps/common/program.hpp"
#include "apps/common/timed_runs.hpp"

namespace aperture::apps {

/// flow::Estimator on some device, from and to the host's memory.
class PairEstimator {
  public:
    virtual ~PairEstimator() = default;

    /// Images and flow are dense; where `start` is true the run begins with what `flow` holds.
    virtual RunTimes run(flow::ImageView<core::Host> image0, flow::ImageView<core::Host> image1,
                         flow::FlowView<core::Host> flow, bool start) = 0;
    virtual void watch_convergence(std::vector<double>* residuals) = 0;
};

/// The device that flows are estimated on.
class FlowDevice {
  public:
    /// Takes the GPU, or `cpu`, and says which where that was left open. Throws core::DeviceError
    /// where the GPU that was asked for cannot be used.
    FlowDevice(DeviceChoice choice, core::Cpu& cpu, Console& console);
    ~FlowDevice();
    FlowDevice(const FlowDevice&) = delete;
    FlowDevice& operator=(const FlowDevice&) = delete;

    bool is_gpu() const { return gpu_ != nullptr; }
    std::string name() const;
    /// 0 where it is a GPU.
    int threads() const { return is_gpu() ? 0 : cpu_.threads(); }
    /// The device must outlive it.
    std::unique_ptr<PairEstimator> estimator(flow::Shape shape, const flow::Parameters& parameters);

  private:
    core::Cpu& cpu_;
    struct StartedGpu;
    std::unique_ptr<StartedGpu> gpu_;
};

}  // namespace aperture::apps
