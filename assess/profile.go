package assess

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess/internal/cell"
	"github.com/sdlfilter/sdlfilter/assess/internal/comoment"
	"github.com/sdlfilter/sdlfilter/assess/internal/decimals"
	"github.com/sdlfilter/sdlfilter/assess/internal/orderstat"
	"github.com/sdlfilter/sdlfilter/assess/internal/place"
	"github.com/sdlfilter/sdlfilter/assess/internal/sample"
	"github.com/sdlfilter/sdlfilter/microdata"
	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/floats"
)

// ProfileSchema names the form of a profile file.
const ProfileSchema = "sdlfilter.profile/1"

// Profile describes the numeric columns of a data set before masking, for the configuration of
// streams whose data are not there yet. It is confidential.
type Profile struct {
	Schema      string          `yaml:"schema"` // ProfileSchema
	Records     int64           `yaml:"records"`
	QuantilesOf string          `yaml:"quantiles_of"` // QuantilesOfAll or QuantilesOfSample
	Columns     []ColumnProfile `yaml:"columns"`
	// Covariance has divisor n−1, over pairwise complete records, rows and
	// columns in the order of Columns; .nan for fewer than two such records.
	Covariance [][]float64 `yaml:"covariance,flow"`
}

// The data from which the quantiles of a profile were computed.
const (
	QuantilesOfAll    = "all records"
	QuantilesOfSample = "a sample of 100000 records"
)

// ColumnProfile describes one column, in its unit. A figure that a column without values does
// not have is .nan in the file.
type ColumnProfile struct {
	Name      string     `yaml:"name"`
	Unit      string     `yaml:"unit,omitempty"`
	N         int64      `yaml:"n"`
	Nulls     int64      `yaml:"nulls"`
	Mean      float64    `yaml:"mean"`
	SD        float64    `yaml:"sd"` // divisor n−1
	Min       float64    `yaml:"min"`
	Max       float64    `yaml:"max"`
	Decimals  int        `yaml:"decimals"` // least number, up to 9, with which every value can be written; −1 where none
	Quantiles []Quantile `yaml:"quantiles,omitempty"`
}

// Quantile is the k-th smallest value, k = ⌈np⌉, of target p01, p50, ….
type Quantile struct {
	Target string  `yaml:"target"`
	Value  float64 `yaml:"value"`
}

var profileTargets = []orderstat.Target{{Name: "p01", Place: 1_000}, {Name: "p05", Place: 5_000},
	{Name: "p10", Place: 10_000}, {Name: "p25", Place: 25_000}, {Name: "p50", Place: 50_000},
	{Name: "p75", Place: 75_000}, {Name: "p90", Place: 90_000}, {Name: "p95", Place: 95_000}, {Name: "p99", Place: 99_000}}

// Column returns the profile of the named column, or nil.
func (p *Profile) Column(name string) *ColumnProfile {
	i := slices.IndexFunc(p.Columns, func(c ColumnProfile) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Columns[i]
}

// SaveProfile writes what LoadProfile reads.
func SaveProfile(p *Profile) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(p); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return b.Bytes(), e.Close()
}

