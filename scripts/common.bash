# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export root
cd "$root"

# Prints the progress of a long command, with the seconds since its start.
say() {
    printf '[%s %ds] %s\n' "$(basename "$0")" "$SECONDS" "$*"
}

# Uses a compiler cache if installed; all clones of the repository share it.
if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    # What it must overlook to cache sources that include a precompiled header.
    export CCACHE_SLOPPINESS=pch_defines,time_macros
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CMAKE_CUDA_COMPILER_LAUNCHER=ccache
fi

# build_preset PRESET [-DOPTION=VALUE...] [TARGET...]: configures and builds build/PRESET and prints
# one line for each tenth of the work. The log is build/PRESET.log; if the build fails, its end is
# printed.
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

# Prints every tenth of Ninja's progress "[step/all]".
show_build() {
    awk -F'[][/]' '
        /^\[[0-9]+\/[0-9]+\]/ {
            tenth = int(10 * $2 / $3)
            if (tenth > shown) { shown = tenth; print "  " $2 " of " $3; fflush() }
        }'
}

# fetch_samples FOLDER NAME...: copies samples to the folder: rubberwhale1.png and rubberwhale2.png,
# a pair of the Middlebury benchmark, or vtest.avi, people on a square. They are extracted from
# Debian's package opencv-doc, which is not installed.
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
