// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "aperture/core/array.hpp"
#include "aperture/core/view.hpp"

namespace aperture::media {

/// What the second axis of a cube counts.
enum class Domain {
    pulse,   ///< slow time: Doppler processing is still to be done
    doppler  ///< Doppler bins
};
/// "pulse" or "doppler".
const char* name(Domain domain);

/// How the order of a cube's axes became known; the first that applies decides (docs/formats.md).
enum class AxisRule {
    caller,            ///< CubeRequest::axes
    dimension_labels,  ///< HDF5 dimension labels of the dataset
    axes_attribute,    ///< the `axes` attribute of the dataset or the file
    matlab,            ///< a MATLAB_class attribute: [pulse][channel][range] as C sees it
    canonical          ///< nothing said: [channel][pulse][range]
};
/// "as asked", "dimension labels", "axes attribute", "MATLAB order", "default".
const char* name(AxisRule rule);

/// Which cube to read, and what overrides what its file says about itself.
struct CubeRequest {
    std::filesystem::path path;
    std::optional<std::string> dataset{};  ///< else /cube, else the only 3-D complex dataset
    /// "channel,pulse,range" in any order, slowest axis first; "doppler" in place of "pulse".
    std::optional<std::string> axes{};
    std::optional<Domain> domain{};
};

/// What a cube's file says, in the canonical order [channel][pulse or doppler][range].
struct RadarCube {
    std::filesystem::path path;
    std::string dataset;  ///< path inside the file: "/cube"
    core::index_t channels = 0;
    core::index_t pulses = 0;  ///< Doppler bins where `domain` is doppler
    core::index_t range_cells = 0;
    Domain domain = Domain::pulse;
    /// The elements as stored: "complex64 {r,i}", "int16 {I,Q}", "float32 [...,2]".
    std::string element;
    std::string axes;  ///< order in the file, slowest first: "pulse,channel,range"
    AxisRule axis_rule = AxisRule::canonical;

    // Attributes that steer the processing, from the dataset or else from the file's root.
    std::optional<core::index_t> doppler_bins;
    std::optional<core::index_t> training_block;  ///< range cells
    std::optional<double> element_spacing_wavelengths;
    std::optional<double> prf_hz;
    /// Extents [vector][channels*tdof] of /steering, where the file has one.
    std::optional<std::array<core::index_t, 2>> steering;
    /// Every scalar numeric attribute; those of the dataset hide those of the root.
    std::map<std::string, double> attributes;

    std::array<core::index_t, 3> shape() const { return {channels, pulses, range_cells}; }
};

/// Reads one radar data cube from an HDF5 file, of any complex form and axis order of
/// docs/formats.md, into the canonical order. The file is opened once and never written. Elements
/// are read as stored and converted here, in parallel: HDF5's own conversion is some fifty times
/// slower and, where member names differ, silently delivers nothing. Beside the destination, memory
/// stays bounded (a few MiB, or one HDF5 chunk where that is larger).
///
/// Every fault of the file throws core::InvalidArgument with a one-line text that starts with the
/// path, in the constructor where the file's metadata can tell.
class CubeReader {
  public:
    /// `threads` = 0 takes what OpenMP would take.
    explicit CubeReader(const CubeRequest& request, int threads = 0);
    ~CubeReader();
    CubeReader(CubeReader&&) noexcept;
    CubeReader& operator=(CubeReader&&) noexcept;

    const RadarCube& info() const;

    /// The whole cube. `out` has info().shape() and any strides.
    void read(core::View<std::complex<float>, 3, core::Host> out);

    /// Range cells [begin, end): `out` is [channels][pulses][end - begin], any strides. The same
    /// bits as the whole cube's.
    void read_range(core::index_t begin, core::index_t end,
                    core::View<std::complex<float>, 3, core::Host> out);

    /// The steering vectors of the file, [vector][channels*tdof], where it has /steering.
    std::optional<core::Array<std::complex<float>, 2>> steering();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Keeps HDF5 from printing until the process ends. For programs, to whom stderr belongs: readers
/// and writers keep it quiet while they call it, but on some damaged files HDF5 1.10 loses memory
/// of its own, and complains of that ("infinite loop closing library") when the process ends.
void silence_hdf5();

}  // namespace aperture::media
