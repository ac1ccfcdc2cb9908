// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// bgsub as a user runs it: what it finds and prints.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "aperture/media/image_file.hpp"
#include "apps/bgsub/separator.hpp"
#include "tests/apps/bgsub_clip.hpp"
#include "tests/shared_data.hpp"

namespace aperture::apps::tests {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(Bgsub, FindsWhatMoves) {
    const Scene scene;
    write_frames(scene, 19);
    const Outcome outcome = run_to_arrays({clip()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, IsEmpty());
    EXPECT_THAT(folder_.entries(), ElementsAre("clip", "clip.background.npy", "clip.foreground.npy",
                                               "clip.mask.npy", "r.json"));
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_THAT(
        lines(outcome.out),
        ElementsAre(AllOf(StartsWith("frames"), HasSubstr("19 frames of 97x73 pixels")),
                    StartsWith("device"), AllOf(StartsWith("choice"), HasSubstr("rpca: 19 frames")),
                    AllOf(StartsWith("method"), HasSubstr("robust PCA, ialm")),
                    AllOf(StartsWith("stages"), HasSubstr("rpca"), HasSubstr("write")),
                    AllOf(StartsWith("solution"), HasSubstr("residual")), StartsWith("mask"),
                    AllOf(StartsWith("result"), HasSubstr("mask.npy"))));
    const auto written = report();
    EXPECT_EQ(written["program"], "bgsub");
    EXPECT_EQ(written["parameters"]["width"], 97);
    EXPECT_LE(written["results"]["residual"], 1e-5);
    EXPECT_LE(written["results"]["iterations"], 60);
    EXPECT_EQ(written["results"]["frames"], 19);
}

TEST_F(Bgsub, StabilisesACameraThatShakes) {
    const Scene scene{.side = 16, .step = 3, .shake = 4};
    write_frames(scene, 24);
    const auto f_measure_with = [&](const char* how) {
        const Outcome outcome = run_to_arrays({clip(), "--stabilise", how});
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.error, IsEmpty());
        return f_measure(masks_in(folder_ / "clip.mask.npy", "24, 73, 97"), scene, 24);
    };
    const double unmoved = f_measure_with("off");
    for (const char* how : {"auto", "shift", "affine", "homography"}) {
        SCOPED_TRACE(how);
        EXPECT_GT(f_measure_with(how), unmoved);
        EXPECT_GT(f_measure_with(how), 0.93);
        const auto results = report()["results"];
        EXPECT_EQ(results["stabilised_windows"], 1);
        EXPECT_EQ(results["lost_frames"], 0);
        // About the median, of two sines.
        EXPECT_NEAR(results["shake"], 4, 1);
        ASSERT_EQ(results["shifts"].size(), 24U);
        // Those between frames do not depend on what is the median.
        const auto shift = [&](std::size_t i, std::size_t axis) {
            return results["shifts"][i][axis].get<double>();
        };
        for (std::size_t i = 1; i < 24; ++i) {
            const auto t = static_cast<double>(i);
            EXPECT_NEAR(shift(i, 0) - shift(0, 0), 4 * (std::cos(4.1 * t) - 1), 0.15);
            EXPECT_NEAR(shift(i, 1) - shift(0, 1), 4 * std::sin(2.7 * t), 0.15);
        }
    }
}

TEST_F(Bgsub, LeavesACameraThatStandsAlone) {
    write_frames({}, 19);
    const Outcome outcome =
        run_to_arrays({clip(), "--plot-shifts", (folder_ / "shifts.svg").string()});
    ASSERT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.error, HasSubstr("--plot-shifts writes nothing"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "shifts.svg"));
    EXPECT_EQ(report()["results"]["stabilised_windows"], 0);
    const std::string still = read_bytes(folder_ / "clip.mask.npy");
    ASSERT_EQ(run_to_arrays({clip(), "--stabilise", "off"}).status, 0);
    EXPECT_EQ(read_bytes(folder_ / "clip.mask.npy"), still);
    EXPECT_FALSE(report()["results"].contains("shake"));
    EXPECT_FALSE(report()["results"].contains("shifts"));
}

