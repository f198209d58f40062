package pipeline

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors/csv"
	"github.com/sdlfilter/sdlfilter/internal/faulty"
	"github.com/sdlfilter/sdlfilter/internal/keytest"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// plannedOf returns a settled plan for people, and its chain.
func plannedOf(t *testing.T, rest string) (*Plan, *transform.Chain, keystream.Key) {
	t.Helper()
	p := people(t, rest)
	pl := planFor(t, p, true)
	if err := pl.Settle(t.Context(), new(Progress)); err != nil {
		t.Fatal(err)
	}
	key := keytest.Key(1)
	chain, err := pl.newChain(t.Context(), key, new(Progress))
	if err != nil {
		t.Fatal(err)
	}
	return pl, chain, key
}

// The measurements follow from the masks: replicates if any mask draws, all records at once if a
// decision depends on all of them, the masks that change measured columns, and codes for the
// information that they remove.
func TestWhatIsMeasured(t *testing.T) {
	const noise, groups = "{noise: {columns: [wage], sd: 3}}", "{microaggregate: {columns: [wage], k: 3}}"
	const suppress = "{suppress: {keys: [region, kind], k: 3}}"
	for _, c := range []struct {
		masks, more              string
		entire, mixes, replicate bool
		measured                 string
		carried                  int
	}{
		{noise, "", false, false, true, "noise", 0},
		{groups, "", true, true, false, "microaggregate", 0},
		{noise + ", " + groups, "", true, true, true, "noise microaggregate", 0},
		{noise + ", " + suppress, "", false, false, true, "noise", 2},
		{suppress + ", " + noise, "assess: {keys: [region, kind]}\n", false, false, true, "noise", 2},
	} {
		pl, chain, key := plannedOf(t, columns+"masks: ["+c.masks+"]\n"+c.more)
		o, err := pl.assessOptions(key, chain)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, m := range pl.measured() {
			kinds = append(kinds, m.Kind())
		}
		if o.Entire != c.entire || o.Mixes != c.mixes || (o.Replicate != nil) != c.replicate ||
			strings.Join(kinds, " ") != c.measured || len(pl.Carry) != c.carried {
			t.Errorf("%s: entire %v, mixes %v, replicates %v, measured masks %q, carried %v", c.masks, o.Entire, o.Mixes,
				o.Replicate != nil, kinds, pl.Carry)
		}
		for _, m := range pl.measured() {
			if i := slices.IndexFunc(pl.Config.Masks, func(s transform.Spec) bool {
				return s.Kind() == m.Kind()
			}); m.Name != transform.Label(pl.Config.Masks, i) {
				t.Errorf("%s: the mask %s has the label %q", c.masks, m.Kind(), m.Name)
			}
		}
		for _, name := range []string{"wage", "region", "gone"} {
			_, known := chain.Law(name)
			if law := LawOf(chain)(name); (law != nil) != known || name == "wage" && c.masks == noise && !known {
				t.Errorf("%s: the chain knows the law of %s: %v, LawOf disagrees", c.masks, name, known)
			}
		}
	}
	for _, c := range []struct {
		plan Plan
		want bool
	}{{Plan{}, false}, {Plan{Assessed: make([]assess.Column, 1)}, true},
		{Plan{Intruder: IntruderColumns{Carried: []int{0}}}, true}} {
		if c.plan.Measures() != c.want {
			t.Errorf("with the intruder columns %+v, Measures() is %v", c.plan.Intruder, !c.want)
		}
	}
}

// Decimals and spreads come from the first source that has them: the configuration, the type, a
// profile, and then the data.
func TestWhoSaysDecimals(t *testing.T) {
	whole := strings.Replace(columns, "wage: {role: sensitive}", "wage: {role: sensitive, decimals: 1}", 1)
	for _, c := range []struct {
		head     string
		want     int
		relative bool
	}{{columns, 2, false}, {whole, 1, false}, {columns, 2, true}, {whole, 1, true}} {
		sd := "sd: 3"
		if c.relative {
			sd = "sd: 10%"
		}
		pl, _, _ := plannedOf(t, c.head+"masks: [{noise: {columns: [wage], "+sd+"}}]\n")
		column := pl.Columns[0]
		open := c.relative || c.want == 2
		if column.Decimals != c.want || math.IsNaN(column.SD) == open || math.IsNaN(column.Mean) == open {
			t.Errorf("%s, %s: column is %+v", c.head, sd, column)
		}
	}
}