// LoadProfile reads a profile file. An error never holds a value of the file.
func LoadProfile(text []byte) (*Profile, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	p := new(Profile)
	if err := d.Decode(p); err != nil {
		// The decoder's own message quotes the file.
		return nil, errors.New("profile: must be YAML as `sdlfilter profile` writes it")
	}
	if p.Schema != ProfileSchema {
		return nil, fmt.Errorf("profile: schema: must be %s", ProfileSchema)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, errors.New("profile: must be one YAML document")
	}
	if len(p.Covariance) != len(p.Columns) {
		return nil, fmt.Errorf("profile: covariance: must have a row for each of %d columns, got %d", len(p.Columns),
			len(p.Covariance))
	}
	for i, c := range p.Columns {
		switch {
		case c.Name == "":
			return nil, fmt.Errorf("profile: columns[%d].name: must not be empty", i)
		case p.Column(c.Name) != &p.Columns[i]:
			return nil, fmt.Errorf("profile: columns[%d].name: must be given once, got %q again", i, c.Name)
		case c.SD < 0 || math.IsInf(c.SD, 0):
			return nil, fmt.Errorf("profile: columns[%d].sd: must be at least 0 and finite", i)
		case c.N < 0 || c.Nulls < 0:
			return nil, fmt.Errorf("profile: columns[%d].n: must be at least 0", i)
		case c.Decimals < decimals.None || c.Decimals > decimals.Most:
			return nil, fmt.Errorf("profile: columns[%d].decimals: must be between 0 and 9, or -1, got %d", i, c.Decimals)
		case len(p.Covariance[i]) != len(p.Columns):
			return nil,
				fmt.Errorf("profile: covariance[%d]: must have %d entries, got %d", i, len(p.Columns), len(p.Covariance[i]))
		}
	}
	return p, nil
}

// Profiler makes a Profile of the original values of Numbers columns. One
// goroutine at a time may use it.
type Profiler struct {
	columns []Column
	records int64
	gram    comoment.Gram
	ends    []valueRange
	sample  sample.Sample

	origins    place.Origins
	priorities place.Priorities
	u, buf     [][]float64
	s          []float64
	has        [][]float64
	present    []cell.Bits // by column, as has
	keep       microdata.Bitmap
	run        comoment.Run
}

// valueRange is the part of a column's profile other than its co-moments.
type valueRange struct {
	low, high float64
	decimals  int
	single    bool
}

// NewProfiler returns an empty profiler of the columns.
func NewProfiler(columns []Column) *Profiler {
	k := len(columns)
	p := &Profiler{columns: slices.Clone(columns), gram: comoment.New(k), ends: make([]valueRange, k),
		sample: sample.New(defaultSample, k),
		u:      make([][]float64, k), buf: comoment.Rows(k), s: make([]float64, k)}
	for i := range p.ends {
		p.ends[i] = valueRange{low: math.Inf(1), high: math.Inf(-1), single: columns[i].Single}
	}
	return p
}

// Add adds the original values of a block. Rejected records are skipped, and null, NaN and
// infinite values count as null.
func (p *Profiler) Add(b *microdata.Block) {
	if b.N == 0 {
		return
	}
	p.records += int64(b.Kept())
	var keep microdata.Bitmap
	if !b.Whole() {
		p.keep = microdata.NewBitmap(b.N, p.keep)
		keep = p.keep
		for i := range b.N {
			if b.Rejected(i) {
				keep.Clear(i)
			}
		}
	}
	for c, column := range p.columns {
		p.gram.Recentre(c, b.Columns[column.Index].Original, keep)
	}
	for from := 0; from < b.N; from += cell.Run {
		n := min(cell.Run, b.N-from)
		if !p.addClean(b, from, n, keep) {
			p.addPart(b, from, n, keep)
		}
	}
	p.gram.Fold()
	p.offer(b, keep)
}

// addClean adds a run if every record is kept and has every value. Otherwise it
// returns false, and addPart can be called for the same run.
func (p *Profiler) addClean(b *microdata.Block, from, n int, keep microdata.Bitmap) bool {
	if !cell.AllSet(keep, from, n) {
		return false
	}
	for c, column := range p.columns {
		v := b.Columns[column.Index].Original
		if !cell.AllSet(v.Valid, from, n) {
			return false
		}
		x := v.Values[from : from+n]
		p.u[c], p.s[c] = x, floats.Sum(x)
		if !cell.Finite(p.s[c]) {
			return false
		}
		if k := p.gram.Centre[c]; k != 0 {
			p.u[c] = p.buf[c][:n]
			for i, v := range x {
				p.u[c][i] = v - k
			}
			p.s[c] = floats.Sum(p.u[c])
		}
	}
	for c, column := range p.columns {
		e := &p.ends[c]
		e.add(b.Columns[column.Index].Original.Values[from : from+n])
	}
	p.run.Clean(n, p.u, p.s)
	p.gram.Add(&p.run)
	return true
}

