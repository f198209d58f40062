package pipeline

import (
	"context"
	"math"
	"slices"

	"github.com/sdlfilter/sdlfilter/assess"
	"github.com/sdlfilter/sdlfilter/microdata"
	"github.com/sdlfilter/sdlfilter/transform"
	"github.com/sdlfilter/sdlfilter/transform/keystream"
)

// Exchange computes the expected change of columns whose values swaps move: over all records,
// and for the records with the targets. It implements assess.Exchange.
type Exchange struct {
	displacer *transform.Displacer
	columns   []*exchangedColumn
	limit     int // greatest number of records that are kept; < 0: all

	places   []recordPlace       // of the records that are kept; empty if there are more than limit
	keepsAll bool                // all records are kept
	indexes  map[recordPlace]int // the index of each in places

	seekers  []*seeker // with which Add looks for the records with the targets
	expected []*seeker // the same, for brackets that the survey expects
}

// recordPlace identifies a record.
type recordPlace struct {
	scope  string
	stream int
	row    int64
}

type exchangedColumn struct {
	assess.Column
	own func(x float64) (square, noise float64) // E(x − y)² of the masks that do not move values

	weight, total   float64
	likeliest, mean float64   // as total, of a snooper who undoes the exchanges (microdata.Moved)
	deviations      []float64 // by batch; nil if the expectation is exact
	records         []movedRecord
	holders         map[string]movedRecord // by target, if not all records are kept
}

// movedRecord is the expected change of one record; its fields are those of microdata.Moved, and undone is the least of
// Likeliest and Mean, divided by Weight.
type movedRecord struct{ x, stay, square, noise, weight, undone float64 }

// expected returns the snooper's expected square, and the variance of this estimate: that of x − y, or what he has
// where he undoes exchanges, if that is less.
func (r movedRecord) expected(own func(float64) (float64, float64)) (square, noise float64) {
	square, noise = own(r.x)
	square, noise = r.stay*square+r.square, r.stay*r.stay*noise+r.noise
	if r.undone < square {
		share := r.undone / square
		return r.undone, noise * share * share
	}
	return square, noise
}

// exchanged reports whether a mask moves values of a column between records.
func exchanged(masks []transform.Spec, column string) bool {
	return slices.ContainsFunc(masks, func(m transform.Spec) bool {
		return transform.MixesRecords(m.Params) && slices.Contains(m.Params.Masks(), column)
	})
}

// elsewhere reports whether a mask does to the values of a column what other columns of the record say, or a condition
// does.
func elsewhere(masks []transform.Spec, column string) bool {
	return slices.ContainsFunc(masks, func(m transform.Spec) bool {
		return slices.Contains(m.Params.Masks(), column) && (len(m.Params.Reads()) > 0 || transform.Conditional(m.Params))
	})
}

// NewExchange returns nil if no mask moves values of a measured column. limit is the greatest
// number of records for which each record's figures are kept; < 0: all.
func NewExchange(chain *transform.Chain, d *transform.Displacer, columns []assess.Column, limit int) (*Exchange,
	error) {
	if d == nil {
		return nil, nil
	}
	x := &Exchange{displacer: d, limit: limit, keepsAll: true}
	for _, c := range columns {
		if !displacedExactly(d, c) {
			continue
		}
		own, err := ownSquare(chain, c)
		if err != nil {
			return nil, err
		}
		x.columns = append(x.columns, &exchangedColumn{Column: c, own: own, holders: map[string]movedRecord{}})
	}
	return x, nil
}

// displacedExactly reports whether an Exchange computes the change of a measured column.
func displacedExactly(d *transform.Displacer, c assess.Column) bool {
	return c.Masked && slices.Contains(d.Columns(), c.Index) && !slices.Contains(d.Approximate(), c.Index)
}

// displace computes the expected change of the records of a masked block.
func (x *Exchange) displace(b *microdata.Block) error {
	if x == nil {
		return nil
	}
	return x.displacer.Apply(b)
}

