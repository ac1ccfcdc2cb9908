// SPDX-FileCopyrightText: Aperture contributors
// SPDX-License-Identifier: Apache-2.0
#include "libmedia/src/lzf_filter.hpp"

#include <cstdlib>
#include <cstring>

#include "libmedia/src/hdf5.hpp"

namespace aperture::media {
namespace {

/// Whether `in` decompresses to exactly `room` bytes. A control byte below 32 precedes that many
/// literals and one; otherwise its upper three bits, and a further byte if all are set, are the
/// length less 2 of a repetition, the other bits and the last byte its distance less 1.
bool decompress(const unsigned char* in, std::size_t bytes, unsigned char* out, std::size_t room) {
    const unsigned char* const end = in + bytes;
    std::size_t made = 0;
    while (in < end) {
        const unsigned control = *in++;
        if (control < 32) {
            const std::size_t count = control + 1;
            if (count > static_cast<std::size_t>(end - in) || count > room - made) return false;
            std::memcpy(out + made, in, count);
            in += count;
            made += count;
            continue;
        }
        std::size_t count = control >> 5;
        if (count == 7) {
            if (in == end) return false;
            count += *in++;
        }
        count += 2;
        if (in == end) return false;
        const std::size_t distance = ((control & 31U) << 8 | *in++) + std::size_t{1};
        if (distance > made || count > room - made) return false;
        // Byte by byte, since a repetition may overlap its source.
        for (std::size_t i = 0; i < count; ++i) out[made + i] = out[made + i - distance];
        made += count;
    }
    return made == room;
}

/// The third value of h5py's is the size of a chunk. HDF5 skips the filter for chunks that did not
/// shrink.
std::size_t read_chunk(unsigned flags, std::size_t values, const unsigned* value, std::size_t bytes,
                       std::size_t* allocated, void** buffer) noexcept {
    if ((flags & H5Z_FLAG_REVERSE) == 0 || values < 3 || value[2] == 0) return 0;
    const std::size_t room = value[2];
    auto* const out = static_cast<unsigned char*>(std::malloc(room));
    if (out == nullptr) return 0;
    if (!decompress(static_cast<const unsigned char*>(*buffer), bytes, out, room)) {
        std::free(out);
        return 0;
    }
    std::free(*buffer);
    *buffer = out;
    *allocated = room;
    return room;
}

}  // namespace

void register_lzf_filter() {
    // A plugin of that number, or h5py in the same process, may be there.
    if (H5Zfilter_avail(lzf_number) > 0) return;
    const H5Z_class2_t filter{H5Z_CLASS_T_VERS, lzf_number, 0,         1, "lzf",
                              nullptr,          nullptr,    read_chunk};
    H5Zregister(&filter);
}

}  // namespace aperture::media
