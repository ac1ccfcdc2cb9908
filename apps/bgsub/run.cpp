// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bgsub/run.hpp"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <mutex>
#include <sstream>

#include "aperture/core/memory.hpp"
#include "aperture/rpca/clip_background.hpp"
#include "apps/bgsub/cdnet_truth.hpp"
#include "apps/bgsub/memory_need.hpp"
#include "apps/bgsub/result_writers.hpp"
#include "apps/bgsub/separator.hpp"
#include "apps/bgsub/summary.hpp"
#include "apps/bgsub/written_results.hpp"

namespace aperture::apps {
namespace {

using core::Host;

constexpr index_t unlimited = std::numeric_limits<index_t>::max();

/// Frames read ahead, and frames whose results wait to be written, where they follow one by one.
constexpr index_t frames_between = 16;

/// Frames that are read together.
struct NextFrames {
    Clip clip;
    bool is_last = false;  ///< no frame follows
};

/// Reads, solves and writes at the same time: frames are read ahead in one thread, outputs have
/// threads of their own, and this one computes.
class Subtraction {
  public:
    Subtraction(const Separators& separators, core::Cpu& cpu, const BgsubOptions& options,
                const Samples& samples, Console& console)
        : separators_(separators),
          cpu_(cpu),
          options_(options),
          samples_(samples),
          console_(console),
          reader_(options) {
        if (!reader_.source().left_out().empty()) console.note(reader_.source().left_out());
        console.phase("reading " + options.inputs.front().string());
        if (options.truth) truth_.emplace(*options.truth);
        // A video's claimed number of frames is not reliable.
        if (!reader_.source().is_video()) {
            expects_several_frames(reader_.source(), reader_.source().expected());
        }
        check_outputs(options, reader_.source());
        found_.shape = reader_.shape();
        most_frames_ = fitting_frames();
    }

    BgsubResults run(media::OutputSet& outputs) {
        try {
            return run_all(outputs);
        } catch (const core::InvalidArgument& error) {
            if (options_.format != OutFormat::png || !writers_) throw;
            const index_t there = kept_frames_ + writers_->frames_there();
            if (there == 0) throw;
            throw core::InvalidArgument(
                core::text(error.what(), "; the pictures of ", there, " frames are in ",
                           output_files(options_).front().path.string(),
                           options_.saved.size() > 1 ? " and beside it" : ""));
        }
    }

  private:
    BgsubResults run_all(media::OutputSet& outputs) {
        const core::Stopwatch watch;
        description_.frames_per_second =
            reader_.source().frames_per_second() / static_cast<double>(options_.frames.step);
        frames_.emplace(options_.online() ? frames_between : 1, [this] { return read_next(); });
        take_first();
        open();
        // The next window also contains the overlap, so only its first half is written here.
        for (; !is_last_; advance()) work(clip_.frames() - options_.overlap / 2);
        work(clip_.frames());
        finish(outputs);
        found_.moving_share /= static_cast<double>(found_.frames * found_.shape.pixels());
        if (options_.stabilise != rpca::Stabilise::off) {
            found_.times.stages.insert(found_.times.stages.begin(),
                                       {"stabilise", stabilise_ms_, 0, 0});
            found_.times.compute_ms += stabilise_ms_;
        }
        found_.times.stages.insert(found_.times.stages.begin(), {"read", read_ms_, 0, 0});
        found_.times.stages.push_back({"write", writers_->ms(), 0, 0});
        found_.total_ms = watch.ms();
        console_.done();
        report_problems(options_, reader_.source(), found_, console_);
        return std::move(found_);
    }

    /// Number of frames in the first solve.
    index_t first_frames() const {
        if (options_.online()) return options_.burn_in;
        return options_.window > 0 ? options_.window : unlimited;
    }

    /// Frames for whose values there is memory while others are solved.
    index_t read_ahead() const { return options_.window > 0 ? options_.window : frames_between; }
    /// Results that wait to be written while others are computed.
    index_t write_behind() const { return options_.online() ? frames_between : 1; }

