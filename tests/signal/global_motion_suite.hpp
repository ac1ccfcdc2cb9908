// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "aperture/core/error.hpp"
#include "aperture/signal/global_motion.hpp"
#include "libsignal/bicubic_sample.hpp"
#include "tests/signal/images.hpp"

/// Fits of global motions on every executor.
///
/// A Runner runs the library on host views and copies data if its executor has memory of its own:
///     std::string why_not();            // not empty: the reason to skip the suite
///     std::vector<GlobalMotion> fit(MotionModel, const Image& reference,
///                                   const core::Array<float, 3>& frames,
///                                   const std::vector<PixelMap>& starts);
namespace aperture::signal {

/// Waves in all directions, periods of 6 to 60 pixels, so known between pixels.
class Waves {
  public:
    explicit Waves(unsigned seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> uniform(0, 1);
        for (int i = 0; i < 25; ++i) {
            const double k = 2 * std::numbers::pi / (6 * std::pow(10, uniform(random)));
            const double direction = 2 * std::numbers::pi * uniform(random);
            waves_.push_back({k * std::sin(direction), k * std::cos(direction),
                              2 * std::numbers::pi * uniform(random), 12});
        }
    }
    double operator()(double y, double x) const {
        double value = 120;
        for (const Wave& wave : waves_) {
            value += wave.height * std::sin(wave.y * y + wave.x * x + wave.phase);
        }
        return value;
    }

  private:
    struct Wave {
        double y, x, phase, height;
    };
    std::vector<Wave> waves_;
};

/// What a camera sees of a scene that moves by a map: frame(map p) = scene(p).
struct View {
    PixelMap map;
    double gain = 1;
    double offset = 0;
    double noise = 0;
    bool object = false;  ///< an object in the frame, of a sixth of its pixels
};
inline Image picture(const Waves& scene, Size size, const View& view, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 1);
    // The inverse of the map, by the adjugate.
    const auto& m = view.map.at;
    PixelMap inverse;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
            inverse.at[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
        }
    }
    const Waves other(77);
    Image image({size.rows, size.columns});
    for (index_t row = 0; row < size.rows; ++row) {
        for (index_t column = 0; column < size.columns; ++column) {
            const auto y = static_cast<double>(row);
            const auto x = static_cast<double>(column);
            const Place from = mapped(inverse, y, x);
            const bool hidden = view.object && 3 * row > size.rows && 3 * row < 2 * size.rows &&
                                2 * column < size.columns;
            const double value = hidden ? other(y, x) - 60 : scene(from.y, from.x);
            image(row, column) =
                static_cast<float>(view.gain * value + view.offset + view.noise * normal(random));
        }
    }
    return image;
}

/// A small motion of a model about the centre of an image.
inline PixelMap small_motion(MotionModel model, Size size) {
    PixelMap map;
    map.at[0][2] = 2.3;
    map.at[1][2] = -3.6;
    if (model == MotionModel::shift) return map;
    map.at[0][0] = map.at[1][1] = 1.004;
    map.at[0][1] = 0.006;
    map.at[1][0] = -0.006;
    if (model == MotionModel::similarity) return map;
    map.at[0][0] = 0.995;
    map.at[1][0] = 0.003;
    if (model == MotionModel::affine) return map;
    map.at[2][0] = 1e-2 / static_cast<double>(size.rows * size.rows);
    map.at[2][1] = -1e-2 / static_cast<double>(size.rows);
    map.at[2][1] /= static_cast<double>(size.columns);
    return map;
}

/// The largest distance between what two maps do to an image's corners.
inline double largest_error(const PixelMap& a, const PixelMap& b, Size size) {
    double largest = 0;
    for (const double y : {0.0, static_cast<double>(size.rows - 1)}) {
        for (const double x : {0.0, static_cast<double>(size.columns - 1)}) {
            const Place one = mapped(a, y, x);
            const Place two = mapped(b, y, x);
            largest = std::max(largest, std::hypot(one.y - two.y, one.x - two.x));
        }
    }
    return largest;
}

inline core::Array<float, 3> frames_of(std::initializer_list<const Image*> images) {
    const auto [rows, columns] = (*images.begin())->extent();
    core::Array<float, 3> frames({static_cast<index_t>(images.size()), rows, columns});
    float* to = frames.data();
    for (const Image* image : images) to = std::copy(image->begin(), image->end(), to);
    return frames;
}
inline core::Array<float, 3> frame_of(const Image& image) { return frames_of({&image}); }

struct CpuMotionFit {
    core::Cpu cpu{2};

    static std::string why_not() { return {}; }
    std::vector<GlobalMotion> fit(MotionModel model, const Image& reference,
                                  const core::Array<float, 3>& frames,
                                  const std::vector<PixelMap>& starts) {
        MotionFit<core::Cpu> motions(cpu, reference.extent(), model);
        motions.set_reference(reference);
        return motions.run(frames, starts);
    }
};

