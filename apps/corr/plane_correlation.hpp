// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "aperture/corr/correlator.hpp"
#include "aperture/corr/image_planes.hpp"
#include "aperture/corr/method_choice.hpp"
#include "apps/common/console.hpp"
#include "apps/common/program.hpp"
#include "apps/common/timed_runs.hpp"

namespace aperture::apps {

using ImageView = core::View<const float, 3, core::Host>;
using MaskView = core::View<const float, 2, core::Host>;

/// The two images of a run: A, which displacements lead to, and B.
enum class Operand { a, b };

/// corr::ImagePlanes and corr::Correlator on some device, from and to the host's memory.
class PlaneCorrelation {
  public:
    virtual ~PlaneCorrelation() = default;

    /// Makes planes `first` to `end` - 1 of an image from what `image` shows, over the pixels of
    /// `mask` where there is one.
    virtual void derive(Operand operand, core::index_t first, core::index_t end, ImageView image,
                        const MaskView* mask) = 0;
    /// The planes that were derived last, on the host: a GPU copies them unless they are there.
    virtual corr::PlanesView<core::Host> planes(Operand operand) = 0;
    /// Sums of products of derived planes, wherever they are.
    virtual void correlate(Operand a, Operand b, core::View<double, 3, core::Host> sums) = 0;
    /// Of other planes: what corr::SurfaceEstimator asks for.
    virtual void correlate(corr::PlanesView<core::Host> a, corr::PlanesView<core::Host> b,
                           core::View<double, 3, core::Host> sums) = 0;
    /// Milliseconds that copies to and from the device took since the last call.
    virtual double take_transfer_ms() = 0;

    /// Images that can be under way at once, each at a place of its own.
    static constexpr std::size_t places = 2;
    /// Begins to make all planes of A from what `image` shows, and their sums of products with
    /// themselves. Both views must stay until `finish`; a GPU works beside the host where they are
    /// of locked pages.
    virtual void begin(std::size_t place, ImageView image,
                       core::View<double, 3, core::Host> sums) = 0;
    /// Waits for the sums. Stages are planes and correlate.
    virtual RunTimes finish(std::size_t place) = 0;
};

/// corr::PairCorrelator on some device, from and to the host's memory.
class PairCorrelation {
  public:
    virtual ~PairCorrelation() = default;
    virtual void take(core::index_t image, corr::PlanesView<core::Host> planes) = 0;
    virtual void run(core::index_t a, core::index_t b, core::View<double, 3, core::Host> sums) = 0;
};

/// The device that images are correlated on.
class CorrelationDevice {
  public:
    /// Takes the GPU, or `cpu`, and says which where that was left open. Throws core::DeviceError
    /// where the GPU that was asked for cannot be used.
    CorrelationDevice(DeviceChoice choice, core::Cpu& cpu, Console& console);
    ~CorrelationDevice();
    CorrelationDevice(const CorrelationDevice&) = delete;
    CorrelationDevice& operator=(const CorrelationDevice&) = delete;

    /// What the host does, whatever the device.
    core::Cpu& cpu() const { return cpu_; }
    bool is_gpu() const { return gpu_ != nullptr; }
    /// Of host memory that is copied to and from it.
    core::Pages pages() const { return is_gpu() ? core::Pages::locked : core::Pages::pageable; }
    std::string name() const;
    /// 0 where it is a GPU.
    int threads() const { return is_gpu() ? 0 : cpu_.threads(); }
    /// The method that should take less time for a problem's images.
    corr::MethodChoice choose_method(const corr::Problem& problem, bool same) const;
    /// Planes of `kind`, of `problem`'s images; the device must outlive it.
    std::unique_ptr<PlaneCorrelation> correlation(const corr::Problem& problem,
                                                  corr::PlaneKind kind,
                                                  corr::Normalization normalization);
    /// For up to `images` images. Throws core::InvalidArgument where they take more memory than
    /// there is.
    std::unique_ptr<PairCorrelation> pairs(const corr::Problem& problem, core::index_t images);

  private:
    core::Cpu& cpu_;
    struct StartedGpu;
    std::unique_ptr<StartedGpu> gpu_;
};

}  // namespace aperture::apps
