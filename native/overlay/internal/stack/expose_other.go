//go:build !linux

package stack

import "errors"

func bindToDevice(uintptr, string) error { return errors.ErrUnsupported }