inline std::vector<MotionModel> all_models() {
    return {MotionModel::shift, MotionModel::similarity, MotionModel::affine,
            MotionModel::homography};
}

template <class Runner>
class MotionFitSuite : public testing::Test {
  protected:
    Runner runner;

    void SetUp() override {
        const std::string reason = runner.why_not();
        if (!reason.empty()) GTEST_SKIP() << reason;
    }
    GlobalMotion fit(MotionModel model, const Image& reference, const Image& frame) {
        return runner.fit(model, reference, frame_of(frame), {}).front();
    }
};

TYPED_TEST_SUITE_P(MotionFitSuite);

TYPED_TEST_P(MotionFitSuite, FindsTheMotionOfEveryModel) {
    unsigned seed = 0;
    for (const Size size : {Size{70, 90}, Size{97, 131}}) {
        for (const MotionModel model : all_models()) {
            SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns << ", "
                                            << core::choice_name(motion_model_choices, model));
            const Waves scene(++seed);
            const PixelMap map = small_motion(model, size);
            const Image reference = picture(scene, size, {}, 0);
            const GlobalMotion found = this->fit(model, reference, picture(scene, size, {map}, 0));
            ASSERT_TRUE(found.converged);
            EXPECT_LT(largest_error(found.map, map, size), 0.01);
            EXPECT_NEAR(found.gain, 1, 1e-3);
            EXPECT_NEAR(found.offset, 0, 0.1);
            EXPECT_GT(found.inliers, 0.9);
        }
    }
}

TYPED_TEST_P(MotionFitSuite, IgnoresObjectsNoiseAndBrightness) {
    const Size size{97, 131};
    for (const MotionModel model : all_models()) {
        SCOPED_TRACE(core::choice_name(motion_model_choices, model));
        const Waves scene(11);
        const PixelMap map = small_motion(model, size);
        const Image reference = picture(scene, size, {{}, 1, 0, 2}, 1);
        const GlobalMotion found =
            this->fit(model, reference, picture(scene, size, {map, 0.8, 25, 2, true}, 2));
        ASSERT_TRUE(found.converged);
        EXPECT_LT(largest_error(found.map, map, size), 0.2);
        EXPECT_NEAR(found.gain, 0.8, 0.01);
        EXPECT_NEAR(found.offset, 25, 1.5);
        EXPECT_LT(found.inliers, 0.95);
        EXPECT_GT(found.inliers, 0.7);
        EXPECT_GT(found.deviation, 0.2);
        EXPECT_LT(found.deviation, 2);  // of noise that is blurred
    }
}

TYPED_TEST_P(MotionFitSuite, FindsShiftsByAQuarterOfTheImage) {
    const Size size{96, 128};
    const Waves scene(21);
    PixelMap map;
    map.at[0][2] = -20.25;
    map.at[1][2] = 27.5;
    const GlobalMotion found =
        this->fit(MotionModel::shift, picture(scene, size, {}, 0), picture(scene, size, {map}, 0));
    ASSERT_TRUE(found.converged);
    EXPECT_LT(largest_error(found.map, map, size), 0.01);
}

TYPED_TEST_P(MotionFitSuite, BeginsAtAStart) {
    const Size size{96, 128};
    const Waves scene(31);
    PixelMap map;
    map.at[0][2] = 40.25;
    map.at[1][2] = 3;
    PixelMap start = map;
    start.at[0][2] += 1.5;
    start.at[1][2] -= 1;
    const GlobalMotion found = this->runner
                                   .fit(MotionModel::shift, picture(scene, size, {}, 0),
                                        frame_of(picture(scene, size, {map}, 0)), {start})
                                   .front();
    ASSERT_TRUE(found.converged);
    EXPECT_LT(largest_error(found.map, map, size), 0.01);
}

TYPED_TEST_P(MotionFitSuite, OfAnImageAndItselfIsNone) {
    const Size size{66, 73};
    for (const MotionModel model : all_models()) {
        const Image reference = picture(Waves(41), size, {{}, 1, 0, 3}, 4);
        const GlobalMotion found = this->fit(model, reference, reference);
        ASSERT_TRUE(found.converged);
        EXPECT_LT(largest_error(found.map, {}, size), 2e-3);
        EXPECT_EQ(found.inliers, 1);
    }
}

TYPED_TEST_P(MotionFitSuite, KeepsTheStartWhereThereIsNothingToFind) {
    const Size size{64, 64};
    const Image textured = picture(Waves(51), size, {{}, 1, 0, 1}, 1);
    const Image grey = constant_image(size, 128);
    const Image broken = constant_image(size, std::numeric_limits<float>::quiet_NaN());
    PixelMap start;
    start.at[0][2] = 0.5;
    const auto expect_start = [&](const Image& reference, const Image& frame) {
        for (const MotionModel model : all_models()) {
            const auto found = this->runner.fit(model, reference, frame_of(frame), {start});
            EXPECT_FALSE(found.front().converged);
            EXPECT_EQ(found.front().map.at[0][2], 0.5);
            EXPECT_EQ(found.front().covariance[0][0], 0);
        }
    };
    {
        SCOPED_TRACE("a grey reference");
        expect_start(grey, textured);
        expect_start(grey, grey);
    }
    {
        SCOPED_TRACE("a grey frame");
        expect_start(textured, grey);
    }
    SCOPED_TRACE("no values");
    expect_start(textured, broken);
}

