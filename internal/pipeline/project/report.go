package project

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/intruder/uniqueness"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/account"
	"github.com/sdlfilter/sdlfilter/internal/schemadoc"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
)

// The names of the formats.
const (
	ReportSchema = "sdlfilter.project/1"
	PublicSchema = "sdlfilter.project.public/1"
)

// Report is the report of one run. It is confidential.
type Report struct {
	Schema       string              `json:"schema"`
	Name         string              `json:"name"`
	Version      string              `json:"version" doc:"version of the program"`
	Started      time.Time           `json:"started"`
	Finished     time.Time           `json:"finished"`
	ConfigSHA256 string              `json:"config_sha256" doc:"digest of the project's configuration and those of its tables, as they took effect"`
	KeyID        string              `json:"key_id"`
	Tables       []TableReport       `json:"tables"`
	Person       string              `json:"person" doc:"the table whose records are the persons"`
	Persons      *uniqueness.Persons `json:"persons,omitempty" doc:"the persons, each by all of its records in all tables; absent if they could not be counted"`
	Unmeasured   string              `json:"unmeasured,omitempty" doc:"why the persons could not be counted; no rule about them holds then"`
	Ledgers      *Ledgers            `json:"ledgers,omitempty" doc:"the persons by all releases of all tables; absent without ledgers"`
	Amounts      []Amount            `json:"amounts,omitempty" doc:"masked numbers, each by its own table alone and with what the other tables tell of the same records"`
	NotCounted   []string            `json:"not_counted,omitempty" doc:"what the release tells of persons that is not counted"`
	Warnings     []string            `json:"warnings,omitempty"`
	Rounds       int                 `json:"rounds" doc:"how often tables were written until no record referred to one that had left"`
	Gate         assess.Verdict      `json:"gate" doc:"the verdict on all tables: each by its own gate, and the persons"`
	Withheld     string              `json:"withheld,omitempty" doc:"why no table is published"`
	Folder       string              `json:"folder,omitempty" doc:"the folder of the release, from that of the report; absent if it is in a database"`
	Loosened     []config.Loosening  `json:"loosened,omitempty" doc:"settings that let out more than the files do"`
}

// Ledgers is what all releases of all tables tell together, those in the tables' ledgers and this one.
type Ledgers struct {
	Releases map[string]int      `json:"releases" doc:"number of earlier releases, by table"`
	Persons  *uniqueness.Persons `json:"persons,omitempty" doc:"the persons, each by all that all releases have of its records; absent if they could not be counted"`
	Not      string              `json:"not,omitempty" doc:"why they could not be counted; no rule about persons holds then"`
}

// TableReport is what a project's report says of a table, whose own report says the rest.
type TableReport struct {
	Name    string           `json:"name"`
	Config  string           `json:"config_sha256"`
	Records microdata.Counts `json:"records" doc:"records by what became of them; left_out: not drawn by a sample, or left with records of other tables"`
	Left    []LeftBy         `json:"left,omitempty" doc:"records that left because of other tables"`
	Passed  bool             `json:"passed" doc:"whether its own gate lets it pass"`
	File    string           `json:"file" doc:"its name in the folder of the release, or the table of the database"`
}

// LeftBy are the records that left by one key. A record that would leave by several counts for the first.
type LeftBy struct {
	Key string `json:"key" doc:"TABLE.COLUMN = TABLE.COLUMN; the first refers to the second"`
	Left
}

func (l LeftBy) words() string {
	return fmt.Sprintf("%s: %d refer to no record, %d leave with one of the other table, %d have no value", l.Key, l.Orphans,
		l.With, l.Without)
}

// words writes a key as in TABLE.COLUMN = TABLE.COLUMN.
func (k *Key) words() string { return k.Table + "." + k.Column + " = " + k.Of + "." + k.References }

