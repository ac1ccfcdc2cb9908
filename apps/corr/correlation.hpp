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

/// The two images of a run: A, which displacements lead to, and B.
enum class Operand { a, b };

/// From images of one shape to their surface. Planes stay in the executor's memory.
template <class Executor>
class ImageCorrelation {
  public:
    using Space = typename Executor::Space;

    /// For images like `first`. Reads the masks, too. Throws core::InvalidArgument for offsets
    /// larger than the image, and for masks that cannot be read or have another size.
    ImageCorrelation(Executor& executor, core::Cpu& cpu, const CorrOptions& options,
                     const LoadedImage& first);
    /// Waits for what is under way, which writes to surfaces.
    ~ImageCorrelation();
    ImageCorrelation(const ImageCorrelation&) = delete;
    ImageCorrelation& operator=(const ImageCorrelation&) = delete;

    /// `b` may be `a`.
    RunTimes run(const media::Image& a, const media::Image& b);

    /// Images that may have begun before the first of them is finished.
    static constexpr std::size_t most_begun = 2;
    /// Begins to correlate an image with itself; it must stay until `finish`. A GPU works on it
    /// beside the host where its memory is of locked pages, except where estimators read planes.
    void begin(const media::Image& image);
    /// Waits for the first of the images that have begun: `surfaces` are then its. Its `planes` are
    /// there if no other has begun.
    RunTimes finish();

    const corr::Problem& problem() const { return problem_; }
    /// How the method was chosen where it was left open.
    const std::optional<corr::MethodChoice>& choice() const { return choice_; }
    const corr::Surfaces& surfaces() const { return begun_[current_].surfaces; }
    /// Planes of the images of the last run; of one image, only the first.
    corr::PlanesView<core::Host> planes(Operand operand);
    /// The same where the executor works on them.
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
        bool on_host = false;  ///< what a GPU derived was copied to `host`
    };

    PlanesOfImage& of(Operand operand) { return planes_[static_cast<std::size_t>(operand)]; }
    double gflop() const;
    /// From what `image_` shows or, where files hold planes, as they are there. Asynchronous.
    void derive(Operand operand);
    void correlate(corr::PlanesView<Space> a, corr::PlanesView<Space> b,
                   core::View<double, 3, core::Host> sums);
    /// The surfaces of A and `other` from their planes.
    void estimate(Operand other, corr::Surfaces& surfaces);
    /// Waits for copies between host and executor, and adds up their time.
    template <class Copies>
    void transfer(const Copies& copies);

    Executor& executor_;
    core::Cpu& cpu_;
    core::Cpu consumer_{1};  ///< of ensembles on a GPU: other threads have the cores to read with
    bool stored_planes_;
    bool pearson_;
    bool planes_on_host_;  ///< the estimator reads them
    corr::Problem problem_;
    std::optional<corr::MethodChoice> choice_;
    corr::SurfaceEstimator estimator_;
    std::vector<core::Array<float, 2>> masks_;  ///< none, or one for each image
    std::vector<Resident<Executor, const float, 2>> resident_masks_;
    std::optional<corr::ImagePlanes<Executor>> image_planes_;
    std::optional<corr::Correlator<Executor>> correlator_;
    Resident<Executor, const float, 3> image_;
    std::array<PlanesOfImage, 2> planes_;
    std::vector<Resident<Executor, const float, 3>> factors_;  ///< of corr::Factor
    Resident<Executor, double, 3> sums_;
    std::array<Begun, most_begun> begun_;
    std::size_t next_ = 0;     ///< place of the image that begins next
    std::size_t first_ = 0;    ///< place of the image that finishes next
    std::size_t current_ = 0;  ///< place of the surfaces
    core::Timeline timeline_;
    double transfer_ms_ = 0;  ///< of the run
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