    /// The number of frames that fit in memory; throws if more frames are known to come.
    index_t fitting_frames() const {
        const auto free = core::available_memory();
        if (!free) return unlimited;
        const MemoryNeed need(options_, found_.shape, separators_, samples_, cpu_.threads());
        const index_t expected = reader_.source().expected();
        if (first_frames() < unlimited) {
            const index_t window =
                expected > 0 ? std::min(first_frames(), expected) : first_frames();
            const index_t all = expected > 0 ? expected : unlimited;
            // One more is read to know whether there is one.
            const index_t kept = window < all ? window + read_ahead() + 1 : all;
            const index_t written = options_.online() ? write_behind() : window < all ? window : 0;
            const double bytes = need.of(window, kept, written);
            core::expects(bytes <= static_cast<double>(*free),
                          options_.online() ? "--burn-in " : "--window ", first_frames(), ": ",
                          gigabytes(bytes), " needed for frames of ", frame_size(), " pixels, but ",
                          gigabytes(static_cast<double>(*free)),
                          " are free; try fewer frames, or --scale");
            return unlimited;
        }
        const index_t fitting = need.fitting(static_cast<double>(*free));
        if (expected > fitting) {
            // A video's claim may be wrong, so its file is checked first.
            const index_t frames = std::min(expected, reader_.source().at_most());
            if (frames > fitting) refuse_for_memory(frames, *free);
        }
        return fitting;
    }

    [[noreturn]] void refuse_for_memory(index_t frames, std::size_t free) const {
        throw core::InvalidArgument(core::text(
            reader_.source().name(), ": ",
            gigabytes(MemoryNeed(options_, found_.shape, separators_, samples_, cpu_.threads())
                          .of(frames, frames)),
            " needed for ", frames, " frames of ", frame_size(), " pixels, but ",
            gigabytes(static_cast<double>(free)),
            " are free; try --window, fewer frames (--frames FIRST:LAST:STEP), or --scale"));
    }

    std::string frame_size() const { return size_text(found_.shape.size()); }

    /// In the reading thread: calls `step` in its turn.
    template <class Step>
    bool read_in_turn(const Step& step) {
        const std::lock_guard lock(turn_);
        const core::Stopwatch watch;
        const bool result = step();
        read_ms_ += watch.ms();
        return result;
    }

    /// In the reading thread: the frames of the first window, or those of the next one that were
    /// not in the one before.
    std::optional<NextFrames> read_next() {
        if (read_error_) std::rethrow_exception(read_error_);
        const bool first = std::exchange(is_first_, false);
        const index_t following = options_.online() ? 1 : options_.window - options_.overlap;
        const index_t most = first ? std::min(first_frames(), most_frames_) : following;
        const index_t expected = reader_.source().expected();
        NextFrames next;
        next.clip.shape = found_.shape;
        next.clip.values = std::move(spare_.values);
        next.clip.unused = std::move(spare_.pictures);
        next.clip.values.clear((first ? 0 : options_.overlap) * found_.shape.values(),
                               std::min(most, expected) * found_.shape.values());
        try {
            while (next.clip.frames() < most &&
                   read_in_turn([&] { return reader_.read(next.clip); })) {
            }
            next.is_last = read_in_turn([&] { return reader_.at_end(); });
        } catch (const std::exception&) {
            const bool is_complete = next.clip.frames() == most;
            if (next.clip.frames() == 0 || (first && !is_complete)) throw;
            // The frames before are solved before it is reported.
            read_error_ = std::current_exception();
        }
        if (next.clip.frames() == 0) return std::nullopt;
        return next;
    }

    void take_first() {
        NextFrames first = frames_->next().value();
        clip_ = std::move(first.clip);
        is_last_ = first.is_last;
        if (first_frames() > most_frames_ && !is_last_) {
            refuse_for_memory(clip_.frames() + 1, core::available_memory().value_or(0));
        }
        if (is_last_) expects_several_frames(reader_.source(), clip_.frames());
        warn_of_few_frames(clip_.frames(), console_);
    }

    void open() {
        description_.shape = found_.shape;
        description_.frames = is_last_ ? clip_.frames() : 0;
        description_.parameters = describe(options_, found_.shape, clip_.frames());
        found_.solved_frames = clip_.frames();
        writers_.emplace(options_, description_, static_cast<std::size_t>(write_behind()));
        if (!truth_) return;
        const auto score = [this](const ResultWriters::Results& results) { score_masks(*results); };
        scorer_.emplace(static_cast<std::size_t>(write_behind()), score, [] {});
    }

