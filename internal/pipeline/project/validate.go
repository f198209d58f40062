package project

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/form"
	"github.com/sdlfilter/sdlfilter/internal/ledger/place"
	"github.com/sdlfilter/sdlfilter/internal/objects/objectpath"
	"github.com/sdlfilter/sdlfilter/transform"
)

// loader judges a project: what its fields mean together, and with those of its tables.
type loader struct {
	*config.Loader
	apart config.Errors // about the tables' files
}

// all is everything that is wrong, in the project's file and in those of its tables.
func (l *loader) all() error {
	var own config.Errors
	if err := l.Err(); err != nil && !errors.As(err, &own) {
		return err
	}
	if all := slices.Concat(own, l.apart); len(all) > 0 {
		return all
	}
	return nil
}

func (l *loader) validate(c *Config, opts config.Options) {
	if !l.Known("") {
		return
	}
	if l.Given("version") && l.Sound("version") && c.Version != 1 {
		l.Wrong("version", "must be 1, got %d", c.Version)
	}
	l.validateRules(c)
	l.ValidateLineage(c.Lineage)
	if len(c.Tables) < 2 && l.Sound("tables") {
		l.Wrong("tables", "must be at least two, got %d: for one table `sdlfilter run` takes the pipeline itself",
			len(c.Tables))
	}
	read := true
	for i := range c.Tables {
		read = l.readTable(&c.Tables[i], opts) && read
	}
	shaped := l.validateShape(c)
	if !read {
		return
	}
	for i := range c.Tables {
		l.validateTable(&c.Tables[i])
	}
	l.validateTogether(c)
	l.validateLedgers(c)
	l.validatePaths(c)
	if shaped {
		sound := true
		for i := range c.Keys {
			sound = l.validateKey(c, i) && sound
		}
		l.validateShifts(c)
		if sound { // else the key that is missing may be the one that has a mistake
			l.validatePseudonyms(c)
		}
		l.validatePerson(c)
	}
}

// validatePerson demands that two records of one person would be found in the table of the persons.
func (l *loader) validatePerson(c *Config) {
	if len(l.apart) == 0 && l.Sound("person") && len(c.own()) == 0 && len(c.named(c.Person).pipeline.Identity) == 0 {
		l.Wrong("person",
			"must be a table that keys refer to, or whose configuration has an identity, got %q: else nobody sees whether two of its records are one person's", c.Person)
	}
}

func (l *loader) validateRules(c *Config) {
	if l.Given("gate.rules") && l.Sound("gate.rules") && len(c.Gate.Rules) == 0 {
		l.Wrong("gate.rules", "must have at least one rule: without one nobody judges what all tables tell together")
	}
	for i, r := range c.Gate.Rules {
		at := fmt.Sprintf("gate.rules[%d]", i)
		if r.MinK != nil && *r.MinK < 2 {
			l.Wrong(at+".min_k", "must be at least 2, got %d", *r.MinK)
		}
		for _, limit := range r.limits() {
			if v := limit.value; limit.name != "min_k" && !(v >= 0 && v <= 1) {
				l.Wrong(at+"."+limit.name, "must be between 0 and 1, got %v", v)
			}
		}
	}
}

// readTable reads the configuration of a table, and reports whether it is one.
func (l *loader) readTable(t *Table, opts config.Options) bool {
	at := form.Join("tables", t.Name) + ".config"
	if t.Config == "" || !l.Sound(at) {
		return false
	}
	if t.Config == "-" {
		l.Wrong(at, "must be a file, got -")
		return false
	}
	p, err := config.Load(t.Config, opts)
	var wrong config.Errors
	if errors.As(err, &wrong) {
		l.apart = append(l.apart, wrong...)
		return false
	}
	t.pipeline = p
	return true
}

