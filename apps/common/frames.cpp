// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/frames.hpp"

#include <algorithm>

#include "aperture/core/error.hpp"
#include "apps/common/argument_fields.hpp"
#include "apps/common/file_names.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

constexpr index_t most_frames = 1'000'000'000;
/// Number of frames that an encoder may store but not show.
constexpr index_t never_shown = 2;

std::optional<index_t> parse_count(std::string_view text) {
    if (text.empty()) return std::nullopt;
    const index_t value = number_in<index_t>(text).value_or(-1);
    return value <= most_frames ? value : -1;
}

}  // namespace

FrameRange parse_frames(const std::string& text) {
    const auto fields = split(text, ':');
    FrameRange range;
    bool valid = fields.size() == 2 || fields.size() == 3;
    if (valid) {
        range.first = parse_count(fields[0]).value_or(0);
        range.last = parse_count(fields[1]);
        if (fields.size() == 3) range.step = parse_count(fields[2]).value_or(1);
        valid = range.first >= 0 && range.step >= 1 && (!range.last || *range.last > range.first);
    }
    core::expects(valid, "--frames ", text,
                  ": expected FIRST:LAST or FIRST:LAST:STEP, counted from 0, LAST excluded");
    return range;
}

FrameReader::FrameReader(const std::vector<path>& inputs, const FrameRange& range)
    : name_(inputs.front().string()), files_(inputs), range_(range), next_(range.first) {
    index_t frames = 0;
    if (inputs.size() == 1 && !is_folder(inputs) && !is_pattern(inputs) &&
        !is_image_name(inputs.front())) {
        video_.emplace(inputs.front());
        frames = video_->claimed_frames();
        claimed_ = frames;
    } else {
        ImageList list = list_images(inputs);
        files_ = std::move(list.files);
        left_out_ = std::move(list.left_out);
    }
    if (!video_) {
        frames = static_cast<index_t>(files_.size());
        core::expects(range.last.value_or(frames) <= frames && range.first < frames,
                      "--frames exceeds the ", frames, " frames of ", name_);
    }
    expected_ = frames_of(range.last.value_or(frames));
}

/// The number of selected frames among the first `count`.
index_t FrameReader::frames_of(index_t count) const {
    return count > range_.first ? (count - range_.first + range_.step - 1) / range_.step : 0;
}

bool FrameReader::next(Frame& frame) {
    if (range_.last && next_ >= *range_.last) return false;
    if (!(video_ ? read_video_frame(frame) : read_image(frame))) {
        ended_ = true;
        return false;
    }
    frame.number = next_;
    next_ += range_.step;
    return true;
}

index_t FrameReader::at_most() const {
    if (!video_) return expected_;
    const index_t stored = video_->stored_frames();
    return frames_of(std::min(range_.last.value_or(stored), stored));
}

std::string FrameReader::loss() const {
    if (!ended_ || !video_) return "";
    // A container that claims exactly the frames read has lost nothing, whatever else it contains.
    // AVI differs: FFmpeg believes claims that are too small, so an AVI's chunks are counted.
    const bool avi = video_->is_avi();
    if (!avi && position_ == claimed_) return "";
    if (position_ != claimed_ && video_->cut_off()) {
        const std::string of = claimed_ > position_ ? core::text(" of ", claimed_) : "";
        return core::text("read ", position_, of, " frames; the file is truncated");
    }
    if (!avi && claimed_ > 0 && claimed_ < position_) return "";
    const index_t undecoded = video_->stored_frames() - position_;
    if (undecoded > never_shown) {
        return core::text("read ", position_, " frames; ", undecoded,
                          " more cannot be decoded, and numbering skips them");
    }
    if (!video_->damaged()) return "";
    return core::text("read ", position_, " frames; the file is damaged, frames may be missing");
}

bool FrameReader::read_image(Frame& frame) {
    if (next_ >= static_cast<index_t>(files_.size())) return false;
    const path& file = files_[static_cast<std::size_t>(next_)];
    frame.name = file.string();
    media::read_image(file, frame.image);
    return true;
}

bool FrameReader::read_video_frame(Frame& frame) {
    for (; position_ < next_; ++position_) {
        if (!video_->skip()) return false;
    }
    if (!video_->next(frame.image)) return false;
    ++position_;
    frame.name = core::text(name_, ", frame ", next_);
    return true;
}

}  // namespace aperture::apps
