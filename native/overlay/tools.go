//go:build tools

package main

import (
	_ "github.com/coder/websocket"
	_ "github.com/coreos/go-oidc/v3/oidc"
	_ "github.com/miekg/dns"
	_ "github.com/pion/ice/v4"
	_ "github.com/pion/logging"
	_ "github.com/pion/stun/v4"
	_ "github.com/pion/turn/v5"
	_ "github.com/tailscale/wireguard-go/device"
	_ "github.com/tailscale/wireguard-go/tun/netstack"
	_ "github.com/vishvananda/netlink"
	_ "go.etcd.io/bbolt"
	_ "golang.org/x/crypto/curve25519"
	_ "golang.org/x/sys/unix"
)
