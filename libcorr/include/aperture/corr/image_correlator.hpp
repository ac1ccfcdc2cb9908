// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "aperture/core/resident.hpp"
#include "aperture/core/timing.hpp"
#include "aperture/corr/correlator.hpp"
#include "aperture/corr/estimator.hpp"
#include "aperture/corr/image_planes.hpp"
#include "aperture/corr/method_choice.hpp"

namespace aperture::corr {

/// How images are correlated.
struct Parameters {
    /// Planes derived from images; empty if the images are the planes.
    std::optional<PlaneKind> planes = PlaneKind::lab_orientation;
    std::optional<Normalization> normalization;  ///< default: plane; of images as planes, none
    std::optional<Shape> offsets;                ///< default: half the image, rounded up
    std::optional<bool> both_signs;              ///< default: for a pair only
    Estimator estimator = Estimator::raw;
    std::optional<Method> method;           ///< default: the faster
    Precision precision = Precision::fp32;  ///< of the direct method
    bool each_plane = true;                 ///< whether to compute a surface per plane, too

    Normalization normalized() const;
    bool needs_direct() const { return precision != Precision::fp32; }
    /// The displacements of images of this size, of which pairs are correlated or each with itself.
    Lags lags(Shape image, bool pair) const;
};

/// Times of a run.
struct ImageTimes {
    std::vector<core::Stage> stages;  ///< planes, correlate
    double compute_ms = 0;
    double transfer_ms = 0;  ///< copies to and from a device
};

/// Computes surfaces from images of one size, [channel][row][column], dense: one channel (grey) or
/// three (red, green, blue) of sRGB values in 0 to 255, or the planes themselves. Results are
/// bitwise independent of the number of threads. Planes stay in the executor's memory. Holds all
/// workspace. Both executors must outlive the object.
template <class Executor>
class ImageCorrelator {
  public:
    using Space = typename Executor::Space;
    using Image = core::View<const float, 3, core::Host>;

    /// For images like one of extents `image`, of which pairs are correlated or each with itself;
    /// grey and colour images may alternate. `cpu` computes surfaces from sums, and may be the
    /// executor. `masks`: none, one for all images or, of a pair, one for A and one for B; only
    /// pixels with nonzero masks, [row][column], count. Throws core::InvalidArgument for offsets
    /// larger than the image, for other numbers and extents of masks, and as Correlator does.
    ImageCorrelator(Executor& executor, core::Cpu& cpu, const Parameters& parameters,
                    const core::Extents<3>& image, bool pair,
                    std::vector<core::Array<float, 2>> masks = {});
    /// Waits for pending work, which writes to the surfaces.
    ~ImageCorrelator();
    ImageCorrelator(const ImageCorrelator&) = delete;
    ImageCorrelator& operator=(const ImageCorrelator&) = delete;

    /// Correlates an image with itself, or a pair: displacements lead from B to A. Throws
    /// core::InvalidArgument for other extents, and for a pair if the object is for single images.
    ImageTimes run(Image image) { return run(image, image); }
    ImageTimes run(Image a, Image b);

    /// Maximum number of images between `begin` and `finish`.
    static constexpr std::size_t most_begun = 2;
    /// Starts to correlate an image with itself; the image must exist until `finish`. A GPU works
    /// asynchronously if the image is in locked memory and the estimator does not read planes.
    void begin(Image image);
    /// Waits for the oldest started image; `surfaces` then are those of this image. `planes` are
    /// its planes only if no later image has started.
    ImageTimes finish();

    const Problem& problem() const { return problem_; }
    /// How the method was chosen, if the parameters leave it open.
    const std::optional<MethodChoice>& choice() const { return choice_; }
    const Surfaces& surfaces() const { return begun_[current_].surfaces; }
    /// Planes of the last run's images; only A for one image.
    PlanesView<core::Host> planes(Side side);
    /// The same planes in the executor's memory.
    PlanesView<Space> resident_planes(Side side);

  private:
    struct Begun {
        Image image;
        Surfaces surfaces;
        core::Timeline timeline;
    };
    struct PlanesOfImage {
        core::Array<float, 3> host;
        core::Resident<Executor, float, 3> resident;
        bool on_host = false;  ///< whether `host` has the planes that a GPU derived
    };

    PlanesOfImage& of(Side side) { return planes_[static_cast<std::size_t>(side)]; }
    double gflop() const;
    void expects_image(const char* name, const Image& image) const;
    void start(Begun& begun);
    /// Derives the planes from `image_`; each stored plane counts as a grey image. Asynchronous.
    void derive(Side side);
    void correlate(PlanesView<Space> a, PlanesView<Space> b,
                   core::View<double, 3, core::Host> sums);
    /// Computes the surfaces of A and `other` from their planes.
    void estimate(Side other, Surfaces& surfaces);
    /// Waits for copies between host and executor and adds their time.
    template <class Copies>
    void transfer(const Copies& copies);

    Executor& executor_;
    core::Cpu& cpu_;
    bool stored_planes_;
    bool pair_;
    bool pearson_;
    bool planes_on_host_;  ///< whether the estimator reads the planes
    Problem problem_;
    std::optional<MethodChoice> choice_;
    SurfaceEstimator estimator_;
    std::vector<core::Array<float, 2>> masks_;  ///< none, or one per image
    std::vector<core::Resident<Executor, const float, 2>> resident_masks_;
    std::optional<ImagePlanes<Executor>> image_planes_;
    std::optional<Correlator<Executor>> correlator_;
    core::Resident<Executor, const float, 3> image_;
    std::array<PlanesOfImage, 2> planes_;
    std::vector<core::Resident<Executor, const float, 3>> factors_;  ///< indexed by Factor
    core::Resident<Executor, double, 3> sums_;
    std::array<Begun, most_begun> begun_;
    std::size_t next_ = 0;     ///< index of the image that starts next
    std::size_t first_ = 0;    ///< index of the image that finishes next
    std::size_t current_ = 0;  ///< index of the current surfaces
    core::Timeline timeline_;
    double transfer_ms_ = 0;  ///< during the run
};

extern template class ImageCorrelator<core::Cpu>;

}  // namespace aperture::corr