func (e *valueRange) add(x []float64) {
	low, high := e.low, e.high
	for _, v := range x {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	e.low, e.high = low, high
	switch {
	case e.decimals == decimals.None:
	case e.single:
		e.decimals = decimals.OfSingle(x, e.decimals)
	default:
		e.decimals = decimals.Of(x, e.decimals)
	}
}

func (p *Profiler) addPart(b *microdata.Block, from, n int, keep microdata.Bitmap) {
	if p.has == nil {
		p.has, p.present = comoment.Rows(len(p.columns)), make([]cell.Bits, len(p.columns))
	}
	for c, column := range p.columns {
		v := b.Columns[column.Index].Original
		p.u[c] = p.buf[c]
		comoment.Centre(v, from, n, keep, p.gram.Centre[c], p.u[c], p.has[c], &p.present[c])
		for i := range n {
			if p.has[c][i] == 1 {
				p.ends[c].add(v.Values[from+i : from+i+1])
			}
		}
	}
	p.run.Part(n, p.u, p.has, p.present)
	p.gram.Add(&p.run)
}

// offer offers the block to the sample. Priorities are a fixed function of the
// place: a profile stays with the data holder and needs no key.
func (p *Profiler) offer(b *microdata.Block, keep microdata.Bitmap) {
	p.priorities.Draw(b, place.UnkeyedWords)
	p.sample.Take(b, p.origins.Of(b.Scope, int32(b.Stream)), &p.priorities, keep)
	for c, column := range p.columns {
		p.sample.Gather(c, b.Columns[column.Index].Original)
	}
	p.sample.Bound()
}

// Merge adds the values of o, for parts of the data that are profiled in parallel. It returns
// an error if the two profilers have different columns.
func (p *Profiler) Merge(o *Profiler) error {
	if !slices.Equal(p.columns, o.columns) {
		return errors.New("profile: merge: columns must be the same")
	}
	p.records += o.records
	p.gram.Merge(&o.gram)
	for i := range p.ends {
		e, f := &p.ends[i], o.ends[i]
		e.low, e.high = math.Min(e.low, f.low), math.Max(e.high, f.high)
		if e.decimals == decimals.None || f.decimals == decimals.None {
			e.decimals = decimals.None
		} else {
			e.decimals = max(e.decimals, f.decimals)
		}
	}
	p.sample.Merge(&o.sample)
	return nil
}

// Profile returns the profile of what has been added so far.
func (p *Profiler) Profile() *Profile {
	p.sample.Settle()
	out := &Profile{Schema: ProfileSchema, Records: p.records, QuantilesOf: QuantilesOfAll, Columns: []ColumnProfile{}}
	if int64(p.sample.Len()) < p.records {
		out.QuantilesOf = QuantilesOfSample
	}
	for i, column := range p.columns {
		m, e := columnMoments(&p.gram, i, p.records), p.ends[i]
		c := ColumnProfile{Name: column.Name, Unit: column.Unit, N: m.N, Nulls: m.Nulls,
			Mean: float64(m.Mean), SD: float64(m.SD), Min: e.low, Max: e.high, Decimals: e.decimals}
		if m.N == 0 {
			c.Min, c.Max = math.NaN(), math.NaN()
		}
		if x := cell.Present(p.sample.Values[i]); len(x) > 0 {
			for j, v := range orderstat.Percentiles(x, profileTargets) {
				c.Quantiles = append(c.Quantiles, Quantile{profileTargets[j].Name, v})
			}
		}
		out.Columns = append(out.Columns, c)
		row := make([]float64, len(p.columns))
		for j := range row {
			row[j] = math.NaN()
			if c := p.gram.Between(i, j); c.N > 1 {
				row[j] = c.Cij / (c.N - 1)
			}
		}
		out.Covariance = append(out.Covariance, row)
	}
	return out
}
