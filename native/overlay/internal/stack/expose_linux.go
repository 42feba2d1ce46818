package stack

import "golang.org/x/sys/unix"

func bindToDevice(socket uintptr, device string) error { return unix.BindToDevice(int(socket), device) }
