// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aperture/corr/method_choice.hpp"
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

    /// `b` may be `a`.
    RunTimes run(const media::Image& a, const media::Image& b);

    const corr::Problem& problem() const { return problem_; }
    /// How the method was chosen where it was left open.
    const std::optional<corr::MethodChoice>& choice() const { return choice_; }
    const corr::Surfaces& surfaces() const { return surfaces_; }
    /// Planes of the images of the last run; of one image, only the first.
    corr::PlanesView<core::Host> planes(Operand operand) const;

  private:
    /// From what `image` shows or, where files hold planes, as they are there.
    void derive(Operand operand, const media::Image& image);

    core::Cpu& cpu_;
    bool stored_planes_;
    bool planes_on_host_;  ///< the estimator reads them
    corr::Problem problem_;
    std::optional<corr::MethodChoice> choice_;
    std::unique_ptr<PlaneCorrelation> correlation_;
    corr::SurfaceEstimator estimator_;
    std::vector<core::Array<float, 2>> masks_;  ///< none, or one for each image
    corr::Surfaces surfaces_;
    core::Timeline timeline_;
};

/// What is said of a surface.
struct SurfaceFindings {
    corr::CorrelationLengths lengths;
    std::optional<corr::Peak> peak;  ///< of one image, the strongest but that at (0, 0)
};
SurfaceFindings find_out(corr::SurfaceView surface, const corr::Lags& lags, bool pair);

}  // namespace aperture::apps
