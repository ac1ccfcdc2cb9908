// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "aperture/media/image_file.hpp"
#include "aperture/media/video_file.hpp"

namespace aperture::apps {

/// Selects frames `first`, first + step, ... below `last`, counted from 0.
struct FrameRange {
    core::index_t first = 0;
    std::optional<core::index_t> last;  ///< default: to the end
    core::index_t step = 1;
};

/// Parses "10:20", "0:100:2", "5:" (to the end), ":20"; otherwise throws core::InvalidArgument.
FrameRange parse_frames(const std::string& text);

struct Frame {
    core::index_t number = 0;  ///< in the sequence, from 0
    std::string name;          ///< the file's name, or "video.avi, frame 3"
    media::StoredImage image;
};

/// Reads the selected frames of a sequence in order.
class FrameReader {
  public:
    /// `inputs` is a video, a folder (its images, frame2 before frame10), a pattern with * ? [ ]
    /// (its files in the same order), or a list of images. A single file is an image if its name
    /// says so. Throws core::InvalidArgument if there is nothing to read or the range exceeds the
    /// images.
    FrameReader(const std::vector<std::filesystem::path>& inputs, const FrameRange& range);

    /// Reads the next frame to `frame`, reusing its memory; returns false at the end. Throws
    /// core::InvalidArgument with the name of an input that cannot be read.
    bool next(Frame& frame);

    /// Number of frames that will come: exact for images, claimed by the container for a video, 0
    /// if unknown.
    core::index_t expected() const { return expected_; }
    /// An upper bound on the frames that will come, from the file's contents; 0 if unknown. Reads
    /// the whole file of a video.
    core::index_t at_most() const;
    /// Describes a video's losses once `next` has reached its end, such as "read 14 of 30 frames;
    /// the file is truncated". Empty if nothing is lost.
    std::string loss() const;
    /// Claimed by the video; 0 if unknown, and for images.
    double frames_per_second() const { return video_ ? video_->frames_per_second() : 0; }
    /// A note on files of a folder or pattern that were left out; empty if there are none.
    const std::string& left_out() const { return left_out_; }
    /// The video or the images.
    const std::vector<std::filesystem::path>& files() const { return files_; }
    bool is_video() const { return video_.has_value(); }
    /// The images; empty for a video.
    std::vector<std::filesystem::path> images() const {
        return is_video() ? std::vector<std::filesystem::path>{} : files_;
    }
    const std::string& name() const { return name_; }

  private:
    core::index_t frames_of(core::index_t count) const;
    bool read_image(Frame& frame);
    bool read_video_frame(Frame& frame);

    std::string name_;
    std::string left_out_;
    std::vector<std::filesystem::path> files_;
    std::optional<media::VideoReader> video_;
    FrameRange range_;
    core::index_t expected_ = 0;
    core::index_t claimed_ = 0;  ///< number of frames that the video's container claims
    bool ended_ = false;
    core::index_t next_ = 0;      ///< number of the next selected frame
    core::index_t position_ = 0;  ///< in the video
};

}  // namespace aperture::apps
