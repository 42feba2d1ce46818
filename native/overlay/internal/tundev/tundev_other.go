//go:build !linux

package tundev

import (
	"fmt"
	"runtime"
)

// Open fails: only Linux has the interface that this package sets up.
func Open(Options) (*Device, error) {
	return nil, fmt.Errorf("a TUN interface needs Linux, and this is %s. Run the node without --tun: programs use its ports (--forward) or its SOCKS5 proxy (--socks)", runtime.GOOS)
}
