# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts beside it.
# shellcheck shell=bash
set -euo pipefail

invoked_from=$PWD
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

# read_figure_options NAME ARGUMENT...: of a script that reruns a paper's experiments: --quick,
# --smoke, --build FOLDER and --out FOLDER. Sets options, build (empty without --build) and out
# (NAME-output without --out).
read_figure_options() {
    local name=$1 folder
    shift
    out=$root/$name-output
    build=
    options=()
    while (($# > 0)); do
        case $1 in
            --quick | --smoke) options+=("$1") ;;
            --build | --out)
                [[ $# -gt 1 && $2 != -* ]] || {
                    echo "$name: $1 needs a folder" >&2
                    exit 1
                }
                folder=$2
                [[ $folder == /* ]] || folder=$invoked_from/$folder
                if [[ $1 == --build ]]; then build=$folder; else out=$folder; fi
                shift
                ;;
            *)
                echo "$name: unknown argument $1" >&2
                exit 1
                ;;
        esac
        shift
    done
}

# prepare_build PROGRAM [PROGRAM_FOR_GPUS...]: makes build/release with these benchmarks, the others
# only where the build has a GPU's; nothing if there is a build.
prepare_build() {
    local target
    [[ -z $build ]] || return 0
    build=$root/build/release
    scripts/setup
    build_preset release "$1"
    shift
    for target in "$@"; do
        if cmake --build "$build" --target help | grep -q "^$target:"; then
            cmake --build "$build" --target "$target"
        fi
    done
}

# run_experiments PROGRAM: runs a benchmark with $options, prints which figure it measures, and
# leaves $out/experiments.json and .log.
run_experiments() {
    "$build/bench/$1" "${options[@]}" --benchmark_out_format=json \
        --benchmark_out="$out/experiments.json" 2>&1 | tee "$out/experiments.log" |
        awk -F/ '/^(cpu|gpu|cycles)\// && $1 $2 != last { print "  " $1, $2; fflush(); last = $1 $2 }' || {
        tail -n 20 "$out/experiments.log" >&2
        exit 1
    }
}

# The Python of the build's virtual environment, if there is one.
python_of_build() {
    if [[ -x build/venv/bin/python ]]; then echo build/venv/bin/python; else echo python3; fi
}
