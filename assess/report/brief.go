package report

import (
	"encoding/json"
	"io"
	"math"
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/internal/schemadoc"
)

// BriefSchemaName is the value of Brief.Schema.
const BriefSchemaName = "sdlfilter.summary/1"

// Brief is the summary of a run for scripts, one line of JSON: the verdict, the counts
// of records, each measured column's worst figure, and the files. It contains no value
// of a respondent, and no more about a column than the report's headline.
type Brief struct {
	Schema       string               `json:"schema"`
	Name         string               `json:"name"`
	Verdict      string               `json:"verdict"` // released, released_with_quarantine, withheld
	Status       int                  `json:"status"`  // the command's exit status
	Started      string               `json:"started"` // RFC 3339
	Seconds      float64              `json:"seconds"`
	ConfigSHA256 string               `json:"config_sha256"`
	Records      Records              `json:"records"`
	Rules        []BriefRule          `json:"rules"`
	Columns      Ordered[BriefColumn] `json:"columns"` // the masked ones
	Release      *Release             `json:"release,omitempty"`
	Files        []string             `json:"files"` // that have their names now, the release first
}

// BriefRule says whether a rule of the gate holds. The figure found is in the confidential
// report only: the value of an extreme may follow from its R.
type BriefRule struct {
	Rule    string `json:"rule"` // in words
	Column  string `json:"column,omitempty"`
	Measure string `json:"measure"`
	Passed  bool   `json:"passed"`
}

// BriefColumn holds the worst figures of a column, to two significant digits at most: those of two nights must not tell
// the value of a record that is in one of them alone (assess.Coarse). There are none of fewer than 10 values.
type BriefColumn struct {
	Efficiency assess.Float `json:"efficiency"` // U/U₀
	// RMSE is the least √(1/R), in the column's unit, with its target and knowledge state.
	// Knowledge of the mean is left out: its R is the same for every release of the data. So is what tells a value.
	RMSE      assess.Float `json:"rmse"`
	Target    string       `json:"target,omitempty"`
	Knowledge string       `json:"knowledge,omitempty"`
}

// Brief returns the short form of a report, for a command with the given exit status.
func (r *Report) Brief(status int, files []string) Brief {
	b := Brief{
		Schema: BriefSchemaName, Name: r.Name, Verdict: "released", Status: status,
		Started:      r.Started.UTC().Format("2006-01-02T15:04:05.000Z07:00"),
		Seconds:      math.Round(r.Finished.Sub(r.Started).Seconds()*1000) / 1000,
		ConfigSHA256: r.ConfigSHA256, Records: r.Records, Rules: []BriefRule{}, Columns: Ordered[BriefColumn]{},
		Release: r.Release, Files: files,
	}
	switch {
	case r.Withheld != "":
		b.Verdict = "withheld"
	case r.Records.Quarantined > 0:
		b.Verdict = "released_with_quarantine"
	}
	for _, rule := range r.Gate.Rules {
		b.Rules = append(b.Rules, BriefRule{Rule: rule.Rule, Column: rule.Column, Measure: rule.Measure, Passed: rule.Passed})
	}
	if b.Files == nil {
		b.Files = []string{}
	}
	for i := range r.Columns {
		if c := &r.Columns[i]; c.Masked {
			b.Columns = append(b.Columns, Member[BriefColumn]{Name: c.Name, Value: briefOf(c)})
		}
	}
	return b
}

func briefOf(c *assess.ColumnMeasures) BriefColumn {
	n := c.Original.N
	b := BriefColumn{Efficiency: twoDigits(coarse(c.Utility.Efficiency, n)), RMSE: assess.Float(math.NaN())}
	for _, k := range c.Risk {
		if k.Knowledge != assess.KnowledgeMean && !(k.RMSE >= b.RMSE) && k.RMSE == k.RMSE && !c.TellsTarget(&k) {
			b.RMSE, b.Target, b.Knowledge = k.RMSE, k.Target, k.Knowledge
		}
	}
	if b.RMSE = twoDigits(coarse(b.RMSE, n)); n < leastForMoments {
		b.Target, b.Knowledge = "", ""
	}
	return b
}

func twoDigits(v assess.Float) assess.Float {
	x := float64(v)
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return v
	}
	unit := math.Pow10(int(math.Floor(math.Log10(math.Abs(x)))) - 1)
	return assess.Float(math.Round(x/unit) * unit)
}

// Write writes the brief as one line of JSON.
func (b Brief) Write(w io.Writer) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// BriefSchema returns the JSON Schema of a Brief, made from the Go types. The file
// summary.schema.json beside this one is kept equal to it by a test.
func BriefSchema() ([]byte, error) {
	r := &jsonschema.Reflector{Anonymous: true, Mapper: func(t reflect.Type) *jsonschema.Schema {
		if t == reflect.TypeFor[Ordered[BriefColumn]]() {
			return &jsonschema.Schema{Type: "object", Description: "by column, in the order of the release",
				AdditionalProperties: &jsonschema.Schema{Ref: "#/$defs/BriefColumn"}}
		}
		return mapType(t)
	}}
	s := r.Reflect(&Brief{})
	s.ID = "sdlfilter.summary.schema.json"
	schemadoc.Define(s)
	s.Title = "Short form of a run of sdlfilter, for scripts"
	for name, definition := range r.Reflect(&BriefColumn{}).Definitions {
		s.Definitions[name] = definition
	}
	if head, ok := s.Definitions["Brief"].Properties.Get("schema"); ok {
		head.Const = BriefSchemaName
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}
