package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/transform"
)

// located is a file that a configuration names, and the field that names it.
type located struct {
	field, file string
	words       string // what it is, for messages: "the source"
}

// shellPath refuses what only a shell would read: a path that begins with ~, or
// holds $NAME. Taken as it is, it would make a folder of that name. What an expansion
// brought in is a path like any other.
func (l *loader) shellPath(field, file string) {
	if l.Sound(field) && objectpath.Is(file) {
		l.objectPath(field, file)
	}
	if !l.Literal(field) || !l.Sound(field) {
		return
	}
	switch variable := shellVariable.FindString(file); {
	case file == "~" || strings.HasPrefix(file, "~/"):
		l.Wrong(field, "must be a path, got %q, which only a shell reads: write ${HOME}%s", file, file[1:])
	case variable != "":
		l.Wrong(field, "must be a path, got %q, which only a shell reads: write ${%s}", file, variable[1:])
	}
}

// objectPath refuses a path that is not a name of an object, and objects where local files are read
// or written in parts.
func (l *loader) objectPath(field, file string) {
	switch wrong := objectpath.Problem(file); {
	case wrong != "":
		l.Wrong(field, "%s", wrong)
	case strings.HasPrefix(field, "source.") || strings.HasPrefix(field, "sink.") || strings.HasPrefix(field, "report.") ||
		field == "quarantine.jsonl" || field == "ledger":
	default:
		l.Wrong(field, "must be a file of this machine, and names an object")
	}
}

var shellVariable = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// validatePaths demands that no output is an input, that no two outputs are one
// file, and that none lies where a source would read it or a sink's folder be
// replaced. It compares names: links are not followed, nothing is opened.
func (l *loader) validatePaths(p *Pipeline) {
	inputs, outputs := l.inputs(p), l.outputs(p)
	for i, o := range outputs {
		if !l.Sound(o.field) {
			continue // said of the report; the same would be said of its public version
		}
		for _, in := range inputs {
			l.outputBesideInput(o, in)
		}
		for _, before := range outputs[:i] {
			l.outputBesideOutput(p, o, before)
		}
	}
}

// inputs are the files that a run reads.
func (l *loader) inputs(p *Pipeline) (inputs []located) {
	add := func(field, file, words string) {
		l.shellPath(field, file)
		if file != "" && file != "-" && l.Sound(field) {
			inputs = append(inputs, located{field, file, words})
		}
	}
	if l.File() != "-" {
		add("", l.File(), "the configuration")
	}
	if p.Source.Config != nil {
		add(form.Join("source", p.Source.Kind)+".path", pathOf(p.Source.Config), "the source")
	}
	for i, spec := range p.Masks {
		if t := transform.FileOf(spec.Params); t != nil {
			add(fmt.Sprintf("masks[%d].%s.%s", i, spec.Kind(), t.Field), t.Path, "the table of a mask")
		}
	}
	add("key.file", p.Key.File, "the key")
	add("profile", p.Profile, "the profile")
	for _, c := range p.kafkaConnections() {
		c.files(add)
	}
	return inputs
}

// outputs are the files that a run writes.
func (l *loader) outputs(p *Pipeline) (outputs []located) {
	add := func(field, file, words string) {
		l.shellPath(field, file)
		switch {
		case file == "" || !l.Sound(field):
		case file == "-":
			l.Wrong(field, "must be a file, got -: standard output is for the release alone")
		default:
			outputs = append(outputs, located{field, file, words})
		}
	}
	sink := form.Join("sink", p.Sink.Kind)
	for _, number := range copyNumbers(p) {
		one := p
		if number > 0 {
			one = p.OfCopy(number)
		}
		if p.Sink.Config != nil && p.kafkaSink() == nil && p.Sink.Abilities().Description == "" && l.Sound(sink) {
			for _, file := range one.Sink.Config.Paths() {
				if file != "-" {
					add(sink+".path", file, "the release")
				}
			}
		}
		add("quarantine.jsonl", one.Quarantine.JSONL, "the quarantine")
	}
	for i, e := range p.Assess.Emit {
		add(fmt.Sprintf("assess.emit[%d].jsonl", i), e.JSONL, "the snapshots")
	}
	if p.Lineage != nil {
		add("lineage.file", p.Lineage.File, "the lineage events")
	}
	if wrong := place.Problem(p.Ledger); wrong != "" {
		l.Wrong("ledger", "%s", wrong)
	} else if !place.IsTable(p.Ledger) {
		add("ledger", p.Ledger, "the ledger")
	}
	add("report.json", p.Report.JSON, "the report")
	add("report.html", p.Report.HTML, "the HTML report")
	add("report.board", p.Report.Board, "the page for the release board")
	add("report.xlsx", p.Report.XLSX, "the workbook of the report")
	add("report.json", PublicPath(p.Report.JSON), "the public report")
	add("report.html", PublicPath(p.Report.HTML), "the public HTML report")
	return outputs
}

func (l *loader) outputBesideInput(o, in located) {
	switch {
	case same(o.file, in.file):
		l.Wrong(o.field, "must not be %s itself, got %q for %s", in.words, o.file, o.words)
	case in.words == "the source" && reads(in.file, o.file):
		l.Wrong(o.field, "must not lie where the source is read from (%s), got %q", in.field, o.file)
	}
}

func (l *loader) outputBesideOutput(p *Pipeline, o, before located) {
	switch {
	case same(o.file, before.file):
		l.Wrong(o.field, "must not be the file of %s (%s), got %q for %s", before.words, before.field, o.file, o.words)
	case before.words == "the release" && contains(before.file, o.file):
		why := "which is replaced as a whole"
		if p.Streaming() {
			why = "which holds nothing else"
		}
		l.Wrong(o.field, "must not lie in the folder of the release (%s), %s, got %q", before.field, why, o.file)
	}
}

// pathOf returns the path of a connector's configuration, "" where it has none.
func pathOf(config any) string {
	if path := pathField(config); path.IsValid() {
		return path.String()
	}
	return ""
}

// pathField is where a connector's configuration has its path, not valid where it has none.
func pathField(config any) reflect.Value {
	v := reflect.ValueOf(config).Elem()
	m := dialect().Of(v.Type()).Member("path")
	if m == nil {
		return reflect.Value{}
	}
	path, _ := m.Peek(v)
	if path.Kind() != reflect.String {
		return reflect.Value{}
	}
	return path
}

func same(a, b string) bool { return absolute(a) == absolute(b) }

func absolute(path string) string {
	if objectpath.Is(path) {
		// As a path from no folder, so that none of this machine holds it or is held.
		return strings.Replace(objectpath.Clean(path), "://", "/", 1)
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// contains reports whether file lies in the folder.
func contains(folder, file string) bool {
	rel, err := filepath.Rel(absolute(folder), absolute(file))
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// reads reports whether a source, a folder or a glob, would take in file.
func reads(source, file string) bool {
	if contains(source, file) {
		return true
	}
	matches, err := filepath.Match(absolute(source), absolute(file))
	return err == nil && matches
}
