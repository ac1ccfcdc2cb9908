// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/corr/options.hpp"

#include "apps/common/argument_fields.hpp"
#include "apps/common/command_line.hpp"

namespace aperture::apps {
namespace {

using std::filesystem::path;

constexpr auto example = R"(Example:
  corr image.png --offsets 250x250
correlates colour and orientation of image.png with themselves at displacements of 0 to 249 rows and
columns, writes image.corr.h5 and image.corr.png, and prints the times, the correlation lengths and
the strongest peak off the centre.

  corr a.png b.png --planes-from grey
locates the content of b.png in a.png: the peak is at its (y, x) in a.png minus that in b.png.

  corr a.png b.png --register similarity --out moved.png
finds shift, rotation and scale between a.png and b.png to hundredths of a pixel, and writes b.png
moved onto a.png.

  corr --planes a.h5
correlates the planes in dataset /planes of a.h5, unchanged, with themselves.

  corr 'photos/*.jpg' --out stats.h5
correlates each image of an ensemble with itself and writes mean and standard deviation. A folder
and three or more images are also ensembles.

  corr a.png b.png --sigma 0.5:8:log:9
locates b.png in a.png with orientations averaged over nine widths, and writes the surface with the
highest peak, all peaks and times as a.corr.scores.csv, and a plot.)";

/// Parses "250x300", rows first, each at least 1.
corr::Shape parse_offsets(const std::string& text) {
    const auto fields = split(text, 'x');
    corr::Shape size;
    if (fields.size() == 2) {
        size = {number_in<corr::index_t>(fields[0]).value_or(0),
                number_in<corr::index_t>(fields[1]).value_or(0)};
    }
    core::expects(size.rows >= 1 && size.columns >= 1, "--offsets ", text,
                  ": expected HxW, at least 1 row and 1 column");
    return size;
}

/// What the command line gives, without what follows from it.
struct Given {
    std::vector<path> images;
    std::vector<path> planes;
    bool both_signs = false;
};

void add_correlation_options(CommandLine& line, Given& given, CorrOptions& options) {
    line.choice("--planes-from", corr::plane_choices, options.parameters.planes,
                "Planes to correlate: a and b of CIE L*a*b* and the orientation vector; luma; red, "
                "green and blue; or the derivatives of luma")
        .default_text("lab-orientation");
    line.files(
        "--planes", "FILE.h5", 1, 2, given.planes,
        "Instead of images: an HDF5 file with dataset /planes [plane][row][column], or two of "
        "equal shape");
    line.number(
        "--sigma", "S", options.parameters.orientation_sigma,
        {0, corr::max_orientation_sigma, true},
        "lab-orientation: standard deviation of the Gaussian that orientations are averaged "
        "with, pixels (default 2)");
    line.choice("--normalize", corr::normalization_choices, options.parameters.normalization,
                "Scale each plane to zero mean and unit energy, or leave it unchanged (default: "
                "plane; none with --planes)");
    line.parsed("--offsets", "HxW", options.parameters.offsets, parse_offsets,
                "Displacements below H rows and W columns (default: half the image)");
    line.flag("--signed,!--unsigned", given.both_signs,
              "Displacements of both signs (default for a pair), or nonnegative ones (default "
              "otherwise)");
    line.choice("--estimator", corr::estimator_choices, options.parameters.estimator,
                "Sums of products; the same divided by the number of overlapping pixels; or "
                "Pearson's r over these pixels")
        .default_text("raw");
    line.repeated_file("--mask", "FILE", options.masks,
                       "Image of the same size: only its nonblack pixels count. For a pair, may be "
                       "repeated: for the first image, then the second");
    line.choice("--method", corr::method_choices, options.parameters.method,
                "Direct sums, Fourier transforms, or whichever is faster")
        .default_text("auto");
    line.choice("--precision", corr::precision_choices, options.parameters.precision,
                "Direct method: fp32; tf32x3 on GPU tensor cores (numbers as sums of two TF32 "
                "numbers); or fp64")
        .default_text("fp32");
}

void add_swept_options(CommandLine& line, SweepOptions& options) {
    line.sweeps({"--sigma", SweptValues::numbers});
    for (const auto* option :
         {"--planes-from", "--normalize", "--offsets", "--estimator", "--method", "--precision"}) {
        line.sweeps({option, SweptValues::words});
    }
    add_sweep_options(line, options);
}

void settle_inputs(const CommandLine& line, const Given& given, CorrOptions& options) {
    if (given.planes.empty()) {
        core::expects(!given.images.empty(),
                      "no input: expected an image or --planes (see corr --help)");
        options.inputs = given.images;
        options.ensemble =
            options.inputs.size() > 2 || is_folder(options.inputs) || is_pattern(options.inputs);
        return;
    }
    if (!given.images.empty()) {
        throw core::InvalidArgument(core::text("--planes cannot be combined with an image: ",
                                               given.images.front().string()));
    }
    core::expects(!line.given("--planes-from"), "--planes cannot be combined with --planes-from");
    options.inputs = given.planes;
    options.parameters.planes.reset();
}

void settle_output_names(CorrOptions& options, bool no_picture) {
    path& out = options.common.out;
    if (out.empty()) {
        out = options.ensemble ? default_output(options.inputs, ".corr.h5")
                               : path(options.inputs.front()).replace_extension(".corr.h5");
    }
    const std::string extension = out.extension().string();
    core::expects(extension == ".h5" || extension == ".hdf5", "--out ", out.string(),
                  ": expected FILE.h5");
    if (!no_picture && have_figures) options.picture = path(out).replace_extension(".png");
    if (!options.radial) return;
    core::expects(options.radial->extension() == ".csv", "--radial ", options.radial->string(),
                  ": expected FILE.csv");
    options.spectrum = path(*options.radial).replace_extension(".spectrum.csv");
}

}  // namespace

