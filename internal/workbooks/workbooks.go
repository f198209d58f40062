// Package workbooks writes Excel workbooks whose bytes follow from their cells alone.
package workbooks

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/xuri/excelize/v2"
)

// InOrder lets a workbook be written with its members in the order of their names. The library's own order is
// that of a map.
func InOrder(f *excelize.File) {
	f.SetZipWriter(func(to io.Writer) excelize.ZipWriter { return &ordered{to: to, files: map[string]*bytes.Buffer{}} })
}

// ordered is a zip file with its members in the order of their names. The library's own order is that of a map.
type ordered struct {
	to    io.Writer
	files map[string]*bytes.Buffer
}

func (z *ordered) Create(name string) (io.Writer, error) {
	z.files[name] = new(bytes.Buffer)
	return z.files[name], nil
}

func (z *ordered) AddFS(fs.FS) error { return errors.ErrUnsupported }

func (z *ordered) Close() error {
	out := zip.NewWriter(z.to)
	for _, name := range slices.Sorted(maps.Keys(z.files)) {
		member, err := out.Create(name)
		if err == nil {
			_, err = z.files[name].WriteTo(member)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}
