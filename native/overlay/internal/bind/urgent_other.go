//go:build !linux

package bind

// Outside of Linux, urgent packets leave like the others.
var control4, control6 []byte
