package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/rs/zerolog"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/connectors"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/filejob"
	"github.com/sdlfilter/sdlfilter/internal/rumap"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Map makes the R-U confidentiality map of a configuration: it reads the source
// once for each sample of released records, tries every point of the grid on the sample for
// the assessment, and chooses the admissible point of greatest utility. Nothing is released. A
// point is judged on the replicates of a run with the same key; the chosen one must also pass
// on as many others. An error that is a *DataError or a config.Errors means that the
// configuration does not fit the data.
func Map(ctx context.Context, p *config.Pipeline, o pipeline.Options) (*rumap.Map, error) {
	ctx, o = o.Ready(ctx)
	if p.Stream() {
		return nil,
			config.Errors{
				p.Errorf("source",
					"is a stream without end, and a map needs data that end: use `until: latest`, or a file of the same columns")}
	}
	if p.Assess.Replicates < 2 {
		return nil, config.Errors{p.Errorf("assess.replicates", "must be at least 2 for a map, got %d", p.Assess.Replicates)}
	}
	key, err := p.Key.Resolve()
	if err != nil {
		return nil, pipeline.DataErrorf("%v", err)
	}
	strategies, grids, err := newGrids(p, key)
	if err != nil {
		return nil, err
	}
	src, err := pipeline.OpenSource(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	defer src.Close()
	if len(grids) > 1 && !src.Rewindable() {
		return nil,
			config.Errors{
				p.Errorf("map",
					"has points with different samples, so the source must be read again for each sample, but this source can be read only once: map a file of the same data, or one sample")}
	}
	maps, err := mapsOf(ctx, grids, src, o)
	if err != nil {
		return nil, err
	}
	m, from := merged(grids, maps)
	m.Axes = allAxes(strategies)
	m.Judge()
	m.SetWorst()
	again := func(i int) (rumap.Point, error) {
		return grids[from[i].grid].again(ctx, from[i].point, m.Replicates)
	}
	var rehearse func(int) (assess.Verdict, error)
	if src.Rewindable() {
		by := &filejob.Rehearsals{Source: src}
		rehearse = func(i int) (assess.Verdict, error) {
			return grids[from[i].grid].rehearse(ctx, by, from[i].point)
		}
	}
	return m, m.Recommend(m.Replicates, again, rehearse)
}

// mapsOf reads the source and makes a map for each grid.
func mapsOf(ctx context.Context, grids []*grid, src connectors.Source, o pipeline.Options) ([]*rumap.Map, error) {
	var maps []*rumap.Map
	records, rejected := int64(0), int64(0)
	for _, g := range grids {
		g.progress = o.Progress
		if err := g.read(ctx, src); err != nil {
			return nil, err
		}
		m, err := g.draw(ctx, o.Version)
		if err != nil {
			return nil, err
		}
		maps = append(maps, m)
		records, rejected = max(records, m.Records), max(rejected, g.rejected)
	}
	if rejected > 0 {
		zerolog.Ctx(ctx).Warn().Int64("records",
			rejected).Msg("records could not be masked and are not on the map; a run puts them into quarantine")
	}
	if records == 0 {
		return nil, pipeline.DataErrorf("the source has no records to map")
	}
	return maps, nil
}

// draw tries the points of a grid that has read its records.
func (g *grid) draw(ctx context.Context, version string) (*rumap.Map, error) {
	m := &rumap.Map{
		Schema: rumap.Schema, Name: g.whole.Name, Version: version, Column: g.column, Unit: g.unit(), Variable: g.variable(),
		Replicates: g.replicates(), Categories: g.config.Map.Categories, Records: g.data.Records(), Groups: g.config.Map.By,
		Margin: g.config.Map.Margin, Axes: g.axes(),
	}
	if sample := g.sample(); sample > 0 && m.Records > int64(sample) {
		m.Sampled = sample
	}
	m.SetRules(g.whole.Gate.Rules, inverts(g.whole))
	m.WantRecord()
	if g.whole.Ledger != "" {
		m.WantEarlier()
	}
	switch {
	case m.Records == 0:
		return m, g.empty(ctx, m)
	case g.config.Map.Search:
		return m, g.search(ctx, m)
	}
	return m, g.try(ctx, m, g.points())
}

// again tries a point on the n replicates after the n that the map has used.
func (g *grid) again(ctx context.Context, point, n int) (rumap.Point, error) {
	found, err := g.explore(ctx, []place{g.places[point]}, n+1, n)
	if err != nil {
		return rumap.Point{}, err
	}
	return g.point(ctx, g.places[point], found[0], n+1)
}

// grid has the strategies and points of a map, and the data on which they are tried.
type grid struct {
	whole      *config.Pipeline // the given one
	config     *config.Pipeline // that with the masks of all strategies
	key        keystream.Key
	strategies []config.MapStrategy
	order      []int // of each strategy: its place in the configuration
	column     string
	mixes      bool
	alone      bool // whether the masks of the column read no other column
	progress   *pipeline.Progress

	plan   *pipeline.Plan
	paths  []string // of config.Masks, the masks of all strategies
	by     []int    // indexes in layout.Read
	labels []map[float64]string
	data   *assess.Accumulator
	// for rules about respondents and unchanged values, and for losses; nil if not needed
	pairs *assess.Accumulator
	// the measures of categorical keys, if they are the same at all points; nil: not yet computed
	categoricalIdentity *assess.Identity
	repeats             bool    // respondents have several records with the same value, which share a draw
	rejected            int64   // records that a run would put into quarantine
	places              []place // of the map's points
}

// place is one choice of parameters.
type place struct {
	strategy int
	values   []float64 // by axis of the strategy
}

// defaultAxis returns the axis of a map if the configuration names none.
func defaultAxis(masks []transform.Spec) (config.Axis, bool) {
	best, found, rank := config.Axis{}, false, 0
	for i, m := range masks {
		a, ok := transform.MapAxis(m.Params)
		if !ok || found && a.Rank >= rank {
			continue
		}
		best = config.Axis{Path: fmt.Sprintf("masks.%d.%s.%s", i, m.Kind(), a.Field), From: a.From, To: a.To, Steps: 20,
			Scale: config.Linear}
		if a.Variance {
			best.Scale = config.Variance
		}
		found, rank = true, a.Rank
	}
	return best, found
}

// Mappable returns the configuration that Map maps: p, or if p has no section map, p with one
// that varies the default axis of a mask (transform.MapAxis): that of the first noise, else of
// the first bias, else of the first mask of the next rank. The error, a config.Errors, says that
// no mask has such an axis.
func Mappable(p *config.Pipeline) (*config.Pipeline, error) {
	if p.Map != nil {
		return p, nil
	}
	axis, ok := defaultAxis(p.Masks)
	if !ok {
		return nil, config.Errors{p.Errorf("map", "must be given: no mask has an amount that could vary by default")}
	}
	with := *p
	with.Map = &config.Map{Vary: config.Axes{axis}}
	return &with, nil
}

// newGrids returns the compared strategies, and a grid for each sample of released records.
func newGrids(p *config.Pipeline, key keystream.Key) ([]config.MapStrategy, []*grid, error) {
	p, err := Mappable(p)
	if err != nil {
		return nil, nil, err
	}
	strategies, err := p.MapStrategies()
	if err != nil {
		return nil, nil, err
	}
	samples, err := bySample(strategies)
	if err != nil {
		return nil, nil, err
	}
	if len(samples) > mostSamples {
		return nil, nil,
			config.Errors{
				p.Errorf("map",
					"must have at most %d different samples, because the source is read for each one, and has %d: give the rate fewer steps", mostSamples, len(samples))}
	}
	var grids []*grid
	for _, one := range samples {
		g, err := newGrid(p, key, one)
		if err != nil {
			return nil, nil, err
		}
		grids = append(grids, g)
	}
	return strategies, grids, nil
}

func newGrid(p *config.Pipeline, key keystream.Key, of sampled) (*grid, error) {
	g := &grid{whole: p, config: p, key: key, column: p.Map.Column, strategies: of.strategies, order: of.order}
	// The columns that any strategy changes or reads are decoded once for all of them.
	all := *p
	all.Masks = nil
	if !wantsIntruder(p) && len(p.Map.Categories) == 0 {
		all.Assess = all.Assess.WithoutIntruder() // the map has no measures of an intruder
	}
	for _, s := range g.strategies {
		masks, err := s.Masks(firsts(s))
		if err != nil {
			return nil, err
		}
		all.Masks = append(all.Masks, masks...)
		for i, m := range masks {
			g.paths = append(g.paths, fmt.Sprintf("%s[%d].%s", s.Path, i, m.Kind()))
		}
		g.mixes = g.mixes || transform.AnyMixesRecords(masks)
	}
	g.config = &all
	return g, nil
}

func firsts(s config.MapStrategy) []float64 {
	values := make([]float64, len(s.Axes))
	for i, a := range s.Axes {
		values[i] = a.Values[0]
	}
	return values
}

// axes returns every axis once.
func (g *grid) axes() []rumap.Axis { return allAxes(g.strategies) }

// points returns the places of the grid: for each strategy all combinations of its axes' values, the
// last axis fastest.
func (g *grid) points() []place {
	var places []place
	for s, strategy := range g.strategies {
		places = append(places, crossed(s, strategy.Axes, nil)...)
	}
	return places
}

func crossed(strategy int, axes []config.MapAxis, before []float64) []place {
	if len(axes) == 0 {
		return []place{{strategy, before}}
	}
	var places []place
	for _, v := range axes[0].Values {
		places = append(places, crossed(strategy, axes[1:], append(before[:len(before):len(before)], v))...)
	}
	return places
}

// read plans for the source and collects the data on which the points are tried.
func (g *grid) read(ctx context.Context, src connectors.Source) (err error) {
	job := pipeline.Job{Config: g.config, Paths: g.paths, Source: src, Carries: true}
	if g.plan, err = job.Plan(); err != nil {
		return err
	}
	if err := g.plan.Settle(ctx, g.progress); err != nil {
		return g.blameAxis(err, src)
	}
	if err := g.chooseColumn(); err != nil {
		return err
	}
	if err := g.wantGroups(src.Schema()); err != nil {
		return err
	}
	admit, err := g.firstChains()
	if err != nil {
		return err
	}
	if err := g.wantPairs(); err != nil {
		return err
	}
	if g.ofCategories() {
		g.data = g.pairs
	} else if g.data, err = assess.New(g.measured()); err != nil {
		return err
	}
	g.progress.Start("read", src.Records())
	pass := pipeline.Flow{
		Source: src, Layout: g.plan.SurveyLayout(), Cut: g.plan.Cut,
		Stages: []func(*pipeline.Parcel) error{func(p *pipeline.Parcel) error {
			for _, chain := range admit {
				if err := chain.Admit(p.Block); err != nil {
					return err
				}
			}
			g.data.Add(p.Block)
			if g.pairs != nil && g.pairs != g.data {
				g.pairs.Add(p.Block)
			}
			g.rejected += int64(len(p.Block.Rejects))
			g.label(p.Block)
			g.progress.Add(p.Block.N)
			return nil
		}},
	}
	if err := pass.Run(ctx); err != nil {
		return err
	}
	g.repeats = g.data.Repeats()
	return nil
}

// blameAxis adds to an error of a source that can be read only once that an axis of the map needs
// standard deviations, which the masks themselves may not.
func (g *grid) blameAxis(err error, src connectors.Source) error {
	var problems config.Errors
	if src.Rewindable() || !errors.As(err, &problems) {
		return err
	}
	for _, a := range g.axes() {
		if a.Relative {
			return append(problems,
				g.whole.Errorf("map",
					"%s varies over percentages of the standard deviation, which is not known for a source that can be read only once: let it vary in the column's unit (from: 100, to: 5000), or name a profile", a.Path))
		}
	}
	return err
}

// firstChains makes the masks of each strategy's first place, which admit the same records as
// those of any other place, and sets alone.
func (g *grid) firstChains() (admit []*transform.Chain, err error) {
	g.alone = true
	for s, strategy := range g.strategies {
		at := place{s, firsts(strategy)}
		masks, err := strategy.Masks(at.values)
		if err != nil {
			return nil, err
		}
		if _, alone := transform.Alone(masks, g.column); !alone || g.limitsOthers() {
			g.alone = false
		}
		chain, err := g.chain(at, false)
		if err != nil {
			return nil, err
		}
		admit = append(admit, chain)
	}
	return admit, nil
}

// measured returns the options of the accumulator of the records.
func (g *grid) measured() assess.Options {
	options := assess.Options{
		Carry: g.carry(), Key: g.key, Sample: g.sample(), Targets: g.config.Assess.Targets, Mixes: g.mixes,
		Persons: g.plan.Persons(),
	}
	for _, c := range g.plan.Assessed {
		if c.Masked && (c.Name == g.column || !g.alone) {
			c.Masked = c.Name == g.column || g.limited(c.Name)
			options.Columns = append(options.Columns, c)
		}
	}
	for _, i := range g.by {
		if !slices.Contains(options.Carry, i) && !slices.ContainsFunc(options.Columns, func(c assess.Column) bool {
			return c.Index == i
		}) {
			options.Carry = append(options.Carry, i)
		}
	}
	return options
}

// carry returns the columns of which the sample has codes: masks read them or change them. All masks are in a
// replicate.
func (g *grid) carry() []int { return slices.Concat(g.plan.Carry, g.plan.Intruder.Carried) }

// sample returns the number of records on which the points are tried; −1 for all.
func (g *grid) sample() int {
	if g.mixes { // a swap needs all records
		return -1
	}
	return int(g.config.Assess.Sample)
}

// chooseColumn decides which column is mapped.
func (g *grid) chooseColumn() error {
	if g.ofCategories() {
		return g.chooseCategories()
	}
	var masked []string
	for _, c := range g.plan.Assessed {
		if c.Masked {
			masked = append(masked, c.Name)
		}
	}
	switch {
	case g.column != "" && !slices.Contains(masked, g.column):
		return config.Errors{g.config.Errorf("map.column", "must be a numeric column that is masked, got %q", g.column)}
	case g.column == "" && len(masked) == 1:
		g.column = masked[0]
	case g.column == "" && len(masked) == 0:
		return config.Errors{
			g.config.Errorf("map",
				"must be given, with the masked keys that are mapped as categories: no column of numbers is masked (map: {categories: [COLUMN], vary: …})")}
	case g.column == "":
		return config.Errors{g.config.Errorf("map.column", "must say which of the masked columns is mapped: %v", masked)}
	}
	return nil
}

// wantGroups adds the columns that form groups to the layout.
func (g *grid) wantGroups(schema *microdata.Schema) error {
	for _, name := range g.config.Map.By {
		field := schema.Index(name)
		if schema.Fields[field].Nested() {
			return config.Errors{
				g.config.Errorf("map.by", "%s is nested (%s) and forms no groups", name, schema.Fields[field].Type)}
		}
		read := g.plan.Layout.Read
		at := slices.IndexFunc(read, func(w microdata.Want) bool { return w.Field == field && w.As == microdata.Array })
		if at < 0 {
			at = slices.IndexFunc(read, func(w microdata.Want) bool { return w.Field == field })
		}
		if at < 0 {
			at = len(read)
			g.plan.Layout.Read = append(read, microdata.Want{Field: field, As: microdata.Array})
		}
		g.by = append(g.by, at)
		g.labels = append(g.labels, map[float64]string{})
	}
	return nil
}

// maxLabels is the greatest number of values of a column whose names are kept; a map with more
// groups is refused.
const maxLabels = 100_000

// label notes the names of the codes of groups.
func (g *grid) label(b *microdata.Block) {
	for k, index := range g.by {
		column := &b.Columns[index]
		if column.Array == nil {
			continue
		}
		for i := range b.N {
			code := assess.Code(column, i)
			if _, known := g.labels[k][code]; known || code != code || len(g.labels[k]) >= maxLabels {
				continue
			}
			values := column.Array
			if d, ok := values.(*array.Dictionary); ok {
				g.labels[k][code] = d.Dictionary().ValueStr(d.GetValueIndex(i))
			} else {
				g.labels[k][code] = values.ValueStr(i)
			}
		}
	}
}

// chain builds the masks of a place that do not move values, for replicates. With alone it has
// only the masks of the map's column, to save the draws of the others.
func (g *grid) chain(at place, alone bool) (*transform.Chain, error) {
	masks, err := g.strategies[at.strategy].Masks(at.values)
	if err != nil {
		return nil, err
	}
	if g.mixes {
		masks = transform.Unmixed(masks)
	}
	return g.chainOf(at, masks, alone)
}

func (g *grid) chainOf(at place, masks []transform.Spec, alone bool) (*transform.Chain, error) {
	strategy := g.strategies[at.strategy]
	if alone {
		masks, _ = transform.Alone(masks, g.column)
	}
	var columns []transform.ColumnInfo
	for _, c := range g.plan.Columns {
		if alone && c.Name != g.column {
			continue
		}
		if g.plan.Layout.Read[c.Index].Counts() || slices.Contains(g.plan.Carry, c.Index) ||
			slices.Contains(g.plan.Intruder.Carried, c.Index) {
			columns = append(columns, c)
		}
	}
	setup := g.plan.Setup(g.key, columns)
	if g.repeats {
		setup.Persons = g.plan.Persons()
	}
	chain, err := transform.NewChain(masks, setup)
	if err != nil {
		return nil, g.maskError(strategy, err)
	}
	return chain, nil
}

// maskError adds to an error of building a strategy's masks, which begins with the path of a
// parameter ("masks[1].noise.sd: …"), the strategy's name and the place in the configuration.
func (g *grid) maskError(strategy config.MapStrategy, err error) error {
	path, text, ok := strings.Cut(err.Error(), ": ")
	rest, masks := strings.CutPrefix(path, "masks")
	if !ok || !masks {
		return pipeline.DataErrorf("map: strategy %s: %v", strconv.Quote(strategy.Name), err)
	}
	return config.Errors{g.config.Errorf(strategy.Path+rest, "strategy %s: %s", strconv.Quote(strategy.Name), text)}
}