    /// Computes the results of the frames in memory and passes the unwritten ones up to `end` on.
    void work(index_t end) {
        std::unique_lock turn(turn_, std::defer_lock);
        if (options_.in_turn) turn.lock();
        const std::shared_ptr<ResultFrames> results = results_.take();
        results->first = written_;
        results->last = end;
        results->numbers = clip_.numbers;
        results->truth_numbers = clip_.truth_numbers;
        ++found_.windows;
        if (found_.windows == 1) find_clip_background();
        const bool kept = options_.resume && read_pictures(options_, description_, *results);
        if (kept) {
            kept_frames_ += end - written_;
            ++found_.kept_windows;
            found_.shifts.resize(static_cast<std::size_t>(found_.frames + end - written_));
        } else {
            background_.reshape(clip_frames().extent);
            difference_.reshape(background_.extent());
            masks_.reshape({clip_.frames(), found_.shape.rows, found_.shape.columns});
            if (options_.online()) {
                follow_frames();
            } else {
                solve();
                add_shifts(end);
            }
            move_results(*results);
        }
        for (index_t i = written_; i < end; ++i) {
            const auto* mask = &std::as_const(results->masks)(i, 0, 0);
            const index_t moving =
                std::count(mask, mask + found_.shape.pixels(), std::uint8_t{255});
            found_.moving_share += static_cast<double>(moving);
            if (2 * moving > found_.shape.pixels()) ++found_.covered_frames;
        }
        found_.frames += end - written_;
        written_ = end;
        if (!kept) writers_->give(results);
        if (scorer_) scorer_->give(results);
        if (options_.in_turn) writers_->drain();
    }

    /// Those of the frames up to `end` that are not yet written. Without a common frame they are 0.
    void add_shifts(index_t end) {
        if (options_.stabilise == rpca::Stabilise::off) return;
        const rpca::CameraPath* const camera = separator_->camera();
        for (index_t i = written_; i < end; ++i) {
            found_.shifts.push_back(camera != nullptr
                                        ? camera->shifts()[static_cast<std::size_t>(i)]
                                        : std::array<double, 2>{});
        }
    }

    /// Moves what is to be written, and takes the memory of what was written for the next window.
    void move_results(ResultFrames& results) {
        if (options_.saves(Content::background)) std::swap(results.background, background_);
        if (options_.saves(Content::foreground)) std::swap(results.difference, difference_);
        std::swap(results.masks, masks_);
        results.pictures.resize(clip_.pictures.size());
        std::swap_ranges(clip_.pictures.begin() + results.first,
                         clip_.pictures.begin() + results.last,
                         results.pictures.begin() + results.first);
    }

    /// Computes background, differences and masks of the frames in memory.
    void solve() {
        const index_t frames = clip_.frames();
        const double there_ms = take_frames();
        MaskFinder* const masks_there = separator_->mask_finder();
        core::View<float, 4, Host> background = background_;
        if (masks_there != nullptr && !options_.saves(Content::background)) background = {};
        console_.phase(core::text("separating frames ", found_.frames, " to ",
                                  found_.frames + frames - written_ - 1));
        rpca::Outcome outcome;
        const bool median = options_.method == BackgroundMethod::median;
        const auto once = [&] {
            const core::Stopwatch watch;
            outcome = separator_->run(
                background, [&](const rpca::Progress& progress) { return show(progress); });
            const double transfer_ms = separator_->times().transfer_ms;
            const core::Stage stage{median ? "median" : "rpca", watch.ms() - transfer_ms,
                                    gflop(outcome), 0};
            return RunTimes{{stage}, stage.ms, transfer_ms};
        };
        const RunTimes times = repeat_runs(options_.common.repeat, console_, once);
        const core::Stopwatch watch;
        separator_->finish(clip_background_ ? &*clip_background_ : nullptr);
        const auto [back_ms, moving_ms] = separator_->times();
        stabilise_ms_ += moving_ms;
        double transfer_ms = back_ms;
        if (masks_there != nullptr) {
            const bool stored = options_.saves(Content::foreground);
            found_.threshold = masks_there->find(
                options_.mask, stored ? difference_.view() : core::View<float, 4, Host>{},
                masks_.view());
            transfer_ms += masks_there->transfer_ms();
        } else {
            find_masks(0, frames);
        }
        add(outcome, times, watch.ms() - moving_ms - transfer_ms);
        found_.times.transfer_ms += there_ms + transfer_ms;
    }

