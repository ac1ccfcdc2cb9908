// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/sequence.hpp"

#include <algorithm>
#include <cmath>

#include "aperture/flow/picture.hpp"
#include "aperture/media/flow_figure.hpp"
#include "aperture/media/flow_file.hpp"
#include "aperture/signal/grey.hpp"
#include "apps/common/bounded_queue.hpp"
#include "apps/common/file_names.hpp"
#include "apps/common/frames.hpp"
#include "apps/oflow/output_files.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

constexpr index_t sample_spacing = 4;  // pixels
constexpr double explained = 0.9;
constexpr std::size_t pairs_per_exception = 20;

/// A frame with its values.
struct FrameValues {
    index_t number = 0;
    std::string name;
    media::Image image;
    core::Array<float, 2> grey;
    double read_ms = 0;  ///< for reading, decoding and conversion
};

/// Whether warping image 1 by `flow` makes it similar to image 0.
bool explains(const core::Array<float, 3>& flow, const OflowInputs& inputs) {
    const auto [rows, columns] = inputs.shape();
    const auto nearest = [](double at, index_t count) {
        return static_cast<index_t>(
            std::lround(std::clamp(at, 0.0, static_cast<double>(count - 1))));
    };
    double unwarped = 0;
    double warped = 0;
    for (index_t y = 0; y < rows; y += sample_spacing) {
        for (index_t x = 0; x < columns; x += sample_spacing) {
            const index_t row = nearest(static_cast<double>(y) + flow(1, y, x), rows);
            const index_t column = nearest(static_cast<double>(x) + flow(0, y, x), columns);
            const float wanted = inputs.grey0(y, x);
            unwarped += std::abs(inputs.grey1(y, x) - wanted);
            warped += std::abs(inputs.grey1(row, column) - wanted);
        }
    }
    return warped < explained * unwarped;
}

/// The options of one pair: files instead of folders.
OflowOptions options_of_pair(const OflowOptions& options, index_t number) {
    OflowOptions pair = options;
    pair.common.out = numbered_file(options.common.out, number, ".flo");
    if (pair.picture) pair.picture = numbered_file(*pair.picture, number, ".flow.png");
    if (pair.arrows) pair.arrows = numbered_file(*pair.arrows, number, ".png");
    const auto name = [&](std::optional<path>& picture) {
        if (picture) picture = picture_name("--out", numbered_file(*picture, number, ".png"));
    };
    name(pair.warped);
    name(pair.consistency);
    return pair;
}

/// The largest motion of a pair, ignoring the largest 5 % of the pairs.
double usual_motion(std::vector<double> motions) {
    const auto at =
        motions.end() - 1 - static_cast<std::ptrdiff_t>(motions.size() / pairs_per_exception);
    std::nth_element(motions.begin(), at, motions.end());
    return *at;
}

template <class Executor>
class Sequence {
  public:
    Sequence(Executor& executor, core::Cpu& cpu, const OflowOptions& options, Console& console)
        : cpu_(cpu), options_(options), console_(console), reader_(options.inputs, options.frames) {
        if (!reader_.left_out().empty()) console_.note(reader_.left_out());
        console_.phase("reading " + reader_.name());
        FrameValues first = expect_frame("no frame");
        FrameValues second = expect_frame("a single frame");
        check_folders(options_, reader_);
        found_.form = form_of(first.image);
        inputs_.image1 = std::move(first.image);
        inputs_.grey1 = std::move(first.grey);
        found_.shape = {inputs_.grey1.extent()[0], inputs_.grey1.extent()[1]};
        first_name_ = first.name;
        expects_drawable(options, first_name_, found_.shape);
        estimator_.emplace(executor, found_.shape, options.parameters);
        results_.flow = core::Array<float, 3>({2, found_.shape.rows, found_.shape.columns});
        number_ = first.number;
        next_.emplace(std::move(second));
    }

    SequenceResults run() {
        try {
            return run_all();
        } catch (const core::InvalidArgument& error) {
            if (times_.empty()) throw;
            throw core::InvalidArgument(core::text(error.what(), "; the files of ", times_.size(),
                                                   " pairs are in ", options_.common.out.string()));
        }
    }

