#!/usr/bin/env bash
# Builds OCF's own devices and controllers from sources that you bring, for run.js beside this file. No package registry
# has them, and nothing of them belongs into this repository.
#
#   test/system/ocf-devices/build.sh PROGRAMS --iotivity-lite FOLDER --plgd-device FOLDER
#
# PROGRAMS: folder for the programs. --iotivity-lite: a checkout of github.com/iotivity/iotivity-lite with its submodules
# deps/tinycbor and deps/mbedtls (and framework in that); needs CMake and a C compiler. --plgd-device: a checkout of
# github.com/plgd-dev/device; needs Go 1.23 and its modules. Each option may be left out. The sources stay as they are.
set -euo pipefail

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
  exit 2
}

[[ $# -ge 3 && $1 != -* ]] || usage
mkdir -p "$1"
programs=$(cd "$1" && pwd)
shift
iotivity='' plgd=''
while [[ $# -gt 0 ]]; do
  [[ $# -ge 2 ]] || usage
  case $1 in
    --iotivity-lite) iotivity=$(cd "$2" && pwd) ;;
    --plgd-device) plgd=$(cd "$2" && pwd) ;;
    *) usage ;;
  esac
  shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build NAME SECURITY FOLDER TARGET…: builds programs and copies them into a folder.
build() {
  local name=$1 security=$2 to=$3 each
  shift 3
  mkdir -p "$to"
  cmake -S "$work/source" -B "$work/$name" -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF -DOC_CLOUD_ENABLED=ON \
    -DOC_SECURITY_ENABLED="$security" -DOC_REAPPLY_MBEDTLS_PATCHES=OFF
  cmake --build "$work/$name" --parallel "${JOBS:-2}" --target "$@"
  for each in "$@"; do find "$work/$name" -type f -name "$each" -exec cp {} "$to/" \;; done
}

if [[ -n $iotivity ]]; then
  for file in tinycbor/src/cbor.h mbedtls/include/mbedtls/ssl.h mbedtls/framework/CMakeLists.txt; do
    [[ -f $iotivity/deps/$file ]] && continue
    echo "deps/$file is missing in $iotivity: get the submodules of iotivity-lite, too." >&2
    exit 1
  done
  mkdir "$work/source"
  tar -C "$iotivity" --exclude=.git --exclude=./swig --exclude=./deps/gtest -cf - . | tar -C "$work/source" -xf -
  # The build would get Mbed TLS and its patches with git, from the network.
  mbedtls=$work/source/deps/mbedtls
  for each in "$iotivity"/patches/mbedtls/3.6/*.patch "$iotivity"/patches/mbedtls/3.6/cmake/*.patch; do
    patch -d "$mbedtls" -p1 --quiet < "$each"
  done
  cp "$mbedtls/include/mbedtls/mbedtls_oc_platform.h.in" "$mbedtls/include/mbedtls/mbedtls_oc_platform.h"
  build plain OFF "$programs" cloud_server cloud_client
  build secure ON "$programs/secure" cloud_server onboarding_tool
fi
if [[ -n $plgd ]]; then
  (cd "$plgd" && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -buildvcs=false -trimpath -o "$programs/bridge-device" ./cmd/bridge-device)
fi
ls -l "$programs" "$programs"/secure 2>/dev/null || true
