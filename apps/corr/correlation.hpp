// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "aperture/corr/statistics.hpp"
#include "apps/common/timed_runs.hpp"
#include "apps/corr/image_source.hpp"
#include "apps/corr/options.hpp"
#include "apps/corr/plane_correlation.hpp"

namespace aperture::apps {

/// From images of one shape to their surface.
class ImageCorrelation {
  public:
    /// For images like `first`. Reads the masks, too. Throws core::InvalidArgument for offsets
    /// larger than the image, and for masks that cannot be read or have another size.
    ImageCorrelation(CorrelationDevice& device, const CorrOptions& options,
                     const LoadedImage& first);
    ImageCorrelation(const ImageCorrelation&) = delete;
    ImageCorrelation& operator=(const ImageCorrelation&) = delete;

    /// `b` may be `a`.
    RunTimes run(const media::Image& a, const media::Image& b);

    /// Images that may have begun before the first of them is finished.
    static constexpr std::size_t most_begun = PlaneCorrelation::places;
    /// Begins to correlate an image with itself; it must stay until `finish`. A GPU works on it
    /// beside the host, except where estimators read planes.
    void begin(const media::Image& image);
    /// Waits for the first of the images that have begun: `surfaces` are then its. Its `planes` are
    /// there if no other has begun.
    RunTimes finish();

    const corr::Problem& problem() const { return problem_; }
    /// How the method was chosen where it was left open.
    const std::optional<corr::MethodChoice>& choice() const { return choice_; }
    const corr::Surfaces& surfaces() const { return begun_[current_].surfaces; }
    /// Planes of the images of the last run; of one image, only the first.
    corr::PlanesView<core::Host> planes(Operand operand) const;

  private:
    struct Begun {
        const media::Image* image = nullptr;
        corr::Surfaces surfaces;
    };
    double gflop() const;
    /// From what `image` shows or, where files hold planes, as they are there.
    void derive(Operand operand, const media::Image& image);

    core::Cpu& cpu_;
    core::Cpu consumer_{1};  ///< of ensembles on a GPU: other threads have the cores to read with
    bool stored_planes_;
    bool planes_on_host_;  ///< the estimator reads them
    corr::Problem problem_;
    std::optional<corr::MethodChoice> choice_;
    corr::SurfaceEstimator estimator_;
    std::vector<core::Array<float, 2>> masks_;  ///< none, or one for each image
    std::array<Begun, most_begun> begun_;
    std::size_t next_ = 0;     ///< place of the image that begins next
    std::size_t first_ = 0;    ///< place of the image that finishes next
    std::size_t current_ = 0;  ///< place of the surfaces
    core::Timeline timeline_;
    // Destroyed first: it may still write to surfaces.
    std::unique_ptr<PlaneCorrelation> correlation_;
};

/// What is said of a surface.
struct SurfaceFindings {
    corr::CorrelationLengths lengths;     ///< about (0, 0), of a pair about the peak
    std::optional<corr::Peak> peak;       ///< of one image, the strongest but that at (0, 0)
    std::optional<corr::Peak> on_border;  ///< of a pair: corr::largest_on_border
};
SurfaceFindings find_out(const CorrOptions& options, corr::SurfaceView surface,
                         const corr::Lags& lags);

}  // namespace aperture::apps
