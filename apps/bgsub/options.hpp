// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "aperture/rpca/camera_motion.hpp"
#include "aperture/rpca/mask.hpp"
#include "aperture/rpca/online_pca.hpp"
#include "aperture/rpca/words.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/frames.hpp"
#include "apps/common/program.hpp"
#include "apps/common/sweep.hpp"

namespace aperture::apps {

using core::index_t;

enum class BackgroundMethod { automatic, rpca, online, median };
enum class OutFormat { mp4, png, npy, h5 };
enum class Content { background, foreground, mask, overlay };
enum class FrameColour { grey, rgb };
enum class SolvePrecision { fp32, fp64 };
enum class RunUntil { tolerance, mask };

inline constexpr Choices<BackgroundMethod, 4> background_choices{
    {{"auto", BackgroundMethod::automatic},
     {"rpca", BackgroundMethod::rpca},
     {"online", BackgroundMethod::online},
     {"median", BackgroundMethod::median}}};
inline constexpr Choices<OutFormat, 4> out_format_choices{{{"mp4", OutFormat::mp4},
                                                           {"png", OutFormat::png},
                                                           {"npy", OutFormat::npy},
                                                           {"h5", OutFormat::h5}}};
inline constexpr Choices<Content, 4> content_choices{{{"background", Content::background},
                                                      {"foreground", Content::foreground},
                                                      {"mask", Content::mask},
                                                      {"overlay", Content::overlay}}};
inline constexpr Choices<FrameColour, 3> frame_colour_choices{
    {{"grey", FrameColour::grey}, {"gray", FrameColour::grey}, {"rgb", FrameColour::rgb}}};
inline constexpr Choices<SolvePrecision, 2> solve_precision_choices{
    {{"fp32", SolvePrecision::fp32}, {"fp64", SolvePrecision::fp64}}};
inline constexpr Choices<RunUntil, 2> until_choices{
    {{"tolerance", RunUntil::tolerance}, {"mask", RunUntil::mask}}};

/// The size in which frames are processed: their own size times `factor`, or a given size.
struct FrameScale {
    double factor = 1;
    index_t width = 0;  ///< 0: use `factor`
    index_t height = 0;

    bool resizes() const { return width > 0 || factor != 1; }
};
/// "0.5" or "384x288", width first; throws core::InvalidArgument otherwise.
FrameScale parse_scale(const std::string& text);

/// "mask,overlay": contents without repetition, in the order of `content_choices`; throws
/// core::InvalidArgument otherwise.
std::vector<Content> parse_contents(const std::string& text);

/// The command line of `bgsub`.
struct BgsubOptions {
    RunOptions common;  ///< `out` is the prefix of all names; empty: beside the input
    std::vector<std::filesystem::path> inputs;  ///< as given
    FrameRange frames;
    FrameScale scale;
    FrameColour colour = FrameColour::grey;
    OutFormat format = OutFormat::mp4;
    std::vector<Content> saved{Content::mask, Content::overlay};
    bool resume = false;  ///< keep the windows whose pictures are there

    rpca::Stabilise stabilise = rpca::Stabilise::automatic;
    std::optional<std::filesystem::path> plot_shifts;
    BackgroundMethod method = BackgroundMethod::automatic;
    std::string method_reason;  ///< why, where the user has not named it
    SolvePrecision precision = SolvePrecision::fp32;
    RunUntil until = RunUntil::tolerance;
    rpca::Parameters parameters;
    rpca::MaskParameters mask;
    bool keep_holes = false;
    bool keep_shadows = false;
    bool keep_light = false;
    std::optional<std::filesystem::path> truth;

    index_t burn_in = rpca::usual_burn_in;  ///< first frames, of which the online background begins
    rpca::OnlineParameters following;

    Sweep<BgsubOptions> sweep;
    std::string run_number;  ///< ".03": of a sweep whose results are all written; else empty

    bool in_turn = false;  ///< reading, computing and writing do not overlap
    index_t window = 0;    ///< frames solved together; 0: all
    index_t overlap = 0;   ///< frames shared with the previous window

    bool online() const { return method == BackgroundMethod::online; }
    bool saves(Content content) const {
        return std::find(saved.begin(), saved.end(), content) != saved.end();
    }
    /// The frames' files: `inputs`, or input/ of a folder in CDnet's layout.
    std::vector<std::filesystem::path> frame_inputs() const;
    /// PREFIX + run_number + suffix, which begins with a dot. The first dot is dropped if --out
    /// names a folder, or if --out is absent and the frames are in the working directory.
    std::filesystem::path output(const std::string& suffix) const;
};

NamedFiles input_files(const BgsubOptions& options);
/// The result files or the folders of pictures, in the order of BgsubOptions::saved.
NamedFiles output_files(const BgsubOptions& options);

/// Parses the command line; returns nothing after printing what --help or --version asks for.
std::optional<BgsubOptions> parse_bgsub_options(int argc, char** argv);

}  // namespace aperture::apps
