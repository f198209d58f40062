package config

import (
	"os"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// maxTable bounds the file of a mask's table, in bytes: a classification of occupations of
// the whole world takes less than a megabyte.
const maxTable = 64 << 20

// readTable gives the mask at path the content of the file that it has its table in.
func (l *loader) readTable(path string, p transform.Params) {
	t := transform.FileOf(p)
	if t == nil {
		return
	}
	file, at := t.Path, form.Join(path, t.Field)
	if file == "" || !l.Sound(at) {
		return
	}
	if info, err := os.Stat(file); err == nil && info.Size() > maxTable {
		l.Wrong(at, "must be a file of at most %d MiB", maxTable>>20)
		return
	}
	content, err := os.ReadFile(file)
	if err != nil {
		l.Wrong(at, "%s", form.Reason(err))
		return
	}
	err = t.Read(content)
	faults, several := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case several: // one for each line
		for _, fault := range faults.Unwrap() {
			l.Wrong(at, "%v", fault)
		}
	default:
		l.Wrong(at, "%v", err)
	}
}
