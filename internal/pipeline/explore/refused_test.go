package explore

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
)

// A point at which a mask of categories refuses the records says so, and the map goes on with the
// others, which are what they are without it.
func TestMapOfCategoriesGoesOnBehindAPointThatCannotBe(t *testing.T) {
	const masks = "[{suppress: {keys: [job, sex], k: 2, max_share: 20%}}]"
	points := func(to string) (efficiencies []float64, impossible []string) {
		p,
			err := coded(t, t.TempDir(), masks, "{max_changed: 0.9}",
			"{categories: [job], vary: {masks.0.suppress.k: {from: 2, to: "+to+", steps: 2}}}")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range mapOf(t, p).Points {
			efficiencies, impossible = append(efficiencies, float64(q.Efficiency)), append(impossible, q.Impossible)
		}
		return efficiencies, impossible
	}
	small, all := points("3")
	great, some := points("300")
	if all[0] != "" || all[1] != "" || some[0] != "" ||
		!strings.Contains(some[1], "masks[0].suppress.max_share: is exceeded") {
		t.Errorf("impossible with all records: %q; with a sample: %q", all, some)
	}
	if small[0] != great[0] || !(small[0] > 0) || great[1] == great[1] {
		t.Errorf("the efficiencies are %v and %v", small, great)
	}
}

// once is a source that can be read once.
type once struct{ connectors.SourceConfig }

type read struct{ connectors.Source }

func (o once) Open(ctx context.Context) (connectors.Source, error) {
	src, err := o.SourceConfig.Open(ctx)
	return read{src}, err
}

func (read) Rewindable() bool { return false }

// What a source that can be read once does not allow of a map is refused: several samples, and an
// axis of percentages, which is named beside what the masks themselves need.
func TestMapsOfASourceThatIsReadOnce(t *testing.T) {
	sampled := strings.Replace(sampledNoise, "RATE", "0.5", 1)
	for _, c := range []struct {
		masks, vary string
		want        []string
	}{
		{sampled, "masks.0.sample.rate: {from: 0.3, to: 0.9, steps: 2}",
			[]string{"map: has points with different samples, so the source must be read again for each sample"}},
		{sampled, "masks.2.truncate.lower: {from: 0, to: 10, steps: 2}",
			[]string{"columns.income: the source can be read only once"}},
		{sampled, "masks.1.noise.sd: {from: 10%, to: 20%, steps: 2}",
			[]string{"columns.income: the source can be read only once",
				"map: masks.1.noise.sd varies over percentages of the standard deviation"}},
	} {
		p := mapped(t, t.TempDir(), c.masks, "map: {vary: {"+c.vary+"}}")
		p.Source.Config = once{p.Source.Config}
		m, err := Map(t.Context(), p, pipeline.Options{})
		var wrong config.Errors
		if m != nil || !errors.As(err, &wrong) || len(wrong) != len(c.want) {
			t.Errorf("%s: error %v, want %q", c.vary, err, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(wrong[i].Error(), want) {
				t.Errorf("%s: error %v, want one that begins with %s", c.vary, wrong[i], want)
			}
		}
	}
}

// A configuration that has become wrong since it was read is refused by its map, at the place of
// what is wrong.
func TestMapsOfWhatIsWrong(t *testing.T) {
	for want, change := range map[string]func(p *config.Pipeline){
		"map.column: must be a numeric column": func(p *config.Pipeline) { p.Map.Column = "region" },
		"most":                                 func(p *config.Pipeline) { p.Assess.Targets = []string{"p10", "most"} },
		"masks.9.noise.sd":                     func(p *config.Pipeline) { p.Map.Vary[0].Path = "masks.9.noise.sd" },
		"noise.sd":                             func(p *config.Pipeline) { p.Map.Vary[0].From.Value = -7 },
	} {
		p := mapped(t, t.TempDir(), "assess: {replicates: 2, targets: [p10]}")
		change(p)
		if m, err := Map(t.Context(), p, pipeline.Options{}); m != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s and no map", err, want)
		}
	}
}

// Errors of a strategy's masks are at their place in the configuration, with the strategy's name;
// one that names no place has the name alone.
func TestErrorsOfStrategies(t *testing.T) {
	g := &grid{config: mapped(t, t.TempDir())}
	s := config.MapStrategy{Name: "other", Path: "map.strategies[0].masks"}
	var wrong config.Errors
	if err := g.maskError(s, errors.New("masks[1].noise.sd: too great")); !errors.As(err, &wrong) ||
		wrong[0].Path != "map.strategies[0].masks[1].noise.sd" || wrong[0].Text != `strategy "other": too great` {
		t.Errorf("maskError returns %v", err)
	}
	var data *pipeline.DataError
	for _, text := range []string{"masks and nothing more", "window.records: must be at least 1"} {
		if err := g.maskError(s, errors.New(text)); !errors.As(err, &data) || err.Error() != `map: strategy "other": `+text {
			t.Errorf("maskError of %q returns %v, want a DataError", text, err)
		}
	}
}

// The middle of two values is that of their scale: their mean, their geometric mean, or the amount
// whose square is the mean of their squares.
func TestMiddlesOfScales(t *testing.T) {
	for scale, want := range map[string]float64{config.Linear: 4, config.Log: math.Sqrt(7), config.Variance: 5} {
		if got := between(config.MapAxis{Scale: scale}, 1, 7); math.Abs(got-want) > 1e-12 {
			t.Errorf("between 1 and 7 on the scale %s: %v, want %v", scale, got, want)
		}
	}
}
