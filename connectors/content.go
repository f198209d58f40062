package connectors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Content describes the files of a release: one file, or a folder of files.
type Content struct {
	Path   string // the final name; "" where it has none: standard output, a device or a pipe
	Folder bool
	Files  []FileContent // by name; of a release that is one file, that one, without a name
}

// FileContent is the content of one file.
type FileContent struct {
	Name   string // below the folder, slash-separated
	Bytes  int64
	SHA256 string // in hex
}

// Bytes returns the size of all files.
func (c *Content) Bytes() (n int64) {
	for _, f := range c.Files {
		n += f.Bytes
	}
	return n
}

// SHA256 is the digest of the file or, of a folder, that of the lines
// "digest  name" of its files, by name: what sha256sum prints of them, in the order
// of their names' bytes.
func (c *Content) SHA256() string {
	if !c.Folder && len(c.Files) == 1 {
		return c.Files[0].SHA256
	}
	h := sha256.New()
	for _, f := range c.Files {
		fmt.Fprintf(h, "%s  %s\n", f.SHA256, f.Name)
	}
	return hex.EncodeToString(h.Sum(nil))
}
