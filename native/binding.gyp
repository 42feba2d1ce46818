{
  "targets": [
    {
      "target_name": "seganet",
      "sources": ["<!@(node sources.js)"],
      "include_dirs": [".", "<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": [
        "NAPI_VERSION=9",
        "SEGANET_ADDON",
        "NAPI_DISABLE_CPP_EXCEPTIONS",
        "NODE_API_NO_EXTERNAL_BUFFERS_ALLOWED",
        "NODE_ADDON_API_DISABLE_DEPRECATED",
        "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"
      ],
      "cflags!": ["-fno-exceptions"],
      "cflags_cc!": ["-fno-exceptions", "-std=gnu++17", "-std=gnu++20"],
      "cflags_cc": [
        "-std=c++20",
        "-fno-exceptions",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-fstack-protector-strong",
        "-D_FORTIFY_SOURCE=2"
      ],
      "ldflags": ["-Wl,-z,relro,-z,now", "-static-libstdc++", "-static-libgcc"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++20",
        "MACOSX_DEPLOYMENT_TARGET": "12.0",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES"
      }
    }
  ]
}
