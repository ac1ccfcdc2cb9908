// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
// Measures accuracy and time of OpenCV's background subtractors on a clip in the layout of
// changedetection.net. Scores and cleans masks like bgsub; prints rows of a CSV table.
//   background_accuracy [--threads N] [--clean N] [--min-area PIXELS] CLIP FIRST LAST
#include <algorithm>
#include <iostream>

#include "aperture/core/timing.hpp"
#include "apps/bgsub/cdnet_truth.hpp"
#include "apps/bgsub/clip.hpp"
#include "apps/common/command_line.hpp"
#include "bench/background_peers.hpp"

namespace aperture::bench {
namespace {

using core::index_t;

/// Shadows have the value 127, which does not exceed the threshold.
constexpr double sure_to_move = 127;

struct Task {
    apps::BgsubOptions clip;
    index_t first = 0;  ///< numbers of the scored frames, as in their file names
    index_t last = 0;
    rpca::MaskParameters mask{
        .threshold = sure_to_move, .fill_holes = false, .remove_shadows = false};
};

struct Found {
    rpca::Score score;
    index_t frames = 0;  ///< scored
    index_t before = 0;  ///< frames that the model saw before those
    index_t judged = 0;
    double ms = 0;  ///< for the judged frames, including the cleaning of masks
};

/// Cleans a mask like bgsub.
core::Array<std::uint8_t, 3> clean(core::Cpu& cpu, const core::Array<std::uint8_t, 2>& mask,
                                   const rpca::MaskParameters& parameters) {
    const auto [rows, columns] = mask.extent();
    core::Array<float, 4> values({1, 1, rows, columns});
    std::copy(mask.begin(), mask.end(), values.begin());
    core::Array<std::uint8_t, 3> cleaned({1, rows, columns});
    rpca::find_masks(cpu, {std::as_const(values).view()}, parameters, cleaned.view());
    return cleaned;
}

Found judge(core::Cpu& cpu, const BackgroundPeer& peer, const Task& task) {
    apps::Console console("background_accuracy", true);
    apps::CdnetTruth truth(task.clip.inputs.front());
    apps::ClipReader reader(task.clip);
    const BackgroundModel model = peer.begin();
    Found found;
    core::Array<std::uint8_t, 2> mask;
    for (apps::Clip frame; reader.read(frame); frame = {}) {
        const index_t number = frame.truth_numbers.front();
        if (number > task.last) break;
        const double model_ms = model(frame.pictures.front(), mask);
        if (number < task.first) {
            ++found.before;
            continue;
        }
        const core::Stopwatch watch;
        const core::Array<std::uint8_t, 3> cleaned = clean(cpu, mask, task.mask);
        found.ms += model_ms + watch.ms();
        ++found.judged;
        const rpca::MaskView view(cleaned.data(), mask.extent());
        if (const auto true_mask = truth.mask(number, mask.extent(), false, console)) {
            found.score += apps::score(view, *true_mask);
            ++found.frames;
        }
    }
    core::expects(found.frames > 0, task.clip.inputs.front().string(), ": no frame from ",
                  task.first, " to ", task.last, " has a true mask that is scored");
    return found;
}

int run(int argc, char** argv) {
    constexpr int most = 1'000'000'000;
    int threads = 0;
    Task task;
    apps::CommandLine line("background_accuracy",
                           "Accuracy and time of OpenCV's background subtractors, as CSV");
    line.whole_number("--threads", "N", threads, 1, most, "CPU threads (default: all)");
    line.whole_number("--clean", "N", task.mask.clean, 0, 255,
                      "Window width of the median filter of the mask; 0: none (default 5)");
    line.whole_number("--min-area", "PIXELS", task.mask.min_area, 0, most,
                      "Leave out regions of fewer pixels");
    line.file("clip", "FOLDER", task.clip.inputs.emplace_back(),
              "A folder with input/ and groundtruth/")
        .required();
    line.whole_number("first", "FIRST", task.first, 0, most,
                      "Number of the first frame that is scored")
        .required();
    line.whole_number("last", "LAST", task.last, 0, most, "Number of the last one").required();
    if (!line.parse(argc, argv)) return 0;

    core::Cpu cpu(threads);
    if (const std::string missing = missing_background_peers(); !missing.empty()) {
        std::cerr << "left out: " << missing << '\n';
    }
    std::cout << "method,frames,before,precision,recall,f_measure,pwc,ms_per_frame\n";
    for (const BackgroundPeer& peer : background_peers(cpu.threads())) {
        const Found found = judge(cpu, peer, task);
        std::cout << "OpenCV " << peer.name << ',' << found.frames << ',' << found.before << ','
                  << found.score.precision() << ',' << found.score.recall() << ','
                  << found.score.f_measure() << ',' << found.score.percentage_of_wrong() << ','
                  << found.ms / static_cast<double>(found.judged) << std::endl;
    }
    return 0;
}

}  // namespace
}  // namespace aperture::bench

int main(int argc, char** argv) {
    return aperture::apps::run_program("background_accuracy",
                                       [&] { return aperture::bench::run(argc, argv); });
}
