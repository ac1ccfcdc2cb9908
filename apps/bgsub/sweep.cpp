// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/sweep.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "aperture/core/memory.hpp"
#include "aperture/core/timing.hpp"
#include "apps/bgsub/cdnet_truth.hpp"
#include "apps/bgsub/memory_need.hpp"
#include "apps/bgsub/method.hpp"
#include "apps/bgsub/result_writers.hpp"
#include "apps/bgsub/separator.hpp"
#include "apps/bgsub/summary.hpp"
#include "libcore/cpu/worker_tasks.hpp"

namespace aperture::apps {
namespace {

using core::Host;

/// Frames in memory and, with --truth, their true masks.
struct ScoredClip {
    Clip clip;
    std::vector<TrueMask> truth;  ///< of each frame; empty of one that is not scored
};

/// Checks outputs and memory before it reads all.
ScoredClip read_clip(ClipReader& reader, const Separators& separators, const BgsubOptions& options,
                     int threads, Console& console) {
    const FrameReader& source = reader.source();
    if (!source.left_out().empty()) console.note(source.left_out());
    console.phase("reading " + options.inputs.front().string());
    std::optional<CdnetTruth> truth;
    if (options.truth) truth.emplace(*options.truth);
    check_outputs(options, source);
    NamedFiles scores;
    append(scores, options.sweep);
    check_output_files(named_files("frame", source.files()), scores, options.common);

    const FrameShape shape = reader.shape();
    const MemoryNeed need(options, shape, separators, {}, threads);
    const auto free = core::available_memory();
    const index_t most =
        free ? need.fitting(static_cast<double>(*free)) : std::numeric_limits<index_t>::max();
    const auto expects_memory = [&](index_t frames) {
        if (frames <= most) return;
        throw core::InvalidArgument(
            core::text(source.name(), ": ", gigabytes(need.of(frames, frames)), " needed for ",
                       frames, " frames of ", size_text(shape.size()), " pixels, but ",
                       gigabytes(static_cast<double>(free.value_or(0))),
                       " are free; try fewer frames (--frames FIRST:LAST:STEP), or --scale"));
    };
    // A video's claimed number of frames is not reliable.
    if (!source.is_video()) expects_memory(source.expected());
    ScoredClip read;
    read.clip.shape = shape;
    while (reader.read(read.clip)) {
        if (truth) {
            auto mask = truth->mask(read.clip.truth_numbers.back(), shape.size(),
                                    options.scale.resizes(), console);
            read.truth.push_back(mask ? std::move(*mask) : TrueMask());
        }
        expects_memory(read.clip.frames());
    }
    console.done();
    expects_several_frames(source, read.clip.frames());
    warn_of_few_frames(read.clip.frames(), console);
    return read;
}

/// What runs have in common that differ in their masks alone.
struct Separation {
    ResultFrames frames;           ///< without masks and pictures; on a GPU, what is needed of them
    core::Array<float, 2> scales;  ///< on a CPU, if a run needs them
    rpca::Outcome outcome;
    RunTimes times;
    std::vector<rpca::ThresholdScore> compared;  ///< at SweepOfClip::thresholds_
};

struct RunOfClip {
    std::shared_ptr<Separation> separation;
    core::Array<std::uint8_t, 3> masks;  ///< empty as long as only their score is known
    BgsubResults results;
};

template <class Executor>
class SweepOfClip {
  public:
    SweepOfClip(Executor& executor, core::Cpu& cpu, const BgsubOptions& options, Console& console)
        : executor_(executor),
          cpu_(cpu),
          options_(options),
          console_(console),
          separators_(separators_on(executor, cpu, options)),
          reader_(options),
          clip_(read_clip(reader_, separators_, options, cpu.threads(), console)) {
        common_.shape = shape();
        common_.frames = common_.solved_frames = frames();
        common_.windows = 1;
        if (options.truth) common_.score.emplace();
        common_.scored_frames =
            std::count_if(clip_.truth.begin(), clip_.truth.end(),
                          [](const TrueMask& truth) { return truth.size() > 0; });
        for (const BgsubOptions& run : options.sweep.runs) {
            if (scores_together(run)) thresholds_.push_back(*run.mask.threshold);
        }
        std::sort(thresholds_.begin(), thresholds_.end());
        thresholds_.erase(std::unique(thresholds_.begin(), thresholds_.end()), thresholds_.end());
    }

