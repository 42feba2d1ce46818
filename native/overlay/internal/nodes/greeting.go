package nodes

import (
	"net/http"
	"slices"
	"strings"

	"seganet.internal/overlay/internal/wire"
)

// Greeting describes a node's program and devices. The node sends it in headers of its request: services of an earlier version
// ignore them, and nodes of an earlier version send none.
type Greeting struct {
	Instance     string   // random, new at each start of the node's program
	Version      string   // of the node's program
	DeviceGroups []string // groups of the devices behind the node that differ from its own
}

const (
	headerInstance = "Seganet-Instance"
	headerVersion  = "Seganet-Version"
	headerGroups   = "Seganet-Device-Groups"

	instanceBytes  = 32      // of an instance, at most
	versionBytes   = 64      // of a version, at most
	groupsBytes    = 8 << 10 // of the list of groups
	groupsTooMany  = "*"     // in place of a longer list
	groupSeparator = ","
)

func (g Greeting) header() http.Header {
	h := http.Header{}
	if g.Instance == "" {
		return h
	}
	groups := strings.Join(g.DeviceGroups, groupSeparator)
	if len(groups) > groupsBytes {
		groups = groupsTooMany
	}
	h.Set(headerInstance, g.Instance)
	h.Set(headerVersion, g.Version)
	h.Set(headerGroups, groups)
	return h
}

// about is the service's data about a node besides its certificate. Nodes of an earlier version have the zero value.
type about struct {
	instance, version, from string
	groups                  []string
	anyGroup                bool
}

// readGreeting reads the headers of a request. It ignores malformed values, which are claims of the node without proof.
func readGreeting(r *http.Request, devices bool) (a about) {
	a.from = clientAddress(r.RemoteAddr)
	a.instance = printable(r.Header.Get(headerInstance), instanceBytes)
	a.version = printable(r.Header.Get(headerVersion), versionBytes)
	text := r.Header.Get(headerGroups)
	switch {
	case !devices:
	case a.instance == "" || text == groupsTooMany:
		a.anyGroup = true
	case text != "" && len(text) <= groupsBytes:
		for g := range strings.SplitSeq(text, groupSeparator) {
			if wire.CheckLabel("the group", g) == nil && !slices.Contains(a.groups, g) {
				a.groups = append(a.groups, g)
			}
		}
	}
	return a
}

// printable returns a text of visible ASCII characters and spaces that is not too long, else "".
func printable(s string, most int) string {
	if len(s) > most || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) {
		return ""
	}
	return s
}
