package identity

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

const maxFileBytes = 1 << 20 // of a key or state file

// WriteFile writes a file of mode 0600 so that a crash leaves either the old or the new content.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // CreateTemp uses mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // it cannot flush a folder
		return nil
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Private returns an error if other users may read a file. Windows has no such mode: the access list of the folder
// decides there.
func Private(path string, info os.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("other users may read the private file %s (mode %04o). Run: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// readPrivate reads a file and refuses it if others than its owner may.
func readPrivate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := Private(path, info); err != nil {
		return nil, err
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes, the limit is %d", path, info.Size(), maxFileBytes)
	}
	return os.ReadFile(path)
}