    std::pair<RunOfClip, Report> compute(const BgsubOptions& run, bool anew) {
        if (anew || !separation_) separate(run);
        RunOfClip result{separation_, {}, common_};
        BgsubResults& found = result.results;
        found.outcome = separation_->outcome;
        found.times = separation_->times;
        if (scores_together(run)) {
            take_compared(run, found);
        } else {
            find_masks(run, result);
            count(result);
        }
        Report report = begin_report(executor_, run, found.times,
                                     describe(run, found.shape, found.solved_frames));
        report.results = result_values(run, found);
        report.accuracy = accuracy_values(found);
        if (found.stabilised_windows > 0) report.shifts = found.shifts;
        return {std::move(result), std::move(report)};
    }

    void write(const BgsubOptions& run, RunOfClip& result, media::OutputSet& outputs) {
        complete(run, result);
        const std::shared_ptr<ResultFrames> frames(result.separation, &result.separation->frames);
        std::swap(frames->masks, result.masks);
        std::swap(frames->pictures, clip_.clip.pictures);
        const double rate =
            reader_.source().frames_per_second() / static_cast<double>(run.frames.step);
        ResultWriters writers(
            run,
            {shape(), this->frames(), rate, describe(run, shape(), result.results.solved_frames)},
            1);
        writers.give(frames);
        writers.finish(outputs);
        std::swap(frames->pictures, clip_.clip.pictures);
        std::swap(frames->masks, result.masks);
    }

    std::string finish(const BgsubOptions& run, RunOfClip& result, const Report& report) {
        complete(run, result);
        report_problems(run, reader_.source(), result.results, console_);
        return summary(run, result.results, report);
    }

  private:
    index_t frames() const { return clip_.clip.frames(); }
    const FrameShape& shape() const { return clip_.clip.shape; }
    core::Extents<4> extent() const {
        return {frames(), shape().channels, shape().rows, shape().columns};
    }
    core::View<const float, 4, Host> clip_frames() const {
        return {clip_.clip.values.data(), extent()};
    }
    bool scores_together(const BgsubOptions& run) const {
        return options_.truth && run.mask.only_compares();
    }

    void separate(const BgsubOptions& run) {
        std::shared_ptr<Separation> next = std::exchange(separation_, nullptr);
        // That of the best run is kept.
        if (next.use_count() != 1) next = std::make_shared<Separation>();
        next->times = {};
        const double there_ms = take_frames(next->times);
        separator_->set_lambda(run.parameters.lambda);
        MaskFinder* const masks_there = separator_->mask_finder();
        next->frames.last = frames();
        next->frames.numbers = clip_.clip.numbers;
        core::View<float, 4, Host> background;
        if (masks_there == nullptr || run.saves(Content::background)) {
            next->frames.background.reshape(extent());
            background = next->frames.background;
        }
        const bool median = run.method == BackgroundMethod::median;
        const RunTimes times = repeat_runs(run.common.repeat, silent_, [&] {
            const core::Stopwatch watch;
            next->outcome = separator_->run(background, {});
            const double transfer_ms = separator_->times().transfer_ms;
            const core::Stage stage{median ? "median" : "rpca", watch.ms() - transfer_ms, 0, 0};
            return RunTimes{{stage}, stage.ms, transfer_ms};
        });
        separator_->finish(nullptr);
        const auto [back_ms, moving_ms] = separator_->times();
        if (run.stabilise != rpca::Stabilise::off) next->times.add_stage("stabilise", moving_ms);
        next->times.stages.push_back(times.stages.front());
        next->times.compute_ms += moving_ms + times.compute_ms;
        next->times.transfer_ms += there_ms + times.transfer_ms + back_ms;
        subtract(run, *next);
        separation_ = std::move(next);
    }

