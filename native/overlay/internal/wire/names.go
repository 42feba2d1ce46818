package wire

import (
	"errors"
	"fmt"
	"strings"
)

// Domain ends every name of the overlay. The top-level domain .internal is reserved for private use.
const Domain = "seganet.internal"

const maxLabel = 63 // RFC 1035, section 2.3.4

// CheckLabel returns an error if s cannot be the name of a node, device, network, group or service: 1 to 63 lower-case
// letters, digits and hyphens that begin and end with a letter or digit.
func CheckLabel(what, s string) error {
	if s == "" {
		return fmt.Errorf("%s is empty; use letters, digits and hyphens", what)
	}
	if len(s) > maxLabel {
		return fmt.Errorf("%s has %d characters, the limit is %d", what, len(s), maxLabel)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') {
			return fmt.Errorf("%s %q has the character %q; use lower-case letters, digits and hyphens", what, s, c)
		}
	}
	if s[0] == '-' || s[len(s)-1] == '-' {
		return fmt.Errorf("%s %q begins or ends with a hyphen", what, s)
	}
	return nil
}

// NodeFQDN returns <node>.<network>.seganet.internal.
func NodeFQDN(node, network string) string { return node + "." + network + "." + Domain }

// DeviceFQDN returns <device>.<node>.<network>.seganet.internal.
func DeviceFQDN(device, node, network string) string { return device + "." + NodeFQDN(node, network) }

// Name is a parsed name of the overlay. Device is empty for a node.
type Name struct{ Device, Node, Network string }

// FQDN returns the full name.
func (n Name) FQDN() string {
	if n.Device == "" {
		return NodeFQDN(n.Node, n.Network)
	}
	return DeviceFQDN(n.Device, n.Node, n.Network)
}

// ParseFQDN splits the full name of a node or device.
func ParseFQDN(s string) (Name, error) {
	rest, ok := strings.CutSuffix(s, "."+Domain)
	if !ok {
		return Name{}, fmt.Errorf("the name %.300q does not end with .%s", s, Domain)
	}
	labels := strings.Split(rest, ".")
	var n Name
	switch len(labels) {
	case 2:
		n = Name{Node: labels[0], Network: labels[1]}
	case 3:
		n = Name{Device: labels[0], Node: labels[1], Network: labels[2]}
	default:
		return Name{}, fmt.Errorf("the name %.300q is neither <node>.<network>.%s nor <device>.<node>.<network>.%s", s, Domain, Domain)
	}
	for _, l := range labels {
		if err := CheckLabel("the label", l); err != nil {
			return Name{}, err
		}
	}
	return n, nil
}

// checkLabels validates a list of names without repetition.
func checkLabels(what string, list []string, max int) error {
	if len(list) > max {
		return fmt.Errorf("%d of %s, the limit is %d", len(list), what, max)
	}
	seen := make(map[string]struct{}, len(list))
	for _, s := range list {
		if err := CheckLabel(what, s); err != nil {
			return err
		}
		if _, twice := seen[s]; twice {
			return fmt.Errorf("%s %q appears twice", what, s)
		}
		seen[s] = struct{}{}
	}
	return nil
}

func checkText(what, s string, max int) error {
	if len(s) > max {
		return fmt.Errorf("%s has %d bytes, the limit is %d", what, len(s), max)
	}
	return nil
}

func checkBytes(what string, b []byte, max int) error {
	if len(b) == 0 {
		return fmt.Errorf("%s is missing", what)
	}
	if len(b) > max {
		return fmt.Errorf("%s has %d bytes, the limit is %d", what, len(b), max)
	}
	return nil
}

var errNoSerial = errors.New("a serial number is 1 to 40 hexadecimal digits in lower case")

// CheckSerial returns an error if s is not a certificate's serial number in lower-case hexadecimal digits.
func CheckSerial(s string) error {
	if len(s) == 0 || len(s) > 40 {
		return errNoSerial
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return errNoSerial
		}
	}
	return nil
}
