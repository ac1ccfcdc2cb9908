// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "aperture/media/npy_file.hpp"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <string_view>
#include <utility>

#include "aperture/core/error.hpp"

namespace aperture::media {
namespace {

using core::index_t;

static_assert(std::endian::native == std::endian::little);

// The format requires a multiple of 64; the longest shape of four axes fits.
constexpr std::size_t header_bytes = 192;
constexpr std::string_view version_1("\x93NUMPY\x01\x00", 8);

}  // namespace

template <NpyElement T>
NpyWriter<T>::NpyWriter(const std::filesystem::path& target, std::vector<index_t> item)
    : file_(target), item_(std::move(item)) {
    for (const index_t extent : item_) {
        core::expects(extent >= 0, target.string(), ": cannot write: extent ", extent,
                      " is negative");
        elements_ *= extent;
    }
    file_.write(header());
}

template <NpyElement T>
std::string NpyWriter<T>::header() const {
    std::string words = core::text("{'descr': '", std::same_as<T, float> ? "<f4" : "|u1",
                                   "', 'fortran_order': False, 'shape': (", items_, ',');
    for (const index_t extent : item_) words += core::text(' ', extent, ',');
    words += "), }";
    constexpr std::size_t length = header_bytes - version_1.size() - 2;
    core::expects(words.size() < length, "array has too many axes: ", item_.size() + 1);
    words.resize(length - 1, ' ');
    words += '\n';
    const std::array<char, 2> size{static_cast<char>(length % 256),
                                   static_cast<char>(length / 256)};
    return std::string(version_1) + std::string(size.data(), size.size()) + words;
}

template <NpyElement T>
void NpyWriter<T>::append(const T* item) {
    file_.write(
        {reinterpret_cast<const char*>(item), static_cast<std::size_t>(elements_) * sizeof(T)});
    ++items_;
}

template <NpyElement T>
AtomicFile NpyWriter<T>::finish() {
    const std::string first = header();
    if (::pwrite(file_.descriptor(), first.data(), first.size(), 0) !=
        static_cast<ssize_t>(first.size())) {
        file_.fail(errno);
    }
    return std::move(file_);
}

template class NpyWriter<float>;
template class NpyWriter<std::uint8_t>;

}  // namespace aperture::media
