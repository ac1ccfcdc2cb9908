// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "aperture/corr/correlator.hpp"
#include "aperture/corr/image_planes.hpp"
#include "aperture/corr/method_choice.hpp"
#include "aperture/corr/statistics.hpp"
#include "apps/common/resident.hpp"
#include "apps/corr/image_source.hpp"
#include "apps/corr/options.hpp"

namespace aperture::apps {

/// The two images of a run. Displacements lead from B to A.
enum class Operand { a, b };

/// Computes surfaces from images of one shape. Planes stay in the executor's memory.
template <class Executor>
class ImageCorrelation {
  public:
    using Space = typename Executor::Space;

    /// For images like `first`. Also reads the masks. Throws core::InvalidArgument for offsets
    /// larger than the image, and for masks that cannot be read or have another size.
    ImageCorrelation(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                     const LoadedImage& first);
    /// Waits for pending work, which writes to the surfaces.
    ~ImageCorrelation();
    ImageCorrelation(const ImageCorrelation&) = delete;
    ImageCorrelation& operator=(const ImageCorrelation&) = delete;

    /// `b` may be `a`.
    RunTimes run(const media::Image& a, const media::Image& b);

    /// Maximum number of images between `begin` and `finish`.
    static constexpr std::size_t most_begun = 2;
    /// Starts to correlate an image with itself; the image must exist until `finish`. A GPU works
    /// asynchronously if the image is in pinned memory and the estimator does not read planes.
    void begin(const media::Image& image);
    /// Waits for the oldest started image; `surfaces` then are those of this image. `planes` are
    /// its planes only if no later image has started.
    RunTimes finish();

    const corr::Problem& problem() const { return problem_; }
    /// How the method was chosen, if the options leave it open.
    const std::optional<corr::MethodChoice>& choice() const { return choice_; }
    const corr::Surfaces& surfaces() const { return begun_[current_].surfaces; }
    /// Planes of the last run's images; only A for one image.
    corr::PlanesView<core::Host> planes(Operand operand);
    /// The same planes in the executor's memory.
    corr::PlanesView<Space> resident_planes(Operand operand);

  private:
    struct Begun {
        const media::Image* image = nullptr;
        corr::Surfaces surfaces;
        core::Timeline timeline;
    };
    struct PlanesOfImage {
        core::Array<float, 3> host;
        Resident<Executor, float, 3> resident;
        bool on_host = false;  ///< whether `host` has the planes that a GPU derived
    };

    PlanesOfImage& of(Operand operand) { return planes_[static_cast<std::size_t>(operand)]; }
    double gflop() const;
    /// Derives the planes from `image_`; each stored plane counts as a grey image. Asynchronous.
    void derive(Operand operand);
    void correlate(corr::PlanesView<Space> a, corr::PlanesView<Space> b,
                   core::View<double, 3, core::Host> sums);
    /// Computes the surfaces of A and `other` from their planes.
    void estimate(Operand other, corr::Surfaces& surfaces);
    /// Waits for copies between host and executor and adds their time.
    template <class Copies>
    void transfer(const Copies& copies);

    Executor& executor_;
    core::Cpu& cpu_;
    core::Cpu consumer_{1};  ///< for ensembles on a GPU; other threads use the cores to read
    bool stored_planes_;
    bool pearson_;
    bool planes_on_host_;  ///< whether the estimator reads the planes
    corr::Problem problem_;
    std::optional<corr::MethodChoice> choice_;
    corr::SurfaceEstimator estimator_;
    std::vector<core::Array<float, 2>> masks_;  ///< none, or one per image
    std::vector<Resident<Executor, const float, 2>> resident_masks_;
    std::optional<corr::ImagePlanes<Executor>> image_planes_;
    std::optional<corr::Correlator<Executor>> correlator_;
    Resident<Executor, const float, 3> image_;
    std::array<PlanesOfImage, 2> planes_;
    std::vector<Resident<Executor, const float, 3>> factors_;  ///< indexed by corr::Factor
    Resident<Executor, double, 3> sums_;
    std::array<Begun, most_begun> begun_;
    std::size_t next_ = 0;     ///< index of the image that starts next
    std::size_t first_ = 0;    ///< index of the image that finishes next
    std::size_t current_ = 0;  ///< index of the current surfaces
    core::Timeline timeline_;
    double transfer_ms_ = 0;  ///< during the run
};

/// What is reported about a surface.
struct SurfaceFindings {
    corr::CorrelationLengths lengths;     ///< about (0, 0); for a pair, about the peak
    std::optional<corr::Peak> peak;       ///< for one image, the strongest except (0, 0)
    std::optional<corr::Peak> on_border;  ///< for a pair: corr::largest_on_border
};
SurfaceFindings find_out(const CorrOptions& options, corr::SurfaceView surface,
                         const corr::Lags& lags);

}  // namespace aperture::apps
