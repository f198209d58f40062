package pipeline

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
)

// A job asks its carrier first, then tells of earlier releases, and then finds what the masks must know about the data:
// by reading them, or by what another process has found. What is refused ends it there.
func TestJobsTakeTheirStepsInOrder(t *testing.T) {
	p := parsed(t, t.TempDir(), columns+"masks: [{noise: {columns: [wage], sd: 10%}}]\n")
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		check, found error
		finds        bool // another process has found the deviation
		want         string
		err          error
		unread       bool
	}{
		"all steps":                      {finds: true, want: "check tell found"},
		"refused by the carrier":         {finds: true, check: refused, want: "check", err: refused},
		"what was found does not fit":    {finds: true, found: refused, want: "check tell found", err: refused},
		"the source cannot be read":      {want: "check tell", unread: true},
		"refused, and it cannot be read": {check: refused, want: "check", err: refused},
	} {
		var steps []string
		job := Job{Config: p, Source: &table{fields: fieldsOf(nil)}, Key: keytest.Key(1), Log: zerolog.Nop(),
			Progress: new(Progress)}
		job.Check = func(*Plan) error {
			steps = append(steps, "check")
			return c.check
		}
		job.Tell = func(*Plan) { steps = append(steps, "tell") }
		if c.finds {
			job.Found = func(pl *Plan) error {
				steps = append(steps, "found")
				pl.Columns[0].SD, pl.Columns[0].Decimals = 7, 2
				return c.found
			}
		}
		r, err := job.Open(t.Context())
		if got := strings.Join(steps, " "); got != c.want || !c.unread && !errors.Is(err, c.err) || c.unread && err == nil {
			t.Errorf("%s: steps %s and error %v, want %s and %v", name, got, err, c.want, c.err)
		}
		if err == nil &&
			(r.Plan.SD("wage") != 7 || r.Chain == nil || r.Measured == nil || r.Exchange != nil || r.Key.ID() != job.Key.ID()) {
			t.Errorf("%s: the release is %+v", name, r)
		}
	}
}

// Masks are built without a measure if nothing is asked to be measured, and with what they survey unless the process
// sees a part of the records only.
func TestJobsGoAsFarAsTheyAreAsked(t *testing.T) {
	p := people(t,
		columns+
			"masks: [{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random, scope: dataset}}]\n")
	job := Job{Config: p, Source: planFor(t, p, false).Source, Key: keytest.Key(1), Log: zerolog.Nop(),
		Progress: new(Progress)}
	for _, parts := range []bool{false, true} {
		job.Parts = parts
		r, err := job.Masks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Measured != nil || r.Exchange != nil || r.Options.Columns != nil {
			t.Errorf("in parts %v: Masks measures: %+v", parts, r)
		}
		if surveyed := job.Progress.Phase() == "survey"; surveyed == parts {
			t.Errorf("in parts %v: the last phase is %q", parts, job.Progress.Phase())
		}
		if err := r.Assess(); err != nil || r.Options.Columns == nil || r.Measured != nil {
			t.Errorf("in parts %v: Assess returns %v and decides on %v", parts, err, r.Options.Columns)
		}
		if err := r.Measure(); err != nil || r.Measured == nil || r.Exchange == nil {
			t.Errorf("in parts %v: Measure returns %v, and there is no assessment or exchange", parts, err)
		}
		job.Progress = new(Progress)
	}
}

// The warnings of what was found go to the job's log, and those of an earlier release to none.
func TestJobsWarn(t *testing.T) {
	p := people(t, columns+"masks: [{noise: {columns: [wage], sd: 10%}}]\n")
	if err := os.WriteFile(p.Source.Config.(*csv.SourceConfig).Path,
		[]byte("id,wage,region,kind\nR1,7.25,n,a\nR2,7.25,s,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	job := Job{Config: p, Source: planFor(t, p, false).Source, Key: keytest.Key(1), Log: zerolog.New(&log),
		Progress: new(Progress)}
	job.Tell = func(pl *Plan) {
		pl.WithLedger([]*EarlierRelease{{Number: 1, Name: "a", Config: p, Key: keytest.Key(2)}}, "", nil)
	}
	if _, err := job.Masks(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), `"column":"wage"`); n != 1 {
		t.Errorf("%d warnings about wage, want one: %s", n, &log)
	}
}
