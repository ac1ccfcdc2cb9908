// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/rpca/online_pca.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "aperture/core/error.hpp"
#include "tests/rpca/oracle.hpp"

namespace aperture::rpca::oracle {
namespace {

using core::index_t;

/// A scene with changing light, noise of one grey level, and a dark moving object.
struct Scene {
    index_t values = 5000;
    double jump = 0;  ///< of the light, from frame 80 on

    double ground(index_t frame, index_t value) const {
        const double light =
            1 + 0.1 * std::sin(0.05 * static_cast<double>(frame)) + (frame >= 80 ? jump : 0);
        return (120 + 60 * std::sin(0.01 * static_cast<double>(value))) * light;
    }
    bool moves(index_t frame, index_t value) const {
        const index_t left = frame * values / 60 % values;
        return value >= left && value < left + values / 20;
    }
    std::vector<float> frame(index_t number) const {
        std::mt19937 generator(static_cast<unsigned>(number));
        std::normal_distribution<double> noise;
        std::vector<float> frame(static_cast<std::size_t>(values));
        for (index_t v = 0; v < values; ++v) {
            frame[static_cast<std::size_t>(v)] =
                static_cast<float>(moves(number, v) ? 15 : ground(number, v) + noise(generator));
        }
        return frame;
    }
    std::vector<std::vector<float>> frames(index_t count) const {
        std::vector<std::vector<float>> all;
        for (index_t f = 0; f < count; ++f) all.push_back(frame(f));
        return all;
    }
};

/// Backgrounds of frames that follow the background `first`.
std::vector<std::vector<float>> followed(const std::vector<float>& first,
                                         const std::vector<std::vector<float>>& frames,
                                         const OnlineParameters& parameters, int threads = 2) {
    const auto values = static_cast<index_t>(first.size());
    core::Cpu cpu(threads);
    OnlinePca pca(cpu, values, parameters);
    pca.begin({first.data(), {values}});
    std::vector<std::vector<float>> backgrounds;
    for (const std::vector<float>& frame : frames) {
        backgrounds.emplace_back(frame.size());
        pca.next({frame.data(), {values}}, {backgrounds.back().data(), {values}});
        pca.learn({});
    }
    return backgrounds;
}

/// Of the first frames of a scene, which follow the ground of the first.
std::vector<std::vector<float>> followed(const Scene& scene, index_t count) {
    std::vector<float> first;
    for (index_t v = 0; v < scene.values; ++v) {
        first.push_back(static_cast<float>(scene.ground(0, v)));
    }
    return followed(first, scene.frames(count), {});
}

double root_mean_square(const Scene& scene, index_t number, const std::vector<float>& background) {
    double square = 0;
    for (index_t v = 0; v < scene.values; ++v) {
        const double error =
            static_cast<double>(background[static_cast<std::size_t>(v)]) - scene.ground(number, v);
        square += error * error;
    }
    return std::sqrt(square / static_cast<double>(scene.values));
}

TEST(OnlinePca, FollowsTheLightAndLeavesOutWhatMoves) {
    const Scene scene;
    const auto backgrounds = followed(scene, 400);
    for (std::size_t i = 0; i < backgrounds.size(); ++i) {
        // Below the noise, although the light changes by a fifth and 5 % are off by 100 levels.
        EXPECT_LE(root_mean_square(scene, static_cast<index_t>(i), backgrounds[i]), 0.8) << i;
    }
}

TEST(OnlinePca, FindsTheNewLightAfterAJump) {
    const Scene scene{.jump = 0.3};
    const auto backgrounds = followed(scene, 100);
    EXPECT_GE(root_mean_square(scene, 80, backgrounds[80]), 5);
    for (std::size_t f = 90; f < 100; ++f) {
        EXPECT_LE(root_mean_square(scene, static_cast<index_t>(f), backgrounds[f]), 1.5) << f;
    }
}

TEST(OnlinePca, WhatStandsStillBecomesBackgroundAtTheRateOfClipAndMemory) {
    constexpr index_t values = 1000;
    std::vector<float> frame(values, 100);
    std::vector<float> background(values);
    core::Cpu cpu(1);
    OnlinePca pca(cpu, values, {.clip = 5, .memory = 50});
    pca.begin({frame.data(), {values}});
    for (index_t v = 0; v < 10; ++v) frame[static_cast<std::size_t>(v)] = 140;
    const auto next = [&] {
        pca.next({frame.data(), {values}}, {background.data(), {values}});
        pca.learn({});
    };
    next();
    EXPECT_NEAR(background[3], 100, 0.1);
    // Statistics cover 50 frames, each of which contributes up to 5 levels.
    for (int i = 0; i < 99; ++i) next();
    EXPECT_GT(background[3], 104);
    EXPECT_LT(background[3], 115);
    for (int i = 0; i < 1000; ++i) next();
    EXPECT_NEAR(background[3], 140, 1);
    EXPECT_NEAR(background[500], 100, 0.1);
}

/// The method for one column of U, by its definition, with B.
TEST(OnlinePca, IsThatOfTheOracle) {
    for (const index_t values : {1, 2, 15, 16, 17, 31, 33, 511, 513, 1031}) {
        const Scene scene{.values = values};
        const std::vector<float> first = scene.frame(50);
        const auto frames = scene.frames(12);
        const auto found = followed(first, frames, {.clip = 4, .memory = 8});
        Eigen::VectorXd u = Eigen::Map<const Eigen::VectorXf>(first.data(), values).cast<double>();
        double c = 1;
        double use = 8;
        Eigen::VectorXd target = u * use;
        for (std::size_t f = 0; f < frames.size(); ++f) {
            const std::vector<float>& frame = frames[f];
            const Eigen::VectorXd z =
                Eigen::Map<const Eigen::VectorXf>(frame.data(), values).cast<double>();
            const auto clipped = [&] { return (z - u * c).cwiseMax(-4).cwiseMin(4).eval(); };
            for (int i = 0; i < 5; ++i) c += u.dot(clipped()) / u.squaredNorm();
            const Eigen::VectorXd background = u * c;
            use = 7.0 / 8 * use + c * c;
            target = 7.0 / 8 * target + (background + clipped()) * c;
            u = target / use;
            const double off =
                (Eigen::Map<const Eigen::VectorXf>(found[f].data(), values).cast<double>() -
                 background)
                    .norm();
            EXPECT_LE(off, 1e-4 * background.norm()) << values << " values, frame " << f;
        }
    }
}

TEST(OnlinePca, BitsDoNotDependOnTheNumberOfThreads) {
    // One thread processes small frames, several threads process large ones.
    for (const index_t values : {20011, 4200003}) {
        const auto frames = Scene{.values = values}.frames(3);
        const auto expected = followed(frames[0], frames, {}, 1);
        for (const int threads : {2, 3, 7}) {
            EXPECT_TRUE(followed(frames[0], frames, {}, threads) == expected)
                << threads << ' ' << values;
        }
    }
}

TEST(OnlinePca, TakesStillAndBlackFrames) {
    core::Cpu cpu(2);
    for (const float level : {0.0F, 200.0F}) {
        OnlinePca pca(cpu, 70, {});
        const std::vector<float> frame(70, level);
        std::vector<float> background(70);
        pca.begin({frame.data(), {70}});
        for (int i = 0; i < 500; ++i) {
            pca.next({frame.data(), {70}}, {background.data(), {70}});
            pca.learn({});
        }
        EXPECT_THAT(background, testing::Each(testing::FloatNear(level, 0.01F)));
    }
}

TEST(OnlinePca, AFrameThatIsNoNumberLeavesNoTrace) {
    const Scene scene{.values = 900};
    core::Cpu cpu(1);
    OnlinePca pca(cpu, 900, {}), other(cpu, 900, {});
    const std::vector<float> first = scene.frame(0);
    pca.begin({first.data(), {900}});
    other.begin({first.data(), {900}});
    std::vector<float> background(900), expected(900);
    for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
        std::vector<float> frame = scene.frame(20);
        frame[777] = value;
        try {
            pca.next({frame.data(), {900}}, {background.data(), {900}});
            ADD_FAILURE() << "took " << value;
        } catch (const core::InvalidArgument& error) {
            EXPECT_THAT(error.what(), testing::HasSubstr("value 777 of frame 0"));
        }
    }
    const std::vector<float> frame = scene.frame(20);
    pca.next({frame.data(), {900}}, {background.data(), {900}});
    other.next({frame.data(), {900}}, {expected.data(), {900}});
    EXPECT_EQ(background, expected);
}

TEST(OnlinePca, RefusesWrongShapesAndParameters) {
    core::Cpu cpu(1);
    EXPECT_THROW(OnlinePca(cpu, 0, {}), core::InvalidArgument);
    for (const OnlineParameters& wrong :
         {OnlineParameters{.clip = 0}, OnlineParameters{.clip = std::nan("")},
          OnlineParameters{.memory = 0.5}, OnlineParameters{.memory = 60, .patience = 50}}) {
        EXPECT_THROW(OnlinePca(cpu, 5, wrong), core::InvalidArgument);
    }
    OnlinePca pca(cpu, 5, {});
    std::vector<float> frame(6, 1), background(6);
    EXPECT_THROW(pca.next({frame.data(), {5}}, {background.data(), {5}}), core::InvalidArgument);
    pca.begin({frame.data(), {5}});
    EXPECT_THROW(pca.next({frame.data(), {6}}, {background.data(), {5}}), core::InvalidArgument);
    EXPECT_THROW(pca.next({frame.data(), {5}}, {background.data(), {6}}), core::InvalidArgument);
    EXPECT_THROW(pca.begin(OnlinePca::Frame(frame.data(), {6})), core::InvalidArgument);
    EXPECT_THROW(pca.learn({}), core::InvalidArgument) << "without a frame";
    pca.next({frame.data(), {5}}, {background.data(), {5}});
    const std::vector<std::uint8_t> mask(6);
    EXPECT_THROW(pca.learn({mask.data(), {2, 3}}), core::InvalidArgument);
    pca.learn({mask.data(), {1, 5}});
}

/// A clip of 40 x 50 pixels in two channels and its masks: 255 where `level` differs by more than
/// 10 from the background.
class Followed {
  public:
    static constexpr index_t rows = 40;
    static constexpr index_t columns = 50;
    static constexpr index_t pixels = rows * columns;
    using Level = std::function<float(index_t row, index_t column)>;

