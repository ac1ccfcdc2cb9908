// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measured image pairs with known flow (Baker et al. 2011), skipped if absent.
#include <gtest/gtest.h>

#include <optional>

#include "aperture/flow/accuracy.hpp"
#include "aperture/flow/estimator.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/media/image_file.hpp"
#include "aperture/signal/grey.hpp"
#include "tests/shared_data.hpp"

namespace aperture::flow {
namespace {

/// Accuracy on one pair; nothing if the files are absent.
std::optional<Accuracy> accuracy_on(const std::string& scene, const Parameters& parameters) {
    const auto file = [&](const char* name) {
        return tests::shared_data("middlebury/" + scene + "/" + name);
    };
    const auto first = file("frame10.png");
    const auto second = file("frame11.png");
    const auto known = file("flow10.flo");
    if (!first || !second || !known) return std::nullopt;
    const auto image0 = signal::to_grey(media::read_image(*first).planes);
    const auto image1 = signal::to_grey(media::read_image(*second).planes);
    const auto truth = media::read_flow(*known);
    core::Cpu cpu;
    core::Array<float, 3> flow(truth.extent());
    Estimator<core::Cpu>(cpu, {truth.extent()[1], truth.extent()[2]}, parameters)
        .run(image0, image1, flow, false, nullptr);
    const Accuracy accuracy = compare(cpu, flow, truth);
    EXPECT_EQ(accuracy.non_finite, 0);
    EXPECT_GT(accuracy.known, truth.size() / 4);
    return accuracy;
}

constexpr const char* not_at_hand = "measured data not at hand (APERTURE_DATA, ../shared/data)";

struct Goal {
    std::string scene;
    Method method;
    double aae;  ///< degrees
    double epe;  ///< pixels
};
std::string name_of(const Goal& goal) {
    return goal.scene + (goal.method == Method::horn_schunck ? "_hs" : "_lk");
}
void PrintTo(const Goal& goal, std::ostream* stream) { *stream << name_of(goal); }

/// Errors no larger than those of Anderson 2014, chapter 7, on the same pairs.
class Thesis : public testing::TestWithParam<Goal> {};

INSTANTIATE_TEST_SUITE_P(Middlebury, Thesis,
                         testing::Values(Goal{"RubberWhale", Method::horn_schunck, 11.07, 0.26},
                                         Goal{"Dimetrodon", Method::horn_schunck, 4.04, 0.24},
                                         Goal{"RubberWhale", Method::lucas_kanade, 13.42, 0.32},
                                         Goal{"Dimetrodon", Method::lucas_kanade, 5.35, 0.27}),
                         [](const auto& instance) { return name_of(instance.param); });

TEST_P(Thesis, IsAsAccurateAsPublished) {
    const Goal& goal = GetParam();
    const auto accuracy = accuracy_on(goal.scene, preset(Preset::thesis, goal.method));
    if (!accuracy) GTEST_SKIP() << not_at_hand;
    EXPECT_LE(accuracy->aae, goal.aae);
    EXPECT_LE(accuracy->epe, goal.epe);
}

/// Maximum errors, averaged over four of the eight pairs.
struct AverageGoal {
    std::string name;
    Parameters parameters;
    double aae;  ///< degrees
    double epe;  ///< pixels
};
void PrintTo(const AverageGoal& goal, std::ostream* stream) { *stream << goal.name; }

class Average : public testing::TestWithParam<AverageGoal> {};

/// The most accurate parameters of a method without robust penalties and weighted medians.
Parameters best(Method method, double texture) {
    Parameters p = preset(Preset::fast, method);
    p.warps = 10;
    p.scale = 0.8;
    p.texture = texture;
    return p;
}

// On these pairs OpenCV's DeepFlow has 3.18 degrees and 0.164 pixels, Horn-Schunck with medians
// (Sun, Roth & Black 2010) 0.26, on textures 0.21, Lucas-Kanade with medians 0.29 and 0.24.
INSTANTIATE_TEST_SUITE_P(
    Middlebury, Average,
    testing::Values(
        AverageGoal{"fast_hs", preset(Preset::fast, Method::horn_schunck), 4.4, 0.225},
        AverageGoal{"accurate_hs", preset(Preset::accurate, Method::horn_schunck), 2.5, 0.137},
        AverageGoal{"accurate_lk", preset(Preset::accurate, Method::lucas_kanade), 3.3, 0.178},
        AverageGoal{"best_hs_brightness", best(Method::horn_schunck, 0), 4.2, 0.215},
        AverageGoal{"best_hs_texture", best(Method::horn_schunck, 0.95), 3.8, 0.205},
        AverageGoal{"best_lk_brightness", best(Method::lucas_kanade, 0), 5.0, 0.26},
        AverageGoal{"best_lk_texture", best(Method::lucas_kanade, 0.95), 4.2, 0.225}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(Average, IsAccurate) {
    const AverageGoal& goal = GetParam();
    double aae = 0;
    double epe = 0;
    for (const char* scene : {"Dimetrodon", "Grove2", "RubberWhale", "Venus"}) {
        const auto accuracy = accuracy_on(scene, goal.parameters);
        if (!accuracy) GTEST_SKIP() << not_at_hand;
        aae += accuracy->aae / 4;
        epe += accuracy->epe / 4;
    }
    EXPECT_LE(aae, goal.aae);
    EXPECT_LE(epe, goal.epe);
}

}  // namespace
}  // namespace aperture::flow