TEST_F(Bgsub, SaysWhichFramesCannotBeStabilised) {
    const Scene scene{.shake = 3};
    write_frames(scene, 24);
    write_bytes(frame(11), "P5 97 73 255\n" + std::string(97 * 73, '\0'));
    const Outcome outcome =
        run_to_arrays({clip(), "--plot-shifts", (folder_ / "shifts.svg").string()});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr("1 of 24 frames cannot be registered with the others"));
    EXPECT_THAT(read_bytes(folder_ / "shifts.svg"), HasSubstr("<svg"));
    const auto shifts = report()["results"]["shifts"];
    EXPECT_TRUE(shifts[11].is_null());
    EXPECT_TRUE(shifts[12].is_array());
    const auto masks = masks_in(folder_ / "clip.mask.npy", "24, 73, 97");
    const auto first = masks.begin() + 11 * 73 * 97;
    EXPECT_EQ(std::count(first, first + 73 * 97, 255), 0);
}

TEST_F(Bgsub, FindsWhatIsDarkAsWellAsWhatIsBright) {
    const Scene scene{.step = 2};
    std::filesystem::create_directories(clip());
    for (int i = 0; i < 25; ++i) {
        std::string bytes = pgm(scene, i);
        const auto begin = static_cast<std::ptrdiff_t>(bytes.find("255\n") + 4);
        std::transform(bytes.begin() + begin, bytes.end(), bytes.begin() + begin,
                       [](char c) { return static_cast<char>(~c); });
        write_bytes(clip() / numbered("", i, ".pgm"), bytes);
    }
    ASSERT_EQ(run_to_arrays({clip()}).status, 0);
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "25, 73, 97"), scene, 25), 0.97);
}

TEST_F(Bgsub, ByTheMedian) {
    const Scene scene;
    write_frames(scene, 19);
    ASSERT_EQ(run_to_arrays({clip(), "--method", "median"}).status, 0);
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_FALSE(report()["results"].contains("iterations"));
}

TEST_F(Bgsub, StopsAtTheFinalMask) {
    const Scene scene;
    write_frames(scene, 19);
    ASSERT_EQ(run_to_arrays({clip(), "--until", "mask"}).status, 0);
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_GT(report()["results"]["iterations_to_mask"], 0);
}

TEST_F(Bgsub, OfAStillVideoIsRankOneWithoutAMask) {
    write_frames({.side = 0}, 8);
    ASSERT_EQ(run_to_arrays({clip(), "--method", "rpca"}).status, 0);
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "8, 73, 97"), Each(0));
    EXPECT_EQ(report()["results"]["rank"], 1);
}

TEST_F(Bgsub, OfFewFramesThatAreTheSameNothingMoves) {
    // Noise, so that many pixels are far brighter than the others.
    std::string noise = "P5 31 17 255\n";
    std::mt19937 generator(1);
    for (int i = 0; i < 31 * 17; ++i) noise += static_cast<char>(generator() % 256);
    std::filesystem::create_directories(folder_ / "clip");
    for (const int count : {2, 3, 5}) {
        for (int i = 0; i < count; ++i) {
            write_bytes(folder_ / ("clip/" + std::to_string(i) + ".pgm"), noise);
        }
        for (const std::vector<std::string>& method :
             {std::vector<std::string>{"--method", "median"},
              {"--solver", "ialm"},
              {"--solver", "admm"},
              {"--solver", "accaltproj"},
              {"--precision", "fp64"},
              {"--svd", "tsqr"}}) {
            const Outcome outcome = run_to_arrays(joined({clip()}, method));
            ASSERT_EQ(outcome.status, 0) << outcome.error;
            EXPECT_THAT(lines(outcome.error),
                        ElementsAre(AllOf(StartsWith("bgsub: warning: " + std::to_string(count)),
                                          HasSubstr("fewer than 10"))));
            EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", std::to_string(count) + ", 17, 31"),
                        AllOf(SizeIs(count * 17 * 31), Each(0)))
                << method[1];
        }
    }
}