NamedFiles input_files(const CorrOptions& options) {
    NamedFiles files = named_files(options.parameters.planes ? "image" : "planes", options.inputs);
    for (const path& mask : options.masks) files.push_back({"mask", mask});
    return files;
}

NamedFiles output_files(const CorrOptions& options) {
    if (options.registered) {
        NamedFiles files;
        if (!options.common.out.empty()) files.push_back({"registered image", options.common.out});
        append(files, "difference", options.difference);
        return files;
    }
    NamedFiles files{{"surface", options.common.out}};
    append(files, "picture", options.picture);
    append(files, "radial average", options.radial);
    append(files, "radial spectrum", options.spectrum);
    append(files, options.sweep);
    return files;
}

namespace {

std::optional<CorrOptions> parse_run(int argc, char** argv) {
    CorrOptions options;
    Given given;
    bool no_picture = false;
    CommandLine line("corr", "Spatial correlation of an image, a pair or an ensemble", example);
    line.files("images", "FILE", 1, -1, given.images,
               "An image, or two of equal size; or an ensemble: a folder, a quoted pattern or more "
               "images");
    add_correlation_options(line, given, options);
    add_swept_options(line, options.sweep);
    line.file("--radial", "FILE.csv", options.radial,
              "Write the surface averaged over all directions as a table, and likewise the planes' "
              "power spectrum as FILE.spectrum.csv");
    line.flag("--no-picture", no_picture, "Do not write the picture of the surface");
    line.choice(
        "--register", signal::motion_choices, options.registered,
        "Of a pair, find how the content of the second image lies on that of the first, with "
        "standard deviations, instead of a surface: b(y, x) = a(y - dy, x - dx), or also a "
        "rotation and a scale about the centre; --out is the second image moved onto the "
        "first");
    line.file("--difference", "FILE.png", options.difference,
              "With --register: write the difference of the first image and the moved second one, "
              "grey where they are equal");
    line.flag("--all-pairs", options.all_pairs,
              "For an ensemble: also correlate its images with one another and write their "
              "similarities");
    add_run_options(line, "FILE",
                    ", HDF5 (default: the first image, the folder, or the folder of the images, "
                    "with .corr.h5); the picture has the same name with .png",
                    options.common);
    if (!line.parse(argc, argv)) return std::nullopt;

    settle_inputs(line, given, options);
    if (options.registered) {
        line.needs("--register", "two images", options.pair() && given.planes.empty());
        line.allows_only({"images", "--register", "--out", "--difference", "--report", "--threads",
                          "--quiet", "--verbose", "--strict", "--device", "--repeat"},
                         "a surface, which --register does not compute");
        path& out = options.common.out;
        if (!out.empty()) out = picture_name("--out", out);
        if (options.difference)
            options.difference = picture_name("--difference", *options.difference);
        return options;
    }
    line.needs("--difference", "--register", false);
    // An ensemble's surfaces per plane are not written.
    options.parameters.each_plane = !options.ensemble;
    if (line.given("--signed")) options.parameters.both_signs = given.both_signs;
    line.needs("--sigma", "--planes-from lab-orientation",
               options.parameters.planes == corr::PlaneKind::lab_orientation);
    line.needs("--all-pairs", "an ensemble: a folder, a pattern or three images", options.ensemble);
    core::expects(!options.all_pairs || options.masks.empty(),
                  "--all-pairs cannot be combined with --mask");
    line.needs("--repeat", "a single image or a pair", !options.ensemble);
    core::expects(options.masks.size() <= (options.pair() ? 2 : 1),
                  "--mask: ", options.masks.size(), " masks, expected at most ",
                  options.pair() ? 2 : 1);
    settle_output_names(options, no_picture);
    settle_sweep(line, options.pair(), "a pair", options.sweep);
    core::expects(options.sweep.axes.empty() || !options.ensemble,
                  "a list or a range of values requires a single image or a pair");
    return options;
}

template <class Rename>
void for_each_output(CorrOptions& options, const Rename& rename) {
    rename(options.common.out);
    for (auto* file : {&options.picture, &options.radial, &options.spectrum}) {
        if (*file) rename(**file);
    }
}

}  // namespace

std::optional<CorrOptions> parse_corr_options(int argc, char** argv) {
    return parse_runs(argc, argv, parse_run,
                      [](auto& run, const auto& rename) { for_each_output(run, rename); });
}

}  // namespace aperture::apps
