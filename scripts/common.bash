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

# build_preset PRESET [TARGET...]: configures and builds build/PRESET, one line for each tenth of
# the work; the whole log is in build/PRESET.log and its end is shown where the build fails.
build_preset() {
    local preset=$1 log=build/$1.log
    shift
    local targets=()
    if (($# > 0)); then targets=(--target "$@"); fi
    mkdir -p build
    say "configuring $preset"
    if ! cmake --preset "$preset" >"$log" 2>&1; then
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