    /// Once, on the executor. Returns the time of copies.
    double take_frames(RunTimes& times) {
        if (separator_) return 0;
        auto separator = separators_.make();
        separator->take(clip_frames());
        separator_ = std::move(separator);
        const auto [transfer_ms, moving_ms] = separator_->times();
        if (options_.stabilise == rpca::Stabilise::off) return transfer_ms;
        times.add_stage("stabilise", moving_ms);
        times.compute_ms += moving_ms;
        common_.shifts.assign(static_cast<std::size_t>(frames()), std::array<double, 2>{});
        if (const rpca::CameraPath* const camera = separator_->camera()) {
            common_.stabilised_windows = 1;
            common_.lost_frames = camera->lost();
            common_.shake = camera->shake();
            common_.shifts = camera->shifts();
        }
        return transfer_ms;
    }

    /// Computes what masks of several runs have in common.
    void subtract(const BgsubOptions& run, Separation& of) {
        const core::Stopwatch watch;
        double transfer_ms = 0;
        core::Array<float, 4>& differences = of.frames.difference;
        if (MaskFinder* const masks_there = separator_->mask_finder()) {
            if (run.saves(Content::foreground) || !thresholds_.empty()) {
                differences.reshape(extent());
                core::Array<std::uint8_t, 3> unused({frames(), shape().rows, shape().columns});
                masks_there->find(
                    {.threshold = 0, .clean = 0, .fill_holes = false, .remove_shadows = false},
                    differences.view(), unused.view());
                transfer_ms = masks_there->transfer_ms();
            }
        } else {
            differences.reshape(extent());
            const core::Extents<2> values{frames(), shape().values()};
            rpca::subtract_backgrounds(cpu_, {clip_frames().data, values},
                                       {of.frames.background.data(), values},
                                       {differences.data(), values});
            const auto& runs = options_.sweep.runs;
            if (std::any_of(runs.begin(), runs.end(),
                            [](const BgsubOptions& any) { return any.mask.follows_pixels(); })) {
                of.scales.reshape({shape().rows, shape().columns});
                rpca::pixel_scales(cpu_, std::as_const(differences).view(), of.scales.view());
            }
        }
        if (!thresholds_.empty()) compare(of);
        add_mask_time(of.times, watch.ms(), transfer_ms);
    }

    static void add_mask_time(RunTimes& times, double ms, double transfer_ms) {
        times.add_stage("mask", ms - transfer_ms);
        times.compute_ms += ms - transfer_ms;
        times.transfer_ms += transfer_ms;
    }

    /// Scores comparisons with all thresholds.
    void compare(Separation& of) {
        of.compared.assign(thresholds_.size(), {});
        std::mutex adding;
        core::for_each_task(cpu_, frames(), 0, [&](index_t frame, std::byte* /*scratch*/) {
            const auto scores = compared(std::as_const(of.frames.difference).view()[frame],
                                         clip_.truth[static_cast<std::size_t>(frame)]);
            const std::lock_guard lock(adding);
            for (std::size_t i = 0; i < scores.size(); ++i) {
                of.compared[i].score += scores[i].score;
                of.compared[i].foreground += scores[i].foreground;
            }
        });
    }
    std::vector<rpca::ThresholdScore> compared(const core::View<const float, 3, Host>& differences,
                                               const TrueMask& truth) const {
        if (truth.size() == 0 || truth.extent() == shape().size()) {
            return rpca::score_thresholds(differences, truth.view(), thresholds_);
        }
        auto scores = rpca::score_thresholds(differences, {}, thresholds_);
        const auto [rows, columns] = truth.extent();
        core::Array<float, 3> fitted({shape().channels, rows, columns});
        for (index_t c = 0; c < shape().channels; ++c) {
            const core::Array<float, 2> plane = nearest_at(differences[c], truth.extent());
            std::copy(plane.begin(), plane.end(), &fitted(c, 0, 0));
        }
        const auto fitted_scores =
            rpca::score_thresholds(std::as_const(fitted).view(), truth.view(), thresholds_);
        for (std::size_t i = 0; i < scores.size(); ++i) scores[i].score = fitted_scores[i].score;
        return scores;
    }
    void take_compared(const BgsubOptions& run, BgsubResults& found) const {
        found.threshold = *run.mask.threshold;
        const auto place =
            std::lower_bound(thresholds_.begin(), thresholds_.end(), found.threshold);
        const auto& compared =
            separation_->compared[static_cast<std::size_t>(place - thresholds_.begin())];
        found.score = compared.score;
        found.moving_share = static_cast<double>(compared.foreground) /
                             static_cast<double>(frames() * shape().pixels());
    }