TEST_F(Bgsub, ReportsWhatWasLeftOpenWithTheValueUsed) {
    write_frames({}, 19);
    const Outcome outcome =
        run({clip(), "--out-format", "h5", "--report", folder_ / "r.json", "--out", folder_ / "p"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    const double lambda = 1 / std::sqrt(73.0 * 97);
    EXPECT_EQ(report()["parameters"]["lambda"], lambda);
    EXPECT_EQ(report()["parameters"]["window"], 19);
    EXPECT_FALSE(report()["parameters"].contains("rank"));
    EXPECT_EQ(number_attribute(folder_ / "p.bgsub.h5", "/", "lambda"), lambda);
    EXPECT_EQ(number_attribute(folder_ / "p.bgsub.h5", "/", "window"), 19);
    EXPECT_THAT(outcome.out, HasSubstr("lambda 0.0119"));
    // Without noise S is the square.
    EXPECT_NEAR(report()["results"]["density"], 20.0 * 20 / (73 * 97), 0.02);
    ASSERT_EQ(run_to_arrays(
                  {clip(), "--solver", "accaltproj", "--threshold", "noise:6", "--window", "12"})
                  .status,
              0);
    EXPECT_EQ(report()["parameters"]["rank"], 2);
    EXPECT_EQ(report()["parameters"]["window"], 12);
    EXPECT_FALSE(report()["parameters"].contains("lambda"));
    EXPECT_TRUE(report()["results"].contains("threshold"));
}

TEST_F(Bgsub, TakesBlackFrames) {
    std::filesystem::create_directories(folder_ / "clip");
    for (int i = 0; i < 3; ++i) {
        write_bytes(folder_ / ("clip/" + std::to_string(i) + ".pgm"),
                    "P5 8 4 255\n" + std::string(32, '\0'));
    }
    const Outcome outcome = run_to_arrays({clip(), "--method", "rpca"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "3, 4, 8"), Each(0));
    EXPECT_EQ(report()["results"]["rank"], 0);
}

TEST_F(Bgsub, ScalesAndTakesTheChosenFrames) {
    write_frames({}, 12);
    ASSERT_EQ(run_to_arrays({clip(), "--scale", "0.5", "--frames", "1:12:3"}).status, 0);
    EXPECT_THAT(masks_in(folder_ / "clip.mask.npy", "4, 37, 49"), SizeIs(4 * 37 * 49));
    ASSERT_EQ(run_to_arrays({clip(), "--scale", "40x30", "--color", "rgb"}).status, 0);
    EXPECT_THAT(read_bytes(folder_ / "clip.background.npy"), HasSubstr("(12, 3, 30, 40,)"));
}

// The square covers each pixel in far fewer than half of a window's frames. Near half, so few
// iterations cannot separate the square from the background.
TEST_F(Bgsub, WindowsGiveEveryFrameOnce) {
    const Scene scene{.side = 16, .step = 2};
    constexpr int frames = 38;
    write_frames(scene, frames);
    // The last window has a few frames, one frame, or as many as the other windows.
    for (const std::vector<std::string>& windows :
         {std::vector<std::string>{"25"}, {"37"}, {"21", "4"}, {"22", "6"}, {"100"}}) {
        std::vector<std::string> arguments{clip(), "--window", windows[0]};
        if (windows.size() > 1) arguments.insert(arguments.end(), {"--overlap", windows[1]});
        const Outcome outcome = run_to_arrays(arguments);
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        EXPECT_GT(f_measure(masks, scene, frames), 0.95) << windows[0];
        EXPECT_EQ(report()["results"]["windows"], windows[0] == "100" ? 1 : 2) << windows[0];
    }
}

// Later windows are read to the pictures of earlier ones.
TEST_F(Bgsub, OverlaysOfWindowsShowTheirFrames) {
    constexpr int frames = 38;
    constexpr std::size_t pixels = 73 * 97;
    write_frames({.side = 16, .step = 2}, frames);
    for (const char* const overlap : {"0", "4"}) {
        ASSERT_EQ(
            run({clip(), "--window", "9", "--overlap", overlap, "--out-format", "npy"}).status, 0);
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        const auto overlays = masks_in(folder_ / "clip.overlay.npy", "38, 73, 97, 3");
        for (int i = 0; i < frames; ++i) {
            const media::Image image = media::read_image(frame(i));
            for (std::size_t p = 0; p < pixels; ++p) {
                const std::size_t at = static_cast<std::size_t>(i) * pixels + p;
                if (masks[at] != 0) continue;
                ASSERT_EQ(overlays[3 * at], image.planes.data()[p]) << i << ' ' << p;
            }
        }
    }
}

TEST_F(Bgsub, WindowsAgreeWithTheWhole) {
    const Scene scene{.step = 2};
    constexpr std::size_t frames = 38;
    write_frames(scene, frames);
    for (const auto* solver : {"ialm", "accaltproj"}) {
        ASSERT_EQ(run_to_arrays({clip(), "--solver", solver}).status, 0);
        const auto whole_masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        const auto whole = floats_in(folder_ / "clip.background.npy");
        ASSERT_EQ(
            run_to_arrays({clip(), "--solver", solver, "--window", "25", "--overlap", "10"}).status,
            0);
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        const auto background = floats_in(folder_ / "clip.background.npy");
        ASSERT_EQ(background.size(), frames * 73 * 97);
        double other = 0;
        double square = 0;
        for (std::size_t i = 0; i < background.size(); ++i) {
            other += masks[i] != whole_masks[i] ? 1 : 0;
            square += std::pow(background[i] - whole[i], 2);
        }
        const auto size = static_cast<double>(background.size());
        EXPECT_LE(other, 1e-3 * size) << solver;
        EXPECT_LE(std::sqrt(square / size), 2) << solver;
    }
}

TEST_F(Bgsub, ByProjections) {
    const Scene scene;
    write_frames(scene, 19);
    const Outcome outcome = run_to_arrays({clip(), "--solver", "accaltproj"});
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.out, HasSubstr("robust PCA, accaltproj, rank up to 2"));
    EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "19, 73, 97"), scene, 19), 0.97);
    EXPECT_LE(report()["results"]["rank"], 2);
    EXPECT_LE(report()["results"]["residual"], 1e-5);
    ASSERT_EQ(run_to_arrays({clip(), "--solver", "accaltproj", "--rank", "1"}).status, 0);
    EXPECT_EQ(report()["results"]["rank"], 1);
    EXPECT_EQ(report()["parameters"]["rank"], 1);
}

