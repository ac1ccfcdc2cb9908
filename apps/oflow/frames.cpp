// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "apps/oflow/frames.hpp"

#include <glob.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "aperture/core/error.hpp"
#include "aperture/core/timing.hpp"
#include "apps/common/argument_fields.hpp"

namespace aperture::apps {
namespace {

using core::index_t;
using std::filesystem::path;

constexpr index_t most_frames = 1'000'000'000;

std::optional<index_t> parse_count(std::string_view text) {
    if (text.empty()) return std::nullopt;
    index_t value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && value >= 0 && value <= most_frames ? value : -1;
}

/// Numbers within names count as numbers.
void sort_by_number(std::vector<path>& files) {
    std::sort(files.begin(), files.end(),
              [](const path& a, const path& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
}

bool is_image_name(const path& file) {
    std::string extension = file.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    constexpr std::array<std::string_view, 10> known{".png",  ".jpg", ".jpeg", ".bmp", ".tif",
                                                     ".tiff", ".ppm", ".pgm",  ".pnm", ".webp"};
    return std::find(known.begin(), known.end(), extension) != known.end();
}

std::vector<path> images_in(const path& folder) {
    std::error_code error;
    std::vector<path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        const bool hidden = entry.path().filename().string().starts_with('.');
        if (!hidden && is_image_name(entry.path())) files.push_back(entry.path());
    }
    core::expects(!error, folder.string(), ": ", error.message());
    core::expects(!files.empty(), folder.string(), ": no image in this folder");
    sort_by_number(files);
    return files;
}

std::vector<path> files_like(const std::string& pattern) {
    glob_t found{};
    const int status = glob(pattern.c_str(), 0, nullptr, &found);
    std::vector<path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
    core::expects(status == 0 && !files.empty(), pattern, ": no file has such a name");
    sort_by_number(files);
    return files;
}

bool is_folder(const std::vector<path>& inputs) {
    std::error_code error;
    return inputs.size() == 1 && std::filesystem::is_directory(inputs.front(), error);
}

bool is_pattern(const std::vector<path>& inputs) {
    std::error_code error;
    return inputs.size() == 1 &&
           inputs.front().string().find_first_of("*?[") != std::string::npos &&
           !std::filesystem::exists(inputs.front(), error);
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
                  ": expected FIRST:LAST or FIRST:LAST:STEP, from 0 and without the last");
    return range;
}

path default_folder(const std::vector<path>& inputs) {
    path base = inputs.front();
    if (inputs.size() > 1 || is_pattern(inputs)) {
        base = base.parent_path();
    } else if (!is_folder(inputs)) {
        return base.replace_extension(".flow");
    }
    base = base.lexically_normal();
    if (!base.has_filename()) base = base.parent_path();
    if (base.empty() || base == "." || base.filename() == "..") return base / "flow";
    return base += ".flow";
}

FrameReader::FrameReader(const std::vector<path>& inputs, const FrameRange& range)
    : name_(inputs.front().string()), files_(inputs), range_(range), next_(range.first) {
    index_t frames = 0;
    if (is_folder(inputs)) {
        files_ = images_in(inputs.front());
    } else if (is_pattern(inputs)) {
        files_ = files_like(name_);
    } else if (inputs.size() == 1) {
        video_.emplace(inputs.front());
        frames = video_->claimed_frames();
    }
    if (!video_) {
        frames = static_cast<index_t>(files_.size());
        core::expects(range.last.value_or(frames) <= frames && range.first < frames,
                      "--frames: ", name_, " has ", frames, " frames");
    }
    const index_t last = range.last.value_or(frames);
    if (last > range.first) expected_ = (last - range.first + range.step - 1) / range.step;
    core::expects(video_ || expected_ > 1, name_, ": a single frame to take; the flow needs two");
}

std::optional<Frame> FrameReader::next() {
    if (range_.last && next_ >= *range_.last) return std::nullopt;
    const core::Stopwatch watch;
    std::optional<Frame> frame = video_ ? read_video_frame() : read_image();
    if (!frame) return std::nullopt;
    frame->number = next_;
    frame->grey = media::to_grey(frame->image);
    frame->read_ms = watch.ms();
    next_ += range_.step;
    return frame;
}

std::optional<Frame> FrameReader::read_image() {
    if (next_ >= static_cast<index_t>(files_.size())) return std::nullopt;
    const path& file = files_[static_cast<std::size_t>(next_)];
    Frame frame;
    frame.name = file.string();
    frame.image = media::read_image(file);
    return frame;
}

std::optional<Frame> FrameReader::read_video_frame() {
    for (; position_ < next_; ++position_) {
        if (!video_->skip()) return std::nullopt;
    }
    std::optional<media::Image> image = video_->next();
    if (!image) return std::nullopt;
    ++position_;
    Frame frame;
    frame.name = core::text(name_, ", frame ", next_);
    frame.image = std::move(*image);
    return frame;
}

}  // namespace aperture::apps