    explicit Followed(const Level& ground, const OnlineParameters& parameters = {})
        : pca_(cpu_, 2 * pixels, parameters) {
        pca_.begin(OnlinePca::Frame(picture(ground).data(), {2 * pixels}));
    }
    /// The number of foreground pixels.
    index_t next(const Level& level) {
        const std::vector<float> frame = picture(level);
        pca_.next({frame.data(), {2 * pixels}}, {background_.data(), {2 * pixels}});
        index_t moving = 0;
        for (std::size_t i = 0; i < mask_.size(); ++i) {
            const bool moves = std::abs(frame[i] - background_[i]) > 10;
            mask_[i] = moves ? 255 : 0;
            moving += moves ? 1 : 0;
        }
        pca_.learn({mask_.data(), {rows, columns}});
        return moving;
    }

  private:
    static std::vector<float> picture(const Level& level) {
        std::vector<float> values;
        for (int channel = 0; channel < 2; ++channel) {
            for (index_t i = 0; i < pixels; ++i) {
                values.push_back(level(i / columns, i % columns) +
                                 static_cast<float>(20 * channel));
            }
        }
        return values;
    }
    core::Cpu cpu_{1};
    OnlinePca pca_;
    std::vector<float> background_ = std::vector<float>(2 * pixels);
    std::vector<std::uint8_t> mask_ = std::vector<std::uint8_t>(pixels);
};

float empty_place(index_t row, index_t column) {
    return static_cast<float>(100 + (row + column) % 5);
}
float with_man(index_t row, index_t column) {
    const bool man = row >= 10 && row < 30 && column >= 20 && column < 30;
    return man ? 160 : empty_place(row, column);
}

TEST(OnlinePca, WhoStandsStillStaysForeground) {
    Followed followed(empty_place);
    for (int i = 0; i < 3000; ++i) ASSERT_EQ(followed.next(with_man), 200) << i;
    EXPECT_EQ(followed.next(empty_place), 0);
}

TEST(OnlinePca, ForegroundBecomesBackgroundAtTheRateOfClipAndPatience) {
    // 60 levels, of which 10 remain, at 5 / 400 a frame.
    Followed followed(empty_place, {.patience = 400});
    int frames = 0;
    while (followed.next(with_man) > 0) ++frames;
    EXPECT_GT(frames, 3200);
    EXPECT_LT(frames, 4200);
}

TEST(OnlinePca, APlaceThatAnObjectHasLeftBecomesBackground) {
    Followed followed(with_man);
    for (int i = 0; i <= OnlinePca::ghost_frames; ++i) ASSERT_EQ(followed.next(empty_place), 200);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(followed.next(empty_place), 0);
    // The man who comes back is seen.
    EXPECT_EQ(followed.next(with_man), 200);
}

TEST(OnlinePca, ANewSceneBecomesBackground) {
    const auto other = [](index_t row, index_t column) {
        return static_cast<float>(20 + (7 * row + 3 * column * column) % 200);
    };
    Followed followed(empty_place);
    for (int i = 0; i <= OnlinePca::ghost_frames; ++i) {
        ASSERT_GT(followed.next(other), Followed::pixels / 2) << i;
    }
    // What the first one has not replaced follows.
    for (int i = 0; i < 30; ++i) followed.next(other);
    EXPECT_EQ(followed.next(other), 0);
}

TEST(OnlinePca, AFlashLeavesNoTrace) {
    Followed followed(empty_place);
    const auto flash = [](index_t row, index_t) { return row < 30 ? 255.0F : 200.0F; };
    for (int i = 0; i < 3; ++i) EXPECT_GT(followed.next(flash), Followed::pixels / 2);
    index_t moving = 0;
    for (int i = 0; i < 10; ++i) moving = followed.next(empty_place);
    EXPECT_EQ(moving, 0);
}

}  // namespace
}  // namespace aperture::rpca::oracle