// validateShape demands that every table is joined to every other in one way.
func (l *loader) validateShape(c *Config) bool {
	sound := l.Sound("tables", "keys")
	if c.Person != "" && l.Sound("person") && c.named(c.Person) == nil {
		l.Wrong("person", "must be one of the tables, got %q%s", c.Person, form.Instead(c.Person, c.names()))
		sound = false
	}
	joined := map[string]string{} // of each table, one for all that are joined with it
	for _, name := range c.names() {
		joined[name] = name
	}
	for i, k := range c.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		for _, end := range []struct{ field, name string }{{"table", k.Table}, {"of", k.Of}} {
			if end.name != "" && c.named(end.name) == nil {
				l.Wrong(at+"."+end.field, "must be one of the tables, got %q%s", end.name, form.Instead(end.name, c.names()))
				sound = false
			}
		}
		a, b := joined[k.Table], joined[k.Of]
		switch {
		case a == "" || b == "":
			sound = false
		case a == b:
			l.Wrong(at, "joins %s and %s, which are joined already: by two ways nobody knows whose a record is",
				strconv.Quote(k.Table), strconv.Quote(k.Of))
			sound = false
		}
		for name, of := range joined {
			if of == b {
				joined[name] = a
			}
		}
	}
	for _, t := range c.Tables {
		if sound && joined[t.Name] != joined[c.Person] {
			l.Wrong(form.Join("tables", t.Name), "is joined with %s by no key (keys): give it a project of its own",
				strconv.Quote(c.Person))
			sound = false
		}
	}
	if !sound {
		return false
	}
	for i := range c.Keys {
		if k := &c.Keys[i]; c.below(k) && k.Of != c.Person {
			l.Wrong(fmt.Sprintf("keys[%d]", i),
				"joins records of %s to those of %s, which are not the persons (person): what many records of one record tell is not counted; give the table the column of %s", strconv.Quote(k.Table),
				strconv.Quote(k.Of), strconv.Quote(c.Person))
			sound = false
		}
	}
	return sound
}

func (c *Config) names() (list []string) {
	for _, t := range c.Tables {
		list = append(list, t.Name)
	}
	return list
}

// refuse notes what is wrong with a table's own configuration.
func (l *loader) refuse(t *Table, path, text string, args ...any) {
	l.apart = append(l.apart,
		t.pipeline.Errorf(path, "%s", "in a project (table "+strconv.Quote(t.Name)+") "+fmt.Sprintf(text, args...)))
}

// validateTable refuses what a table of a project cannot have.
func (l *loader) validateTable(t *Table) {
	p := t.pipeline
	source, sink := p.Source.Abilities(), p.Sink.Abilities()
	path := config.PathOf(p.Source.Config)
	switch {
	case source.OpenTogether != nil:
	case source.Topics != nil || source.Description != "" || path == "" || path == "-":
		l.refuse(t, "source."+p.Source.Kind,
			"must be files of records, or a table of PostgreSQL, which are read several times")
	case objectpath.Is(path):
		l.refuse(t, "source."+p.Source.Kind+".path", "must be files of this machine")
	}
	if paths := p.Sink.Config.Paths(); sink.Together == nil && (sink.Placed == nil || len(paths) != 1 ||
		config.PathOf(p.Sink.Config) == "-" || objectpath.Is(paths[0])) {
		l.refuse(t, "sink."+p.Sink.Kind,
			"must be one file of this machine (csv, jsonl or parquet), without a codebook beside it, or a table of PostgreSQL")
	}
	for _, f := range []struct {
		path  string
		given bool
		why   string
	}{
		{"place", p.Place != nil, "must be left out: a project masks all records at once"},
		{"shard", p.Shard != nil && *p.Shard, "must be left out: a project masks all records at once"},
		{"assess.emit", len(p.Assess.Emit) > 0, "must be left out: nothing is said before all tables are judged"},
		{"lineage", p.Lineage != nil, "must be left out: it is the project's, which has the events of all tables"},
		{"quarantine.kafka", p.Quarantine.Kafka != nil, "must be a file (jsonl)"},
		{"masks", p.Copies() > 1, "must make one release, and not several copies"},
		{"assess.intruder.count", p.Assess.Intruder != nil && p.Assess.Intruder.Count == config.CountReleased,
			"must be left out: persons are counted from the snooper's side"},
	} {
		if f.given {
			l.refuse(t, f.path, "%s", f.why)
		}
	}
}

