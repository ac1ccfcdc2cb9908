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
    double orientation_sigma = default_orientation_sigma;  ///< see ImagePlanes
    std::optional<Normalization> normalization;  ///< default: plane; of images as planes, none
    std::optional<Shape> offsets;                ///< default: half the image, rounded up
    std::optional<bool> both_signs;              ///< default: for a pair only
    Estimator estimator = Estimator::raw;
    std::optional<Method> method;           ///< default: the faster
    Precision precision = Precision::fp32;  ///< of the direct method
    bool each_plane = true;                 ///< whether to compute a surface per plane, too

    Normalization normalized() const;
    bool needs_direct() const { return precision != Precision::fp32; }
    bool operator==(const Parameters&) const = default;
    /// The displacements of images of this size, of which pairs are correlated or each with itself.
    Lags lags(Shape image, bool pair) const;
};

/// Times of a run.
struct ImageTimes {
    std::vector<core::Stage> stages;  ///< planes, correlate
    double compute_ms = 0;
    double transfer_ms = 0;  ///< copies to and from a device
};

/// Computes surfaces from images of one size, [channel][row][column]: one channel (grey) or three
/// (red, green, blue) of sRGB values in 0 to 255, or the planes themselves. Results are bitwise
/// independent of the number of threads. Holds all workspace, and the planes that it derived from
/// the last images. The executor must outlive the object.
template <class Executor>
class ImageCorrelator {
  public:
    using Space = typename Executor::Space;
    /// In host memory, dense.
    using Image = core::View<const float, 3, core::Host>;

    /// For images like one of extents `image`, of which pairs are correlated or each with itself;
    /// grey and colour images may alternate. `masks`: none, one for all images or, of a pair, one
    /// for A and one for B; only pixels with nonzero masks, [row][column], count. Throws
    /// core::InvalidArgument for offsets larger than the image, for other numbers and extents of
    /// masks, and as Correlator does.
    ImageCorrelator(Executor& executor, const Parameters& parameters, const core::Extents<3>& image,
                    bool pair, std::vector<core::Array<float, 2, Space>> masks = {});
    /// Waits for pending work, which writes to the surfaces.
    ~ImageCorrelator();
    ImageCorrelator(const ImageCorrelator&) = delete;
    ImageCorrelator& operator=(const ImageCorrelator&) = delete;

    /// Correlates an image with itself, `a` and `b` being the same, or a pair: displacements lead
    /// from B to A. Images and results are in the executor's memory; columns must be contiguous,
    /// results dense. Asynchronous on a Gpu. Throws core::InvalidArgument for other extents or
    /// strides, and for a pair if the object is for single images.
    void correlate(PlanesView<Space> a, PlanesView<Space> b, const SurfaceViews<Space>& results);

    /// The same with host memory, and `surfaces` for results; waits for them.
    ImageTimes run(Image image) { return run(image, image); }
    ImageTimes run(Image a, Image b);

    /// Maximum number of images between `begin` and `finish`.
    static constexpr std::size_t most_begun = 2;
    /// Starts `run` of an image; the image must exist until `finish`. A GPU works asynchronously if
    /// the image is in locked memory.
    void begin(Image image) { begin(image, image); }
    /// Waits for the oldest started image; `surfaces` then are those of this image. `planes` are
    /// its planes only if no later image has started.
    ImageTimes finish();

    /// Changes Parameters::orientation_sigma of the runs that follow.
    void set_orientation_sigma(double sigma) { image_planes_->set_orientation_sigma(sigma); }

    const Problem& problem() const { return problem_; }
    /// How the method was chosen, if the parameters leave it open.
    const std::optional<MethodChoice>& choice() const { return choice_; }
    const Surfaces& surfaces() const { return begun_[current_].surfaces; }
    /// Planes of the last images; only A for one image. Waits for them. Images that are planes, and
    /// not normalized, must still exist.
    PlanesView<core::Host> planes(Side side);
    /// The same planes in the executor's memory.
    PlanesView<Space> resident_planes(Side side) { return of(side).planes; }

  private:
    struct Begun {
        bool pair = false;
        Surfaces surfaces{core::pages_for<Executor>};
        core::Timeline timeline;
    };
    struct OfImage {
        core::Resident<Executor, const float, 3> image;
        core::Array<float, 3, Space> derived;
        PlanesView<Space> planes;  ///< `derived`, or the image itself
        core::Array<float, 3> on_host;
        bool is_on_host = false;  ///< whether `on_host` has the planes of a GPU

        explicit OfImage(Executor& executor) : image(executor) {}
    };

    OfImage& of(Side side) { return images_[static_cast<std::size_t>(side)]; }
    void expects_images(const PlanesView<Space>& a, const PlanesView<Space>& b) const;
    void begin(Image a, Image b);
    /// Sets the planes; each stored plane counts as a grey image. Asynchronous.
    void derive(Side side, PlanesView<Space> image);
    /// Computes the surfaces from the planes. Asynchronous.
    void estimate(bool pair, const SurfaceViews<Space>& results);
    double gflop() const;

    Executor& executor_;
    bool stored_planes_;
    bool as_they_are_;  ///< whether planes are not even normalized
    bool pair_;
    Problem problem_;
    std::optional<MethodChoice> choice_;
    std::vector<core::Array<float, 2, Space>> masks_;  ///< none, or one per image
    std::optional<ImagePlanes<Executor>> image_planes_;
    std::optional<SurfaceEstimator<Executor>> estimator_;
    std::array<OfImage, 2> images_;
    core::Resident<Executor, double, 2> surface_;
    core::Resident<Executor, double, 3> planes_;
    core::Resident<Executor, std::int64_t, 2> counts_;
    std::array<Begun, most_begun> begun_;
    std::size_t next_ = 0;     ///< index of the image that starts next
    std::size_t first_ = 0;    ///< index of the image that finishes next
    std::size_t current_ = 0;  ///< index of the current surfaces
};

extern template class ImageCorrelator<core::Cpu>;

}  // namespace aperture::corr
