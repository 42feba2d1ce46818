# Builds for 64-bit Arm on another machine and runs the tests by QEMU's user emulation. Needs, on Debian:
#   dpkg --add-architecture arm64
#   apt-get install g++-aarch64-linux-gnu qemu-user-static libuv1-dev:arm64 libssl-dev:arm64 libgtest-dev:arm64
# .ci/run has no time for this step: there, the prebuilt engines carry records in an emulated Node.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static-libstdc++ -static-libgcc")