// Join finds the records with the targets, and connects the exchange with the assessment
// of a run.
func (x *Exchange) Join(ctx context.Context, pl *Plan, chain *transform.Chain, measured *assess.Accumulator,
	key keystream.Key, progress *Progress) error {
	if x == nil {
		return nil
	}
	if err := x.locate(ctx, pl, chain, measured, progress); err != nil {
		return err
	}
	replicate, err := pl.newReplicate(transform.Unmixed(pl.Config.Masks), key)
	if err != nil {
		return err
	}
	repeated, err := pl.newRepeated(transform.Unmixed(pl.Config.Masks), key)
	if err != nil {
		return err
	}
	measured.SetExchange(x, replicate, repeated)
	return nil
}

// ownReplicates is how many released values are drawn for one original value if the masks
// have no closed form. E(x − y)² then has a relative error of about √(2/ownReplicates), 3 %.
const ownReplicates = 2048

// ownSquare returns a function that gives E(x − y)² of the masks that do not move values, and
// the variance of this estimate.
func ownSquare(chain *transform.Chain, c assess.Column) (func(x float64) (square, noise float64), error) {
	if law, ok := chain.Law(c.Name); ok {
		return func(x float64) (float64, float64) {
			_, square := law.Moments(x)
			return square, 0
		}, nil
	}
	rest, err := chain.Unmixed(c.Name)
	if err != nil {
		return nil, err
	}
	return func(x float64) (square, noise float64) {
		var b microdata.Block
		b.Reset(0, 0, ownReplicates, c.Index+1)
		values := make([]float64, ownReplicates)
		for i := range values {
			values[i] = x
		}
		b.Columns[c.Index].Original.Values = values
		if err := rest.Replicate(1 << 29).Apply(&b); err != nil || !b.Whole() {
			return 0, 0 // unknown: 0 overstates the risk, which is safe
		}
		n, squares := 0.0, 0.0
		for _, y := range b.Columns[c.Index].Out().Values {
			n++
			d := (y-x)*(y-x) - square
			square += d / n
			squares += d * ((y-x)*(y-x) - square)
		}
		return square, squares / (n - 1) / n
	}, nil
}

// Add adds a block to which the displacer was applied.
func (x *Exchange) Add(b *microdata.Block) {
	if x == nil {
		return
	}
	x.keep(b)
	for _, s := range x.seekers {
		s.take(b)
	}
	x.takeExpected(b)
	for _, c := range x.columns {
		m := &b.Columns[c.Index].Moved
		weight, total, likeliest, mean := c.weight, c.total, c.likeliest, c.mean
		for i, t := range m.Total {
			weight += m.Weight[i]
			total += t
			likeliest += m.Likeliest[i]
			mean += m.Mean[i]
		}
		c.weight, c.total, c.likeliest, c.mean = weight, total, likeliest, mean
		if m.Deviations != nil && c.deviations == nil {
			c.deviations = make([]float64, len(m.Deviations))
		}
		addDeviations(c.deviations, m.Deviations)
	}
}

// addDeviations adds the deviations of records to their sums by batch. It computes four sums at a time,
// because each addition to one sum must wait for the one before it.
func addDeviations(sums []float64, batches [][]float32) {
	k := 0
	for ; k+4 <= len(batches); k += 4 {
		of := batches[k : k+4]
		s, t, u, v := sums[k], sums[k+1], sums[k+2], sums[k+3]
		a := of[0]
		b, c, d := of[1][:len(a)], of[2][:len(a)], of[3][:len(a)]
		for i := range a {
			s += float64(a[i])
			t += float64(b[i])
			u += float64(c[i])
			v += float64(d[i])
		}
		sums[k], sums[k+1], sums[k+2], sums[k+3] = s, t, u, v
	}
	for ; k < len(batches); k++ {
		for _, d := range batches[k] {
			sums[k] += float64(d)
		}
	}
}

// Replay adds the original values that an accumulator holds.
func (x *Exchange) Replay(data *assess.Accumulator, window int) error {
	const some = 1 << 16
	size := max(1, some/window) * window
	if x.displacer.NeedsSurvey() {
		if _, err := data.Replay(size, x.displacer.Survey); err != nil {
			return err
		}
		x.displacer.EndSurvey()
	}
	_, err := data.Replay(size, func(b *microdata.Block) error {
		if err := x.displacer.Apply(b); err != nil {
			return err
		}
		x.Add(b)
		return nil
	})
	return err
}