// validateTogether demands what all tables must have in common.
func (l *loader) validateTogether(c *Config) {
	first := c.Tables[0].pipeline
	sinks := []connectors.SinkConfig{first.Sink.Config}
	for i := range c.Tables[1:] {
		t := &c.Tables[i+1]
		p := t.pipeline
		sinks = append(sinks, p.Sink.Config)
		if p.Key.File != first.Key.File || p.Key.Env != first.Key.Env {
			l.refuse(t, "key", "must be that of the other tables: under another key neither pseudonyms nor shifts agree")
		}
		if len(l.apart) > 0 {
			continue // of sinks, perhaps
		}
		a, b := first.Sink.Config.Paths()[0], p.Sink.Config.Paths()[0]
		together := p.Sink.Abilities().Together
		if (together == nil) != (first.Sink.Abilities().Together == nil) {
			l.refuse(t, "sink."+p.Sink.Kind,
				"must be of the kind of the other tables (%s): files and tables of a database are not published in one step",
				first.Sink.Kind)
		} else if together != nil {
			if _, err := together(sinks, nil); err != nil {
				l.refuse(t, "sink."+p.Sink.Kind, "%v", err)
			}
		} else if p.Sink.Abilities().Placed.Extension() != first.Sink.Abilities().Placed.Extension() {
			l.refuse(t, "sink."+p.Sink.Kind,
				"must be of the format and compression of the other tables, as a folder of a release holds nothing else")
		} else if !config.SameFile(filepath.Dir(a), filepath.Dir(b)) {
			l.refuse(t, "sink."+p.Sink.Kind+".path",
				"must lie in the folder of the other tables (%s), which is published as a whole, got %q", filepath.Dir(a), b)
		}
	}
	if len(l.apart) > 0 || c.folder() == "" {
		return
	}
	for i := range c.Tables {
		t := &c.Tables[i]
		if path, end := t.pipeline.Sink.Config.Paths()[0], t.pipeline.Sink.Abilities().Placed.Extension(); !strings.HasSuffix(
			path, end) {
			l.refuse(t, "sink."+t.pipeline.Sink.Kind+".path", "must end in %s, got %q", end, path)
		} else if dir := filepath.Dir(path); dir == "." || filepath.Dir(filepath.Clean(dir)) == filepath.Clean(dir) {
			l.refuse(t, "sink."+t.pipeline.Sink.Kind+".path",
				"must lie in a folder of its own, such as release/%s: the folder is replaced as a whole", filepath.Base(path))
		}
	}
}

// validateLedgers demands a ledger of its own for each table, or none for any: beside a table of which nobody knows
// what was released before, it is not known what the others tell with it.
func (l *loader) validateLedgers(c *Config) {
	first := c.Tables[0].pipeline
	for i := range c.Tables {
		t := &c.Tables[i]
		if (t.pipeline.Ledger == "") != (first.Ledger == "") {
			l.refuse(t, "ledger", "must be given for all tables or for none: what was released before is judged by all of them")
			return
		}
		for j := range c.Tables[:i] {
			if t.pipeline.Ledger != "" && sameLedger(c.Tables[j].pipeline.Ledger, t.pipeline.Ledger) {
				l.refuse(t, "ledger", "must be another one than that of table %s: a ledger is of the records of one table",
					strconv.Quote(c.Tables[j].Name))
			}
		}
	}
}

// sameLedger reports whether two ledgers are one.
func sameLedger(a, b string) bool {
	if place.Clean(a) == place.Clean(b) {
		return true
	}
	return !place.IsTable(a) && !place.IsTable(b) && !objectpath.Is(a) && !objectpath.Is(b) && config.SameFile(a, b)
}

