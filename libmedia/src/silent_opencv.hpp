// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <opencv2/core/utils/logger.hpp>

namespace aperture::media {

/// Keeps OpenCV from talking on stderr while this object lives, and its FFmpeg for good: what they
/// cannot do is said once, by us. OpenCV reads FFmpeg's level where it first uses it; one that the
/// user has set stands.
class SilentOpenCv {
  public:
    SilentOpenCv() {
        constexpr auto quiet = "-8";  // AV_LOG_QUIET
        [[maybe_unused]] static const int once = setenv("OPENCV_FFMPEG_LOGLEVEL", quiet, 0);
    }
    ~SilentOpenCv() { cv::utils::logging::setLogLevel(level_); }
    SilentOpenCv(const SilentOpenCv&) = delete;
    SilentOpenCv& operator=(const SilentOpenCv&) = delete;

  private:
    cv::utils::logging::LogLevel level_ =
        cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
};

}  // namespace aperture::media
