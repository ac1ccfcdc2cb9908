# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export root
cd "$root"

# One line that says where a long command is, with the seconds since it began.
say() {
    printf '[%s %ds] %s\n' "$(basename "$0")" "$SECONDS" "$*"
}

# A compiler cache is used where there is one; it serves every clone of the repository.
if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CMAKE_CUDA_COMPILER_LAUNCHER=ccache
fi

# build_preset PRESET [-DOPTION=VALUE...] [TARGET...]: configures and builds build/PRESET, one line for
# each tenth of the work; the whole log is in build/PRESET.log and its end is shown where the build
# fails.
build_preset() {
    local preset=$1 log=build/$1.log
    shift
    local options=() targets=()
    while [[ ${1-} == -D* ]]; do
        options+=("$1")
        shift
    done
    if (($# > 0)); then targets=(--target "$@"); fi
    mkdir -p build
    say "configuring $preset"
    if ! cmake --preset "$preset" "${options[@]}" >"$log" 2>&1; then
        tail -n 40 "$log" >&2
        say "configuring $preset failed; the whole log: $log" >&2
        return 1
    fi
    grep -h '^-- Aperture:' "$log" | sed 's/^-- Aperture: //' || true
    say "building $preset"
    if ! cmake --build --preset "$preset" "${targets[@]}" 2>&1 | tee -a "$log" | show_build; then
        grep -A 20 -m 1 '^FAILED:' "$log" >&2 || tail -n 40 "$log" >&2
        say "building $preset failed; the whole log: $log" >&2
        return 1
    fi
}

# Ninja's "[step/all]" lines, thinned out.
show_build() {
    awk -F'[][/]' '
        /^\[[0-9]+\/[0-9]+\]/ {
            tenth = int(10 * $2 / $3)
            if (tenth > shown) { shown = tenth; print "  " $2 " of " $3; fflush() }
        }'
}

# fetch_samples FOLDER NAME...: leaves rubberwhale1.png and rubberwhale2.png, a pair of the Middlebury
# benchmark, or vtest.avi, people on a square, in the folder. They are taken out of Debian's package
# opencv-doc, which is not installed.
fetch_samples() {
    local folder=$1 kept=$root/build/opencv-doc name
    shift
    if [[ ! -f $kept/vtest.avi ]]; then
        command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
        say "fetching images and a video (package opencv-doc, 96 MB, once)"
        rm -rf "$kept"
        mkdir -p "$kept"
        (
            set -o pipefail
            cd "$kept" || exit 1
            timeout 300 apt-get -qq download opencv-doc || exit 1
            dpkg-deb --fsys-tarfile opencv-doc_*.deb |
                tar -x --wildcards --transform 's:.*/::' \
                    '*/rubberwhale[12].png*' '*/vtest.avi*' || exit 1
            rm opencv-doc_*.deb
            for name in *.gz; do
                if [[ -f $name ]]; then gunzip "$name"; fi
            done
        ) >"$kept.log" 2>&1 || return 1
    fi
    for name in "$@"; do
        cp "$kept/$name" "$folder/$name" || return 1
    done
}

# make_square_clip FOLDER: 60 frames of 160x120 pixels in the layout of changedetection.net, in which
# a square moves before a texture, with the true masks.
make_square_clip() {
    local folder=$1
    mkdir -p "$folder/input" "$folder/groundtruth"
    awk -v folder="$folder" '
        BEGIN {
            for (frame = 1; frame <= 60; frame++) {
                picture = sprintf("%s/input/in%06d.pgm", folder, frame)
                truth = sprintf("%s/groundtruth/gt%06d.png", folder, frame)
                print "P2", 160, 120, 255 > picture
                print "P2", 160, 120, 255 > truth
                for (y = 0; y < 120; y++) {
                    for (x = 0; x < 160; x++) {
                        inside = x >= 2 * frame && x < 2 * frame + 24 && y >= 40 && y < 64
                        print (inside ? 230 : 90 + int(40 * sin(x / 7) * cos(y / 5))) > picture
                        print (inside ? 255 : 0) > truth
                    }
                }
                close(picture)
                close(truth)
            }
        }'
}

# make_texture_pair WIDTH HEIGHT MOTION_X MOTION_Y NAME: NAME1.pgm and NAME2.pgm, a texture that
# moves by as many pixels to the right and down.
make_texture_pair() {
    local image
    for image in 1 2; do
        awk -v width="$1" -v height="$2" -v dx="$3" -v dy="$4" -v image="$image" '
            BEGIN {
                waves = 16
                srand(3)
                for (i = 0; i < waves; i++) {
                    direction = atan2(0, -1) * rand()
                    frequency = 2 * atan2(0, -1) / (6 + 24 * rand())
                    across[i] = frequency * cos(direction)
                    down[i] = frequency * sin(direction)
                    phase[i] = 7 * rand()
                }
                print "P2", width, height, 255
                for (y = 0; y < height; y++) {
                    for (x = 0; x < width; x++) {
                        at_x = image == 2 ? x - dx : x
                        at_y = image == 2 ? y - dy : y
                        sum = 0
                        for (i = 0; i < waves; i++)
                            sum += cos(across[i] * at_x + down[i] * at_y + phase[i])
                        value = int(128 + 18 * sum)
                        print (value < 0 ? 0 : (value > 255 ? 255 : value))
                    }
                }
            }' >"$5$image.pgm"
    done
}
