package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/sdlfilter/sdlfilter/transform"
)

// releasing are the top-level fields that decide what is released of a record, and which draws it has.
var releasing = []string{"identity", "household", "weight", "columns", "masks", "window"}

// Releasing is the part of the configuration in force that decides what is released of a record, as JSON. A ledger
// keeps it, and Before reads it. Nothing secret is in it.
func (p *Pipeline) Releasing() []byte { return p.Part(releasing...) }

// Judging is the part of the configuration in force that decides whether a release is published, as JSON. A ledger
// keeps it, and Again reads it. Nothing secret is in it.
func (p *Pipeline) Judging() []byte { return p.Part("assess", "gate") }

// Again is Before, with what judged the earlier release: what Judging of it gave.
func (p *Pipeline) Again(at string, released, judging []byte) (*Pipeline, error) {
	b, err := p.Before(at, released)
	if err != nil {
		return nil, err
	}
	e, err := ofParts(at, released, judging, []byte(`{"ledger":"releases.sdl"}`))
	if err != nil {
		return nil, err
	}
	b.Assess, b.Gate, b.Ledger, b.loaded = e.Assess, e.Gate, p.Ledger, e.loaded
	return b, nil
}

// ofParts reads a configuration that has some parts, as Part returns them, and stands for no source and sink.
func ofParts(at string, parts ...[]byte) (*Pipeline, error) {
	var text bytes.Buffer
	text.WriteString(`{"version":1,"name":` + string(quoted(at)) +
		`,"key":{"env":"NONE"},"unlisted":"drop","source":{"csv":{"path":"records.csv"}},"sink":{"csv":{"path":"released.csv"}}`)
	for _, part := range parts {
		rest := bytes.TrimPrefix(bytes.TrimSpace(part), []byte("{"))
		if rest = bytes.TrimSuffix(rest, []byte("}")); len(rest) > 0 {
			text.WriteByte(',')
			text.Write(rest)
		}
	}
	text.WriteByte('}')
	return Parse(at, text.Bytes(), Options{Environ: func() []string { return nil }})
}

// Before returns the configuration of an earlier release of the records of p: what Releasing of it gave, on p's
// source, with nothing that judges or writes. at names the release in errors. Masks of a sample are left out: a
// record is taken to have been in it. The error is of type Errors, or says in what the release cannot be told from
// today's records.
func (p *Pipeline) Before(at string, released []byte) (*Pipeline, error) {
	e, err := ofParts(at, released)
	if err != nil {
		return nil, err
	}
	for i := range e.Columns {
		c := &e.Columns[i]
		today := p.Columns.Named(c.Name)
		if today == nil {
			if len(c.Missing.Codes) > 0 {
				return nil, fmt.Errorf("%s: its codes for missing values (columns.%s.missing) are not declared today", at, c.Name)
			}
			continue
		}
		if string(quoted(c.Missing)) != string(quoted(today.Missing)) {
			return nil, fmt.Errorf("%s: columns.%s.missing was another one", at, c.Name)
		}
	}
	b := *p
	b.Name, b.Identity, b.Household, b.Weight, b.Columns, b.Window, b.loaded = at, e.Identity, e.Household, e.Weight,
		e.Columns, e.Window, e.loaded
	b.Assess, b.Gate, b.Quarantine, b.Report, b.Map, b.Profile, b.Unlisted = Assess{Privacy: p.Assess.Privacy}, Gate{},
		Quarantine{}, Report{}, nil, "", "drop"
	b.Ledger, b.Joins, b.Warnings, b.Loosened, b.Masks = "", nil, nil, nil, nil
	for i, m := range e.Masks {
		if !transform.LeavesOut(m.Params) {
			b.Masks = append(b.Masks, transform.Spec{Name: transform.Label(e.Masks, i), Params: m.Params})
		}
	}
	return &b, nil
}

func quoted(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("config: " + err.Error()) // of strings and declared codes
	}
	return text
}

// MaskFiles returns the paths of the files that masks have their tables in.
func (p *Pipeline) MaskFiles() (paths []string) {
	for _, m := range p.Masks {
		if t := transform.FileOf(m.Params); t != nil && t.Path != "" {
			paths = append(paths, t.Path)
		}
	}
	return paths
}

// validateLedger refuses a ledger where what is released would not be entered, or not be judged with what was.
func (l *loader) validateLedger(p *Pipeline) {
	if p.Ledger == "" {
		if len(p.Gate.AllowUnguarded) > 0 {
			l.Wrong("gate.allow_unguarded", "must be left out without a ledger")
		}
		if len(p.Gate.AllowTables) > 0 {
			l.Wrong("gate.allow_tables", "must be left out without a ledger")
		}
		for i, rule := range p.Gate.Rules {
			if at := fmt.Sprintf("gate.rules[%d]", i); rule.Knowledge == "all_releases" {
				l.Wrong(at+".knowledge",
					"must be another one without a ledger, which says what was released before: name its file (ledger)")
			}
		}
		return
	}
	switch {
	case p.Streaming():
		l.Wrong("ledger", "must be left out of a stream, which has released before it is judged as a whole")
	case p.Place != nil || p.Shard != nil && *p.Shard:
		l.Wrong("ledger",
			"must be left out of a run that masks a part of the records: what the parts release would be entered as releases of their own")
	case p.Copies() > 1:
		l.Wrong("ledger", "must be left out where a run makes %d releases (copies)", p.Copies())
	}
}
