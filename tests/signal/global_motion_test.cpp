// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/image_file.hpp"
#include "aperture/signal/grey.hpp"
#include "tests/shared_data.hpp"
#include "tests/signal/global_motion_suite.hpp"

namespace aperture::signal {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, MotionFitSuite, CpuMotionFit);

TEST(MotionFit, StatesDeviationsThatErrorsHave) {
    CpuMotionFit cpu{core::Cpu(1)};
    const Size size{96, 128};
    std::mt19937 random(41);
    std::uniform_real_distribution<double> uniform(-6, 6);
    int within = 0;
    double squares = 0;
    constexpr int pairs = 100;
    for (unsigned i = 0; i < pairs; ++i) {
        const Waves scene(i);
        View moved;
        moved.noise = i % 2 == 0 ? 5 : 20;
        moved.map.at[0][2] = uniform(random);
        moved.map.at[1][2] = uniform(random);
        const View still{{}, 1, 0, moved.noise};
        const GlobalMotion found =
            cpu.fit(MotionModel::affine, picture(scene, size, still, 2 * i + 1000),
                    frame_of(picture(scene, size, moved, 2 * i + 1001)), {})
                .front();
        ASSERT_TRUE(found.converged);
        const Place centre = mapped(found.map, 47.5, 63.5);
        for (const double error :
             {(centre.y - 47.5 - moved.map.at[0][2]) / std::sqrt(found.covariance[0][0]),
              (centre.x - 63.5 - moved.map.at[1][2]) / std::sqrt(found.covariance[1][1])}) {
            if (std::abs(error) < 1) ++within;
            squares += error * error;
        }
    }
    // 68 % of normal errors, of 200.
    EXPECT_GT(within, 2 * pairs * 0.58);
    EXPECT_LT(within, 2 * pairs * 0.78);
    EXPECT_NEAR(std::sqrt(squares / (2 * pairs)), 1, 0.2);
}

TEST(MotionFit, HasTheSameBitsForAnyNumberOfThreads) {
    const Size size{150, 200};
    const Waves scene(51);
    const Image reference = picture(scene, size, {{}, 1, 0, 2}, 1);
    const auto frames = frame_of(
        picture(scene, size, {small_motion(MotionModel::homography, size), 1, 0, 2, true}, 2));
    CpuMotionFit one{core::Cpu(1)};
    CpuMotionFit three{core::Cpu(3)};
    const GlobalMotion expected = one.fit(MotionModel::homography, reference, frames, {}).front();
    const GlobalMotion found = three.fit(MotionModel::homography, reference, frames, {}).front();
    EXPECT_EQ(largest_error(found.map, expected.map, size), 0);
    EXPECT_EQ(found.deviation, expected.deviation);
    EXPECT_EQ(found.covariance[7][7], expected.covariance[7][7]);
}

// Shifts by a quarter of a pixel after sampling: of four pixels before it.
TEST(MotionFit, IsExactOnPhotographs) {
    core::Cpu cpu(2);
    bool any = false;
    for (const char* name : {"kodim01", "kodim05", "kodim07", "kodim08"}) {
        const auto file = tests::shared_data(std::string("images/") + name + ".png");
        if (!file) continue;
        any = true;
        SCOPED_TRACE(name);
        const auto read = media::read_image(*file).planes;
        Image photograph({read.extent()[1], read.extent()[2]});
        to_grey(cpu, read.view(), photograph);
        const Size size{100, 160};
        const auto sampled = [&](index_t dy, index_t dx, unsigned seed) {
            std::mt19937 random(seed);
            std::normal_distribution<float> noise(0, 2);
            Image image({size.rows, size.columns});
            for (index_t y = 0; y < size.rows; ++y) {
                for (index_t x = 0; x < size.columns; ++x) {
                    float sum = 0;
                    for (index_t i = 0; i < 16; ++i) {
                        sum += photograph(50 - dy + 4 * y + i / 4, 50 - dx + 4 * x + i % 4);
                    }
                    image(y, x) = sum / 16 + noise(random);
                }
            }
            return image;
        };
        const Image reference = sampled(0, 0, 1);
        for (const auto& [dy, dx] : {std::pair<int, int>{1, 2}, {-3, 5}, {18, -27}}) {
            for (const MotionModel model : {MotionModel::shift, MotionModel::affine}) {
                CpuMotionFit fit;
                const GlobalMotion found =
                    fit.fit(model, reference, frame_of(sampled(dy, dx, 2)), {}).front();
                ASSERT_TRUE(found.converged);
                const Place centre = mapped(found.map, 49.5, 79.5);
                EXPECT_NEAR(centre.y - 49.5, dy / 4.0, 0.02);
                EXPECT_NEAR(centre.x - 79.5, dx / 4.0, 0.02);
            }
        }
    }
    if (!any) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
}

TEST(MotionFit, RefusesWhatItIsNotFor) {
    core::Cpu cpu(1);
    EXPECT_THROW(MotionFit<core::Cpu>(cpu, {15, 100}, MotionModel::shift), core::InvalidArgument);
    MotionFit<core::Cpu> fit(cpu, {16, 20}, MotionModel::shift);
    const auto frames = frame_of(constant_image({16, 20}, 1));
    const auto says = [](const char* words) {
        return testing::ThrowsMessage<core::InvalidArgument>(testing::HasSubstr(words));
    };
    EXPECT_THAT([&] { fit.run(frames, {}); }, says("no reference was set"));
    EXPECT_THAT(
        [&] {
            fit.set_reference(constant_image({16, 21}, 1));
        },
        says("reference of 16 x 21, expected 16 x 20"));
    fit.set_reference(constant_image({16, 20}, 1));
    EXPECT_THAT(
        [&] {
            fit.run(frame_of(constant_image({17, 20}, 1)), {});
        },
        says("frames of 17 x 20, expected 16 x 20"));
    EXPECT_THAT([&] { fit.run(frames, std::vector<PixelMap>(2)); }, says("2 starts for 1 frames"));
}

}  // namespace
}  // namespace aperture::signal
