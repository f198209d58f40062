package entered

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/figure"
	"github.com/sdlfilter/sdlfilter/internal/ledger"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// List describes the releases of a ledger for a terminal.
func List(l *ledger.Ledger, color bool, width int) string {
	t := figure.NewTerminal(color, width)
	for _, r := range l.All() {
		for _, line := range aboutEntry(&r) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			for i, part := range figure.Wrap(line, t.Width-len(indent)-2) {
				if i > 0 {
					part = "  " + part
				}
				t.Line(indent + t.Words(part))
			}
		}
	}
	if l.Torn {
		t.Line("The last line is cut off: a run is writing it, or was ended while it wrote it.")
	}
	return t.String()
}

// aboutEntry describes a release in lines.
func aboutEntry(r *ledger.Listed) (lines []string) {
	became := "published"
	switch {
	case !r.Known:
		became = "perhaps published (counts as published)"
	case !r.Published:
		became = "not published"
	}
	lines = append(lines, fmt.Sprintf("%d %s %s: %s", r.Number, r.Time.Format("2006-01-02 15:04 MST"), r.Name(), became))
	if r.Tables != nil {
		lines = append(lines, aboutTables(r.Tables)...)
	} else {
		lines = append(lines, aboutRelease(r.Release)...)
	}
	for _, f := range r.Contents() {
		lines = append(lines, fmt.Sprintf("   %s, SHA-256 %s", f.Path, f.SHA256[:min(16, len(f.SHA256))]))
	}
	return lines
}

// aboutRelease describes a release of records in lines.
func aboutRelease(of *ledger.Release) (lines []string) {
	identified := "by place"
	if of.Sketch != nil {
		identified = "by identity"
	}
	lines = append(lines, fmt.Sprintf("   %d records, key %s, drawn %s", of.Records, of.KeyID, identified))
	var masked, plain []string
	for _, c := range of.Columns {
		if c.Masked {
			masked = append(masked, c.Name)
		} else {
			plain = append(plain, c.Name)
		}
	}
	if len(masked) > 0 {
		lines = append(lines,
			fmt.Sprintf("   masked: %s (%s)", strings.Join(masked, ", "), strings.Join(kindsOf(of.Releasing), ", ")))
	}
	if len(plain) > 0 {
		lines = append(lines, "   as they are: "+strings.Join(plain, ", "))
	}
	return lines
}

// kindsOf returns the kinds of masks in a configuration, each once.
func kindsOf(configuration json.RawMessage) (kinds []string) {
	var of struct {
		Masks []map[string]json.RawMessage `json:"masks"`
	}
	if json.Unmarshal(configuration, &of) != nil {
		return []string{"unknown masks"}
	}
	for _, m := range of.Masks {
		for kind := range m {
			if kind != "name" && !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// Compare compares the last published release under each path with what is there, and says what is wrong.
func Compare(ctx context.Context, l *ledger.Ledger) (wrong []string, err error) {
	last := map[string]ledger.Listed{}
	var paths []string
	for _, r := range slices.Concat(l.Releases(), l.Tables()) {
		for _, f := range r.Contents() {
			if f.Path == "" {
				continue
			}
			if _, known := last[f.Path]; !known {
				paths = append(paths, f.Path)
			}
			if known, there := last[f.Path]; !there || known.Number < r.Number {
				last[f.Path] = r
			}
		}
	}
	for _, path := range paths {
		r := last[path]
		i := slices.IndexFunc(r.Contents(), func(f ledger.Published) bool { return f.Path == path })
		want := r.Contents()[i]
		got, err := publish.ContentOf(ctx, path)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%s: release %d is not there, or cannot be read", path, r.Number))
		case got.Folder != want.Folder || got.SHA256() != want.SHA256:
			wrong = append(wrong, fmt.Sprintf("%s: is not release %d", path, r.Number))
		}
	}
	if l.Torn {
		wrong = append(wrong,
			"the last line is cut off: a run is writing it, or was ended while it wrote it (the next run removes it)")
	}
	return wrong, nil
}