    /// Gives the frames to the separator, which brings them to a common one if the camera shakes.
    /// Returns the time of copies.
    double take_frames() {
        if (options_.stabilise != rpca::Stabilise::off) console_.phase("registering frames");
        if (!separator_) separator_ = separators_.make();
        separator_->take(clip_frames());
        const auto [transfer_ms, moving_ms] = separator_->times();
        stabilise_ms_ += moving_ms;
        if (const rpca::CameraPath* const camera = separator_->camera()) {
            ++found_.stabilised_windows;
            found_.lost_frames += camera->lost();
            found_.shake = std::max(found_.shake, camera->shake());
        }
        return transfer_ms;
    }

    /// From the first frames, which are in memory, and samples of all.
    void find_clip_background() {
        if (samples_.size() == 0 && !options_.online()) return;
        const auto first = clip_frames().slice(0, 0, std::min(clip_.frames(), options_.burn_in));
        clip_background_ =
            rpca::clip_background(cpu_, first, samples_.size() == 0 ? first : samples_.view());
    }

    /// Computes the results of the frames in memory, which follow those before.
    void follow_frames() {
        const index_t values = found_.shape.values();
        if (!follower_) {
            console_.phase("updating the background");
            following_.emplace();
            follower_.emplace(cpu_, values, options_.following);
            follower_->begin({clip_background_->ground.data(), {values}});
            scales_ = std::move(clip_background_->scales);
            with_light_.reshape({1, found_.shape.rows, found_.shape.columns});
        }
        rpca::Outcome outcome;
        outcome.converged = true;
        double ms = 0;
        const core::Stopwatch watch;
        for (index_t i = 0; i < clip_.frames(); ++i) {
            const core::Stopwatch follow;
            follower_->next({clip_.values.data() + i * values, {values}},
                            {background_.data() + i * values, {values}});
            ms += follow.ms();
            find_masks(i, i + 1);
            const core::Stopwatch learn;
            follower_->learn(std::as_const(with_light_).view()[0]);
            ms += learn.ms();
        }
        add(outcome, {{{"rpca", ms, 0, 0}}, ms, 0}, watch.ms() - ms);
    }

    core::View<const float, 4, Host> clip_frames() const {
        const auto [channels, rows, columns] = found_.shape;
        return {clip_.values.data(), {clip_.frames(), channels, rows, columns}};
    }

    /// Work of the multiplier methods: each iteration computes a product with an n x n matrix and
    /// one triangle of the Gram matrix. The other methods are memory bound.
    double gflop(const rpca::Outcome& outcome) const {
        if (options_.parameters.solver == rpca::Solver::accaltproj) return 0;
        const auto n = static_cast<double>(clip_.frames());
        return 3e-9 * outcome.iterations * static_cast<double>(found_.shape.values()) * n * n;
    }

    bool show(const rpca::Progress& progress) {
        std::ostringstream words;
        if (options_.window > 0) words << "window " << found_.windows << ", ";
        words << "iteration " << progress.iteration << ", residual " << std::setprecision(2)
              << std::scientific << progress.residual << ", rank " << progress.rank;
        console_.progress(words.str());
        return true;
    }

    /// Of frames `begin` to `end` - 1, whose backgrounds are there.
    void find_masks(index_t begin, index_t end) {
        const auto part = [&](const auto& frames) { return frames.slice(0, begin, end); };
        const core::Extents<2> extent{end - begin, found_.shape.values()};
        const auto frames = part(clip_frames());
        const auto background = part(std::as_const(background_).view());
        const auto difference = part(difference_.view());
        const auto masks = part(masks_.view());
        rpca::subtract_backgrounds(cpu_, {frames.data, extent}, {background.data, extent},
                                   {difference.data, extent});
        const bool scaled = options_.mask.follows_pixels();
        if (scaled && !options_.online()) {
            scales_.reshape({found_.shape.rows, found_.shape.columns});
            rpca::pixel_scales(cpu_, difference, scales_.view());
        }
        found_.threshold =
            rpca::find_masks(cpu_, {difference, std::as_const(scales_).view(), frames, background},
                             options_.mask, masks, with_light_.view());
        if (scaled && options_.online()) {
            rpca::follow_scales(cpu_, difference, with_light_.view(), scales_.view());
        }
    }