// validatePaths demands that no file that is written is another, or one that is read, and that nothing but tables lies
// in the folder of the release.
func (l *loader) validatePaths(c *Config) {
	if len(l.apart) > 0 {
		return
	}
	files := l.Files()
	type output struct{ field, path string }
	var outputs []output
	out := func(field, path, words string) {
		if path != "" {
			files.Output(field, path, words)
			outputs = append(outputs, output{field, path})
		}
	}
	for i := range c.Tables {
		p, at := c.Tables[i].pipeline, form.Join("tables", c.Tables[i].Name)+".config"
		files.Input(at, c.Tables[i].Config, "the configuration of a table")
		files.Input(at, config.PathOf(p.Source.Config), "the source")
		files.Input(at, p.Key.File, "the key")
	}
	out("report.json", c.Report.JSON, "the report")
	out("report.json", config.PublicPath(c.Report.JSON), "the public report")
	out("report.html", c.Report.HTML, "the page")
	out("report.html", config.PublicPath(c.Report.HTML), "the public page")
	if c.Lineage != nil {
		out("lineage.file", c.Lineage.File, "the lineage events")
	}
	for i := range c.Tables {
		p, at := c.Tables[i].pipeline, form.Join("tables", c.Tables[i].Name)+".config"
		if c.folder() != "" {
			files.Output(at, p.Sink.Config.Paths()[0], "the release of a table")
		}
		out(at, p.Quarantine.JSONL, "the quarantine of a table")
		if !place.IsTable(p.Ledger) && !objectpath.Is(p.Ledger) {
			out(at, p.Ledger, "the ledger of a table")
		}
		out(at, p.Report.JSON, "the report of a table")
		out(at, p.Report.HTML, "the page of a table")
		out(at, config.PublicPath(p.Report.JSON), "the public report of a table")
		out(at, config.PublicPath(p.Report.HTML), "the public page of a table")
		out(at, p.Report.Board, "the board's page of a table")
		out(at, p.Report.XLSX, "the workbook of a table")
	}
	files.Apart()
	if c.folder() == "" {
		return
	}
	for _, o := range outputs {
		if within(c.folder(), o.path) && l.Sound(o.field) {
			l.Wrong(o.field, "must not write into the folder of the release (%s), which is replaced as a whole, got %q",
				c.folder(), o.path)
		}
	}
	for i := range c.Tables {
		at := form.Join("tables", c.Tables[i].Name) + ".config"
		for _, path := range []string{config.PathOf(c.Tables[i].pipeline.Source.Config), c.Tables[i].pipeline.Key.File,
			c.Tables[i].Config} {
			if path != "" && (within(c.folder(), path) || config.SameFile(c.folder(), path)) && l.Sound(at) {
				l.Wrong(at, "must not read from the folder of the release (%s), which is replaced as a whole, got %q", c.folder(),
					path)
			}
		}
	}
}

// within reports whether a file lies in a folder.
func within(folder, file string) bool {
	a, err1 := filepath.Abs(folder)
	b, err2 := filepath.Abs(file)
	return err1 == nil && err2 == nil && strings.HasPrefix(b, strings.TrimSuffix(a, "/")+"/")
}