    /// Of the present separation.
    void find_masks(const BgsubOptions& run, RunOfClip& result) {
        const core::Stopwatch watch;
        double transfer_ms = 0;
        if (MaskFinder* const masks_there = separator_->mask_finder()) {
            result.masks.reshape({frames(), shape().rows, shape().columns});
            result.results.threshold = masks_there->find(run.mask, {}, result.masks.view());
            transfer_ms = masks_there->transfer_ms();
        } else {
            find_masks_here(run, result);
        }
        add_mask_time(result.results.times, watch.ms(), transfer_ms);
    }
    void find_masks_here(const BgsubOptions& run, RunOfClip& result) {
        const Separation& of = *result.separation;
        result.masks.reshape({frames(), shape().rows, shape().columns});
        result.results.threshold = rpca::find_masks(cpu_,
                                                    {of.frames.difference.view(), of.scales.view(),
                                                     clip_frames(), of.frames.background.view()},
                                                    run.mask, result.masks.view());
    }

    /// Makes masks whose score alone was needed before.
    void complete(const BgsubOptions& run, RunOfClip& result) {
        if (result.masks.size() > 0) return;
        find_masks_here(run, result);
        count(result);
    }

    /// Counts the pixels that move, and scores them.
    void count(RunOfClip& result) {
        const core::View<const std::uint8_t, 3, Host> masks = std::as_const(result.masks).view();
        const auto count = static_cast<std::size_t>(frames());
        std::vector<index_t> moving(count);
        std::vector<rpca::Score> scores(count);
        core::for_each_task(cpu_, frames(), 0, [&](index_t frame, std::byte* /*scratch*/) {
            const auto i = static_cast<std::size_t>(frame);
            const rpca::MaskView mask = masks[frame];
            moving[i] = std::count(mask.data, mask.data + mask.size(), std::uint8_t{255});
            if (!clip_.truth.empty() && clip_.truth[i].size() > 0) {
                scores[i] = score(mask, clip_.truth[i]);
            }
        });
        BgsubResults& found = result.results;
        found.moving_share = 0;
        found.covered_frames = 0;
        for (const index_t pixels : moving) {
            found.moving_share += static_cast<double>(pixels);
            if (2 * pixels > shape().pixels()) ++found.covered_frames;
        }
        found.moving_share /= static_cast<double>(frames() * shape().pixels());
        if (!found.score) return;
        found.score.emplace();
        for (const rpca::Score& score : scores) *found.score += score;
    }

    Executor& executor_;
    core::Cpu& cpu_;
    const BgsubOptions& options_;
    Console& console_;
    Console silent_{"bgsub", true};
    Separators separators_;
    ClipReader reader_;
    ScoredClip clip_;
    BgsubResults common_;             ///< of all runs
    std::vector<double> thresholds_;  ///< of the runs that are scored together, ascending
    std::unique_ptr<Separator> separator_;
    std::shared_ptr<Separation> separation_;
};

}  // namespace

template <class Executor>
void run_sweep_of_clip(Executor& executor, core::Cpu& cpu, const BgsubOptions& options,
                       Console& console) {
    const core::Stopwatch watch;
    SweepOfClip sweep(executor, cpu, options, console);
    std::optional<SweepScore> score;
    if (options.truth) score = {"f_measure", true};
    run_sweep(
        options, score, watch.ms(), console,
        [&](const BgsubOptions& run, bool anew) { return sweep.compute(run, anew); },
        [&](const BgsubOptions& run, RunOfClip& result, media::OutputSet& outputs) {
            sweep.write(run, result, outputs);
        },
        [&](const BgsubOptions& run, RunOfClip& result, const Report& report) {
            return sweep.finish(run, result, report);
        });
}

template void run_sweep_of_clip(core::Cpu&, core::Cpu&, const BgsubOptions&, Console&);
#if APERTURE_CUDA
template void run_sweep_of_clip(core::Gpu&, core::Cpu&, const BgsubOptions&, Console&);
#endif

}  // namespace aperture::apps