// keep keeps the records of a block, unless they are then more than the limit: it keeps none then.
func (x *Exchange) keep(b *microdata.Block) {
	if !x.keepsAll {
		return
	}
	if x.limit >= 0 && len(x.places)+b.Kept() > x.limit {
		x.keepNone()
		return
	}
	for i := range b.N {
		if b.Rejected(i) {
			continue
		}
		x.places = append(x.places, recordPlace{b.Scope, b.Stream, b.Place(i)})
		for _, c := range x.columns {
			c.records = append(c.records, recordOf(b, c.Index, i))
		}
	}
}

// keepNone drops all kept records, and keeps no more.
func (x *Exchange) keepNone() {
	x.keepsAll, x.places = false, nil
	for _, c := range x.columns {
		c.records = nil
	}
}

func recordOf(b *microdata.Block, index, i int) movedRecord {
	m := &b.Columns[index].Moved
	undone := 0.0
	if w := m.Weight[i]; w > 0 {
		undone = min(m.Likeliest[i], m.Mean[i]) / w
	}
	return movedRecord{b.Columns[index].Original.Values[i], m.Stay[i], m.Square[i], m.Noise[i], m.Weight[i], undone}
}

func (x *Exchange) column(name string) *exchangedColumn {
	i := slices.IndexFunc(x.columns, func(c *exchangedColumn) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return x.columns[i]
}

// Typical implements assess.Exchange.
func (x *Exchange) Typical(column string) (square, se float64, ok bool) {
	c := x.column(column)
	if c == nil || !(c.weight > 0) {
		return 0, 0, false
	}
	var squares float64
	for _, d := range c.deviations {
		squares += d * d
	}
	if m := float64(len(c.deviations)); m > 1 {
		se = math.Sqrt(squares / m / (m - 1))
	}
	least := min(c.total, c.likeliest, c.mean)
	if least < c.total {
		se *= least / c.total
	}
	square, se = least/c.weight, se/c.weight
	return square, se, square >= 0 // otherwise NaN, because values were too large
}

func (x *Exchange) find(p recordPlace) (int, bool) {
	if len(x.indexes) != len(x.places) {
		x.indexes = make(map[recordPlace]int, len(x.places))
		for i, p := range x.places {
			x.indexes[p] = i
		}
	}
	i, ok := x.indexes[p]
	return i, ok
}

// At implements assess.Exchange.
func (x *Exchange) At(column, target string, _ float64, scope string, stream int, row int64) (square, se float64,
	ok bool) {
	c := x.column(column)
	if c == nil {
		return 0, 0, false
	}
	var r movedRecord
	if x.keepsAll {
		i, there := x.find(recordPlace{scope, stream, row})
		if row < 0 || !there {
			return 0, 0, false
		}
		r = c.records[i]
	} else if r, ok = c.holders[target]; !ok {
		return 0, 0, false
	}
	square, noise := r.expected(c.own)
	if !(square >= 0) {
		return 0, 0, false
	}
	return square, math.Sqrt(noise), true
}

// Group implements assess.Exchange, if all records were kept. The errors of the records are
// treated as fully correlated.
func (x *Exchange) Group(column string, n int, record func(i int) (scope string, stream int, row int64)) (square,
	se float64, ok bool) {
	c := x.column(column)
	if c == nil || !x.keepsAll {
		return 0, 0, false
	}
	var weight float64
	for i := range n {
		scope, stream, row := record(i)
		at, there := x.find(recordPlace{scope, stream, row})
		if !there {
			return 0, 0, false
		}
		if r := c.records[at]; r.weight > 0 {
			one, noise := r.expected(c.own)
			weight += r.weight
			square += r.weight * one
			se += r.weight * math.Sqrt(noise)
		}
	}
	return square / weight, se / weight, weight > 0 && square >= 0
}