TEST_F(Bgsub, FollowsOnline) {
    const Scene scene{.step = 2};
    write_frames(scene, 38);
    // The first frames are some, or all.
    for (const auto* burn_in : {"20", "37", "38", "100"}) {
        const Outcome outcome = run_to_arrays({clip(), "--online", "--burn-in", burn_in});
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.error, IsEmpty());
        EXPECT_THAT(outcome.out, AllOf(HasSubstr("frame by frame, memory of 50"),
                                       HasSubstr("38 frames of 97x73 pixels")));
        const auto masks = masks_in(folder_ / "clip.mask.npy", "38, 73, 97");
        EXPECT_GT(f_measure(masks, scene, 38), 0.95) << burn_in;
        EXPECT_EQ(report()["results"]["frames"], 38);
    }
    EXPECT_EQ(report()["parameters"]["memory"], 50);
    EXPECT_FALSE(report()["results"].contains("windows"));
}

TEST_F(Bgsub, ChoosesTheMethod) {
    const auto expect = [&](const std::vector<std::string>& arguments, const std::string& method,
                            const std::string& reason) {
        const Outcome outcome = run_to_arrays(joined({clip()}, arguments));
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.out, HasSubstr("choice      " + method + ": "));
        EXPECT_EQ(report()["parameters"]["method"], method);
        EXPECT_THAT(report()["parameters"]["chosen_because"].get<std::string>(), HasSubstr(reason));
        EXPECT_EQ(report()["parameters"]["remove_light"], method != "rpca");
    };
    write_frames({.side = 16, .step = 1}, 120);
    expect({"--frames", ":9"}, "median", "9 frames are too few");
    expect({"--frames", ":100"}, "rpca", "100 frames, which can be solved together");
    expect({}, "online", "120 frames, in which objects may stop");
    expect({"--window", "60"}, "rpca", "--window");
    expect({"--frames", ":100", "--memory", "3000"}, "online", "--memory");
    EXPECT_EQ(report()["parameters"]["patience"], 3000);
    ASSERT_EQ(run_to_arrays({clip(), "--method", "online"}).status, 0);
    EXPECT_FALSE(report()["parameters"].contains("chosen_because"));
    write_frames({.side = 16, .step = 1, .shake = 4}, 120);
    expect({}, "rpca", "the camera shakes");
    expect({"--stabilise", "off"}, "online", "120 frames");
}