  private:
    SequenceResults run_all() {
        const core::Stopwatch watch;
        console_.phase("estimating");
        ReadAhead<FrameValues> frames(2, [this] { return read_next(); });
        while (next_) {
            advance(std::move(*next_));
            work_on_pair();
            next_ = frames.next();
            console_.progress(
                progress_text("pair", found_.pairs(), reader_.expected() - 1, watch.seconds()));
        }
        found_.largest_motion = *std::max_element(motions_.begin(), motions_.end());
        found_.max_motion = options_.max_motion.value_or(usual_motion(motions_));
        if (options_.picture && !options_.max_motion) draw();
        found_.seconds = watch.seconds();
        found_.times = median_times(times_);
        if (options_.consistency) {
            found_.consistent = 100 * consistent_ / static_cast<double>(found_.pairs());
        }
        console_.done();
        if (const std::string loss = reader_.loss(); !loss.empty()) {
            console_.warn_incomplete(core::text(reader_.name(), ": ", loss));
        } else if (options_.frames.last && found_.pairs() + 1 < reader_.expected()) {
            console_.warn_incomplete(core::text(reader_.name(), ": read ", found_.pairs() + 1,
                                                " of ", reader_.expected(), " frames"));
        }
        return std::move(found_);
    }

    std::optional<FrameValues> read_next() {
        const core::Stopwatch watch;
        if (!reader_.next(frame_)) return std::nullopt;
        FrameValues read;
        read.number = frame_.number;
        read.name = frame_.name;
        media::to_image(frame_.image, read.image);
        read.grey = signal::to_grey(read.image.planes);
        read.read_ms = watch.ms();
        return read;
    }

    FrameValues expect_frame(const char* without) {
        std::optional<FrameValues> frame = read_next();
        core::expects(frame.has_value(), reader_.name(), ": found ", without,
                      "; optical flow requires two");
        return std::move(*frame);
    }

    /// Image 1 of the previous pair becomes image 0 of the next.
    void advance(FrameValues frame) {
        inputs_.image0 = std::move(inputs_.image1);
        inputs_.grey0 = std::move(inputs_.grey1);
        inputs_.image1 = std::move(frame.image);
        inputs_.grey1 = std::move(frame.grey);
        const flow::Shape shape{inputs_.grey1.extent()[0], inputs_.grey1.extent()[1]};
        core::expects(shape == found_.shape,
                      size_mismatch(frame.name, shape, first_name_, found_.shape));
        found_.numbers.push_back(number_);
        number_ = frame.number;
        read_ms_ = frame.read_ms;
    }

    void work_on_pair() {
        const bool warm = found_.pairs() > 1 && explains(results_.flow, inputs_);
        found_.warm_starts += warm ? 1 : 0;
        RunTimes times = estimator_->run(inputs_.grey0, inputs_.grey1, results_.flow, warm);
        times.stages.insert(times.stages.begin(), {"read", read_ms_, 0, 0});
        if (options_.consistency) {
            check_backward_flow(cpu_, *estimator_, inputs_, results_);
            consistent_ += static_cast<double>(*results_.consistent_pixels) /
                           static_cast<double>(found_.shape.rows * found_.shape.columns);
            times.stages.push_back({"backward", results_.backward_ms, 0, 0});
        }
        results_.largest_motion = flow::largest_motion(results_.flow);
        motions_.push_back(results_.largest_motion);
        const core::Stopwatch watch;
        OflowOptions pair = options_of_pair(options_, found_.numbers.back());
        if (!options_.max_motion) pair.picture.reset();
        media::OutputSet outputs;
        write_outputs(cpu_, pair, inputs_, results_, silent_, outputs);
        outputs.commit();
        times.stages.push_back({"write", watch.ms(), 0, 0});
        times_.push_back(std::move(times));
    }

    void draw() {
        for (std::size_t i = 0; i < found_.numbers.size(); ++i) {
            console_.progress(core::text("drawing ", i + 1, " of ", found_.pairs()));
            const core::Stopwatch watch;
            const OflowOptions pair = options_of_pair(options_, found_.numbers[i]);
            media::write_figure(*pair.picture, media::flow_figure(media::read_flow(pair.common.out),
                                                                  found_.max_motion));
            times_[i].stages.back().ms += watch.ms();
        }
    }

    core::Cpu& cpu_;
    const OflowOptions& options_;
    Console& console_;
    Console silent_{"oflow", true};
    FrameReader reader_;
    Frame frame_;
    std::optional<FrameValues> next_;
    std::optional<PairEstimator<Executor>> estimator_;
    OflowInputs inputs_;
    OflowResults results_;
    std::string first_name_;
    index_t number_ = 0;  ///< of the frame in image 1
    double read_ms_ = 0;
    double consistent_ = 0;  ///< share of the pixels, summed over the pairs
    std::vector<double> motions_;
    std::vector<RunTimes> times_;
    SequenceResults found_;
};

}  // namespace

template <class Executor>
SequenceResults run_sequence(Executor& executor, core::Cpu& cpu, const OflowOptions& options,
                             Console& console) {
    return Sequence(executor, cpu, options, console).run();
}

template SequenceResults run_sequence(core::Cpu&, core::Cpu&, const OflowOptions&, Console&);
#if APERTURE_CUDA
template SequenceResults run_sequence(core::Gpu&, core::Cpu&, const OflowOptions&, Console&);
#endif

}  // namespace aperture::apps
