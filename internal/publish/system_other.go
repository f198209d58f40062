//go:build !linux

package publish

import (
	"errors"
	"io"
	"os"
)

// exchange swaps two folders. Where the system has no call for it there is a
// moment in which b has no name; a's name then holds what was b.
func exchange(a, b string) error {
	aside := a + ".old"
	if err := os.Rename(b, aside); err != nil {
		return err
	}
	if err := os.Rename(a, b); err != nil {
		return errors.Join(err, os.Rename(aside, b))
	}
	return os.Rename(aside, a)
}

// WriteBack is a hint that only Linux takes.
func WriteBack(io.Writer, int64, int64) {}
