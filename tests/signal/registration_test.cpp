// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "tests/signal/registration_suite.hpp"

namespace aperture::signal {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Cpu, RegistrationSuite, CpuRegistration);

TEST(Registration, StatesDeviationsThatErrorsHave) {
    CpuRegistration cpu{core::Cpu(1)};
    std::mt19937 random(41);
    std::uniform_real_distribution<double> uniform(-8, 8);
    int within = 0;
    double squares = 0;
    constexpr int pairs = 100;
    for (unsigned i = 0; i < pairs; ++i) {
        const double noise = i % 2 == 0 ? 3 : 20;
        const Spots spots({96, 128}, i);
        const double dy = uniform(random);
        const double dx = uniform(random);
        const Alignment found =
            cpu.find(spots.image({}, noise, 2 * i + 1000),
                     spots.image(shifted(dy, dx), noise, 2 * i + 1001), Motion::shift);
        ASSERT_TRUE(found.found);
        for (const double error :
             {(found.dy - dy) / found.dy_deviation, (found.dx - dx) / found.dx_deviation}) {
            if (std::abs(error) < 1) ++within;
            squares += error * error;
        }
    }
    // 68 % of normal errors, of 200.
    EXPECT_GT(within, 2 * pairs * 0.58);
    EXPECT_LT(within, 2 * pairs * 0.78);
    EXPECT_NEAR(std::sqrt(squares / (2 * pairs)), 1, 0.2);
}

TEST(Registration, HasTheSameBitsForAnyNumberOfThreads) {
    const Spots spots({150, 200}, 51);
    const Image a = spots.image({}, 5, 52);
    const Image b = spots.image(shifted(3.3, 4.4), 5, 53);
    CpuRegistration two;
    CpuRegistration one{core::Cpu(1)};
    const Alignment expected = one.find(a, b, Motion::shift);
    const Alignment found = two.find(a, b, Motion::shift);
    EXPECT_EQ(found.dy, expected.dy);
    EXPECT_EQ(found.dx, expected.dx);
    EXPECT_EQ(found.dy_deviation, expected.dy_deviation);
    EXPECT_EQ(found.correlation, expected.correlation);
}

TEST(Registration, RefusesImagesThatItIsNotFor) {
    core::Cpu cpu(1);
    EXPECT_THROW(Registration<core::Cpu>(cpu, {7, 100}, Motion::shift), core::InvalidArgument);
    EXPECT_THROW(Registration<core::Cpu>(cpu, {63, 100}, Motion::similarity),
                 core::InvalidArgument);
    Registration<core::Cpu> registration(cpu, {16, 20}, Motion::shift);
    const Image right = Spots({16, 20}, 1).image({}, 1, 1);
    const Image wrong = Spots({16, 21}, 1).image({}, 1, 1);
    EXPECT_THAT([&] { registration.run(right, wrong); },
                testing::ThrowsMessage<core::InvalidArgument>(
                    testing::HasSubstr("image b is 16 x 21, must be 16 x 20")));
}

}  // namespace
}  // namespace aperture::signal
