// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Flags with numeric values refuse what is no sensible number.
#include "apps/bgsub/options.hpp"
#include "apps/corr/options.hpp"
#include "apps/oflow/options.hpp"
#include "apps/stap/options.hpp"
#include "apps/stap_sim/options.hpp"
#include "tests/apps/program_inputs.hpp"

namespace aperture::apps::tests {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// A flag with a numeric value. `refused`: values that are invalid for this flag in particular.
struct NumericFlag {
    std::string program;
    std::string flag;
    std::vector<std::string> context;  ///< arguments that it requires
    std::vector<std::string> refused;
};
void PrintTo(const NumericFlag& flag, std::ostream* stream) {
    *stream << flag.program << ' ' << flag.flag;
}

class NumericFlags : public testing::TestWithParam<NumericFlag> {};

const std::vector<std::string> cube{"--cube", "c.h5"};
const std::vector<std::string> scene{"--clutter", "--out", "x.h5"};
const std::vector<std::string> pair{"a.png", "b.png"};
const std::vector<std::string> picture{"a.png"};

INSTANTIATE_TEST_SUITE_P(
    All, NumericFlags,
    testing::Values(
        NumericFlag{"stap", "--spacing", cube, {"0", "-1"}},
        NumericFlag{"stap", "--prf", cube, {"0", "-1"}},
        NumericFlag{"stap", "--doppler-bins", cube, {"0", "-1", "1.5"}},
        NumericFlag{"stap", "--tdof", cube, {"0", "-1", "2"}},
        NumericFlag{"stap", "--training-block", cube, {"0", "-1", "1.5"}},
        NumericFlag{"stap", "--guard", cube, {"-1", "1.5"}},
        NumericFlag{"stap", "--loading", cube, {"-1", "rel:nan", "rel:1e300", "rel:"}},
        NumericFlag{"stap", "--azimuth", cube, {"0:nan:3", "0:1:0", "0:1:1e300", "91"}},
        NumericFlag{"stap", "--elevation", cube, {"0:nan:3", "-91", ""}},
        NumericFlag{"stap", "--taper", cube, {"chebyshev:0", "chebyshev:nan", "chebyshev:1e300"}},
        NumericFlag{"stap", "--pfa", joined(cube, {"--detector", "amf"}), {"0", "1", "-1"}},
        NumericFlag{"stap", "--threads", cube, {"0", "-1", "99999999999999999999"}},
        NumericFlag{"stap", "--repeat", cube, {"0", "-1"}},
        NumericFlag{"stap_sim", "--channels", scene, {"0", "-1", "99999999999999999999"}},
        NumericFlag{"stap_sim", "--pulses", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--range-cells", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--spacing", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--cnr", scene, {"999", "+inf"}},
        NumericFlag{"stap_sim", "--beta", scene, {"1001"}},
        NumericFlag{"stap_sim", "--motion", scene, {"-1"}},
        NumericFlag{"stap_sim", "--patches", scene, {"0", "-1"}},
        NumericFlag{"stap_sim",
                    "--seed",
                    scene,
                    {"-1", "1.5", "9223372036854775808", "99999999999999999999999"}},
        NumericFlag{"stap_sim",
                    "--jammer",
                    scene,
                    {"0:nan", "nan:0", "91:0", "20", "20:", "120:3", "1:2:3"}},
        NumericFlag{"stap_sim",
                    "--target",
                    scene,
                    {"0:nan:0:0", "0:1:0:0", "nan:0:0:0", "1:2:3", "1:0:0:0:0", "-1:0:0:0",
                     "1.5:0:0:0", "1:0.6:0:0", "1:0:100:0", "x:0:0:0", "1:0:0:"}},
        NumericFlag{"stap_sim", "--doppler-bins", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--training-block", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--prf", scene, {"0", "-1"}},
        NumericFlag{"stap_sim", "--threads", scene, {"0", "-1"}},
        NumericFlag{"oflow", "--max-motion", pair, {"0", "-1"}},
        NumericFlag{"oflow",
                    "--max-error",
                    joined(pair, {"--truth", "t.flo", "--error-map", "e.png"}),
                    {"0", "-1"}},
        NumericFlag{"oflow", "--arrow-spacing", joined(pair, {"--arrows", "a.png"}), {"0", "-1"}},
        NumericFlag{"oflow", "--alpha", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--regularisation", joined(pair, {"--method", "lk"}), {"-1"}},
        NumericFlag{"oflow", "--lk-window", joined(pair, {"--method", "lk"}), {"0", "-1"}},
        NumericFlag{"oflow", "--levels", pair, {"-1"}},
        NumericFlag{"oflow", "--level-scale", pair, {"0", "-1", "1"}},
        NumericFlag{"oflow", "--warps", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--median", pair, {"-1"}},
        NumericFlag{"oflow", "--blur", pair, {"-1"}},
        NumericFlag{"oflow", "--texture", pair, {"-1", "2"}},
        NumericFlag{"oflow", "--iterations", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--tolerance", pair, {"-1", "2"}},
        NumericFlag{"oflow", "--omega", joined(pair, {"--solver", "redblack"}), {"0", "-1", "2.5"}},
        NumericFlag{"oflow", "--s-step", joined(pair, {"--solver", "cacg"}), {"0", "-1"}},
        NumericFlag{"oflow", "--frames", {"folder"}, {"-1:3", "0:nan", "0:3:0"}},
        NumericFlag{"oflow", "--threads", pair, {"0", "-1"}},
        NumericFlag{"oflow", "--repeat", pair, {"0", "-1"}},
        NumericFlag{"corr", "--offsets", picture, {"0x1", "-1x1", "nanx1", "1e300x1"}},
        NumericFlag{"corr", "--threads", picture, {"0", "-1"}},
        NumericFlag{"corr", "--repeat", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--frames", picture, {"-1:3", "0:nan", "0:3:0"}},
        NumericFlag{"bgsub", "--scale", picture, {"0", "-1", "nanx1", "1x1e300"}},
        NumericFlag{"bgsub", "--window", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--overlap", joined(picture, {"--window", "9"}), {"-1"}},
        NumericFlag{"bgsub", "--rank", joined(picture, {"--solver", "accaltproj"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--lambda", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--tolerance", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--max-iterations", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--burn-in", joined(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--memory", joined(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--patience", joined(picture, {"--online"}), {"0", "-1"}},
        NumericFlag{"bgsub", "--threshold", picture, {"-1", "noise:0", "noise:nan", "noise:1e300"}},
        NumericFlag{"bgsub", "--clean", picture, {"-1", "256"}},
        NumericFlag{"bgsub", "--min-area", picture, {"-1"}},
        NumericFlag{"bgsub", "--threads", picture, {"0", "-1"}},
        NumericFlag{"bgsub", "--repeat", picture, {"0", "-1"}}));

template <class Options>
void parse_words(std::optional<Options> parse(int, char**), std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    parse(static_cast<int>(pointers.size()), pointers.data());
}

/// The message with which the program's parser refuses the arguments.
std::string refusal(const std::string& program, const std::vector<std::string>& arguments) {
    auto words = joined({program}, arguments);
    try {
        if (program == "bgsub") parse_words(parse_bgsub_options, words);
        if (program == "corr") parse_words(parse_corr_options, words);
        if (program == "oflow") parse_words(parse_oflow_options, words);
        if (program == "stap") parse_words(parse_stap_options, words);
        if (program == "stap_sim") parse_words(parse_simulation_options, words);
    } catch (const core::InvalidArgument& error) {
        return error.what();
    }
    return "accepted";
}

TEST_P(NumericFlags, RefuseWhatIsNoSensibleNumberInOneShortLine) {
    const auto& [program, flag, context, refused] = GetParam();
    constexpr std::size_t short_line = 140;
    for (const std::string& text : joined(refused, {"nan", "inf", "1e300", "", "text"})) {
        const std::string message = refusal(program, joined(context, {flag, text}));
        EXPECT_THAT(message, HasSubstr(flag.substr(2))) << text;
        EXPECT_THAT(lines(message), SizeIs(1)) << text;
        EXPECT_THAT(message, SizeIs(testing::Lt(short_line))) << text;
    }
}

}  // namespace
}  // namespace aperture::apps::tests