// judged judges the persons, and makes the report. A table that would pass is withheld with the others, which its
// report says.
func (r *run) judged(ctx context.Context) (*Report, error) {
	c := r.config
	rep := &Report{Schema: ReportSchema, Name: c.Name, Version: r.options.Version, Started: r.started,
		ConfigSHA256: c.SHA256(), KeyID: r.key.ID(), Person: c.Person, Rounds: r.rounds, Warnings: r.warnings,
		Gate: assess.Verdict{Passed: true}, Loosened: slices.Clone(c.Loosened)}
	var err error
	if rep.Persons, rep.Unmeasured, err = r.persons(ctx, false); err != nil {
		return nil, err
	}
	if rep.Ledgers, err = r.ledgers(ctx); err != nil {
		return nil, err
	}
	add := func(v assess.RuleVerdict) {
		rep.Gate.Passed, rep.Gate.Rules = rep.Gate.Passed && v.Passed, append(rep.Gate.Rules, v)
	}
	for i := range c.Tables {
		t := &c.Tables[i]
		m := r.members[t.Name]
		own := m.part.Report
		rep.Tables = append(rep.Tables,
			TableReport{t.Name, t.pipeline.SHA256(), own.Records.Counts, r.leftBy(m), own.Gate.Passed,
				t.released()})
		rep.Loosened = append(rep.Loosened, t.pipeline.Loosened...)
		v := assess.RuleVerdict{Rule: "table " + strconv.Quote(t.Name) + " passes its own gate", Measure: "table", Limit: 1,
			Passed: own.Gate.Passed}
		if v.Passed {
			v.Found = 1
		} else {
			v.Advice = "its own report says why: " + own.Withheld
		}
		add(v)
	}
	for _, v := range slices.Concat(r.dates, c.Gate.judge(rep.Persons, rep.Unmeasured, "")) {
		add(v)
	}
	if l := rep.Ledgers; l != nil {
		for _, v := range c.Gate.judge(l.Persons, l.Not, ", with the earlier releases of the ledgers") {
			add(v)
		}
	}
	amounts, verdicts, err := r.amounts(ctx)
	if err != nil {
		return nil, err
	}
	rep.Amounts = amounts
	for _, v := range verdicts {
		add(v)
	}
	rep.NotCounted = append(c.notCounted(), r.unseen()...)
	rep.Finished = time.Now()
	if !rep.Gate.Passed {
		rep.Withheld = account.WithheldBecause(rep.Gate)
		r.withholdAll(rep.Withheld)
	}
	return rep, nil
}

// ledgers counts the persons by all releases of all tables; nil without ledgers.
func (r *run) ledgers(ctx context.Context) (l *Ledgers, err error) {
	if r.ledger == nil {
		return nil, nil
	}
	l = &Ledgers{Releases: map[string]int{}}
	for _, m := range r.order {
		l.Releases[m.table.Name] = len(m.part.Report.Ledger.Releases)
	}
	l.Persons, l.Not, err = r.persons(ctx, true)
	return l, err
}

// leftBy lists what left a table because of others.
func (r *run) leftBy(m *member) (list []LeftBy) {
	for i := range r.config.Keys {
		if l := m.left[i]; l != nil && *l != (Left{}) {
			list = append(list, LeftBy{r.config.Keys[i].words(), *l})
		}
	}
	return list
}

// notCounted names what persons tell of each other by a record to which several refer.
func (c *Config) notCounted() (list []string) {
	for i := range c.Keys {
		k := &c.Keys[i]
		if !c.below(k) && c.shows(k) {
			list = append(list,
				fmt.Sprintf(
					"%s: whoever knows several records that refer to one of %s, such as all members of a household, compares them all together; here each person is counted by its own records and by how many refer to the same", k.words(), k.Of))
		}
	}
	for i := range c.Tables {
		for _, spec := range c.Tables[i].pipeline.Masks {
			if d, ok := spec.Params.(*transform.Date); ok && d.Shift != nil {
				list = append(list,
					fmt.Sprintf("table %s: the intervals between the shifted dates of a person (%s), which stay to the day",
						strconv.Quote(c.Tables[i].Name), strings.Join(d.Columns, ", ")))
			}
		}
	}
	return append(list,
		"amounts: what the other tables tell of a masked number is sought in their columns, and in counts, sums, means, least and greatest values of the records that refer to one (of columns with few values also by these), in the first, the last and the middle one, and in those of other tables at the same place; not in other figures, in letters of texts, and where it is less than what as many columns tell by chance")
}

// withholdAll says in the reports of tables that would pass by themselves that they are withheld.
func (r *run) withholdAll(why string) {
	for _, m := range r.order {
		rep := m.part.Report
		if !rep.Gate.Passed {
			continue
		}
		rep.Gate.Passed = false
		rep.Gate.Rules = append(slices.Clone(rep.Gate.Rules), assess.RuleVerdict{
			Rule: "all tables of project " + strconv.Quote(r.config.Name) + " may be published", Measure: "project", Limit: 1,
			Advice: "the project's report: " + why,
		})
		rep.Withheld = account.WithheldBecause(rep.Gate)
	}
}

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// Public is the public report on tables that are published.
type Public struct {
	Schema  string        `json:"schema"`
	Name    string        `json:"name"`
	Version string        `json:"version"`
	Tables  []PublicTable `json:"tables"`
	Keys    []PublicKey   `json:"keys" doc:"the columns that join the tables of the release"`
}

