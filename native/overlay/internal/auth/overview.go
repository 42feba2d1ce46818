package auth

import (
	"fmt"
	"strings"

	"seganet.internal/overlay/internal/version"
	"seganet.internal/overlay/internal/wire"
)

// maxMatch bounds the text that an overview searches for, in bytes.
const maxMatch = 64

// Overview returns a page of the nodes that match a text, the counts of all, and the open invitations. page begins at 1; a
// page beyond the last one is the last one.
func (s *Service) Overview(match string, page, size int) (o wire.Overview, err error) {
	if len(match) > maxMatch || page < 1 || size < 1 || size > wire.MaxPageNodes {
		return o, invalid(fmt.Errorf("an overview needs a text of at most %d bytes, a page from 1, and a size of 1 to %d", maxMatch, wire.MaxPageNodes))
	}
	nodes, err := s.Nodes()
	if err != nil {
		return o, err
	}
	if o.Invitations, err = s.Invitations(); err != nil {
		return o, err
	}
	o.Network, o.Root, o.Version, o.Nodes = s.network, s.Fingerprint(), version.String(), []wire.NodeRow{}
	match = strings.ToLower(match)
	var found []wire.NodeInfo
	for _, n := range nodes {
		switch {
		case !n.Revoked.IsZero():
			o.Revoked++
		case !n.Suspended.IsZero():
			o.Suspended++
		case n.Online:
			o.Online++
		default:
			o.Offline++
		}
		text := strings.Join(append([]string{n.Name, n.From, n.Version}, n.Groups...), "\n")
		if match == "" || strings.Contains(strings.ToLower(text), match) {
			found = append(found, n)
		}
	}
	o.Found, o.Pages = len(found), max(1, (len(found)+size-1)/size)
	o.Page = min(page, o.Pages)
	begin := (o.Page - 1) * size
	for _, n := range found[begin:min(begin+size, len(found))] {
		o.Nodes = append(o.Nodes, wire.NodeRow{NodeInfo: n, Devices: len(n.Devices)})
	}
	return o, nil
}
