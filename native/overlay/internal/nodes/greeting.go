package nodes

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"seganet.internal/overlay/internal/wire"
)

// Greeting describes a node's program and devices. The node sends it in headers of its request: services of an earlier version
// ignore them, and nodes of an earlier version send none.
type Greeting struct {
	Instance     string   // random, new at each start of the node's program
	Version      string   // of the node's program
	DeviceGroups []string // groups of the devices behind the node that differ from its own
	// Silence is how long the node wants to be silent at most; 0 is the services' own limit. They answer with what they
	// grant (see Client.Silence).
	Silence time.Duration
}

const (
	headerInstance = "Seganet-Instance"
	headerVersion  = "Seganet-Version"
	headerGroups   = "Seganet-Device-Groups"
	headerSilence  = "Seganet-Silence" // seconds, also in the response

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
	if g.Silence > 0 {
		h.Set(headerSilence, strconv.Itoa(int(g.Silence/time.Second)))
	}
	return h
}

// readSilence reads the header of a request or a response. It returns 0 without a valid one.
func readSilence(h http.Header) time.Duration {
	n, err := strconv.ParseUint(h.Get(headerSilence), 10, 16)
	if err != nil {
		return 0
	}
	return min(time.Duration(n)*time.Second, silenceMost)
}

// about is the service's data about a node besides its certificate. Nodes of an earlier version have the zero value.
type about struct {
	instance, version, from string
	groups                  []string
	anyGroup                bool
	silence                 time.Duration // how long the node may be silent, if that is more than idleTimeout allows
}

// readGreeting reads the headers of a request. It ignores malformed values, which are claims of the node without proof.
func readGreeting(r *http.Request, devices bool) (a about) {
	a.from = clientAddress(r.RemoteAddr)
	a.instance = printable(r.Header.Get(headerInstance), instanceBytes)
	a.silence = readSilence(r.Header)
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
