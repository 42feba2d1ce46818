package command

import (
	"fmt"
	"net/netip"
	"strings"
)

// words is a flag that may be given several times, or once with commas.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return fmt.Errorf("an empty word")
		}
		*w = append(*w, word)
	}
	return nil
}

func (w words) addresses() (list []netip.Addr, err error) {
	for _, s := range w {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, usage("%q is not an IP address", s)
		}
		list = append(list, a)
	}
	return list, nil
}

func (w words) prefixes() (list []netip.Prefix, err error) {
	for _, s := range w {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, usage("%q is not a prefix such as 10.0.0.0/8", s)
		}
		list = append(list, p)
	}
	return list, nil
}
