package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/transform"
)

// copyWord stands in the sink's path, and in the quarantine's, for the number of a copy.
const copyWord = "{copy}"

// Copies is how many releases of the source a run makes, 1 but where masks ask for copies.
func (p *Pipeline) Copies() int { return transform.Copies(p.Masks) }

// OfCopy is the configuration of one of several copies, from 1 on: its masks, its release
// and its quarantine. It has no report, as there is one of all of them.
func (p *Pipeline) OfCopy(number int) *Pipeline {
	one := *p
	one.Masks = transform.OfCopy(p.Masks, number)
	if path := pathField(p.Sink.Config); path.IsValid() {
		sink := reflect.New(reflect.TypeOf(p.Sink.Config).Elem())
		sink.Elem().Set(reflect.ValueOf(p.Sink.Config).Elem())
		pathField(sink.Interface()).SetString(numbered(path.String(), number))
		one.Sink.Config = sink.Interface().(connectors.SinkConfig)
	}
	one.Quarantine.JSONL = numbered(p.Quarantine.JSONL, number)
	one.Report = Report{}
	return &one
}

func numbered(path string, number int) string {
	return strings.ReplaceAll(path, copyWord, strconv.Itoa(number))
}

// validateCopies demands that each copy has a file of its own, and refuses fields that allow
// one release only.
func (l *loader) validateCopies(p *Pipeline) {
	if p.Sink.Config == nil || !l.Sound("masks") {
		return
	}
	sink := form.Join("sink", p.Sink.Kind)
	m, path := p.Copies(), pathOf(p.Sink.Config)
	if m == 1 {
		if strings.Contains(path, copyWord) && l.Sound(sink+".path") {
			l.Wrong(sink+".path",
				"must not have %s where there is one release, got %q; say copies: in a synthesise mask, or name a file", copyWord,
				path)
		}
		return
	}
	at := l.copiesField(p)
	switch {
	case p.kafkaSink() != nil || path == "" || p.Sink.Abilities().Description != "":
		l.Wrong(at, "must not be given where the release goes to topics or a table: %d copies are %d files; release to files",
			m, m)
	case !strings.Contains(path, copyWord) && l.Sound(sink+".path"):
		l.Wrong(sink+".path", "must have %s where the number of a copy goes, as there are %d, got %q; write %q", copyWord, m,
			path, withCopy(path))
	}
	if p.Quarantine.JSONL != "" && !strings.Contains(p.Quarantine.JSONL, copyWord) && l.Sound("quarantine.jsonl") {
		l.Wrong("quarantine.jsonl",
			"must have %s where the number of a copy goes, as each of %d has its own, got %q; write %q", copyWord, m,
			p.Quarantine.JSONL, withCopy(p.Quarantine.JSONL))
	}
	if p.Quarantine.Kafka != nil {
		l.Wrong("quarantine.kafka", "must be a file (jsonl) where masks ask for copies")
	}
	if len(p.Assess.Emit) > 0 && l.Sound("assess.emit") {
		l.Wrong("assess.emit", "must not be given where masks ask for copies: snapshots are of one release")
	}
	if p.Shard != nil && *p.Shard && l.Sound("shard") {
		l.Wrong("shard", "must not be true where masks ask for copies: one run makes all of them")
	}
}

// copyNumbers are the numbers of the copies whose files have names of their own; 0 stands for
// the configuration as it is.
func copyNumbers(p *Pipeline) []int {
	m := p.Copies()
	if m == 1 || p.Sink.Config == nil || !strings.Contains(pathOf(p.Sink.Config), copyWord) || p.Quarantine.JSONL != "" &&
		!strings.Contains(p.Quarantine.JSONL, copyWord) {
		return []int{0}
	}
	list := make([]int, m)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

// copiesField is the field that asks for copies.
func (l *loader) copiesField(p *Pipeline) string {
	for i, m := range p.Masks {
		if transform.Copies(p.Masks[i:i+1]) > 1 {
			return fmt.Sprintf("masks[%d].%s.copies", i, m.Kind())
		}
	}
	return "masks"
}

// withCopy puts the word for a copy's number before the extension of a path.
func withCopy(path string) string {
	slash := strings.LastIndexByte(path, '/') + 1
	name, extension, _ := strings.Cut(path[slash:], ".")
	if extension != "" {
		extension = "." + extension
	}
	return path[:slash] + name + "-" + copyWord + extension
}
