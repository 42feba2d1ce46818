package bind

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

var (
	control4 = controlMessage(unix.IPPROTO_IP, unix.IP_TOS)
	control6 = controlMessage(unix.IPPROTO_IPV6, unix.IPV6_TCLASS)
)

func controlMessage(level, kind int32) []byte {
	b := make([]byte, unix.CmsgSpace(4))
	var h unix.Cmsghdr
	h.Level, h.Type = level, kind
	h.SetLen(unix.CmsgLen(4))
	n, err := binary.Encode(b, binary.NativeEndian, &h)
	if err == nil {
		binary.NativeEndian.PutUint32(b[n:], urgentTOS)
	}
	return b
}