// validateKey demands that what joins two tables in the source joins them in the release.
func (l *loader) validateKey(c *Config, i int) bool {
	k, at := &c.Keys[i], fmt.Sprintf("keys[%d]", i)
	if k.References == "" {
		k.References = k.Column
	}
	sides := []struct {
		field  string
		table  *Table
		column string
	}{{"column", c.named(k.Table), k.Column}, {"references", c.named(k.Of), k.References}}
	var laws [2]string
	for s, side := range sides {
		p, field := side.table.pipeline, at+"."+side.field
		listed := p.Columns.Named(side.column)
		switch {
		case listed == nil:
			place := at // where the reference has the column's own name
			if l.Given(field) {
				place = field
			}
			l.WrongAt(place, field, "must be a listed column of %s, got %q%s", strconv.Quote(side.table.Name), side.column,
				form.Instead(side.column, p.Columns.Names()))
			return false
		case len(listed.Missing.Codes) > 0:
			l.refuse(side.table, form.Join("columns", side.column)+".missing",
				"must be left out of a key: a code that means that there is none would join records")
			return false
		case listed.SameAs != "":
			l.refuse(side.table, form.Join("columns", side.column)+".same_as", "must be left out of a key")
			return false
		}
		law, other := lawOf(p, side.column)
		if other != "" {
			l.refuse(side.table, "masks", "must not change a key but by pseudonym, and %s changes %s, which joins tables (%s)",
				other, strconv.Quote(side.column), at)
			return false
		}
		laws[s] = law
	}
	if laws[0] != laws[1] {
		l.Wrong(at,
			"joins %s of %s, which is %s, with %s of %s, which is %s: the tables of the release would not join; mask both alike",
			strconv.Quote(k.Column), strconv.Quote(k.Table), laws[0],
			strconv.Quote(k.References), strconv.Quote(k.Of), laws[1])
		return false
	}
	return true
}

// validatePseudonyms refuses pseudonyms that join two tables and are in no key: what they join is counted by nobody.
func (l *loader) validatePseudonyms(c *Config) {
	type shown struct{ table, column, of, law string }
	identified := c.identified()
	var before []shown
	for i := range c.Tables {
		t := &c.Tables[i]
		for _, column := range t.pipeline.Columns {
			law, _ := lawOf(t.pipeline, column.Name)
			if !transform.Renames(t.pipeline.Masks, column.Name) || law == withheld {
				continue
			}
			now := shown{t.Name, column.Name, identified(t.Name, column.Name), law}
			for _, s := range before {
				if s.law == law && s.of != now.of {
					l.refuse(t, form.Join("columns", column.Name),
						"has the pseudonyms of %s of table %s, with which no key joins it (keys), so that nobody counts what they tell together: name the key, withhold the column or give it another scope",
						strconv.Quote(s.column), strconv.Quote(s.table))
					break
				}
			}
			before = append(before, now)
		}
	}
}

// withheld is the law of a key that no table shows.
const withheld = "withheld"

// lawOf says in words how a key is released; other names the mask that makes it something else than a key.
func lawOf(p *config.Pipeline, column string) (law, other string) {
	law = "released as it is"
	for i, m := range p.Masks {
		if m.Params == nil || !slices.Contains(m.Params.Masks(), column) {
			continue
		}
		s, ok := m.Params.(*transform.Pseudonym)
		if !ok {
			return "", p.MaskPath(i)
		}
		law = "a pseudonym of scope " + strconv.Quote(s.Scope) + " and form " + s.Written()
	}
	if p.Columns.Named(column).Role == "identifier" {
		law = withheld
	}
	return law, ""
}

// shift is a mask that moves the dates of what a column identifies.
type shift struct {
	table *Table
	path  string
	of    string // what it identifies: one for all columns that keys join
	law   string
}

// validateShifts demands that all dates of one person move alike, in whichever table they are.
func (l *loader) validateShifts(c *Config) {
	identified := c.identified()
	var before []shift
	for i := range c.Tables {
		t := &c.Tables[i]
		for m, spec := range t.pipeline.Masks {
			d, ok := spec.Params.(*transform.Date)
			if !ok || d.Shift == nil {
				continue
			}
			now := shift{t, t.pipeline.MaskPath(m), identified(t.Name, d.By),
				fmt.Sprintf("by %d days in scope %q", *d.Shift, d.Scope)}
			for _, s := range before {
				if s.of == now.of && s.law != now.law {
					l.refuse(t, now.path,
						"must shift dates as %s of table %s does, %s: else intervals between the tables differ, and two shifts of one date tell of it", s.path, strconv.Quote(s.table.Name), s.law)
					break
				}
			}
			before = append(before, now)
		}
	}
}
