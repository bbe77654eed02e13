#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Unpacks a Debian package into a folder, for a tool that the system lacks:
#
#   tests/debian.sh PACKAGE FOLDER
#
# apt checks what it gets against the signed lists of the distribution.
set -eu

package=$1
retry=$(cd "$(dirname "$0")/.." && pwd)/retry.sh
rm -rf "$2"
mkdir -p "$2"
cd "$2"
# A machine that never ran apt-get update has no list to find it in.
apt-get download "$package" >/dev/null 2>&1 || {
    "$retry" apt-get update >/dev/null
    "$retry" apt-get download "$package" >/dev/null
}
dpkg -x "$package"_*.deb .
