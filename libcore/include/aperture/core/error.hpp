// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace aperture::core {

/// The caller's fault: an argument or a file that cannot be right. The text contains the values.
/// Programs exit with status 1.
class InvalidArgument : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// A fault of the machine at run time: device, driver, memory or library call. If a call of a
/// library failed, the text contains the call, the library's message, file and line. Programs exit
/// with status 2.
class DeviceError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// The device is unsuitable: too little memory or shared memory, or no code for its architecture.
/// Another device may be suitable.
class UnfitDevice : public DeviceError {
  public:
    using DeviceError::DeviceError;
};

/// Concatenates its arguments as `operator<<` writes them.
template <class... Args>
std::string text(const Args&... args) {
    std::ostringstream stream;
    (stream << ... << args);
    return stream.str();
}

/// Throws InvalidArgument with the concatenated `message` unless `condition` holds.
template <class... Args>
void expects(bool condition, const Args&... message) {
    if (!condition) throw InvalidArgument(text(message...));
}

}  // namespace aperture::core