// settling settles a plan of a configuration with a faulty source, and calls then.
func settling(t *testing.T, p *config.Pipeline, then func(*Plan) error) func(*faulty.Calls) error {
	source := p.Source.Config
	return func(calls *faulty.Calls) error {
		p.Source.Config = calls.Config(source)
		src, err := OpenSource(t.Context(), p)
		if err != nil {
			return err
		}
		defer src.Close()
		pl, err := newPlan(p, nil, src, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := pl.Settle(t.Context(), new(Progress)); err != nil {
			return err
		}
		return then(pl)
	}
}

// Profiles include the last column. If any call of a pass fails while a plan is settled, the error
// is returned.
func TestSettlingFails(t *testing.T) {
	p := people(t,
		columns+
			"masks: [{topcode: {columns: [wage], upper_percentile: 90}}, {noise: {columns: [wage], sd: 10%}}, {swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random, scope: dataset}}]\n")
	attempt := settling(t, p, func(pl *Plan) error {
		chain, err := pl.newChain(t.Context(), keytest.Key(1), new(Progress))
		if (chain == nil) != (err != nil) {
			t.Errorf("NewChain returns both or neither of the chain %v and the error %v", chain, err)
		}
		return err
	})
	all := new(faulty.Calls)
	if err := attempt(all); err != nil || all.Counts()["close the reader"] != 3 {
		t.Fatal(all.Counts(), err)
	}
	for name, n := range faulty.Each(all.Counts()) {
		if err := attempt(&faulty.Calls{Name: name, N: n}); !errors.Is(err, faulty.ErrCall) {
			t.Errorf("%s, call %d fails: the error is %v", name, n, err)
		}
	}
	p = people(t, columns+"masks: [{noise: {columns: [wage], sd: 3}}]\n")
	if err := os.WriteFile(p.Source.Config.(*csv.SourceConfig).Path, []byte("a,b,last\nx,1,2\ny,3,4\n"), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	profile, err := ProfileSource(t.Context(), p.Source.Config, nil, new(Progress))
	if err != nil || len(profile.Columns) != 2 || profile.Columns[1].Name != "last" {
		t.Errorf("the profile is %+v (error %v), want 2 columns", profile, err)
	}
}

// If an exchange is unknown, there is no number that could be mistaken for a result. Two batches
// are enough for an error.
func TestNothingIsKnownOfAnExchange(t *testing.T) {
	none := func(what string, square, se float64, ok bool) {
		t.Helper()
		if square != 0 || se != 0 || ok {
			t.Errorf("%s: %v ± %v (known: %v), want nothing known", what, square, se, ok)
		}
	}
	at := func(x *Exchange, column, target string, row int64) {
		t.Helper()
		square, se, ok := x.At(column, target, 0, "", 0, row)
		none(fmt.Sprint(column, " ", target, " ", row), square, se, ok)
	}
	kept, full := exchangeOf(-1, movedBlock(0, 2, 4)), exchangeOf(0, movedBlock(0, 2, 4))
	at(kept, "y", "max", 0)
	at(kept, "x", "max", -1)
	at(kept, "x", "max", 2)
	at(full, "x", "max", 0)
	kept.columns[0].own = func(float64) (float64, float64) { return math.NaN(), 1 }
	at(kept, "x", "max", 0)
	for _, x := range []*Exchange{exchangeOf(-1), kept} {
		name := map[bool]string{true: "y", false: "x"}[x == kept]
		square, se, ok := x.Typical(name)
		none("typical of "+name, square, se, ok)
	}
	for _, x := range []*Exchange{full, kept} {
		square, se, ok := x.Group("x", 1, func(int) (string, int, int64) { return "other", 0, 0 })
		none("a group", square, se, ok)
	}
	b := movedBlock(0, 1, 1)
	b.Columns[0].Moved.Deviations = [][]float32{{2, 1}, {-3, 0}}
	// Sums by batch: 3 and −3; √(18/2/1) over a weight of 2.
	if _, se, ok := exchangeOf(-1, b).Typical("x"); !ok || !(math.Abs(se-1.5) <= 1e-12) {
		t.Errorf("two batches: the standard error is %v, want 1.5", se)
	}
	var nothing *Exchange
	for what, x := range map[string]*Exchange{"nothing is moved": nothing, "all are kept": kept} {
		if err := x.locate(t.Context(), &Plan{Source: &table{}}, nil, nil, nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := full.locate(t.Context(), &Plan{Source: &table{once: true}}, nil, nil, nil); err != nil {
		t.Errorf("a source that can be read only once: locate returns %v, want no error", err)
	}
}

// An exchange covers the columns that are both masked and moved and have an exact law.
func TestExchangedColumns(t *testing.T) {
	const swap = "{swap: {keys: [region], attribute: kind, columns: [wage], rate: 0.5, policy: random}}"
	pl, chain, _ := plannedOf(t, columns+"masks: ["+swap+"]\nwindow: {records: 20}\n")
	if len(pl.Assessed) != 1 || !pl.Assessed[0].Exchanged {
		t.Fatalf("assessed columns are %+v, want one that is exchanged", pl.Assessed)
	}
	for want, change := range map[int]func(c *assess.Column){
		1: func(*assess.Column) {}, 0: func(c *assess.Column) { c.Masked = false }, -1: func(c *assess.Column) { c.Index++ },
	} {
		c := pl.Assessed[0]
		change(&c)
		x, err := NewExchange(chain, pl.Displacer, []assess.Column{c}, 7)
		if err != nil || x == nil || len(x.columns) != max(0, want) || x.limit != 7 || !x.keepsAll {
			t.Errorf("want an exchange of %d columns, got %+v (error %v)", want, x, err)
		}
	}
	if x, err := NewExchange(chain, nil, pl.Assessed, 7); x != nil || err != nil {
		t.Errorf("without a displacer, NewExchange returns %+v and error %v, want nil and nil", x, err)
	}
	for name, want := range map[string]bool{"wage": true, "region": false, "kind": false} {
		if exchanged(pl.Config.Masks, name) != want {
			t.Errorf("exchanged(%s) = %v", name, !want)
		}
	}
	// Blocks displaced and added one by one equal blocks replayed together.
	direct, err := NewExchange(chain, pl.Displacer, pl.Assessed, -1)
	if err != nil {
		t.Fatal(err)
	}
	pass := Flow{Source: pl.Source, Layout: pl.Layout, Cut: pl.Cut, Work: func(p *Parcel) error {
		if err := chain.Apply(p.Block); err != nil {
			return err
		}
		return direct.displace(p.Block)
	}, Stages: []func(*Parcel) error{func(p *Parcel) error { direct.Add(p.Block); return nil }}}
	if err := pass.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if square, _, ok := direct.Typical("wage"); !ok || !(square > 0) || len(direct.places) != 60 {
		t.Errorf("the typical square is %v with %d records, want more than 0 with 60", square, len(direct.places))
	}
}