// PublicTable is a table that is published.
type PublicTable struct {
	Name    string `json:"name"`
	Records int64  `json:"records"`
	File    string `json:"file" doc:"its name in the folder of the release, or the table of the database"`
}

// PublicKey is a key by which the tables of the release can be joined.
type PublicKey struct {
	Table      string `json:"table"`
	Column     string `json:"column"`
	Of         string `json:"of"`
	References string `json:"references"`
}

func (c *Config) public(rep *Report) *Public {
	p := &Public{Schema: PublicSchema, Name: rep.Name, Version: rep.Version, Keys: []PublicKey{}}
	for _, t := range rep.Tables {
		p.Tables = append(p.Tables, PublicTable{t.Name, t.Records.Released, t.File})
	}
	for i := range c.Keys {
		k := &c.Keys[i]
		if c.shows(k) {
			p.Keys = append(p.Keys, PublicKey{k.Table, k.Column, k.Of, k.References})
		}
	}
	return p
}

// ReportJSONSchema is the JSON Schema of a project's report; report.schema.json beside this file is kept equal to it by
// a test.
func ReportJSONSchema() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, LookupComment: schemadoc.Of,
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			if t == reflect.TypeFor[assess.Float]() {
				return schemadoc.Number()
			}
			return nil
		}}
	s := r.Reflect(&Report{})
	s.ID, s.Title = "sdlfilter.project.report.schema.json", "Report of one run of a project of sdlfilter"
	schemadoc.Define(s)
	if head, ok := s.Definitions["Report"].Properties.Get("schema"); ok {
		head.Const = ReportSchema
	}
	return indented(s)
}

// Summary prints how a run ended.
func (r *Result) Summary(out io.Writer) {
	rep := r.Report
	for _, t := range rep.Tables {
		fmt.Fprintf(out, "%s: %d of %d records", t.Name, t.Records.Released, t.Records.Read)
		if t.Records.Quarantined > 0 {
			fmt.Fprintf(out, ", %d in quarantine", t.Records.Quarantined)
		}
		if t.Records.LeftOut > 0 {
			fmt.Fprintf(out, ", %d left out", t.Records.LeftOut)
		}
		fmt.Fprintln(out)
		for _, l := range t.Left {
			fmt.Fprintf(out, "  %s\n", l.words())
		}
	}
	if p := rep.Persons; p != nil {
		fmt.Fprintf(out, "%d persons by all tables together: k at least %v, %d unique, %.3g of them expected to be found\n",
			p.Persons, p.MinFrequency, p.Uniques, p.Found)
	}
	if l := rep.Ledgers; l != nil && l.Persons != nil {
		fmt.Fprintf(out, "by all releases of the ledgers too: k at least %v, %d unique, %.3g of them expected to be found\n",
			l.Persons.MinFrequency, l.Persons.Uniques, l.Persons.Found)
	}
	for _, o := range rep.Loosened {
		fmt.Fprintf(out, "loosened: %s by %s\n", o.Path, o.Origin)
	}
	for _, v := range rep.Gate.Rules {
		word := "holds"
		if !v.Passed {
			word = "DOES NOT HOLD"
		}
		fmt.Fprintf(out, "%s: %s\n", v.Rule, word)
		if v.Advice != "" {
			fmt.Fprintf(out, "  %s\n", v.Advice)
		}
	}
	if rep.Withheld != "" {
		fmt.Fprintln(out, "Withheld: no table is published")
	}
	if len(r.Files) > 0 {
		fmt.Fprintf(out, "Written: %s\n", strings.Join(r.Files, ", "))
	}
}

// Brief is how a run ended, in one line for scripts.
type Brief struct {
	Schema  string   `json:"schema"`
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"`
	Status  int      `json:"status"`
	Files   []string `json:"files"`
}

// Brief writes the short form of a result, for a command with the given exit status.
func (r *Result) Brief(out io.Writer, status int) error {
	b := Brief{"sdlfilter.project.summary/1", r.Report.Name, "released", status, append([]string{}, r.Files...)}
	switch {
	case r.Refused():
		b.Verdict = "withheld"
	case r.Quarantined() > 0:
		b.Verdict = "released_with_quarantine"
	}
	return json.NewEncoder(out).Encode(b)
}
