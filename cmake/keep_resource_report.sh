#!/bin/sh
# SPDX-FileCopyrightText: Aperture contributors
# SPDX-License-Identifier: Apache-2.0
# keep_resource_report.sh FOLDER COMMAND...: runs a compiler and keeps what ptxas says about kernels
# (lines of -Xptxas -v) in FOLDER/OBJECT.ptxas instead of showing it.
folder=$1
shift
# Where no compiler cache is set, CMake may leave an empty word in its place.
[ -n "$1" ] || shift
object=
previous=
for word in "$@"; do
    [ "$previous" = -o ] && object=$word
    previous=$word
done
if [ -z "$object" ]; then
    exec "$@"
fi
mkdir -p "$folder"
said=$folder/$(basename "$object").said
"$@" 2>"$said"
status=$?
about='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$about" "$said" >"$folder/$(basename "$object").ptxas"
grep -vE "$about" "$said" >&2
rm -f "$said"
exit $status