TYPED_TEST_P(MotionFitSuite, FitsManyFramesAsOne) {
    const Size size{70, 90};
    const Waves scene(61);
    const Image reference = picture(scene, size, {}, 0);
    const Image black = constant_image(size, 0);
    const Image turned =
        picture(scene, size, {small_motion(MotionModel::similarity, size), 1, 0, 1}, 1);
    const Image sheared =
        picture(scene, size, {small_motion(MotionModel::affine, size), 1, 0, 1, true}, 1);
    const std::initializer_list<const Image*> images = {&reference, &black, &turned, &sheared};
    const auto together = this->runner.fit(MotionModel::affine, reference, frames_of(images), {});
    ASSERT_EQ(together.size(), images.size());
    for (std::size_t i = 0; i < images.size(); ++i) {
        const GlobalMotion alone = this->fit(MotionModel::affine, reference, *images.begin()[i]);
        EXPECT_EQ(together[i].converged, alone.converged);
        EXPECT_EQ(together[i].iterations, alone.iterations);
        EXPECT_EQ(largest_error(together[i].map, alone.map, size), 0);
    }
}

TYPED_TEST_P(MotionFitSuite, FitsMoreFramesThanABatchHas) {
    const Size size{32, 40};
    const Waves scene(81);
    const Image reference = picture(scene, size, {}, 0);
    std::vector<Image> images;
    for (const double by : {0.0, 1.25, -0.75}) {
        PixelMap map;
        map.at[0][2] = by;
        images.push_back(picture(scene, size, {map, 1, 0, 1}, 1));
    }
    constexpr std::size_t count = 131;
    core::Array<float, 3> frames({count, size.rows, size.columns});
    for (std::size_t i = 0; i < count; ++i) {
        std::copy(images[i % 3].begin(), images[i % 3].end(),
                  frames.view()[static_cast<index_t>(i)].data);
    }
    const std::vector<PixelMap> starts(count);
    const auto found = this->runner.fit(MotionModel::shift, reference, frames, starts);
    ASSERT_EQ(found.size(), count);
    EXPECT_NEAR(found[1].map.at[0][2], 1.25, 0.1);
    for (std::size_t i = 3; i < count; ++i) {
        EXPECT_EQ(largest_error(found[i].map, found[i % 3].map, size), 0);
    }
}

TYPED_TEST_P(MotionFitSuite, IsThatOfTheCpu) {
    CpuMotionFit cpu;
    for (const Size size : {Size{17, 33}, Size{64, 80}, Size{97, 131}}) {
        for (const MotionModel model : all_models()) {
            SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns << ", "
                                            << core::choice_name(motion_model_choices, model));
            const Waves scene(71);
            const Image reference = picture(scene, size, {{}, 1, 0, 2}, 1);
            const auto frame =
                frame_of(picture(scene, size, {small_motion(model, size), 1.1, -5, 2, true}, 2));
            const auto expected = cpu.fit(model, reference, frame, {}).front();
            const auto found = this->runner.fit(model, reference, frame, {}).front();
            ASSERT_EQ(found.converged, expected.converged);
            EXPECT_LT(largest_error(found.map, expected.map, size), 1e-3);
            EXPECT_NEAR(found.gain, expected.gain, 1e-4);
            EXPECT_NEAR(found.offset, expected.offset, 1e-2);
            if (!expected.converged) continue;
            EXPECT_NEAR(found.deviation / expected.deviation, 1, 0.02);
            EXPECT_NEAR(found.inliers, expected.inliers, 0.01);
            for (int i = 0; i < 8; ++i) {
                for (int j = 0; j < 8; ++j) {
                    EXPECT_NEAR(
                        found.covariance[i][j], expected.covariance[i][j],
                        0.03 * std::sqrt(expected.covariance[i][i] * expected.covariance[j][j]));
                }
            }
        }
    }
}

REGISTER_TYPED_TEST_SUITE_P(MotionFitSuite, FindsTheMotionOfEveryModel,
                            IgnoresObjectsNoiseAndBrightness, FindsShiftsByAQuarterOfTheImage,
                            BeginsAtAStart, OfAnImageAndItselfIsNone,
                            KeepsTheStartWhereThereIsNothingToFind, FitsManyFramesAsOne,
                            FitsMoreFramesThanABatchHas, IsThatOfTheCpu);

}  // namespace aperture::signal