TEST_F(Bgsub, SeesWhoStandsStillForMostOfTheClip) {
    // Where it stands the square is for more than half of the clip and of the windows.
    const Scene scene{.side = 16, .step = 1, .stops = 60, .goes = 112};
    write_frames(scene, 120);
    const auto f_measure_with = [&](const std::vector<std::string>& arguments) {
        const Outcome outcome = run_to_arrays(joined({clip()}, arguments));
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_THAT(outcome.error, IsEmpty());
        return f_measure(masks_in(folder_ / "clip.mask.npy", "120, 73, 97"), scene, 120);
    };
    EXPECT_GT(f_measure_with({"--burn-in", "40"}), 0.93);
    EXPECT_GT(f_measure_with({"--window", "40"}), 0.9);
    EXPECT_LT(f_measure_with({"--method", "median"}), 0.7);
}

TEST_F(Bgsub, SeesWhoStandsInTheFirstFramesAndNothingOnceHeHasGone) {
    const Scene scene{.side = 16, .step = 1, .stops = 1, .goes = 40};
    write_frames(scene, 120);
    for (const auto* burn_in : {"20", "100"}) {
        const Outcome outcome = run_to_arrays({clip(), "--burn-in", burn_in});
        ASSERT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_GT(f_measure(masks_in(folder_ / "clip.mask.npy", "120, 73, 97"), scene, 120), 0.9);
    }
}

/// Clips in which masks mean nothing. Every method has to take them.
struct OddClip {
    const char* name;
    int frames;
    bool warns;  ///< that masks cover the picture
    std::function<std::uint8_t(int frame, int x, int y)> level;
};

class OddClips : public Bgsub, public testing::WithParamInterface<OddClip> {};

TEST_P(OddClips, AreTaken) {
    const auto& [name, frames, warns, level] = GetParam();
    std::filesystem::create_directories(clip() / "input");
    for (int i = 0; i < frames; ++i) {
        std::string bytes = "P5 64 48 255\n";
        for (int y = 0; y < 48; ++y) {
            for (int x = 0; x < 64; ++x) bytes += static_cast<char>(level(i, x, y));
        }
        write_bytes(frame(i), bytes);
    }
    for (const auto* method : {"auto", "rpca", "online", "median"}) {
        const Outcome outcome = run_to_arrays({clip(), "--method", method});
        ASSERT_EQ(outcome.status, 0) << method << ": " << outcome.error;
        const bool online = report()["parameters"]["method"] == "online";
        if (warns && online) {
            EXPECT_THAT(outcome.error, HasSubstr("cover more than half of the picture")) << method;
        }
        if (!warns) {
            EXPECT_THAT(outcome.error, Not(HasSubstr("more than half of the picture"))) << method;
            EXPECT_EQ(report()["results"]["moving"], 0) << method;
        }
    }
    EXPECT_EQ(run_to_arrays({clip(), "--window", "40"}).status, 0);
}

std::uint8_t texture(int x, int y) { return static_cast<std::uint8_t>(60 + (7 * x + 13 * y) % 90); }

INSTANTIATE_TEST_SUITE_P(
    Bgsub, OddClips,
    testing::Values(
        OddClip{"TwoFrames", 2, false, [](int, int x, int y) { return texture(x, y); }},
        OddClip{"IdenticalFrames", 120, false, [](int, int x, int y) { return texture(x, y); }},
        OddClip{"BlackFrames", 120, false, [](int, int, int) { return std::uint8_t{0}; }},
        OddClip{"ACut", 120, true,
                [](int frame, int x, int y) {
                    return texture(frame < 60 ? x : y, frame < 60 ? y : 3 * x);
                }},
        OddClip{"APanOfHalfThePicture", 120, true,
                [](int frame, int x, int y) { return texture(x + std::min(frame, 32), y); }},
        OddClip{"AFlash", 120, true,
                [](int frame, int x, int y) {
                    return frame == 70 ? std::uint8_t{255} : texture(x, y);
                }},
        OddClip{"SomeBlackFrames", 120, true,
                [](int frame, int x, int y) {
                    return frame / 5 == 14 ? std::uint8_t{0} : texture(x, y);
                }}),
    [](const auto& clip) { return clip.param.name; });

