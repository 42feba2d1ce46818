// Package version knows the version of this program.
package version

import "runtime/debug"

// released is set by the build of a release: -X seganet.internal/overlay/internal/version.released=1.2.3
var released string

// String returns the version: that of the release, else "development" with the commit if the build knows it.
func String() string {
	if released != "" {
		return released
	}
	out := "development"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				out += " " + s.Value[:12]
			}
		}
	}
	return out
}
