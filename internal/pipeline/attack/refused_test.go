package attack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/attack"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/transform"
)

// attacked returns a survey after its masks have run.
func attacked(t *testing.T, masks, extra string) (*assess.Accumulator, *pipeline.Plan, *transform.Chain) {
	t.Helper()
	p := survey(t, 120, masks, extra)
	key, err := p.Key.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	ctx, o := pipeline.Options{}.Ready(t.Context())
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	r, err := masked(ctx, pipeline.Job{Config: p, Source: src, Carries: true, Key: key, Log: o.Log, Progress: o.Progress})
	if err != nil {
		t.Fatal(err)
	}
	return r.Measured, r.Plan, r.Chain
}

// A stream without an end is not attacked, and neither are data about which no intruder knows
// anything.
func TestWhatIsNotAttacked(t *testing.T) {
	stream, err := config.Parse("s.yaml", []byte(`version: 1
key: {file: k}
source: {kafka: {brokers: ["localhost:9"], topics: [in], group: g}}
columns: {wage: {role: sensitive, decimals: 2}}
masks: [{noise: {columns: [wage], sd: 3}}]
assess: {keys: [wage]}
sink: {kafka: {brokers: ["localhost:9"], topic: out}}
`), config.Options{Environ: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	for want, p := range map[string]*config.Pipeline{
		"source: is a stream without end, and an attack needs data that end": stream,
		"assess.keys: must be given, or columns must have the role key": survey(t, 20,
			"{noise: {columns: [wage], sd: 3}}", ""),
	} {
		r, _, err := Run(context.Background(), p, pipeline.Options{})
		var wrong config.Errors
		if r != nil || !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %s", err, want)
		}
	}
}

// What a run says of percentages that mask nothing, an attack says too, and it shows no values.
func TestAttackWarnsAsARun(t *testing.T) {
	p := survey(t, 20, "{noise: {columns: [wage], sd: 10%}}", "assess: {keys: [wage]}")
	path := p.Source.Config.(*csv.SourceConfig).Path
	if err := os.WriteFile(path, []byte("id,wage,debt,age,region,weight,house\nR1,7.25,1,20,n,1,h\nR2,7.25,2,21,s,1,h\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if _, _, err := Run(t.Context(), p, pipeline.Options{Log: zerolog.New(&log)}); err != nil {
		t.Fatal(err)
	}
	if said := log.String(); !strings.Contains(said, `"column":"wage"`) || strings.Contains(said, "7.25") {
		t.Errorf("the log is %q, want a warning about wage", said)
	}
}

// The results of a release's intruder are added to the measures. Without released records or
// without a configured attack nothing is added. A cancelled attack returns the error.
func TestIdentifyTellsTheMeasures(t *testing.T) {
	acc, pl, chain := attacked(t, "{noise: {columns: [wage], sd: 30}}", "assess: {keys: [age, region, wage]}")
	m := new(assess.Measures)
	r, err := Identify(t.Context(), pl, chain, acc, m)
	if err != nil || r == nil || m.Identity == nil {
		t.Fatalf("Identify returns error %v and result %v, and the measures have %v", err, r, m.Identity)
	}
	again, _, err := onPairs(t.Context(), pl, chain, acc.Pairs())
	if err != nil || fmt.Sprint(*again.Identity()) != fmt.Sprint(*m.Identity) {
		t.Errorf("error %v; the measures have %+v, the attack has %+v", err, m.Identity, again.Identity())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	left := new(assess.Measures)
	if r, err := Identify(ended, pl, chain, acc, left); !errors.Is(err, context.Canceled) || r != nil ||
		left.Identity != nil {
		t.Errorf("with an ended context, Identify returns %v and error %v", r, err)
	}
	if r, err := Identify(t.Context(), pl, chain, nil, left); r != nil || err != nil || left.Identity != nil {
		t.Errorf("without measured records, Identify returns %v and error %v, want nil and nil", r, err)
	}
	of, settings := *pl, *pl.Config
	settings.Assess = config.Assess{}
	of.Config = &settings
	if r, err := Identify(t.Context(), &of, chain, acc, left); r != nil || err != nil || left.Identity != nil {
		t.Errorf("without an intruder, Identify returns %v and error %v, want nil and nil", r, err)
	}
}

// A distance that does not exist is refused, with its place. If only rules use uniqueness, only the
// scores of special uniques are omitted.
func TestWhatIsAskedOfAnAttack(t *testing.T) {
	_, pl, _ := attacked(t, "{noise: {columns: [wage], sd: 30}}", "assess: {keys: [age, region, wage]}")
	settings := *pl.Config
	of := *pl
	of.Config = &settings
	settings.Assess.Intruder = &config.Intruder{Targets: 10, Linkage: &config.IntruderLinkage{Distance: "far"}}
	if _, err := optionsOf(&of, new(attack.Data)); err == nil ||
		!strings.HasPrefix(err.Error(), "assess.intruder.linkage.distance: ") {
		t.Errorf("an unknown distance: error %v", err)
	}
	if counting(nil) != nil {
		t.Error("counting(nil) is not nil")
	}
	full := defaultUniqueness()
	if only := counting(full); only.SUDA2 != nil || full.SUDA2 == nil || !slices.Equal(only.K, full.K) ||
		only.Alpha != full.Alpha {
		t.Errorf("counting returns %+v of %+v, want all but SUDA2", only, full)
	}
}