TEST_F(Bgsub, InTurnFindsTheSame) {
    write_frames({.side = 16, .step = 2}, 38);
    const std::vector<std::string> windows{clip(), "--window", "15", "--overlap", "4"};
    ASSERT_EQ(run_to_arrays(joined(windows, {"--out", folder_ / "a"})).status, 0);
    ASSERT_EQ(run_to_arrays(joined(windows, {"--out", folder_ / "b", "--in-turn"})).status, 0);
    for (const auto* kind : {".background.npy", ".foreground.npy", ".mask.npy"}) {
        EXPECT_TRUE(read_bytes(folder_ / (std::string("a") + kind)) ==
                    read_bytes(folder_ / (std::string("b") + kind)))
            << kind;
    }
    double sum = 0;
    for (const auto& stage : report()["stages"]) sum += stage["ms"].get<double>();
    EXPECT_LE(sum, 1.001 * report()["total_ms"].get<double>()) << "nothing overlaps";
}

/// Tests of memory use. The preset sanitize omits them because its allocator changes the figures.
class BgsubScale : public Bgsub {};

TEST_F(BgsubScale, OnlineMemoryDoesNotGrow) {
    constexpr int frames = 2000;
    write_frames({.width = 40, .height = 30, .side = 6, .step = 0}, frames);
    const auto peak = [&](const char* last) {
        const Outcome outcome = run_to_arrays({clip(), "--online", "--frames", last});
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        return outcome.peak_bytes;
    };
    const std::int64_t few = peak(":200");
    const std::int64_t many = peak(":2000");
    EXPECT_EQ(report()["results"]["frames"], frames);
    // 1,800 more frames have 1,800 x 40 x 30 x (4 + 3 bytes of the frame, 9 of its results): 35 MB.
    EXPECT_LT(many, few + (3 << 20));
}

TEST_F(BgsubScale, TakesTheMemoryThatIsExpected) {
    constexpr int count = 80;
    core::Cpu cpu;
    const Scene scene{.width = 320, .height = 240};
    write_frames(scene, count);
    // The least of three: some runs have one of the threads' arrays, or the allocator's, twice.
    const auto least_peak = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {clip(), "--stabilise", "off"});
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (int i = 0; i < 3; ++i) {
            const Outcome outcome = run_to_arrays(arguments);
            EXPECT_EQ(outcome.status, 0) << outcome.error;
            least = std::min(least, outcome.peak_bytes);
        }
        return least;
    };
    const std::int64_t without = least_peak({"--method", "median"});
    for (const auto& svd : rpca::svd_choices) {
        for (const auto& precision : solve_precision_choices) {
            const std::int64_t peak =
                least_peak({"--svd", std::string(svd.name), "--precision",
                            std::string(precision.name), "--max-iterations", "2"});
            BgsubOptions options;
            options.method = BackgroundMethod::rpca;
            options.stabilise = rpca::Stabilise::off;
            options.parameters.svd = svd.value;
            options.precision = precision.value;
            const auto expected = static_cast<double>(
                separators_on(cpu, cpu, options).host_bytes(count, scene.width * scene.height));
            const auto taken = static_cast<double>(peak - without);
            // Padding of blocks, small matrices and stacks.
            constexpr double beside = 8e6;
            EXPECT_LT(taken, 1.05 * expected + beside) << svd.name << ", " << precision.name;
            EXPECT_GT(taken, 0.7 * expected - beside) << svd.name << ", " << precision.name;
        }
    }
}

#if APERTURE_OPENCV
TEST_F(Bgsub, ScoresByTheRulesOfChangeDetection) {
    const auto highway = aperture::tests::shared_data("video/cdnet/highway");
    if (!highway) GTEST_SKIP() << "measured data not at hand (APERTURE_DATA, ../shared/data)";
    const auto f_of = [&](std::vector<std::string> arguments, int frames = 100) {
        arguments.insert(arguments.end(), {*highway, "--truth", *highway, "--out", folder_ / "h"});
        const Outcome outcome = run_to_arrays(arguments);
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        EXPECT_EQ(report()["accuracy"]["scored_frames"], frames);
        return report()["accuracy"]["f_measure"].get<double>();
    };
    EXPECT_GE(f_of({"--frames", "100:200"}), 0.945);
    EXPECT_GE(f_of({"--frames", "0:100"}), 0.93);
    EXPECT_GE(f_of({"--frames", "100:200", "--method", "median"}), 0.945);
    EXPECT_GE(f_of({"--frames", "100:200", "--solver", "accaltproj"}), 0.95);
    EXPECT_GE(f_of({}, 220), 0.945);
}

#endif

}  // namespace
}  // namespace aperture::apps::tests
