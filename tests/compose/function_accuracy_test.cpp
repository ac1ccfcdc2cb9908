// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "aperture/compose/executable.hpp"
#include "tests/compose/program_memory.hpp"

namespace aperture::compose {
namespace {

/// Distance in units of the last place of the exact value.
template <class T>
double ulps(T value, long double exact) {
    const T rounded = static_cast<T>(exact);
    if (std::isinf(rounded) || rounded == 0) return value == rounded ? 0 : 1e9;
    int exponent = 0;
    std::frexp(rounded, &exponent);
    const int least = std::numeric_limits<T>::min_exponent;
    const long double unit =
        std::ldexp(1.0L, std::max(exponent, least) - std::numeric_limits<T>::digits);
    return static_cast<double>(std::abs(value - exact) / unit);
}

template <class T>
class ComposeFunctions : public testing::Test {
  protected:
    static std::vector<T> of(const std::string& function, std::vector<T> x) {
        const Type type = array(dtype_of<T>(), {index_t(x.size())});
        const auto call = "program p { input x: " + text_of(type) + "; local y: " + text_of(type) +
                          "; y = " + function + "(x); return y; }";
        const Program program = parse(call);
        std::vector<T> values[2];
        for (const Tier tier : {Tier::interpreted, Tier::automatic}) {
            auto& to = values[tier == Tier::interpreted ? 0 : 1];
            to.resize(x.size());
            core::Cpu cpu(1);
            const std::vector<Argument> results{argument(to.data(), {index_t(x.size())})};
            Executable<core::Cpu>(cpu, plan(program, Registry(), Fusion::none), tier)
                .run(cpu, {{"x", argument(x.data(), {index_t(x.size())})}}, results);
        }
        // NaNs may have other bits.
        for (std::size_t i = 0; i < x.size(); ++i) {
            if (std::isnan(values[0][i]) && std::isnan(values[1][i])) continue;
            EXPECT_EQ(values[0][i], values[1][i]) << x[i];
            EXPECT_EQ(std::signbit(values[0][i]), std::signbit(values[1][i])) << x[i];
        }
        return values[0];
    }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(ComposeFunctions, Reals);

TYPED_TEST(ComposeFunctions, AreWithinOneUlp) {
    using T = TypeParam;
    const T most = std::log(std::numeric_limits<T>::max());
    std::mt19937_64 generator(1);
    std::vector<T> x, positive;
    for (int i = 0; i < 100000; ++i) {
        x.push_back(std::uniform_real_distribution<T>(T(-1.06) * most, most)(generator));
        x.push_back(std::uniform_real_distribution<T>(-1, 1)(generator));
        positive.push_back(std::exp2(
            std::uniform_real_distribution<T>(T(std::numeric_limits<T>::min_exponent - 20),
                                              T(std::numeric_limits<T>::max_exponent))(generator)));
        positive.push_back(1 + std::uniform_real_distribution<T>(T(-0.4), T(0.6))(generator));
    }
    for (const T edge : {std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min(),
                         std::numeric_limits<T>::max(), T(1), std::nextafter(T(1), T(0))}) {
        positive.push_back(edge);
    }
    double worst_exp = 0, worst_log = 0, worst_root = 0;
    const auto exps = this->of("exp", x), logs = this->of("log", positive),
               roots = this->of("rsqrt", positive);
    for (std::size_t i = 0; i < x.size(); ++i) {
        worst_exp = std::max(worst_exp, ulps(exps[i], std::exp(static_cast<long double>(x[i]))));
    }
    for (std::size_t i = 0; i < positive.size(); ++i) {
        const auto exact = static_cast<long double>(positive[i]);
        worst_log = std::max(worst_log, ulps(logs[i], std::log(exact)));
        worst_root = std::max(worst_root, ulps(roots[i], 1 / std::sqrt(exact)));
    }
    EXPECT_LT(worst_exp, 1);
    EXPECT_LT(worst_log, 1);
    EXPECT_LT(worst_root, 1.5);
    this->RecordProperty("ulps", std::to_string(worst_exp) + " " + std::to_string(worst_log) + " " +
                                     std::to_string(worst_root));
}

TYPED_TEST(ComposeFunctions, HaveTheirLimits) {
    using T = TypeParam;
    const T infinity = std::numeric_limits<T>::infinity(),
            nan = std::numeric_limits<T>::quiet_NaN();
    const auto exps = this->of("exp", {0, -infinity, infinity, nan, T(-1e30), T(1e30)});
    EXPECT_EQ(exps[0], 1);
    EXPECT_EQ(exps[1], 0);
    EXPECT_EQ(exps[2], infinity);
    EXPECT_TRUE(std::isnan(exps[3]));
    EXPECT_EQ(exps[4], 0);
    EXPECT_EQ(exps[5], infinity);
    const auto logs = this->of("log", {1, 0, infinity, nan, -1, T(-0.0), -infinity});
    EXPECT_EQ(logs[0], 0);
    EXPECT_EQ(logs[1], -infinity);
    EXPECT_EQ(logs[2], infinity);
    EXPECT_TRUE(std::isnan(logs[3]));
    EXPECT_TRUE(std::isnan(logs[4]));
    EXPECT_EQ(logs[5], -infinity);
    EXPECT_TRUE(std::isnan(logs[6]));
}

}  // namespace
}  // namespace aperture::compose
