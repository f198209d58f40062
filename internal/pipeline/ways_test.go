package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v3"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// people returns a configuration for a CSV file of 60 records in a separate folder.
func people(t *testing.T, rest string) *config.Pipeline {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("id,wage,region,kind\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "R%d,%d.25,r%d,%c\n", i, 1000+i*i%777, i%3, 'a'+rune(i%4))
	}
	if err := os.WriteFile(filepath.Join(dir, "in.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return parsed(t, dir, rest)
}

// planFor returns the plan of a configuration with its own source, which is closed at the end of
// the test.
func planFor(t *testing.T, p *config.Pipeline, carries bool) *Plan {
	t.Helper()
	src, err := OpenSource(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	pl, err := newPlan(p, nil, src, carries)
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// A release needs its key, and permission for settings that loosen its file. With both it gets the
// key.
func TestAdmitted(t *testing.T) {
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
	if key, err := Admit(p, Options{}); err != nil || key.ID() == (keystream.Key{}).ID() {
		t.Errorf("Admit returns %v, or the key is the zero key", err)
	}
	p.Loosened = []config.Loosening{{Path: "gate", Origin: "first"}, {Path: "masks", Origin: "last"}}
	var problems config.Errors
	for _, err := range []error{May(p, Options{}), func() error { _, err := Admit(p, Options{}); return err }()} {
		if !errors.As(err, &problems) || len(problems) != 2 {
			t.Errorf("loosened without leave: error %v, want two problems", err)
		}
	}
	if _, err := Admit(p, Options{AllowLoosening: true}); err != nil {
		t.Errorf("loosened with leave: error %v, want none", err)
	}
	p.Key.File += "gone"
	var data *DataError
	if _, err := Admit(p, Options{AllowLoosening: true}); !errors.As(err, &data) {
		t.Errorf("no key: error %v, want a DataError", err)
	}
}

// declared is the configuration of a source that receives its columns.
type declared struct {
	connectors.SourceConfig
	columns     []connectors.DeclaredColumn
	drop, plain bool
}

func (d *declared) Abilities() connectors.SourceConfigAbilities {
	return connectors.SourceConfigAbilities{Declare: func(columns []connectors.DeclaredColumn, drop, plain bool) {
		d.columns, d.drop, d.plain = columns, drop, plain
	}}
}

// A source of messages is told for each column whether it is withheld, identifies, and is numeric:
// a column is numeric if a mask (first or last) computes with it, or if its decimals are known.
func TestColumnsAreDeclared(t *testing.T) {
	for _, c := range []struct {
		rest, want string
		drop       bool
	}{
		{columns + "masks: [{noise: {columns: [wage], sd: 3}}]\n", "id:w wage:n region: kind:", false},
		{columns + "masks: [{noise: {columns: [wage], sd: 3}}]\nidentity: [id, kind]\nunlisted: drop\n",
			"id:wi wage:n region: kind:i", true},
		{strings.Replace(columns, "region: {role: key}", "region: {role: key, decimals: 0}", 1) +
			"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}]\n",
			"id:w wage: region:n kind:", false},
		{
			columns +
				"masks: [{noise: {columns: [wage], sd: 3, where: \"region >= 2 and wage > 0\"}}, {round: {columns: [wage], base: 5, where: \"kind = a\"}}]\n", "id:w wage:n region:n kind:", false},
		{columns + "masks: [{noise: {columns: [kind], sd: 3}}, {bias: {columns: [wage], phi: 0.1}}]\n",
			"id:w wage:n region: kind:n", false},
	} {
		p := people(t, c.rest)
		d := &declared{SourceConfig: p.Source.Config}
		p.Source.Config = d
		if err := Declare(p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range d.columns {
			text := column.Name + ":"
			for mark, is := range map[string]bool{"w": column.Withheld, "i": column.Identity && !column.Withheld,
				"n": column.Number} {
				if is {
					text += mark
				}
			}
			if column.Withheld && column.Identity {
				text += "i"
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != c.want || d.drop != c.drop || !d.plain {
			t.Errorf("%s: declared columns %s, drop %v, plain %v", c.rest, got, d.drop, d.plain)
		}
	}
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\nprofile: DIR/gone\n")
	p.Source.Config = &declared{SourceConfig: p.Source.Config}
	var data *DataError
	if src, err := OpenSource(t.Context(), p); src != nil || !errors.As(err, &data) {
		t.Errorf("missing profile: OpenSource returns %v and error %v, want a DataError", src, err)
	}
}

// counting is a source that counts how often it is opened and closed.
type counting struct {
	connectors.SourceConfig
	opened, closed int
}

type closing struct {
	connectors.Source
	of *counting
}

func (c *counting) Open(ctx context.Context) (connectors.Source, error) {
	src, err := c.SourceConfig.Open(ctx)
	if err == nil {
		c.opened++
	}
	return &closing{src, c}, err
}

func (c *closing) Close() error {
	c.of.closed++
	return c.Source.Close()
}

// Missing columns of places are refused at their field, and the source is closed. A source that
// cannot be opened is a separate error.
func TestSourcesOfPlaces(t *testing.T) {
	for place, want := range map[string]string{"region kind": "place.record: ", "gone wage": "place.stream: ",
		"region gone": "place.record: "} {
		p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
		in := p.Source.Config.(*csv.SourceConfig).Path
		if err := os.WriteFile(in, []byte("id,wage,region,kind\nR1,5,0,a\nR2,7,0,b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		of := &counting{SourceConfig: p.Source.Config}
		stream, record, _ := strings.Cut(place, " ")
		p.Source.Config, p.Place = of, &config.Place{Stream: stream, Record: record}
		var wrong config.Errors
		if src, err := OpenSource(t.Context(), p); src != nil || !errors.As(err, &wrong) ||
			!strings.Contains(err.Error(), want) || of.closed != 1 {
			t.Errorf("%s: error %v, source closed %d times; want the error %s and one close", place, err, of.closed, want)
		}
	}
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
	source := p.Source.Config
	for _, place := range []*config.Place{nil, {Stream: "region", Record: "wage"}} {
		p.Place = place
		p.Source.Config = (&faulty.Calls{Name: "open", N: 1}).Config(source)
		if src, err := OpenSource(t.Context(), p); src != nil || !errors.Is(err, faulty.ErrCall) {
			t.Errorf("a source that cannot be opened: error %v", err)
		}
	}
}

// Text is compared in the notation of the configuration if a mask writes categories, or has a condition on texts, and
// no mask moves them, at any place.
func TestTextsAreCompared(t *testing.T) {
	noise, recode, swap := transform.Spec{Params: &transform.Noise{}}, transform.Spec{Params: &transform.Recode{}},
		transform.Spec{Params: &transform.Swap{}}
	where := func(of string) transform.Spec {
		return transform.Spec{Params: &transform.Round{Columns: []string{"wage"}, Where: of}}
	}
	for _, c := range []struct {
		masks []transform.Spec
		want  bool
	}{
		{nil, false}, {[]transform.Spec{noise}, false}, {[]transform.Spec{recode}, true}, {[]transform.Spec{swap}, false},
		{[]transform.Spec{noise, recode}, true}, {[]transform.Spec{recode, noise}, true},
		{[]transform.Spec{recode, swap}, false}, {[]transform.Spec{swap, recode}, false},
		{[]transform.Spec{recode, noise, swap}, false}, {[]transform.Spec{noise, noise}, false},
		{[]transform.Spec{noise, where("wage > 0 and kind = a")}, true},
		{[]transform.Spec{where(`kind != "1"`), noise}, true}, {[]transform.Spec{where("kind = 1")}, false},
		{[]transform.Spec{swap, where("kind = a")}, false},
	} {
		if got := comparesTexts(c.masks); got != c.want {
			t.Errorf("comparesTexts of %d masks = %v, want %v", len(c.masks), got, c.want)
		}
	}
	if putsCategories(&transform.Suppress{}) {
		t.Error("putsCategories of Suppress is true, want false")
	}
}

// namedConfig describes itself.
type namedConfig struct{ connectors.SourceConfig }

func (namedConfig) Abilities() (can connectors.SourceConfigAbilities) {
	can.Description = "a table"
	return can
}

// The description of a connector is its own, and that of a stream includes every topic besides the
// release.
func TestTopicsBesideTheRelease(t *testing.T) {
	if got := DescribeSource(config.Source{Config: namedConfig{}}); got != "a table" {
		t.Error(got)
	}
	var p config.Pipeline
	topic := func(name string) config.Emit { return config.Emit{Kafka: &config.EmitTopic{Topic: name}} }
	p.Assess.Emit = []config.Emit{topic("first"), {JSONL: "x"}, topic("last")}
	if got := AlsoWritten(&p); !slices.Equal(got, []string{"first", "last"}) {
		t.Error(got)
	}
	p.Quarantine.Kafka = &config.QuarantineTopic{Topic: "bad"}
	if got := AlsoWritten(&p); !slices.Equal(got, []string{"bad", "first", "last"}) {
		t.Error(got)
	}
	for path, want := range map[string]bool{"stdout": true, os.DevNull: false, "out.csv": false} {
		p.Sink.Config = &csv.SinkConfig{Path: path}
		if got := WritesStdout(&p); got != want {
			t.Errorf("WritesStdout for %s = %v", path, got)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	kept := os.Stdout
	defer func() { os.Stdout = kept }()
	os.Stdout = null
	if !isStdout(os.DevNull) || isStdout("/dev/zero") || isStdout(filepath.Join(t.TempDir(), "gone")) {
		t.Error("isStdout does not know the device of standard output, or accepts another file")
	}
	if null.Close(); isStdout(os.DevNull) {
		t.Error("isStdout is true for a closed standard output")
	}
}

// If anything in a pass fails or is cancelled, the pass returns the error. Each stage receives the
// blocks in order until then.
func TestPassesFail(t *testing.T) {
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
	pl := planFor(t, p, true)
	run := func(ctx context.Context, calls *faulty.Calls, fails string) (seen [2]int, err error) {
		at := func(name string) error {
			if name == fails {
				return errors.ErrUnsupported
			}
			return nil
		}
		f := Flow{Source: calls.Source(pl.Source), Layout: pl.SurveyLayout(), Cut: connectors.Cut{Records: 8, Exact: true},
			Work: func(*Parcel) error { return at("work") },
			Stages: []func(*Parcel) error{
				func(p *Parcel) error { seen[0] += p.Block.N; return at("first") },
				func(p *Parcel) error { seen[1] += p.Block.N; return at("last") },
			}}
		err = f.Run(ctx)
		return seen, err
	}
	all := new(faulty.Calls)
	if seen, err := run(t.Context(), all, ""); err != nil || seen != [2]int{60, 60} {
		t.Fatal(seen, err)
	}
	for name, n := range faulty.Each(all.Counts()) {
		if _, err := run(t.Context(), &faulty.Calls{Name: name, N: n}, ""); !errors.Is(err, faulty.ErrCall) {
			t.Errorf("%s, call %d fails: the error is %v", name, n, err)
		}
	}
	for _, name := range []string{"work", "first", "last"} {
		if _, err := run(t.Context(), new(faulty.Calls), name); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s fails: the error is %v", name, err)
		}
	}
	if seen, err := run(t.Context(), &faulty.Calls{Wraps: true}, ""); err != nil || seen != [2]int{60, 60} {
		t.Errorf("a wrapped io.EOF: records %v, error %v, want all records and no error", seen, err)
	}
	// A cancelled pass does not check whether its data have changed, and neither does a part of an
	// open one.
	ctx, cancel := context.WithCancel(t.Context())
	calls := &faulty.Calls{Name: "read", N: 1, Cancel: cancel}
	if _, err := run(ctx, calls, ""); !errors.Is(err, context.Canceled) || calls.Counts()["unchanged"] != 1 {
		t.Errorf("error %v, the source was checked for changes %d times, want context.Canceled and 1", err,
			calls.Counts()["unchanged"])
	}
	open := new(faulty.Calls)
	reader, err := open.Source(pl.Source).Read(t.Context(), pl.SurveyLayout(), connectors.Cut{})
	if err != nil {
		t.Fatal(err)
	}
	part := Flow{Source: open.Source(pl.Source), Layout: pl.SurveyLayout(), Reader: reader}
	if err := part.Run(t.Context()); err != nil || open.Counts()["unchanged"] != 0 ||
		open.Counts()["close the reader"] != 0 || open.Counts()["read"] != 1 {
		t.Errorf("a pass over a part: error %v, calls %v; want one read, no close and no check for changes", err,
			open.Counts())
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	for n := range eventually.Steps {
		ctx := eventually.Ends(t.Context(), n)
		_, err := run(ctx, new(faulty.Calls), "")
		if err == nil && !ctx.Ended() {
			break
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("context ended at check %d: error %v", n, err)
		}
	}
	if _, err := run(t.Context(), &faulty.Calls{Panic: "canary"}, ""); err == nil ||
		strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "in.csv, records from 1: string at ") {
		t.Errorf("a panic in a decoder: error %v, want the place without the value", err)
	}
	if n := cap(NewStock()); n < 4 || len(NewStock()) != n {
		t.Errorf("the stock has %d blocks, want at least 4, all of them free", n)
	}
}

// Correlations that are not configured are computed in one pass over all columns of the mask, once
// for each pair. A constant column has none.
func TestCorrelationsAreSettled(t *testing.T) {
	head :=
		"columns: {id: {role: identifier}, wage: {role: sensitive, decimals: 2}, region: {role: sensitive, decimals: 0}, kind: {role: sensitive, decimals: 0}}\n"
	p := parsed(t, t.TempDir(),
		head+
			"masks: [{noise: {columns: [wage, region], sd: 10%, correlated: true}}, {noise: {columns: [kind, wage, region], sd: 10%, correlated: true}}]\nprofile: DIR/wage.yaml\n")
	var rows strings.Builder
	rows.WriteString("id,wage,region,kind\n")
	for i := range 40 {
		fmt.Fprintf(&rows, "R%d,%d.25,%d,7\n", i, i, -i)
	}
	if err := os.WriteFile(p.Source.Config.(*csv.SourceConfig).Path, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	// The profile contains only one column.
	one := *p
	one.Columns = p.Columns[1:2]
	profile, err := ProfilePipeline(t.Context(), &one, new(Progress))
	if err != nil || len(profile.Columns) != 1 {
		t.Fatal(profile, err)
	}
	text, err := yaml.Marshal(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Profile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	pl := planFor(t, p, true)
	if err := pl.Settle(t.Context(), new(Progress)); err != nil {
		t.Fatal(err)
	}
	want := transform.Correlations{{"region", "wage"}: -1, {"kind", "wage"}: 0, {"kind", "region"}: 0}
	if got := pl.Correlations(); len(got) != 3 || got[[2]string{"region", "wage"}] != -1 ||
		got[[2]string{"kind", "wage"}] != 0 || got[[2]string{"kind", "region"}] != 0 {
		t.Errorf("correlations are %v, want %v", got, want)
	}
	pl.SetCorrelations(transform.Correlations{{"region", "wage"}: 0.5})
	pl.takeCorrelations(&assess.Profile{Columns: []assess.ColumnProfile{{Name: "wage", SD: 2}, {Name: "region", SD: 2}},
		Covariance: [][]float64{{4, 4}, {4, 4}}})
	if got := pl.Correlations(); len(got) != 1 || got[[2]string{"region", "wage"}] != 0.5 {
		t.Errorf("a known correlation was replaced: %v", got)
	}
	// rounding may give more than 1
	for covariance, want := range map[assess.Float]float64{5: 1, -5: -1, 2: 0.5, -2: -0.5} {
		pl.SetCorrelations(nil)
		pl.takeCorrelations(&assess.Profile{Columns: []assess.ColumnProfile{{Name: "wage", SD: 2}, {Name: "region", SD: 2}},
			Covariance: [][]float64{{4, float64(covariance)}, {float64(covariance), 4}}})
		if got := pl.Correlations()[[2]string{"region", "wage"}]; got != want {
			t.Errorf("covariance %v gives the correlation %v, want %v", covariance, got, want)
		}
	}
	var log bytes.Buffer
	pl.SetCorrelations(want)
	pl.Constant = []string{"first", "last"}
	pl.warnOfConstant(zerolog.New(&log))
	for _, text := range []string{`"column":"first"`, `"column":"last"`, `"column":"wage","mask":`,
		`"column":"region","mask":`} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("%s is missing in the log %s", text, log.String())
		}
	}
	if strings.Contains(log.String(), `"column":"kind"`) || strings.Count(log.String(), "\n") != 6 {
		t.Errorf("want 6 warnings, none about kind, which the other columns do not determine: %s", log.String())
	}
}

// Statistics are rounded to six significant digits, for any size.
func TestStable(t *testing.T) {
	for v, want := range map[float64]float64{123456.4: 123456, 123456.6: 123457, -1.0000049: -1, 1.000006: 1.00001,
		math.MaxFloat64: 1.79769e308, -math.MaxFloat64: -1.79769e308, math.Inf(1): math.Inf(1), math.Inf(-1): math.Inf(-1),
		0: 0, 5e-324: 5e-324} {
		if got := stable(v); got != want {
			t.Errorf("stable(%v) = %v, want %v", v, got, want)
		}
	}
	if got := stable(math.NaN()); got == got {
		t.Error(got)
	}
}

// The search in a crowded bracket is given up if another value occurs, before its rank or after it.
func TestHeapsOfOtherValues(t *testing.T) {
	column := &exchangedColumn{Column: assess.Column{Name: "x"}, own: ownOf}
	tiny := 5e-324
	s := &seeker{column: column}
	s.bracket.Rank, s.bracket.Count = 2, keptInBracket+1
	s.take(movedBlock(0, make([]float64, keptInBracket)...))
	if s.take(movedBlock(keptInBracket, tiny)); !s.lost || len(s.records) > 0 {
		t.Errorf("seeker lost: %v, %d records kept, want true and 0", s.lost, len(s.records))
	}
	if _, ok := s.holder(); ok {
		t.Error("a lost seeker has a holder")
	}
}

// The gauge of a run shows records per second.
func TestRates(t *testing.T) {
	p := new(Progress)
	p.Start("mask", -1)
	p.Add(1000)
	p.since.Add(-int64(1e12)) // a thousand seconds ago
	if got := p.Rate(); got > 1 || got < 0.9 {
		t.Errorf("1000 records in 1000 s: the rate is %v, want about 1", got)
	}
}
