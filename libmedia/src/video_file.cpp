// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/video_file.hpp"

#include "aperture/core/error.hpp"
#include "libmedia/src/container_end.hpp"
#include "libmedia/src/input_file.hpp"
#include "libmedia/src/stored_image.hpp"

#if APERTURE_OPENCV
#include <opencv2/core.hpp>
#include <opencv2/videoio.hpp>
#include <opencv2/videoio/registry.hpp>

#include "libmedia/src/silent_opencv.hpp"
#endif

namespace aperture::media {

using core::index_t;

#if APERTURE_OPENCV

struct VideoReader::State {
    cv::VideoCapture capture;
    cv::Mat frame;

    /// OpenCV reports an undecodable frame and the end alike; after the former it can continue.
    bool grab() {
        constexpr int most_damaged_in_a_row = 250;
        for (int i = 0; i <= most_damaged_in_a_row; ++i) {
            if (capture.grab()) return true;
        }
        return false;
    }
};

VideoReader::VideoReader(const std::filesystem::path& path)
    : path_(path), state_(std::make_unique<State>()) {
    expects_readable(path);
    const SilentOpenCv silent;
    // OpenCV's other backends accept patterns of images or print on stderr, as the Motion JPEG one
    // does about damage.
    const bool ffmpeg = cv::videoio_registry::hasBackend(cv::CAP_FFMPEG);
    state_->capture.open(path.string(), ffmpeg ? cv::CAP_FFMPEG : cv::CAP_OPENCV_MJPEG);
    core::expects(state_->capture.isOpened(), path.string(), ": not a video, or a damaged one");
}

bool VideoReader::next(StoredImage& image) {
    cv::Mat& frame = state_->frame;
    if (!state_->grab() || !state_->capture.retrieve(frame) || frame.type() != CV_8UC3) {
        return false;
    }
    const int columns = frame.cols;
    image.width = columns;
    image.height = frame.rows;
    image.channels = 3;
    image.largest = 255;
    auto& samples = samples_of<std::uint8_t>(image);
    samples.resize(3 * frame.total());
    std::uint8_t* to = samples.data();
    for (int row = 0; row < frame.rows; ++row) {
        const std::uint8_t* from = frame.ptr<std::uint8_t>(row);
        for (int column = 0; column < columns; ++column, from += 3, to += 3) {
            // OpenCV's order is blue, green, red.
            to[0] = from[2];
            to[1] = from[1];
            to[2] = from[0];
        }
    }
    return true;
}

bool VideoReader::skip() { return state_->grab(); }

index_t VideoReader::claimed_frames() const {
    const double count = state_->capture.get(cv::CAP_PROP_FRAME_COUNT);
    return count > 0 && count < 1e15 ? static_cast<index_t>(count) : 0;
}

index_t VideoReader::stored_frames() const {
    if (const auto avi = avi_content(path_)) return static_cast<index_t>(avi->frames);
    // Reads packets, without decoding them.
    constexpr int as_stored = -1;
    const SilentOpenCv silent;
    cv::VideoCapture packets;
    if (!packets.open(path_.string(), cv::CAP_FFMPEG, {cv::CAP_PROP_FORMAT, as_stored})) return 0;
    index_t count = 0;
    while (packets.grab()) ++count;
    return count;
}

double VideoReader::frames_per_second() const {
    const double rate = state_->capture.get(cv::CAP_PROP_FPS);
    return rate > 0 && rate < 1e6 ? rate : 0;
}

#else

struct VideoReader::State {};

VideoReader::VideoReader(const std::filesystem::path& path) {
    expects_readable(path);
    throw core::InvalidArgument(path.string() + ": a video requires a build with OpenCV");
}
bool VideoReader::next(StoredImage&) { return false; }
bool VideoReader::skip() { return false; }
index_t VideoReader::claimed_frames() const { return 0; }
index_t VideoReader::stored_frames() const { return 0; }
double VideoReader::frames_per_second() const { return 0; }

#endif

bool VideoReader::cut_off() const {
    const auto end = container_end(path_);
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path_, error);
    return end && !error && *end > size;
}

bool VideoReader::is_avi() const { return avi_content(path_).has_value(); }

bool VideoReader::damaged() const {
    const auto avi = avi_content(path_);
    return avi && avi->damaged;
}

VideoReader::~VideoReader() = default;

}  // namespace aperture::media
