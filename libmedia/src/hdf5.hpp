// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The interface of HDF5 1.10, which later versions have, too.
#define H5_USE_110_API
#include <hdf5.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aperture/core/portable.hpp"

namespace aperture::media {

using core::index_t;

/// Owns one HDF5 identifier and the function that closes it.
class Handle {
  public:
    Handle() = default;
    Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~Handle() { close(); }

    /// Returns false if HDF5 reported an error on closing. Closing twice is harmless.
    bool close() {
        const hid_t id = std::exchange(id_, -1);
        return id < 0 || close_(id) >= 0;
    }
    bool valid() const { return id_ >= 0; }
    operator hid_t() const { return id_; }

  private:
    hid_t id_ = -1;
    herr_t (*close_)(hid_t) = nullptr;
};

/// Silences HDF5's error stack during its lifetime.
class SilentErrors {
  public:
    SilentErrors() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~SilentErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
    SilentErrors(const SilentErrors&) = delete;
    SilentErrors& operator=(const SilentErrors&) = delete;

  private:
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// HDF5's error stack after a failed call.
struct Failure {
    std::string reason;         ///< the innermost description, or the system's if there is one
    int system_error = 0;       ///< errno, 0 if it was not a system error
    bool truncated = false;     ///< the file ends before its data
    bool unknown_type = false;  ///< an element type of a later HDF5
};
Failure last_failure();

/// Opens for reading, without locks (read-only and network file systems). Throws InvalidArgument
/// "PATH: no such file", "PATH: not an HDF5 file", "PATH: file is truncated", ...
Handle open_for_reading(const std::filesystem::path& path);

/// Extents of a dataspace, slowest first; empty for a scalar.
std::vector<index_t> extents_of(hid_t dataspace);
/// "[8,128,403]".
std::string extents_text(const std::vector<index_t>& extents);
/// A short name of any element type: "int16", "complex64 {r,i}", "compound {x,y,z}", "string".
std::string type_text(hid_t type);

/// The strings of a string attribute, one per element; empty if the attribute is missing or not a
/// string.
std::optional<std::vector<std::string>> string_attribute(hid_t object, const std::string& name);
/// A numeric attribute of exactly one element, of any rank.
std::optional<double> number_attribute(hid_t object, const std::string& name);

}  // namespace aperture::media
