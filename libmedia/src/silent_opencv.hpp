// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <opencv2/core/utils/logger.hpp>

namespace aperture::media {

/// Silences OpenCV on stderr during this object's lifetime, and its FFmpeg permanently: errors are
/// reported once, by us. OpenCV reads FFmpeg's log level on first use; a level set by the user is
/// kept.
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