    void add(const rpca::Outcome& outcome, const RunTimes& times, double mask_ms) {
        rpca::Outcome& worst = found_.outcome;
        if (found_.times.stages.empty()) {
            worst = outcome;
            found_.times = times;
            found_.times.stages.push_back({"mask", 0, 0, 0});
        } else {
            worst.iterations += outcome.iterations;
            worst.iterations_to_mask += outcome.iterations_to_mask;
            worst.seconds_to_mask += outcome.seconds_to_mask;
            worst.residual = std::max(worst.residual, outcome.residual);
            worst.rank = std::max(worst.rank, outcome.rank);
            worst.density = std::max(worst.density, outcome.density);
            worst.converged = worst.converged && outcome.converged;
            found_.times.stages.front().ms += times.stages.front().ms;
            found_.times.stages.front().gflop += times.stages.front().gflop;
            found_.times.compute_ms += times.compute_ms;
            found_.times.transfer_ms += times.transfer_ms;
        }
        found_.times.stages.back().ms += mask_ms;
        found_.times.compute_ms += mask_ms;
    }

    /// In the scoring thread.
    void score_masks(const ResultFrames& results) {
        if (!found_.score) found_.score.emplace();
        for (index_t i = results.first; i < results.last; ++i) {
            const index_t number = results.truth_numbers[static_cast<std::size_t>(i)];
            if (const auto truth =
                    truth_->mask(number, found_.shape.size(), options_.scale.resizes(), console_)) {
                *found_.score += score(results.masks.view()[i], *truth);
                ++found_.scored_frames;
            }
        }
    }

    /// Advances to the next window or frame.
    void advance() {
        if (options_.online()) report_progress();
        frames_->use_next([&](NextFrames next) {
            const index_t dropped = options_.online() ? clip_.frames() : next.clip.frames();
            next.clip.prepend(clip_, clip_.frames() - dropped);
            written_ -= dropped;
            std::swap(clip_, next.clip);
            if (!options_.online()) spare_ = std::move(next.clip);
            is_last_ = next.is_last;
        });
    }

    void report_progress() {
        const auto followed = static_cast<double>(found_.frames);
        std::ostringstream words;
        words << "frame " << found_.frames << ", " << std::setprecision(3)
              << followed / std::max(following_->seconds(), 1e-3) << " frames/s";
        console_.progress(words.str());
    }

    void finish(media::OutputSet& outputs) {
        console_.phase("writing");
        if (scorer_) scorer_->end();
        writers_->finish(outputs);
        if (scorer_) scorer_->wait();
    }

    const Separators& separators_;
    core::Cpu& cpu_;
    const BgsubOptions& options_;
    const Samples& samples_;
    Console& console_;
    std::mutex turn_;  ///< held while a frame is read
    ClipReader reader_;
    bool is_first_ = true;
    std::exception_ptr read_error_;  ///< of a frame behind those that were read
    std::optional<CdnetTruth> truth_;
    index_t most_frames_ = unlimited;
    OutputDescription description_;
    Clip clip_;
    bool is_last_ = false;              ///< no frame follows the clip
    Clip spare_;                        ///< memory of the window before, for the next one
    core::Array<float, 4> background_;  ///< [frame][channel][row][column]
    core::Array<float, 4> difference_;
    core::Array<std::uint8_t, 3> masks_;
    WrittenResults results_;
    core::Array<std::uint8_t, 3> with_light_;  ///< mask of the last frame, online
    core::Array<float, 2> scales_;             ///< of the differences, [row][column]
    std::unique_ptr<Separator> separator_;
    std::optional<rpca::ClipBackground> clip_background_;
    std::optional<rpca::OnlinePca> follower_;
    index_t written_ = 0;  ///< number of frames in memory whose results were passed on
    index_t kept_frames_ = 0;
    std::optional<core::Stopwatch> following_;
    double read_ms_ = 0;
    double stabilise_ms_ = 0;
    BgsubResults found_;
    // Threads that use the above; they end first.
    std::optional<ReadAhead<NextFrames>> frames_;
    std::optional<ResultWriters> writers_;
    std::optional<Worker<ResultWriters::Results>> scorer_;
};

}  // namespace

BgsubResults run_bgsub(const Separators& separators, core::Cpu& cpu, const BgsubOptions& options,
                       const Samples& samples, Console& console, media::OutputSet& outputs) {
    return Subtraction(separators, cpu, options, samples, console).run(outputs);
}

}  // namespace aperture::apps
