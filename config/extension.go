package config

import (
	"path"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// otherExtensions are those of files that no sink of records writes.
var otherExtensions = []string{".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt", ".rds", ".rdata", ".dbf", ".mdb", ".accdb", ".sqlite", ".xml", ".html", ".pdf", ".avro", ".orc"}

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
			l.Wrong(at, "must not end in %s, by which programs take the file for one of sink %s, got %q", file[len(base):], f.Name, file)
			return
		}
	}
	if ext := strings.ToLower(path.Ext(file)); slices.Contains(otherExtensions, ext) {
		way := ""
		if ext == ".xlsx" {
			way = " (tables can be written by sink xlsx)"
		}
		l.Wrong(at, "must not end in %s, by which other programs would open the file, and it is none of theirs%s; got %q", ext, way, file)
	}
}
