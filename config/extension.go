package config

import (
	"path"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// otherExtensions are those of files that no sink of records writes.
var otherExtensions = []string{".xlsm", ".xlsb", ".xls", ".ods", ".por", ".rds", ".rdata", ".dbf", ".mdb", ".accdb",
	".sqlite", ".xml", ".html", ".pdf", ".avro", ".orc"}

// validateExtension demands that the name of a sink's file is not that of a file of another format.
func (l *loader) validateExtension(s Sink) {
	at := "sink." + s.Kind + ".path"
	if s.Config == nil || s.Kind == "xlsx" || !l.Sound(at) {
		return
	}
	file := pathOf(s.Config)
	own := func(f connectors.Format) bool { return f.Name == s.Kind }
	for _, f := range connectors.Formats() {
		if _, takes := f.Takes(file); takes && own(f) {
			return
		}
	}
	for _, f := range connectors.Formats() {
		if base, takes := f.Takes(file); takes {
			of := "sink"
			if f.NewSink == nil {
				of = "source"
			}
			l.Wrong(at, "must not end in %s, by which programs take the file for one of %s %s, got %q", file[len(base):], of,
				f.Name, file)
			return
		}
	}
	if ext := strings.ToLower(path.Ext(file)); slices.Contains(otherExtensions, ext) {
		l.Wrong(at, "must not end in %s, by which other programs would open the file, and it is none of theirs; got %q", ext,
			file)
	}
}
